"""`LLE`: locally linear embedding (Roweis and Saul 2000)."""

from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.types import Floats, Ints, Matrix, Table, Values
from gramian._core.validation import number, whole
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.eigen import eigen, least
from gramian.spectral.embedding.base import Embedding, with_fixed_signs
from gramian.spectral.embedding.classical import power_of_two
from gramian.warnings import ConvergenceWarning, PrecisionWarning, warn_user

DENSE = 1000  # rows up to which the whole matrix is reduced
PANEL_CELLS = 2**21
TOLERANCE = 1e-9


@estimator
class LLE(Embedding):
    """Locally linear embedding: coordinates in which the same weights reconstruct each row from its neighbours.

    Weights w_i minimise ‖x_i − Σ_j w_ij x_j‖² + ε ‖w_i‖² over the neighbours of x_i with Σ_j w_ij = 1, where ε is
    `regularization` times the trace of their Gram matrix about x_i; places minimise Σ_i ‖y_i − Σ_j w_ij y_j‖² with mean
    0 and Σ y yᵀ / n = I: eigenvectors of M = (I − W)ᵀ(I − W) for the least eigenvalues beyond that of the constant.

    Parameters
    ----------
    n_neighbors : int
        Of each row, itself not among them; fewer than rows.
    n_components : int
        Dimensions r of the map.
    regularization : float
        Above 0: with more neighbours than columns, the weights are not determined without it.

    Attributes
    ----------
    embedding_ : array (n, r)
        Each column with mean 0 and variance 1, signed so that its entry farthest from zero is positive.
    eigenvalues_ : array (r,)
        Of M, smallest first; their sum is `reconstruction_error_`, Σ ‖y_i − Σ_j w_ij y_j‖² / n.
    weights_ : sparse matrix (n, n)
    n_parts_ : int
        Connected components of the neighbour graph. More than one is warned of: their relative position is
        undetermined, and the first axes only separate them.
    certificate_ : residual ‖M v − λ v‖ of the worst vector; solver_

    Notes
    -----
    Neighbours by a tree or by brute force, n k³ for the weights, and a sparse factor of M for the eigenvectors, whose
    cost grows with the intrinsic dimension of the rows. New rows: `transform` averages the coordinates of their
    neighbours.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> t = np.linspace(0.0, 3.0, 60)
    >>> curve = np.column_stack([np.cos(t), np.sin(t)])
    >>> line = gm.LLE(n_neighbors=4, n_components=1).fit_transform(curve)[:, 0]
    >>> bool((np.diff(line) > 0).all() or (np.diff(line) < 0).all())
    True
    """

    n_neighbors: int = 12
    n_components: int = 2
    _: KW_ONLY
    regularization: float = 1e-3

    @single_threaded_blas()
    def fit(self, X: Table, y: Values | None = None) -> "LLE":
        """Embed the rows of X; y is ignored, as pipelines give it."""
        k = whole("n_neighbors", self.n_neighbors, low=1)
        r = whole("n_components", self.n_components, low=1)
        regularization = number("regularization", self.regularization, low=0.0, open_low=True)
        values, _ = self._read(X, fitting=True)
        n = values.shape[0]
        for name, count in (("n_neighbors", k), ("n_components", r)):
            if count >= n:
                raise ValueError(
                    f"{name} is {count} and X has n_samples = {n}; it must be at most {n - 1}, one less than there are "
                    "rows: give more rows, or a smaller number."
                )
        self._size = power_of_two(float(np.abs(values).max()))  # squares of distances stay in range
        values = values / self._size
        self._neighbors = NearestNeighbors(n_neighbors=k).fit(values)
        with single_threaded_blas():
            index = self._neighbors.kneighbors(return_distance=False)
            weights = _reconstruction_weights(values, values, index, regularization)
            W = sp.csr_matrix((weights.reshape(-1), index.reshape(-1), np.arange(0, n * k + 1, k)), shape=(n, n))
            self.n_parts_ = int(connected_components(W != 0, directed=False)[0])
            A = sp.identity(n, format="csr") - W
            M = (A.T @ A).tocsc()
            eigenvalues, vectors, method = smallest(M, r)
        self.weights_, self.eigenvalues_ = W, eigenvalues
        self.reconstruction_error_ = float(eigenvalues.sum())
        self.embedding_ = with_fixed_signs(vectors * np.sqrt(n))
        size = float(M.diagonal().max())
        residual = float(np.linalg.norm(A.T @ (A @ vectors) - vectors * eigenvalues, axis=0).max() / size)
        connected = self.n_parts_ == 1
        note = (
            ""
            if connected
            else f"The eigenvectors are accurate, but the neighbour graph is disconnected ({self.n_parts_} components)."
        )
        self.certificate_ = Certificate(
            "eigen-residual", residual, TOLERANCE, residual <= TOLERANCE and connected, None, None,
            "neighbours", note=note,
        )  # fmt: skip
        self.solver_ = SolverInfo(*method)
        self._warn(residual)
        return self

    def transform(self, X: Table) -> Floats:
        """Coordinates of new rows, the same weighted means of their neighbours; a training row keeps its own."""
        check_is_fitted(self)
        values, _ = self._read(X, fitting=False)
        values, rows = values / self._size, self._neighbors._fit_X
        with single_threaded_blas():
            distance, index = self._neighbors.kneighbors(values)
            weights = _reconstruction_weights(values, rows, index, float(self.regularization))
            same = distance == 0
            is_fitted_row = same.any(axis=1)
            weights[is_fitted_row] = same[is_fitted_row] / same[is_fitted_row].sum(axis=1, keepdims=True)
            return np.asarray(np.einsum("ik,ikr->ir", weights, self.embedding_[index]))

    def _warn(self, residual: float) -> None:
        if self.n_parts_ > 1:
            warn_user(
                f"For n_neighbors={self.n_neighbors} the neighbour graph is disconnected ({self.n_parts_} components): "
                "the first axes of the embedding only separate these. Raise n_neighbors, or embed each alone.",
                PrecisionWarning,
            )
        if residual > TOLERANCE:
            warn_user(
                f"The eigenvectors have a residual of {residual:.3g}, beyond {TOLERANCE:g}: raise regularization.",
                ConvergenceWarning,
            )

    def _facts(self) -> dict[str, object]:
        return {"reconstruction_error": self.reconstruction_error_, "connected_components": self.n_parts_}


def _reconstruction_weights(points: Matrix, rows: Matrix, index: Ints, regularization: float) -> Floats:
    """Weights (m, k), with sum 1, that reconstruct each point from its neighbours rows[index]."""
    m, k = index.shape
    panel = max(PANEL_CELLS // (k * rows.shape[1]), 1)

    def part(start: int) -> Floats:
        panel_rows = slice(start, min(start + panel, m))
        if sp.issparse(rows):
            neighbors = rows[index[panel_rows].reshape(-1)].toarray().reshape(-1, k, rows.shape[1])
            centers = points[panel_rows].toarray() if sp.issparse(points) else points[panel_rows]
        else:
            neighbors, centers = (
                rows[index[panel_rows]],
                points[panel_rows].toarray() if sp.issparse(points) else points[panel_rows],
            )
        Z = neighbors - centers[:, None, :]
        C = Z @ Z.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        C[:, np.arange(k), np.arange(k)] += (regularization * np.where(trace > 0, trace, 1.0))[:, None]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
        return np.asarray(w / w.sum(axis=1, keepdims=True))

    return np.concatenate(parallel_map(part, range(0, m, panel)))


def smallest(M: Matrix, r: int) -> tuple[Floats, Floats, tuple[str, str]]:
    """The r smallest eigenvalues of a sparse semidefinite matrix beyond that of its null vector, the constant."""
    n = M.shape[0]
    if n <= DENSE or r + 1 > n // 20:
        shift = float(abs(M).sum(axis=0).max()) / n  # moves the eigenvalue of the constant above all others
        pairs = eigen(M.toarray() + shift, r, smallest=True)
        method = ("eigenvectors", f"of the whole matrix of {n} rows")
    else:
        pairs = least(M, r, np.full((n, 1), 1.0 / np.sqrt(n)))
        method = ("shift and invert", f"a sparse factor serves the least eigenvalues of {n} rows")
    return np.maximum(pairs.values, 0.0), pairs.vectors, method

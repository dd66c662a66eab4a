"""`LLE`: a map on which every row is the same mixture of its neighbours as in the data."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.types import Floats, Ints
from gramian._core.validation import number, whole
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.eigen import eigen, least
from gramian.spectral.embedding.base import Embedding, pointed
from gramian.spectral.embedding.classical import power_of_two
from gramian.warnings import ConvergenceWarning, PrecisionWarning, warn_user

DENSE = 1000  # rows up to which the whole matrix is reduced
PANEL_CELLS = 2**21
TOLERANCE = 1e-9


@estimator
class LLE(Embedding):
    """Locally linear embedding: rows keep the weights with which their neighbours make them up.

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
        Parts of the neighbour graph without an edge between them. More than one is warned of: nothing says how they lie
        to each other, and the first axes only tell them apart.
    certificate_ : residual ‖M v − λ v‖ of the worst vector; solver_

    Notes
    -----
    Neighbours by a tree or by brute force, n k³ for the weights, and a sparse factor of M for the eigenvectors, whose
    cost grows with the dimension that the rows truly have. New rows: `transform` mixes the places of their neighbours.

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
    def fit(self, X: Any, y: Any = None) -> "LLE":
        """Place the rows of X; y is ignored, as pipelines give it."""
        k = whole("n_neighbors", self.n_neighbors, low=1)
        r = whole("n_components", self.n_components, low=1)
        strength = number("regularization", self.regularization, low=0.0, open_low=True)
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
            mix = _mixtures(values, values, index, strength)
            W = sp.csr_matrix((mix.reshape(-1), index.reshape(-1), np.arange(0, n * k + 1, k)), shape=(n, n))
            self.n_parts_ = int(connected_components(W != 0, directed=False)[0])
            A = sp.identity(n, format="csr") - W
            M = (A.T @ A).tocsc()
            values_found, vectors, how = smallest(M, r)
        self.weights_, self.eigenvalues_ = W, values_found
        self.reconstruction_error_ = float(values_found.sum())
        self.embedding_ = pointed(vectors * np.sqrt(n))
        size = float(M.diagonal().max())
        residual = float(np.linalg.norm(A.T @ (A @ vectors) - vectors * values_found, axis=0).max() / size)
        whole_graph = self.n_parts_ == 1
        note = "" if whole_graph else f"The neighbour graph has {self.n_parts_} parts, which the first axes tell apart."
        self.certificate_ = Certificate(
            "eigen-residual", residual, TOLERANCE, residual <= TOLERANCE and whole_graph, None, None,
            "neighbours", note=note,
        )  # fmt: skip
        self.solver_ = SolverInfo(*how)
        self._warn(residual)
        return self

    def transform(self, X: Any) -> Floats:
        """Places of new rows, mixed from those of their neighbours; a row of the fit keeps its place."""
        check_is_fitted(self)
        values, _ = self._read(X, fitting=False)
        values, rows = values / self._size, self._neighbors._fit_X
        with single_threaded_blas():
            away, index = self._neighbors.kneighbors(values)
            mix = _mixtures(values, rows, index, float(self.regularization))
            same = away == 0
            known = same.any(axis=1)
            mix[known] = same[known] / same[known].sum(axis=1, keepdims=True)
            return np.asarray(np.einsum("ik,ikr->ir", mix, self.embedding_[index]))

    def _warn(self, residual: float) -> None:
        if self.n_parts_ > 1:
            warn_user(
                f"With {self.n_neighbors} neighbours the rows fall into {self.n_parts_} parts without an edge between "
                "them, and the first axes of the map only tell these apart: raise n_neighbors, or map each part alone.",
                PrecisionWarning,
            )
        if residual > TOLERANCE:
            warn_user(
                f"The eigenvectors have a residual of {residual:.3g}, beyond {TOLERANCE:g}: raise regularization.",
                ConvergenceWarning,
            )

    def _facts(self) -> dict[str, Any]:
        return {"reconstruction_error": self.reconstruction_error_, "parts": self.n_parts_}


def _mixtures(points: Any, rows: Any, index: Ints, strength: float) -> Floats:
    """Weights (m, k) with which neighbours, rows[index], make up each point; they add up to 1."""
    m, k = index.shape
    panel = max(PANEL_CELLS // (k * rows.shape[1]), 1)

    def part(start: int) -> Floats:
        some = slice(start, min(start + panel, m))
        if sp.issparse(rows):
            near = rows[index[some].reshape(-1)].toarray().reshape(-1, k, rows.shape[1])
            here = points[some].toarray() if sp.issparse(points) else points[some]
        else:
            near, here = rows[index[some]], points[some].toarray() if sp.issparse(points) else points[some]
        Z = near - here[:, None, :]
        C = Z @ Z.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        C[:, np.arange(k), np.arange(k)] += (strength * np.where(trace > 0, trace, 1.0))[:, None]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
        return np.asarray(w / w.sum(axis=1, keepdims=True))

    return np.concatenate(parallel_map(part, range(0, m, panel)))


def smallest(M: Any, r: int) -> tuple[Floats, Floats, tuple[str, str]]:
    """The r least eigenvalues of a sparse semidefinite matrix that has the constant in its kernel, without that one."""
    n = M.shape[0]
    if n <= DENSE or r + 1 > n // 20:
        above = float(abs(M).sum(axis=0).max()) / n  # the constant goes beyond all others
        found = eigen(M.toarray() + above, r, smallest=True)
        how = ("eigenvectors", f"of the whole matrix of {n} rows")
    else:
        found = least(M, r, np.full((n, 1), 1.0 / np.sqrt(n)))
        how = ("shift and invert", f"a sparse factor serves the least eigenvalues of {n} rows")
    return np.maximum(found.values, 0.0), found.vectors, how

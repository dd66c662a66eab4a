"""`MDS`: rows laid out so that distances on the map are those given."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.random import legacy_generator_from
from gramian._core.types import Floats, Ints, Matrix, RandomState, Table, Tags, Values, Weights
from gramian._core.validation import choice, number, whole
from gramian._core.weights import weights_or_ones
from gramian.features.base import refuse_too_large
from gramian.kernels.numerics.distances import distances
from gramian.kernels.points import Vectors
from gramian.rows import single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.spectral.embedding.base import Embedding, along_principal_axes
from gramian.spectral.embedding.classical import Coordinates, of_distances, of_rows, power_of_two
from gramian.warnings import ConvergenceWarning, warn_user

METHODS = ("classical", "smacof")
KINDS = ("euclidean", "precomputed")
STARTS = ("classical", "random")
BEYOND = "Squares of the distances are beyond the range of numbers; the embedding is right."
RESIDUAL = 1e-9
SYMMETRIC = 1e-8


@estimator
class MDS(Embedding):
    """Multidimensional scaling: places in few dimensions whose distances are nearest to those between the rows.

    "classical": eigenvectors of the doubly centred squared distances B = −½ J δ² J, scaled by the root of their
    eigenvalues; the map of least ‖B − Y Yᵀ‖. Of Euclidean distances that is principal component analysis. "smacof":
    least stress Σ_{i<j} w_ij (δ_ij − ‖y_i − y_j‖)² by majorisation, a local minimum reached without the stress ever
    rising.

    Parameters
    ----------
    n_components : int
        Dimensions r of the map.
    method : "classical" or "smacof"
    dissimilarity : "euclidean" or "precomputed"
        Whether X are rows, or their dissimilarities δ (n, n) themselves.
    weights : None, number or array (n, n)
        Of pairs, for "smacof": all equal, δ to this power (−1 is Sammon's mapping), or given; 0 where nothing is known
        of a pair.
    init : "classical", "random" or array (n, r)
        The start of "smacof".
    n_init : int
        Starts of "smacof", the best of which is kept: the first is `init`, the others are random.
    max_iter, tol : int, float
        Of "smacof": ends where the gradient of the stress is `tol` of the size of its terms.
    random_state : int, RandomState or Generator, optional
        For random starts.
    time : float, optional
        Seconds after which steps, and starts, end at the least stress so far, with a `ConvergenceWarning` and a
        certificate that does not hold.

    Attributes
    ----------
    embedding_ : array (n, r)
        About its mean, along its principal axes, each pointing to its farthest row.
    stress_ : float
        Σ_{i<j} w (δ − ‖y_i − y_j‖)², where rows with a `sample_weight` count so often; `relative_stress_`: the root of
        its share of Σ w δ².
    eigenvalues_ : array (r,), least_eigenvalue_ : float
        Of B ("classical"); where the least one is negative, no points in any space have these distances.
    certificate_ : residual of the eigenvectors, or the gradient of the stress, both computed anew.
    solver_, n_iter_, history_ : of "smacof" the last are (iteration, stress, gradient).

    Notes
    -----
    Classical scaling of rows costs n d min(n, d) and no distances; all else has n² numbers in memory, and "smacof"
    takes n² r operations a step. New rows: `transform` by the same eigenvectors, or by the least stress of each among
    the rows of the fit.

    Examples
    --------
    >>> import gramian as gm
    >>> from scipy.spatial.distance import cdist
    >>> X = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    >>> model = gm.MDS(dissimilarity="precomputed").fit(cdist(X, X))
    >>> cdist(model.embedding_, model.embedding_).round(9)
    array([[0., 3., 5.],
           [3., 0., 4.],
           [5., 4., 0.]])
    """

    n_components: int = 2
    _: KW_ONLY
    method: str = "classical"
    dissimilarity: str = "euclidean"
    weights: Weights = None
    init: str | Values = "classical"
    n_init: int = 1
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: RandomState = None
    time: float | None = None

    @timed
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> "MDS":
        """Place the rows of X, or the things whose dissimilarities X are; y is ignored, as pipelines give it."""
        r = whole("n_components", self.n_components, low=1)
        method = choice("method", self.method, METHODS)
        kind = choice("dissimilarity", self.dissimilarity, KINDS)
        steps, tol = whole("max_iter", self.max_iter, low=1), number("tol", self.tol, low=0.0, open_low=True)
        whole("n_init", self.n_init, low=1)
        if method == "classical" and self.weights is not None:
            raise ValueError('weights are of pairs, which method="smacof" can weigh; "classical" takes sample_weight.')
        values, row_weight = self._read(X, fitting=True, sample_weight=sample_weight)
        n = values.shape[0]
        if kind == "precomputed":
            values = _checked(values)
        if kind == "precomputed" or method == "smacof":
            refuse_too_large(4 * 8.0 * n * n, f"distances of {n} rows", 'method="classical" of rows needs none.')
        self._coordinates: Coordinates | None = None
        for name in ("eigenvalues_", "least_eigenvalue_"):
            self.__dict__.pop(name, None)
        with single_threaded_blas():
            if method == "classical":
                return self._fit_classical(values, row_weight, r, kind)
            return self._fit_smacof(values, row_weight, r, steps, tol, kind)

    def transform(self, X: Table) -> Floats:
        """Places of new rows, or of things with dissimilarities X (m, n) to those of the fit."""
        check_is_fitted(self)
        values, _ = self._read(X, fitting=False)
        kind = self.dissimilarity
        with single_threaded_blas():
            if self._coordinates is not None:
                return self._coordinates.new(_checked(values, square=False) if kind == "precomputed" else values)
            from gramian.spectral.embedding.smacof import placed

            size = self._size
            values = (_checked(values, square=False) if kind == "precomputed" else values) / size
            delta = values if kind == "precomputed" else _between(values, self._rows)
            return size * placed(self.embedding_[self._used] / size, self._weight, delta[:, self._used])

    def fit_transform(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Floats:
        """Fit, and give the places of the rows: `embedding_`."""
        return self.fit(X, sample_weight=sample_weight).embedding_

    def _fit_classical(self, values: Matrix, weight: Floats | None, r: int, kind: str) -> "MDS":
        precomputed = kind == "precomputed"
        coordinates = of_distances(values, weight, r) if precomputed else of_rows(values, weight, r)
        self._coordinates = coordinates
        self.embedding_, self.eigenvalues_, self.least_eigenvalue_ = (
            coordinates.places,
            coordinates.eigenvalues,
            coordinates.least,
        )
        self._set_stress(values, weight, precomputed)
        notes = []
        if coordinates.rank < r:
            notes.append(
                f"Only {coordinates.rank} of {r} eigenvalues are positive; the other columns of the embedding are zero."
            )
        if coordinates.least < 0:
            notes.append(
                f"The smallest eigenvalue is {coordinates.least:.3g}: no points in any space have these distances, and "
                'method="smacof" fits them better.'
            )
        if not np.isfinite(coordinates.eigenvalues).all():
            notes.append(BEYOND)
        self.certificate_ = Certificate(
            "eigen-residual", coordinates.residual, RESIDUAL, coordinates.residual <= RESIDUAL, None, None,
            "distances" if precomputed else "rows", note=" ".join(notes),
        )  # fmt: skip
        self.solver_ = SolverInfo("eigenvectors", f"of the centred inner products of {len(self.embedding_)} rows")
        self.n_iter_ = 1
        self.history_: list[tuple[int, float, float]] = []
        return self

    def _fit_smacof(self, values: Matrix, weight: Floats | None, r: int, steps: int, tol: float, kind: str) -> "MDS":
        from gramian.spectral.embedding.smacof import Layout, Stress, minimise, placed

        n = values.shape[0]
        self._size = size = power_of_two(float(np.abs(values).max()))  # squares stay in range
        values = values / size
        whole_delta = values if kind == "precomputed" else _between(values, values)
        used = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        w = None if weight is None else weight[used]
        delta = np.ascontiguousarray(whole_delta[np.ix_(used, used)])
        problem = Stress(delta, _pair_weights(self.weights, whole_delta, used, w))
        tries: list[Layout] = []
        for start in self._starts(problem, w, used, n, r):
            if not tries or not deadline.passed():
                tries.append(minimise(problem, start, max_iter=steps, tol=tol))
        best = min(tries, key=lambda one: one.stress)
        self._used, self._weight = used, weights_or_ones(w, len(used))
        places = along_principal_axes(best.places, self._weight)
        self.embedding_ = np.empty((n, r))
        self.embedding_[used] = places * size
        weightless = np.setdiff1d(np.arange(n), used)
        if len(weightless):
            self.embedding_[weightless] = size * placed(places, self._weight, whole_delta[np.ix_(weightless, used)])
        self._rows = None if kind == "precomputed" else values
        unit = size * size * (size ** float(self.weights) if isinstance(self.weights, Real) else 1.0)
        self.history_ = [(step, stress * unit, measure) for step, stress, measure in best.history]
        self.n_iter_ = max(len(best.history) - 1, 1)
        pair: Any = 1.0 if problem.weight is None else problem.weight
        self._keep_stress(best.stress, 0.5 * float((pair * delta**2).sum()), unit)
        value = problem.gradient(places)
        self.certificate_ = Certificate(
            "gradient", value, tol, value <= tol, None, None, "distances", convex=False,
            note="" if np.isfinite(self.stress_) else BEYOND,
        )  # fmt: skip
        self.solver_ = SolverInfo(
            "majorisation", f"the best of {len(tries)} starts" if len(tries) > 1 else "from one start"
        )
        if value > tol and not deadline.ended():
            warn_user(
                f"MDS did not converge: the gradient of the stress relative to its terms is {value:.3g} after "
                f"{self.n_iter_} steps, and tol is {tol:.3g}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _starts(self, problem: Any, weight: Floats | None, used: Ints, n: int, r: int) -> list[Floats]:
        from gramian.spectral.embedding.smacof import scaled

        rng = legacy_generator_from(self.random_state)
        count, m = int(self.n_init), len(used)
        starts: list[Floats] = []
        if isinstance(self.init, str):
            if choice("init", self.init, STARTS) == "classical":
                starts.append(of_distances(problem.delta, weight, r).places)
        else:
            init = np.asarray(self.init, dtype=np.float64)
            if init.shape != (n, r) or not np.isfinite(init).all():
                raise ValueError(f"init has shape {init.shape}; it must be finite numbers of shape ({n}, {r}).")
            starts.append(init[used])
        starts += [rng.standard_normal((m, r)) for _ in range(count - len(starts))]
        return [scaled(problem, start) for start in starts]

    def _set_stress(self, values: Matrix, weight: Floats | None, given: bool) -> None:
        """In panels of rows, so that rows need no n × n numbers."""
        n = len(self.embedding_)
        unit = power_of_two(float(np.abs(values).max()))
        Y, values = self.embedding_ / unit, values / unit
        w = weights_or_ones(weight, n)
        stress = size = 0.0
        for i in range(0, n, 512):
            part = slice(i, min(i + 512, n))
            delta = values[part] if given else _between(values[part], values)
            pair = w[part, None] * w
            stress += 0.5 * float((pair * (delta - cdist(Y[part], Y)) ** 2).sum())
            size += 0.5 * float((pair * delta**2).sum())
        self._keep_stress(stress, size, unit * unit)

    def _keep_stress(self, stress: float, size: float, unit: float) -> None:
        self.stress_ = stress * unit
        self.relative_stress_ = float(np.sqrt(stress / size)) if size > 0 else 0.0

    def _facts(self) -> dict[str, object]:
        return {"stress": self.stress_, "relative_stress": self.relative_stress_}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity == "precomputed"
        tags.input_tags.sparse = self.dissimilarity != "precomputed"
        return tags


def _between(A: Matrix, B: Matrix) -> Floats:
    """Euclidean distances of all pairs."""
    return distances(Vectors(A), Vectors(B), np.ones(1))


def _checked(D: Matrix, *, square: bool = True) -> Floats:
    """Dissimilarities: at least 0, and of a square matrix symmetric with zeros on the diagonal."""
    if sp.issparse(D):
        raise TypeError("Sparse dissimilarities do not say whether a missing number is 0 or unknown: give an array.")
    if (D < 0).any():
        i, j = np.argwhere(D < 0)[0]
        raise ValueError(f"X[{i}, {j}] is {D[i, j]:g}; Negative values in data: dissimilarities are at least 0.")
    if not square:
        return np.asarray(D)
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f'X has shape {D.shape}; with dissimilarity="precomputed" it must be square, with one row and one column '
            "for each object."
        )
    limit = SYMMETRIC * float(D.max(initial=0.0))
    away = np.abs(D - D.T)
    if (away > limit).any():
        i, j = np.unravel_index(int(away.argmax()), D.shape)
        raise ValueError(
            f"X[{i}, {j}] is {D[i, j]:g} and X[{j}, {i}] is {D[j, i]:g}; dissimilarities must be symmetric. "
            "(X + X.T) / 2 is."
        )
    if (np.abs(np.diagonal(D)) > limit).any():
        i = int(np.abs(np.diagonal(D)).argmax())
        raise ValueError(f"X[{i}, {i}] is {D[i, i]:g}; the dissimilarity of an object with itself is 0.")
    D = 0.5 * (D + D.T)
    np.fill_diagonal(D, 0.0)
    return np.asarray(D)


def _pair_weights(weights: Any, delta: Floats, used: Ints, row: Floats | None) -> Floats | None:
    """Weights of the pairs of rows that count, None where all are 1."""
    if weights is None and row is None:
        return None
    pick = np.ix_(used, used)
    if weights is None:
        pair_weights = np.ones((len(used), len(used)))
    elif np.ndim(weights) == 0:
        power = number("weights", weights, low=-100.0, high=100.0)
        inside = delta[pick]
        zero = inside == 0
        pair_weights = np.where(zero, 1.0, inside) ** power
        least = inside[~zero].min(initial=np.inf)
        pair_weights[zero] = least**power if power < 0 and np.isfinite(least) else 0.0 if power > 0 else 1.0
    else:
        pair_weights = np.asarray(weights, dtype=np.float64)
        if pair_weights.shape != delta.shape:
            raise ValueError(
                f"weights has shape {pair_weights.shape}; it needs one number a pair, shape {delta.shape}."
            )
        if (
            not np.isfinite(pair_weights).all()
            or (pair_weights < 0).any()
            or not np.allclose(pair_weights, pair_weights.T, rtol=1e-10, atol=0)
        ):
            raise ValueError("weights must be finite numbers of at least 0, the same for (i, j) and (j, i).")
        pair_weights = pair_weights[pick].copy()
    if row is not None:
        pair_weights = pair_weights * row[:, None] * row
    np.fill_diagonal(pair_weights, 0.0)
    return np.ascontiguousarray(pair_weights)

"""Kernels between probability distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.parameters import refuse_unless
from gramian.kernels.points import Vectors, products, square_norms, vectors
from gramian.kernels.validity.definite import ROUNDING, definiteness
from gramian.kernels.validity.proof import Validity, proven

MAX_CELLS = 2**18  # numbers in the covariances of pairs that are factored together


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Normal distributions: means (n, d), covariances (n, d, d), and log determinants of these (n,)."""

    means: Floats
    covariances: Floats
    log_determinants: Floats

    def __len__(self) -> int:
        return len(self.means)

    def __getitem__(self, where: Any) -> "Gaussians":
        return Gaussians(self.means[where], self.covariances[where], self.log_determinants[where])


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityProduct(Kernel):
    """Compare distributions by their overlap.

    k(p, q) = ∫ p(x)^rho q(x)^rho dx: Bhattacharyya's for rho = ½, where k(p, p) = 1; the expected likelihood ∫ p q for
    rho = 1.

    Parameters
    ----------
    rho : float, default 0.5
        Above 0. The larger, the more the modes count.

    Notes
    -----
    Points are histograms, one in a row (array, frame or sparse; counts are divided by their sum), or normal
    distributions: a list of pairs (mean, covariance matrix), or one pair of arrays (n, d) and (n, d, d). In one
    dimension a pair is (mean, [[variance]]). Histograms cost one matrix product, Gaussians O(d³) a pair:

    log k = ½(1 − 2 rho) d log 2π − ½ d log rho + ½(1 − rho)(log|S| + log|S'|) − ½ log|S + S'|
    − ½ rho (m − m')ᵀ(S + S')⁻¹(m − m').

    Examples
    --------
    >>> from gramian.kernels import ProbabilityProduct
    >>> ProbabilityProduct()([[0.5, 0.5, 0.0], [0.0, 2.0, 2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> ProbabilityProduct()([([0.0], [[1.0]]), ([2.0], [[1.0]])]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    rho: float = 0.5

    def __post_init__(self) -> None:
        refuse_unless(self, "rho", self.rho, 0, open_=True)

    def points(self, X: Any) -> Vectors | Gaussians:
        if isinstance(X, Gaussians):
            return X
        pairs = _pairs(X)
        if pairs is not None:
            return _gaussians(*pairs)
        P = _histograms(vectors(X).X)
        return Vectors(P.power(float(self.rho)) if sp.issparse(P) else P ** float(self.rho))

    def block(self, A: Any, B: Any) -> Floats:
        if isinstance(A, Gaussians) != isinstance(B, Gaussians):
            raise ValueError("One of X and Z has histograms and the other has (mean, covariance) pairs.")
        if not isinstance(A, Gaussians):
            return products(A, B)
        if A.means.shape[1] != B.means.shape[1]:
            raise ValueError(f"X has means of {A.means.shape[1]} numbers and Z of {B.means.shape[1]}.")
        out = np.empty((len(A), len(B)))
        step = max(MAX_CELLS // max(B.covariances.size, 1), 1)
        for i in range(0, len(A), step):
            rows = A[i : i + step]
            out[i : i + step] = self._overlap(rows[:, None], B[None])
        return out

    def diag(self, A: Any) -> Floats:
        return self._overlap(A, A) if isinstance(A, Gaussians) else square_norms(A.X)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """p^rho of every cell of histograms; Gaussians have no finite list."""
        points = self.points(X)
        return super().features(X, terms) if isinstance(points, Gaussians) else points.dense()

    def proof(self) -> Validity:
        return proven(self, "the inner product of the functions p^rho")

    def _overlap(self, A: Gaussians, B: Gaussians) -> Floats:
        rho, d = float(self.rho), A.means.shape[-1]
        root = np.linalg.cholesky(A.covariances + B.covariances)
        apart = np.linalg.solve(root, (A.means - B.means)[..., None])[..., 0]
        log = 0.5 * (1 - 2 * rho) * d * np.log(2 * np.pi) - 0.5 * d * np.log(rho)
        log = log + 0.5 * (1 - rho) * (A.log_determinants + B.log_determinants)
        log = log - np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(np.exp(log - 0.5 * rho * (apart**2).sum(axis=-1)))


def _histograms(X: Any) -> Any:
    """Rows divided by their sums; refused where a number is negative or a row is zero."""
    least, most = (_by_row(X.min(axis=1)), _by_row(X.max(axis=1)))
    if (least < 0).any():
        row = int(np.argmax(least < 0))
        raise ValueError(f"Row {row} has the negative number {least[row]:g}; a histogram has none.")
    if not (most > 0).all():
        raise ValueError(f"Row {int(np.argmin(most > 0))} is all zero; a histogram needs at least one positive number.")
    scaled = _divided(X, most)  # so that sums of huge or tiny numbers stay in range
    return _divided(scaled, _by_row(scaled.sum(axis=1)))


def _by_row(values: Any) -> Floats:
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64).reshape(-1)


def _divided(X: Any, by: Floats) -> Any:
    if not sp.issparse(X):
        return X / by[:, None]
    return sp.csr_matrix((X.data / np.repeat(by, np.diff(X.indptr)), X.indices, X.indptr), X.shape)


def _pairs(X: Any) -> tuple[list[Any], list[Any]] | None:
    """Means and covariances, where X are such pairs; None where its rows are numbers."""
    if isinstance(X, tuple) and len(X) == 2 and np.ndim(X[0]) == 2 and np.ndim(X[1]) == 3:
        if len(X[0]) != len(X[1]):
            raise ValueError(f"There are {len(X[0])} means and {len(X[1])} covariances; give one of each.")
        return list(X[0]), list(X[1])
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 2:
        X = [tuple(row) for row in X]
    if not isinstance(X, list | tuple) or not X or not any(_is_pair(row) for row in X):
        return None
    for i, row in enumerate(X):
        if not _is_pair(row):
            raise ValueError(f"Row {i} is no pair (mean, covariance matrix), and other rows are.")
    return [row[0] for row in X], [row[1] for row in X]


def _is_pair(row: Any) -> bool:
    if not isinstance(row, list | tuple) or len(row) != 2:
        return False
    covariance = row[1]
    return (covariance.ndim if hasattr(covariance, "ndim") else _depth(covariance)) == 2


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, list | tuple) and len(value) else 0


def _gaussians(means: list[Any], covariances: list[Any]) -> Gaussians:
    m = [np.atleast_1d(np.asarray(mean, dtype=np.float64)) for mean in means]
    S = [np.asarray(covariance, dtype=np.float64) for covariance in covariances]
    d = m[0].size
    for i, (mean, covariance) in enumerate(zip(m, S, strict=True)):
        if mean.shape != (d,) or covariance.shape != (d, d):
            raise ValueError(
                f"Row {i} has a mean of shape {mean.shape} and a covariance of shape {covariance.shape}; "
                f"they must be ({d},) and ({d}, {d}), as in row 0."
            )
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise ValueError(f"Row {i} has a mean or a covariance that is not finite.")
        judged = definiteness(covariance)
        if judged.asymmetry > ROUNDING:
            raise ValueError(f"The covariance of row {i} is not symmetric.")
        if judged.smallest <= d * np.finfo(float).eps:
            raise ValueError(
                f"The covariance of row {i} is not positive definite (smallest eigenvalue {judged.smallest:.3g} in "
                "units of its diagonal); add a small multiple of the identity."
            )
    stacked = np.stack(S)
    roots = np.linalg.cholesky(stacked)
    log = 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    return Gaussians(np.stack(m), stacked, log)

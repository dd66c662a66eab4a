"""Approximate feature maps of kernels: Nyström features of landmarks, and random Fourier features."""

from abc import abstractmethod
from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
import scipy.linalg as sl
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.random import legacy_generator_from
from gramian._core.types import Floats, Ints
from gramian._core.validation import choice, flag
from gramian.kernels.base import Kernel
from gramian.kernels.input import read_points
from gramian.kernels.lowrank.landmarks import chosen_pivots
from gramian.kernels.lowrank.mapped_rows import MappedRows
from gramian.kernels.named import kernel_of
from gramian.kernels.representation import Landmarks
from gramian.kernels.vectors.stationary import Stationary
from gramian.rows import Block, MemoryRows, parallel_map, single_threaded_blas

METHODS = ("pivots", "uniform", "k-means++", "leverage")
PANEL_ROWS = 2048
UNKNOWN_SPECTRUM = "{!r} has no known spectrum: RandomFourier takes RBF, Laplacian, Matern and RationalQuadratic."


def counted(X: Any) -> Any:
    """Rows that count, where they bring their weights; anything else as it is."""
    if not isinstance(X, MemoryRows):
        return X
    block = X.collect()
    return block.X if block.weight is None else block.X[block.weight > 0]


class _Approximation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Points read as everywhere, and features made panel by panel."""

    kernel: Any
    n_components: Any
    kernel_: Kernel

    def _count(self) -> int:
        count = self.n_components
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"n_components is {count!r}; it must be a whole number of at least 1.")
        return int(count)

    def transform(self, X: Any) -> Floats:
        """Features (n, n_components) of new points."""
        check_is_fitted(self)
        points = read_points(self, X, self.kernel_, reset=False)
        with single_threaded_blas():
            parts = parallel_map(
                lambda i: self._features(points[i : i + PANEL_ROWS]), range(0, len(points), PANEL_ROWS)
            )
        return np.concatenate(parts)

    @abstractmethod
    def _features(self, points: Any) -> Floats:
        """Features of prepared points."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@estimator
class Nystroem(_Approximation):
    """Features from landmarks: φ(x) = R⁻ᵀ k(P, x) with K_PP = RᵀR, so that φ(x)ᵀφ(x') is k where one is a landmark.

    Parameters
    ----------
    kernel : str or Kernel
    n_components : int
        Landmarks.
    method : "pivots", "uniform", "k-means++" or "leverage"
        Rows drawn by what is not yet explained of them, evenly, far from each other in the feature space, or by their
        influence on a ridge regression.
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    kernel_ : the kernel as fitted; landmarks_ : array (r,), the rows chosen
    representation_ : Landmarks
        The landmark points with the kernel.
    error_ : float
        Share of the trace of the kernel matrix that the features lack; of very many rows, of those that pivots are
        chosen from.

    Notes
    -----
    n × r numbers of the kernel, never all at once, and nothing of size n × n. A transform takes n r² multiplications.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> map = gm.Nystroem(gm.kernels.RBF(1.0), n_components=4).fit(X)
    >>> F = map.transform(X)
    >>> bool(abs(F @ F.T - gm.kernels.RBF(1.0)(X)).max() < 1e-8)
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    n_components: int = 100
    method: str = "pivots"
    random_state: Any = None
    representation_: Landmarks = field(init=False)

    def fit(self, X: Any, y: Any = None) -> "Nystroem":
        """Choose the landmarks; y is ignored, as pipelines give it."""
        forget_fit(self)
        choice("method", self.method, METHODS)
        count = self._count()
        X = counted(X)
        self.kernel_ = kernel_of(self.kernel).fitted(X)
        points = read_points(self, X, self.kernel_, reset=True)
        count = min(count, len(points))
        rng = legacy_generator_from(self.random_state)
        with single_threaded_blas():
            if self.method == "pivots":
                self.representation_ = chosen_pivots(self.kernel_, points, count, seed=int(rng.randint(2**31 - 1)))
            else:
                self.representation_ = _landmarks(self.kernel_, points, self._rows(points, count, rng))
        self.landmarks_, self.error_ = self.representation_.index, self.representation_.unexplained
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.landmarks_)

    def _rows(self, points: Any, count: int, rng: Any) -> Ints:
        n = len(points)
        if self.method == "uniform":
            return np.sort(rng.choice(n, count, replace=False))
        if self.method == "k-means++":
            return _far_apart(self.kernel_, points, count, rng)
        return _by_leverage(self.kernel_, points, count, rng)

    def _features(self, points: Any) -> Floats:
        return self.representation_.features(points)


def _landmarks(kernel: Kernel, points: Any, index: Ints) -> Landmarks:
    """The map of given rows; those that the others explain are left out."""
    chosen = points[index]
    K = kernel.block(chosen, chosen)
    order = _independent_rows(K)
    index, K = index[order], K[np.ix_(order, order)]
    R = sl.cholesky(K + 1e-14 * np.trace(K) / max(len(K), 1) * np.eye(len(K)), lower=False)
    landmarks = Landmarks(kernel, points[index], index, R, 0.0)
    diagonal = kernel.diag(points)
    explained = MappedRows(points, len(index), landmarks.features).sum(lambda block: float((block.X**2).sum()))
    unexplained = max(1.0 - explained / (float(diagonal.sum()) or 1.0), 0.0)
    return Landmarks(kernel, landmarks.points, index, R, unexplained)


def _independent_rows(K: Floats) -> Ints:
    """Rows in the order of a pivoted Cholesky factor, up to its rank."""
    _, order, rank, _ = sl.lapack.dpstrf(K, lower=0, tol=1e-12 * max(float(np.diagonal(K).max()), 1e-300))
    return np.sort(order[:rank] - 1).astype(np.int64)


def _far_apart(kernel: Kernel, points: Any, count: int, rng: Any) -> Ints:
    """Rows drawn with the square of their distance, in the feature space, from those before."""
    own = kernel.diag(points)
    chosen = [int(rng.randint(len(points)))]
    least = np.full(len(points), np.inf)
    while len(chosen) < count:
        last = chosen[-1]
        away = own + own[last] - 2.0 * kernel.block(points, points[last : last + 1])[:, 0]
        least = np.minimum(least, np.maximum(away, 0.0))
        least[chosen] = 0.0
        if least.sum() <= 0:
            break
        chosen.append(int(rng.choice(len(points), p=least / least.sum())))
    return np.sort(np.array(chosen, dtype=np.int64))


def _by_leverage(kernel: Kernel, points: Any, count: int, rng: Any) -> Ints:
    """Rows drawn by their ridge leverage scores, from a first map of evenly drawn rows."""
    n = len(points)
    first = _landmarks(kernel, points, np.sort(rng.choice(n, min(n, 2 * count), replace=False)))
    rows = MappedRows(points, len(first.index), first.features)
    gram = np.asarray(rows.sum(lambda block: block.X.T @ block.X))
    penalty = max(float(np.trace(gram)) / count, 1e-300)
    root = sl.cholesky(gram + penalty * np.eye(len(gram)), lower=True)

    def influence(block: Block) -> list[Floats]:
        return [(sl.solve_triangular(root, block.X.T, lower=True, check_finite=False) ** 2).sum(axis=0)]

    scores = np.maximum(np.concatenate(rows.sum(influence)), 1e-12)
    return np.sort(rng.choice(n, count, replace=False, p=scores / scores.sum()))


@estimator
class RandomFourier(_Approximation):
    """Random Fourier features: φ(x) = √(2/D) [cos(wᵀx), sin(wᵀx)] for D/2 frequencies w of its spectrum.

    Parameters
    ----------
    kernel : "rbf", "laplacian", "matern", "rational_quadratic", or `RBF`, `Laplacian`, `Matern`, `RationalQuadratic`
    n_components : int
        Features D; of an odd number the last is a cosine of random phase.
    orthogonal : bool
        Frequencies at right angles to each other, which lowers the error (Gaussian kernel).
    random_state : int, RandomState or Generator, optional

    Attributes
    ----------
    kernel_ : the kernel as fitted; frequencies_ : array (d, D/2)

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0], [1.0], [2.0]]
    >>> map = gm.RandomFourier(gm.kernels.RBF(1.0), n_components=2000, random_state=0).fit(X)
    >>> F = map.transform(X)
    >>> bool(abs(F @ F.T - gm.kernels.RBF(1.0)(X)).max() < map.error_bound())
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    n_components: int = 100
    orthogonal: bool = False
    random_state: Any = None
    _width: int = field(init=False)
    _phase: float = field(init=False)

    def fit(self, X: Any, y: Any = None) -> "RandomFourier":
        """Draw the frequencies; y is ignored, as pipelines give it."""
        forget_fit(self)
        count = self._count()
        flag("orthogonal", self.orthogonal)
        X = counted(X)
        self.kernel_ = kernel_of(self.kernel).fitted(X)
        points = read_points(self, X, self.kernel_, reset=True)
        rng = legacy_generator_from(self.random_state)
        kernel = self.kernel_
        L = getattr(kernel, "factor", None)  # of a metric: features of Lx
        d, half = points.d if L is None else len(L), -(-count // 2)
        if not isinstance(kernel, Stationary):
            raise ValueError(UNKNOWN_SPECTRUM.format(kernel))
        if self.orthogonal and not kernel.is_isotropic:
            raise ValueError("orthogonal=True is for the Gaussian and Matérn kernels.")

        def normal() -> Floats:
            return _directions(d, half, rng) if self.orthogonal else np.asarray(rng.standard_normal((d, half)))

        W = kernel.frequencies(normal, rng, (d, half))
        if W is None:
            raise ValueError(UNKNOWN_SPECTRUM.format(kernel))
        W = W / np.broadcast_to(np.atleast_1d(kernel.scale), d)[:, None]
        self.frequencies_ = W if L is None else L.T @ W
        self._width, self._phase = count, float(rng.uniform(0.0, 2.0 * np.pi))
        return self

    @property
    def _n_features_out(self) -> int:
        return self._width

    def _features(self, points: Any) -> Floats:
        phase = np.asarray(points.X @ self.frequencies_)
        pairs = self._width // 2
        cosines = [np.cos(phase[:, :pairs]), np.sin(phase[:, :pairs]), np.cos(phase[:, pairs:] + self._phase)]
        return np.hstack(cosines) * np.sqrt(2.0 / self._width)

    def error_bound(self, delta: float = 0.05) -> float:
        """What the error of one pair exceeds with probability delta at most (Hoeffding): √(4 log(2/delta) / D)."""
        check_is_fitted(self)
        if not 0 < delta < 1:
            raise ValueError(f"delta is {delta!r}; a probability is between 0 and 1.")
        return float(np.sqrt(4.0 * np.log(2.0 / delta) / self._width))


def _directions(d: int, count: int, rng: Any) -> Floats:
    """Columns at right angles within each run of d, with the lengths of normal vectors."""
    blocks = []
    for _ in range(-(-count // d)):
        Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        blocks.append(Q * np.sqrt(rng.chisquare(d, d)))
    return np.hstack(blocks)[:, :count]

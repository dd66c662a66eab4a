"""Kernels of the difference of two rows, in units of a length scale."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_number
from gramian.kernels.base import Kernel
from gramian.kernels.numerics.distances import (
    MEDIAN_ROWS,
    city_distances,
    distances,
    distinct_rows,
    exponential,
    gaussian,
    gaussian_times,
    gaussian_times_among,
    median_distance,
)
from gramian.kernels.parameters import refuse_unless, scales_of
from gramian.kernels.points import Vectors, vectors
from gramian.kernels.validity.proof import Validity, proven, refuted
from gramian.kernels.vectors.mahalanobis import LEARNED, factor_of, transformed, written

MIN_DISTANCE = 1e-8  # of a pair whose direction is known, in units of the length scale


class Stationary(Kernel):
    """A kernel of (x − x') / length_scale that is 1 where x = x'."""

    length_scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "length_scale", scales_of(self, "length_scale", self.length_scale, auto=True))

    @property
    def scale(self) -> Floats:
        """One number, or one for each column."""
        if isinstance(self.length_scale, str):
            raise ValueError(f"length_scale of {self!r} is not set yet; call k.fitted(X) first and use that.")
        return np.atleast_1d(np.asarray(self.length_scale, dtype=np.float64))

    def waits_for(self) -> str | None:
        return f"length_scale of {self!r} is set from the data" if isinstance(self.length_scale, str) else None

    def fitted(self, X: Any, weight: Any = None) -> Kernel:
        if self.waits_for() is None:
            return self
        return replace(self, length_scale=self._median(vectors(X), weight))  # type: ignore[type-var]

    def diag(self, A: Vectors) -> Floats:
        return np.ones(len(A))

    is_isotropic: ClassVar[bool] = True

    def frequencies(self, normal: Callable[[], Floats], rng: Any, shape: tuple[int, int]) -> Floats | None:
        """Frequencies (d, m) drawn from the spectrum at length scale 1; None where it is not known.

        `normal` draws those of the Gaussian kernel, of which random Fourier features of others are made.
        """
        return None

    def _median(self, A: Vectors, weight: Any) -> float:
        return median_distance(A, distances, weight)


class Mahalanobis(Stationary):
    """A stationary kernel that may measure distances by a matrix M: ‖x − x'‖² = (x − x')ᵀM(x − x')."""

    metric: Any
    factor: Floats | None

    def __post_init__(self) -> None:
        super().__post_init__()
        factor = None
        if isinstance(self.metric, str) and self.metric != LEARNED:
            raise ValueError(
                f"metric of {type(self).__name__} is {self.metric!r}; it must be None, {LEARNED!r} or a matrix."
            )
        if self.metric is not None and not isinstance(self.length_scale, str) and np.ndim(self.length_scale):
            raise ValueError(
                f"length_scale of {type(self).__name__} must be one number beside a metric, which has all."
            )
        if self.metric is not None and not isinstance(self.metric, str):
            M = np.asarray(self.metric)
            factor = factor_of(self, M)
            object.__setattr__(self, "metric", M)
        object.__setattr__(self, "factor", factor)

    @property
    def learns(self) -> bool:
        """Whether the metric is still to be learned from a target."""
        return isinstance(self.metric, str)

    def waits_for(self) -> str | None:
        return f"metric of {self!r} is learned from a target" if self.learns else super().waits_for()

    def fitted(self, X: Any, weight: Any = None) -> Kernel:
        if self.learns:
            raise ValueError(
                f"metric of {self!r} is learned from a target, by a model whose whole kernel this is: fit "
                f"gm.Ridge(kernel={self!r}) to X and y, and use its kernel_ here."
            )
        return super().fitted(X, weight)

    def transformed(self, A: Vectors, B: Vectors) -> tuple[Vectors, Vectors]:
        """Rows whose plain distances are those of the metric."""
        if self.learns:
            self.fitted(None)
        return (A, B) if self.factor is None else transformed(A, B, self.factor)

    @abstractmethod
    def slope(self, A: Vectors, B: Vectors) -> Floats:
        """s(x, x') with ∂k/∂x = −s(x, x') M (x − x'); 0 where k has no gradient."""

    def text(self) -> tuple[str, int]:
        plain, level = super().text()
        return (plain if self.metric is None else f"{plain[:-1]}, metric={written(self.metric)})"), level

    def _median(self, A: Vectors, weight: Any) -> float:
        index, weight = distinct_rows(A, weight, MEDIAN_ROWS)
        rows = Vectors(A.X[index])
        return median_distance(self.transformed(rows, rows)[0], distances, weight)


@dataclass(frozen=True, eq=False, repr=False)
class RBF(Mahalanobis):
    """The Gaussian kernel: k(x, x') = exp(−‖x − x'‖² / (2h²)).

    Smooth functions, nearly uncorrelated beyond a few length scales h. One matrix product, and one exponential a pair.

    Parameters
    ----------
    length_scale : float, one per feature, or "auto"
        h; with one per feature the differences are divided one by one. "auto" is the median distance between the rows
        (1000 distinct ones if there are more; weighted as they are), set by `fitted(X)`, or by `k(X)` from X.
    metric : None, array (d, d) or "learned"
        M of ‖x − x'‖² = (x − x')ᵀM(x − x'), symmetric and positive semi-definite; None is the identity. "learned" is
        learned by the model that is fitted with this kernel, which then has it in `kernel_`: directions along which the
        target changes much are long (recursive feature machines). The scale of M is learned with it.

    Examples
    --------
    >>> RBF(2.0)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> RBF("auto").fitted([[0.0], [3.0]])
    RBF(length_scale=3.0)
    >>> RBF(2.0, metric=[[1.0, 0.0], [0.0, 0.0]])([[0.0, 7.0], [2.0, 5.0]]).round(3)  # the second column is nothing
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    length_scale: Any = 1.0
    metric: Any = field(default=None, repr=False)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return gaussian(*self.transformed(A, B), np.sqrt(2.0) * self.scale)

    def slope(self, A: Vectors, B: Vectors) -> Floats:
        K = self.block(A, B)
        K /= self.scale[0] ** 2
        return K

    def times(self, A: Vectors, B: Vectors, weight: Floats) -> Floats:
        product = gaussian_times(*self.transformed(A, B), np.sqrt(2.0) * self.scale, weight)
        return super().times(A, B, weight) if product is None else product

    def times_among(self, A: Vectors, weight: Floats) -> Floats:
        product = gaussian_times_among(self.transformed(A, A)[0], np.sqrt(2.0) * self.scale, weight)
        return super().times_among(A, weight) if product is None else product

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """The first `terms` of the series in one dimension: xⁱ exp(−x²/2) / √i! with x in units of the length scale.

        Without `terms`, as many as make `truncation_error` at most 1e-12.
        """
        from gramian.kernels.lowrank.feature_maps import gaussian_series, terms_for

        x = self._one_column(X)
        return gaussian_series(x, terms_for(x) if terms is None else terms)

    def frequencies(self, normal: Callable[[], Floats], rng: Any, shape: tuple[int, int]) -> Floats:
        return normal()

    def truncation_error(self, X: Any, terms: int) -> float:
        """The largest error of any product of two rows of `features(X, terms)`: P(Poisson(max x²/h²) ≥ terms).

        >>> RBF(1.0).truncation_error([[0.0], [1.0]], 10) < 2e-7
        True
        """
        from gramian.kernels.lowrank.feature_maps import series_error

        return series_error(self._one_column(X), terms)

    def proof(self) -> Validity:
        if self.metric is None:
            return proven(self, "the Fourier transform of a Gaussian is positive")
        return proven(self, "the Gaussian kernel of Lx, where LᵀL is the metric, which is positive semi-definite")

    def _one_column(self, X: Any) -> Floats:
        A = vectors(X)
        if A.d != 1:
            raise ValueError(
                f"The Gaussian kernel's series is for one column, and X has {A.d}; use RBF(h).on(column), or products "
                "of such kernels."
            )
        if self.learns:
            self.fitted(None)
        return A.dense()[:, 0] / self.scale[0] * (1.0 if self.factor is None else float(self.factor[0, 0]))


@dataclass(frozen=True, eq=False, repr=False)
class Laplacian(Mahalanobis):
    """The Laplacian kernel: k(x, x') = exp(−‖x − x'‖₁ / h).

    Continuous functions that need not be differentiable. `length_scale` as for `RBF`; "auto" is the median of
    ‖x − x'‖₁.

    With a `metric` M, as for `RBF`, the distance is √((x − x')ᵀM(x − x')) instead of a sum over columns, so that no
    axis is special: exp(−‖x − x'‖ / h) where M is the identity, which is not the kernel without a metric.

    >>> X = [[0.0, 0.0], [3.0, 4.0]]
    >>> Laplacian(7.0)(X)[0, 1].round(3), Laplacian(5.0, metric=np.eye(2))(X)[0, 1].round(3)
    (np.float64(0.368), np.float64(0.368))
    """

    length_scale: Any = 1.0
    metric: Any = field(default=None, repr=False)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        D = city_distances(A, B, self.scale) if self.metric is None else distances(*self.transformed(A, B), self.scale)
        return exponential(np.negative(D, out=D))

    @property
    def is_isotropic(self) -> bool:  # type: ignore[override]
        return self.metric is not None

    def frequencies(self, normal: Callable[[], Floats], rng: Any, shape: tuple[int, int]) -> Floats:
        return of_student_t(normal(), 0.5, rng) if self.is_isotropic else np.asarray(rng.standard_cauchy(shape))

    def slope(self, A: Vectors, B: Vectors) -> Floats:
        if self.metric is None:
            raise ValueError("Without a metric the Laplacian kernel has no gradient along M (x − x').")
        D = distances(*self.transformed(A, B), self.scale)
        far = np.where(D > MIN_DISTANCE, D, np.inf)
        return exponential(np.negative(D, out=D)) / (far * self.scale[0] ** 2)

    def proof(self) -> Validity:
        if self.metric is not None:
            return proven(
                self,
                "exp(−‖Lx − Lx'‖ / h), where LᵀL is the metric, which is positive semi-definite: the Matérn kernel of "
                "Lx with ν = ½, whose Fourier transform is positive",
            )
        return proven(self, "a product over the columns of exp(−|x − x'| / h), whose Fourier transform is positive")

    def _median(self, A: Vectors, weight: Any) -> float:
        return median_distance(A, city_distances, weight) if self.metric is None else super()._median(A, weight)


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Stationary):
    """The Matérn kernel: 2^(1−ν) / Γ(ν) · s^ν K_ν(s) with s = √(2ν) ‖x − x'‖ / h.

    Functions with as many derivatives as the integer below ν. ν = ½, 1½, 2½ and ∞ (the Gaussian kernel) cost one
    exponential for each pair, others a Bessel function. `length_scale` as for `RBF`.

    >>> Matern(2.0, nu=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    length_scale: Any = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.nu) and self.nu > 0):
            raise ValueError(f"nu of Matern is {self.nu!r}; it must be a positive number or infinity.")

    def block(self, A: Vectors, B: Vectors) -> Floats:
        if self.nu == np.inf:
            return gaussian(A, B, np.sqrt(2.0) * self.scale)
        s = distances(A, B, self.scale / np.sqrt(2.0 * self.nu))
        if self.nu not in (0.5, 1.5, 2.5):
            return _bessel(s, float(self.nu))
        K = exponential(-s)  # 0 beyond a thousand, where the polynomial might overflow
        if self.nu == 1.5:
            K *= 1.0 + np.minimum(s, 1e3)
        elif self.nu == 2.5:
            s = np.minimum(s, 1e3)
            K *= 1.0 + s + s * s / 3.0
        return K

    def frequencies(self, normal: Callable[[], Floats], rng: Any, shape: tuple[int, int]) -> Floats:
        return normal() if self.nu == np.inf else of_student_t(normal(), float(self.nu), rng)

    def proof(self) -> Validity:
        return proven(self, "its Fourier transform, a power of 1 / (1 + ω²h²/2ν), is positive")


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Stationary):
    """The rational quadratic kernel: (1 + ‖x − x'‖² / (2 · mixture · h²))^(−mixture).

    A mixture of Gaussian kernels over their length scales, so of functions that vary at several scales; as `mixture`
    grows it becomes the Gaussian kernel of length scale h. `length_scale` as for `RBF`.

    >>> RationalQuadratic(2.0, mixture=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    length_scale: Any = 1.0
    mixture: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(self, "mixture", self.mixture, 0, open_=True)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        s = distances(A, B, self.scale * np.sqrt(2.0 * self.mixture))
        with np.errstate(over="ignore"):
            return exponential(-self.mixture * np.log1p(s * s))

    def frequencies(self, normal: Callable[[], Floats], rng: Any, shape: tuple[int, int]) -> Floats:
        return normal() * np.sqrt(rng.gamma(self.mixture, 1.0 / self.mixture, shape[1]))

    def proof(self) -> Validity:
        return proven(self, "a scale mixture of Gaussian kernels: 1 / (length scale)² has a gamma distribution")


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Kernel):
    """Functions that repeat: k(x, x') = exp(−2 Σ sin²(π (x − x') / period) / h²), over the columns.

    Both parameters are numbers, or one number for each column.

    >>> Periodic(1.0, period=3.0)([[0.0], [3.0], [1.5]]).round(3)
    array([[1.   , 1.   , 0.135],
           [1.   , 1.   , 0.135],
           [0.135, 0.135, 1.   ]])
    """

    length_scale: Any = 1.0
    period: Any = 1.0

    def __post_init__(self) -> None:
        for name in ("length_scale", "period"):
            object.__setattr__(self, name, scales_of(self, name, getattr(self, name)))

    def points(self, X: Any) -> Vectors:
        """The rows on circles: 4 sin²(θ/2) is a squared distance there."""
        A = vectors(X)
        period = np.atleast_1d(np.asarray(self.period, dtype=np.float64))
        scale = np.atleast_1d(np.asarray(self.length_scale, dtype=np.float64))
        for name, numbers in (("period", period), ("length_scale", scale)):
            if numbers.size not in (1, A.d):
                raise ValueError(f"{name} has {numbers.size} numbers, and X has {A.d} columns; give one for each.")
        angle = 2.0 * np.pi * (np.fmod(A.dense(), period) / period)
        with np.errstate(over="ignore"):
            circles = np.hstack([np.cos(angle) / scale, np.sin(angle) / scale])
        return Vectors(np.clip(circles, -1e150, 1e150))

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return gaussian(A, B, np.array([np.sqrt(2.0)]))

    def diag(self, A: Vectors) -> Floats:
        return np.ones(len(A))

    def proof(self) -> Validity:
        return proven(self, "the Gaussian kernel of points on circles")


@dataclass(frozen=True, eq=False, repr=False)
class GaussianDensity(Kernel):
    """The normal density of the distance: k(x, x') = exp(−(‖x − x'‖ − mean)² / (2σ²)) / √(2πσ²).

    A kernel unless the mean is positive.

    >>> GaussianDensity(1.0)([[0.0], [1.0]]).round(3)
    array([[0.399, 0.242],
           [0.242, 0.399]])
    """

    sigma: float = 1.0
    mean: float = 0.0

    def __post_init__(self) -> None:
        refuse_unless(self, "sigma", self.sigma, 0, open_=True)
        refuse_unless(self, "mean", self.mean, -np.inf, open_=True)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        if self.mean == 0:
            K = gaussian(A, B, np.array([np.sqrt(2.0) * self.sigma]))
        else:
            D = distances(A, B, np.array([float(self.sigma)]))
            D -= self.mean / self.sigma
            D *= D
            D *= -0.5
            K = exponential(D)
        K *= self._height
        return K

    def diag(self, A: Vectors) -> Floats:
        return np.full(len(A), self._height * np.exp(-0.5 * (self.mean / self.sigma) ** 2))

    def proof(self) -> Validity:
        if self.mean == 0:
            return proven(self, "a positive multiple of the Gaussian kernel")
        if self.mean < 0:
            return proven(self, "a positive multiple of the Gaussian kernel times exp(−c ‖x − x'‖)")
        return refuted(self, "k(x, z) exceeds k(x, x) = k(z, z) for rows as far apart as the mean")

    @property
    def _height(self) -> float:
        return float(1.0 / (np.sqrt(2.0 * np.pi) * self.sigma))


def of_student_t(normal: Floats, nu: float, rng: Any) -> Floats:
    """Frequencies of the Matérn kernel, multivariate Student's t with 2ν degrees of freedom, from normal ones."""
    return np.asarray(normal * np.sqrt(2.0 * nu / rng.chisquare(2.0 * nu, normal.shape[1])))


def _bessel(s: Floats, nu: float) -> Floats:
    """2^(1−ν) / Γ(ν) · s^ν K_ν(s), through logarithms; near 0, where K_ν overflows, by its first terms."""
    from scipy.special import gammaln, kve

    with np.errstate(all="ignore"):
        logarithm = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(s) + np.log(kve(nu, s)) - s
        near_zero = np.exp(-s * s / (4.0 * (nu - 1.0))) if nu > 1 else np.ones_like(s)
        return np.asarray(np.where(np.isfinite(logarithm) | (s > 1.0 + nu), np.exp(logarithm), near_zero))

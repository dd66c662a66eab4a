"""Distributions of the target given x, one for each row, and the predictions that are best under them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, ndtr, ndtri, pdtr, stdtr, stdtrit, xlogy

from gramian._core.types import Floats
from gramian.objective import losses


class Distribution(ABC):
    """A distribution for each row; every array has the shape of the predictions, (n,) or (n, t).

    Attributes
    ----------
    mean, std, median, mode : array
    """

    whole: ClassVar[bool] = False  # whether it lives on 0, 1, 2, …

    mean: Floats
    std: Floats
    mode: Floats

    @property
    def median(self) -> Floats:
        return self.quantile(0.5)

    def quantile(self, q: Any) -> Floats:
        """The q-quantile of each row, 0 < q < 1; for several q one row of the answer each."""
        level = np.asarray(q, dtype=np.float64)
        if not ((level > 0) & (level < 1)).all():
            raise ValueError(f"q is {q!r}; quantiles are for numbers between 0 and 1, both excluded.")
        return self._quantile(level.reshape(level.shape + (1,) * len(self._shape)))

    def cdf(self, y: Any) -> Floats:
        """P(target ≤ y) of each row."""
        return self._cdf(self._given(y))

    def log_density(self, y: Any) -> Floats:
        """Logarithm of the density (of the probability, for counts) of each row at y."""
        return self._log(self._given(y))

    def optimal(self, loss: str | float) -> Floats:
        """The prediction of least expected loss: what to say, once it is known what a mistake costs.

        Parameters
        ----------
        loss : "squared", "absolute", "zero_one" or float
            The mean, the median or the mode; a number q is the pinball loss, whose best prediction is the q-quantile.
        """
        if isinstance(loss, str):
            best = {"squared": "mean", "absolute": "median", "zero_one": "mode"}
            if loss not in best:
                raise ValueError(f"loss is {loss!r}; it must be one of {', '.join(map(repr, best))}, or a quantile.")
            return np.asarray(getattr(self, best[loss]))
        return self.quantile(loss)

    def _given(self, y: Any) -> Floats:
        found = np.asarray(y, dtype=np.float64)
        if found.shape not in ((), self._shape):
            raise ValueError(
                f"y has shape {found.shape}; it needs one number for each prediction, shape {self._shape}."
            )
        return np.broadcast_to(found, self._shape)

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, ...]: ...

    @abstractmethod
    def _quantile(self, q: Floats) -> Floats: ...

    @abstractmethod
    def _cdf(self, y: Floats) -> Floats: ...

    @abstractmethod
    def _log(self, y: Floats) -> Floats: ...


class LocationScale(Distribution):
    """location + scale · U for a symmetric U: the element says what U is, the rest is common."""

    location: Floats
    scale: Floats

    @abstractmethod
    def _unit_log(self, u: Floats) -> Floats: ...

    @abstractmethod
    def _unit_cdf(self, u: Floats) -> Floats: ...

    @abstractmethod
    def _unit_quantile(self, q: Floats) -> Floats: ...

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.location.shape

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.location

    @property
    def mode(self) -> Floats:  # type: ignore[override]
        return self.location

    def _u(self, y: Floats) -> Floats:
        """(y − location) / scale; a scale of 0 puts everything on the location."""
        off = y - self.location
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(off == 0, 0.0, off / self.scale)

    def _quantile(self, q: Floats) -> Floats:
        return self.location + self.scale * self._unit_quantile(q)

    def _cdf(self, y: Floats) -> Floats:
        return self._unit_cdf(self._u(y))

    def _log(self, y: Floats) -> Floats:
        u = self._u(y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.where(np.isinf(u), -np.inf, self._unit_log(u) - np.log(self.scale))


@dataclass(frozen=True, eq=False)
class Normal(LocationScale):
    """Normal(location, scale²).

    >>> import numpy as np
    >>> one = Normal(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    >>> one.quantile(0.975).round(2), one.optimal("squared")
    (array([1.96, 4.92]), array([0., 1.]))
    """

    location: Floats
    scale: Floats

    @property
    def std(self) -> Floats:  # type: ignore[override]
        return np.broadcast_to(self.scale, self._shape)

    def _unit_log(self, u: Floats) -> Floats:
        return -0.5 * u**2 - 0.5 * np.log(2.0 * np.pi)

    def _unit_cdf(self, u: Floats) -> Floats:
        return np.asarray(ndtr(u))

    def _unit_quantile(self, q: Floats) -> Floats:
        return np.asarray(ndtri(q))


@dataclass(frozen=True, eq=False)
class StudentT(LocationScale):
    """location + scale · t, Student's t with nu degrees of freedom: no mean for nu ≤ 1, no finite deviation for nu ≤ 2.

    >>> import numpy as np
    >>> StudentT(np.array([0.0]), np.array([2.0]), 4.0).std.round(3)
    array([2.828])
    """

    location: Floats
    scale: Floats
    nu: float

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.location if self.nu > 1 else np.full(self._shape, np.nan)

    @property
    def std(self) -> Floats:  # type: ignore[override]
        if self.nu <= 2:
            return np.full(self._shape, np.inf)
        return np.broadcast_to(self.scale * np.sqrt(self.nu / (self.nu - 2.0)), self._shape)

    def _unit_log(self, u: Floats) -> Floats:
        nu = self.nu
        return -betaln(0.5, nu / 2.0) - 0.5 * np.log(nu) - 0.5 * (nu + 1.0) * np.log1p(u**2 / nu)

    def _unit_cdf(self, u: Floats) -> Floats:
        return np.asarray(stdtr(self.nu, u))

    def _unit_quantile(self, q: Floats) -> Floats:
        return np.where(q == 0.5, 0.0, stdtrit(self.nu, q))  # SciPy's own median is off zero by rounding


@dataclass(frozen=True, eq=False)
class Laplace(LocationScale):
    """Density exp(−|y − location| / scale) / (2 scale).

    >>> import numpy as np
    >>> Laplace(np.array([1.0]), np.array([2.0])).std.round(3)
    array([2.828])
    """

    location: Floats
    scale: Floats

    @property
    def std(self) -> Floats:  # type: ignore[override]
        return np.broadcast_to(np.sqrt(2.0) * self.scale, self._shape)

    def _unit_log(self, u: Floats) -> Floats:
        return -np.abs(u) - np.log(2.0)

    def _unit_cdf(self, u: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(u))
        return np.where(u < 0, tail, 1.0 - tail)

    def _unit_quantile(self, q: Floats) -> Floats:
        return np.where(q < 0.5, np.log(2.0 * np.minimum(q, 0.5)), -np.log(2.0 * np.minimum(1.0 - q, 0.5)))


@dataclass(frozen=True, eq=False)
class Poisson(Distribution):
    """Counts of mean `rate`; fractions have the density that the factorial of a fraction gives.

    >>> import numpy as np
    >>> one = Poisson(np.array([2.5]))
    >>> one.quantile(0.9), one.mode, one.log_density([0])
    (array([5.]), array([2.]), array([-2.5]))
    """

    rate: Floats
    whole: ClassVar[bool] = True

    @classmethod
    def of_log(cls, f: Floats) -> "Poisson":
        """With rates exp(f)."""
        return cls(losses.Poisson().mean(f))

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.rate.shape

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.rate

    @property
    def std(self) -> Floats:  # type: ignore[override]
        return np.sqrt(self.rate)

    @property
    def mode(self) -> Floats:  # type: ignore[override]
        return np.floor(self.rate)

    def _quantile(self, q: Floats) -> Floats:
        return least_whole(lambda y: self._cdf(y) >= q, self.rate + 10.0 * np.sqrt(self.rate) + 60.0 + 0.0 * q)

    def _cdf(self, y: Floats) -> Floats:
        return np.where(y < 0, 0.0, pdtr(np.floor(np.maximum(y, 0.0)), self.rate))

    def _log(self, y: Floats) -> Floats:
        inside = np.maximum(y, 0.0)
        return np.where(y < 0, -np.inf, xlogy(inside, self.rate) - self.rate - gammaln(inside + 1.0))


@dataclass(frozen=True, eq=False)
class Categorical:
    """Probabilities (n, k) of the classes of each row.

    >>> import numpy as np
    >>> one = Categorical(np.array([[0.7, 0.3]]), np.array(["well", "ill"]))
    >>> one.mode, one.optimal([[0, 1], [10, 0]])  # cost[true, decided]: to miss an illness costs ten times as much
    (array(['well'], dtype='<U4'), array(['ill'], dtype='<U4'))
    """

    probabilities: Floats
    classes: NDArray[Any]

    @property
    def mode(self) -> NDArray[Any]:
        return self.classes[self.probabilities.argmax(axis=1)]

    def log_density(self, y: Any) -> Floats:
        """Logarithm of the probability of the classes y, one for each row."""
        given, n = np.asarray(y), len(self.probabilities)
        if given.shape != (n,):
            raise ValueError(f"y has shape {given.shape}; it needs one class for each row, shape ({n},).")
        place = {name: j for j, name in enumerate(self.classes.tolist())}
        strange = [name for name in given.tolist() if name not in place]
        if strange:
            raise ValueError(f"y holds {strange[0]!r}, which is not a class; the classes are {list(place)[:10]}.")
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[np.arange(n), [place[name] for name in given.tolist()]])

    def optimal(self, loss: Any = "zero_one") -> NDArray[Any]:
        """The decision of least expected loss: "zero_one" is the mode; a matrix is cost[true, decided]."""
        if isinstance(loss, str):
            if loss != "zero_one":
                raise ValueError(
                    f'loss is {loss!r}; for classes it must be "zero_one" or a matrix cost[true, decided].'
                )
            return self.mode
        cost, k = np.asarray(loss, dtype=np.float64), len(self.classes)
        if cost.shape != (k, k) or not np.isfinite(cost).all():
            raise ValueError(f"loss has shape {cost.shape}; it must be finite numbers cost[true, decided], ({k}, {k}).")
        return self.classes[(self.probabilities @ cost).argmin(axis=1)]


def least_whole(holds: Callable[[Floats], Any], high: Floats) -> Floats:
    """The least whole number at which a condition holds that stays true from there on, and does at `high`."""
    high = np.ceil(high)
    low = np.full_like(high, -1.0)
    while True:
        middle = np.floor(0.5 * (low + high))
        open_ = (middle > low) & (middle < high)
        if not open_.any():
            return high
        right = holds(middle)
        high, low = np.where(open_ & right, middle, high), np.where(open_ & ~right, middle, low)

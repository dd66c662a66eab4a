"""Distributions of the target given x, one for each row, and the predictions that are best under them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, ndtr, ndtri, pdtr, stdtr, stdtrit, xlogy

from gramian.models.base import LinearModel
from gramian.models.composed import penalty_of
from gramian.models.errors import Covariance
from gramian.objective import losses
from gramian.objective.losses import Loss
from gramian.rows import Block, Rows

Floats = NDArray[np.float64]
REACH = 8.5  # deviations within which a normal is summed up
FINEST, COARSEST = 0.02, 0.8  # steps of that sum, in deviations
POINTS = 512  # pairs of points that stand for a normal of several dimensions
ROUNDING = 4e-15  # of a probability that is a sum
PANEL = 1024  # rows whose covariances are worked on at once


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
        return np.asarray(stdtrit(self.nu, q))


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
        return _least_whole(lambda y: self._cdf(y) >= q, self.rate + 10.0 * np.sqrt(self.rate) + 60.0 + 0.0 * q)

    def _cdf(self, y: Floats) -> Floats:
        return np.where(y < 0, 0.0, pdtr(np.floor(np.maximum(y, 0.0)), self.rate))

    def _log(self, y: Floats) -> Floats:
        inside = np.maximum(y, 0.0)
        return np.where(y < 0, -np.inf, xlogy(inside, self.rate) - self.rate - gammaln(inside + 1.0))


@dataclass(frozen=True, eq=False)
class Averaged(Distribution):
    """A distribution whose f is not known exactly, f ~ Normal(location, spread²): the average of `at(f)`.

    A sum over equal steps of f, whose error falls exponentially with their number; `at` moves to the right with f.

    >>> import numpy as np
    >>> one = Averaged(Poisson.of_log, np.array([0.0]), np.array([0.1]))
    >>> one.mean.round(4), one.std.round(4)  # exp(0.01 / 2), and more than its root
    (array([1.005]), array([1.0076]))
    """

    at: Callable[[Floats], Distribution]
    location: Floats
    spread: Floats
    step: float = 0.1

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.location.shape

    def _each(self) -> list[tuple[float, Distribution]]:
        return [(w, self.at(self.location + z * self.spread)) for z, w in zip(*_steps(self.step), strict=True)]

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return np.asarray(sum(w * one.mean for w, one in self._each()))

    @property
    def std(self) -> Floats:  # type: ignore[override]
        mean = self.mean
        return np.sqrt(sum(w * (one.std**2 + (one.mean - mean) ** 2) for w, one in self._each()))

    @property
    def mode(self) -> Floats:  # type: ignore[override]
        middle = self.at(self.location)
        if not middle.whole:
            return middle.mode  # symmetric about its location, and so is the average
        return _least_whole(lambda y: self._log(y + 1.0) <= self._log(y), self.mean)  # of counts it is below the mean

    def _end(self, side: float) -> Floats:
        return self.location + side * REACH * self.spread

    def _cdf(self, y: Floats) -> Floats:
        return np.asarray(sum(w * one._cdf(y) for w, one in self._each()))

    def _log(self, y: Floats) -> Floats:
        total = np.full(np.broadcast_shapes(y.shape, self._shape), -np.inf)
        for w, one in self._each():
            total = np.logaddexp(total, np.log(w) + one._log(y))
        return total

    def _quantile(self, q: Floats) -> Floats:
        low, high = self.at(self._end(-1.0))._quantile(q), self.at(self._end(1.0))._quantile(q)
        middle = self.at(self.location)
        if middle.whole:
            return _least_whole(lambda y: self._cdf(y) >= q, high)
        y, span = middle._quantile(q), high - low
        for _ in range(100):  # Newton's steps, halving where one would leave the interval
            off = self._cdf(y) - q
            low, high = np.where(off < 0, y, low), np.where(off < 0, high, y)
            step = y - off / np.exp(self._log(y))
            new = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            done = (np.abs(new - y) <= 1e-14 * (np.abs(y) + span)) | (np.abs(off) <= ROUNDING * q)
            y = np.where(done, y, new)
            if done.all():
                break
        return y


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


@dataclass(frozen=True, eq=False)
class Posterior:
    """Coefficients as a normal distribution about their estimate, in units that keep its digits.

    The covariance of [coefficients · scale, prediction at the centre] of m outputs is root rootᵀ.

    Attributes
    ----------
    center, inverse : array (d,)
        z = (x − center) · inverse.
    root : array (m, d + 1, r)
    """

    center: Floats
    inverse: Floats
    root: Floats

    def covariance(self, rows: Rows) -> Floats:
        """Of the m predictions of each row, (n, m, m)."""
        d = len(self.center)

        def of_block(block: Block) -> list[Floats]:
            found = np.empty((len(block), len(self.root), len(self.root)))
            for start in range(0, len(block), PANEL):
                some = slice(start, start + PANEL)
                X = block.X[some].toarray() if sp.issparse(block.X) else np.asarray(block.X[some], dtype=np.float64)
                Z = X * self.inverse - self.center * self.inverse
                K = Z @ self.root[:, :d] + self.root[:, d:]
                found[some] = np.einsum("anr,bnr->nab", K, K)
            return [found]

        return np.concatenate(rows.sum(of_block))

    def outside(self) -> Covariance:
        """The covariance of coefficients and intercepts in the units of the data."""
        m, p, r = self.root.shape
        turned = self.root.copy()
        turned[:, -1] -= np.einsum("d,mdr->mr", self.center * self.inverse, self.root[:, :-1])
        turned[:, :-1] *= self.inverse[:, None]
        flat = turned.reshape(m * p, r)
        return Covariance(flat @ flat.T, m, "posterior")

    @classmethod
    def inside(cls, covariance: Covariance) -> "Posterior":
        """From a covariance in the units of the data: the centre is where the prediction is surest."""
        M = covariance.matrix
        A, b = M[:-1, :-1], M[:-1, -1]
        size = np.sqrt(np.maximum(np.diagonal(A), 0.0))
        over = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        values, vectors = np.linalg.eigh(A * over[:, None] * over)
        keep = values > 1e-13 * max(float(values[-1]), 0.0) * len(values) if len(values) else values > 0
        values, vectors = values[keep], vectors[:, keep]
        pull = vectors.T @ (b * over)
        root = np.zeros((1, len(M), len(values) + 1))
        root[0, :-1, :-1] = vectors * np.sqrt(values)
        root[0, -1, -1] = np.sqrt(max(float(M[-1, -1] - pull @ (pull / values)), 0.0))
        return cls(-(vectors @ (pull / values)) * over, size, root)


def inverse_root(H: Floats) -> Floats:
    """F with FFᵀ = H⁻¹ of a positive H; directions that H says nothing of are left out."""
    diagonal = np.diagonal(H)
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    keep = values > 1e-13 * max(float(values[-1]), 1e-300) * len(values)
    return np.asarray(unit[:, None] * vectors[:, keep] / np.sqrt(values[keep]))


def predictive(loss: Loss, f: Floats, scale: Any, variance: Floats | None) -> Distribution:
    """The distribution of y given its prediction f, whose own variance is averaged over."""
    spread = None if variance is None or not variance.any() else np.sqrt(variance)
    if isinstance(loss, losses.Poisson):
        if spread is None:
            return Poisson.of_log(f)
        bend = float((spread**2 * np.exp(np.minimum(f + 4.0 * spread, 700.0))).max())
        return Averaged(Poisson.of_log, f, spread, min(0.3 / float(spread.max()), 0.74 / np.sqrt(1.0 + bend)))
    width = np.broadcast_to(np.asarray(np.nan if scale is None else scale, dtype=np.float64), f.shape)
    if isinstance(loss, losses.Squared):
        return Normal(f, width if spread is None else np.hypot(width, spread))
    if isinstance(loss, losses.Absolute):
        return Laplace(f, width)
    if isinstance(loss, losses.StudentT):
        if spread is None:
            return StudentT(f, width, loss.nu)
        ratio = float((spread / width).max())
        step = min(0.19 * np.sqrt(loss.nu) / ratio, 0.74 / np.sqrt(1.0 + ratio**2 * (1.0 + 1.0 / loss.nu)))
        return Averaged(partial(_student, width, loss.nu), f, spread, step)
    raise ValueError(
        f"The loss {type(loss).__name__} is not the −log of a density, so it predicts no distribution; Squared, "
        "Absolute, StudentT and Poisson do."
    )


def _student(scale: Floats, nu: float, location: Floats) -> StudentT:
    return StudentT(location, scale, nu)


def average_probabilities(loss: Loss, f: Floats, covariance: Floats | None) -> Floats:
    """Probabilities (n, k) of predictions f (n, m), averaged over their covariance (n, m, m).

    With one output the average is exact to rounding. With several it is taken over fixed points that have the first
    three moments of the normal: an error of some 1e-3 where predictions are uncertain by several units, of 1e-5 where
    by tenths.
    """
    one = f.shape[1] == 1
    plain = loss.probabilities(f[:, 0] if one else f)
    assert plain is not None
    if covariance is None:
        return plain
    found = np.zeros_like(plain)
    if one:
        spread = np.sqrt(covariance[:, 0, 0])
        for z, w in zip(*_steps(0.5 / max(float(spread.max(initial=0.0)), 1e-3)), strict=True):
            found += w * np.asarray(loss.probabilities(f[:, 0] + z * spread))
        return found
    shift = np.eye(f.shape[1]) - 1.0 / f.shape[1]  # the same for all classes: it changes no probability
    values, vectors = np.linalg.eigh(shift @ covariance @ shift)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])[:, :, :0:-1]  # the longest axis first
    for z in _points(f.shape[1] - 1):
        move = root @ z
        found += np.asarray(loss.probabilities(f + move)) + np.asarray(loss.probabilities(f - move))
    return found / (2.0 * POINTS)


def _steps(step: float) -> tuple[Floats, Floats]:
    """Equal steps over a standard normal, and their shares of it."""
    step = float(np.clip(step, FINEST, COARSEST))
    count = int(np.ceil(REACH / step))
    z = step * np.arange(-count, count + 1, dtype=np.float64)
    w = np.exp(-0.5 * z**2)
    w /= w.sum()
    return z, w


def _points(m: int) -> Floats:
    """Points that stand, with their opposites, for a standard normal of m dimensions (Hammersley's, made round)."""
    shares = [(np.arange(POINTS) + 0.5) / POINTS]
    base = 1
    while len(shares) < m:
        base += 1
        if all(base % other for other in range(2, base)):
            shares.append(_reversed_digits(base))
    z = np.asarray(ndtri(np.column_stack(shares)))
    return np.asarray(np.linalg.solve(np.linalg.cholesky(z.T @ z / POINTS), z.T).T)


def _reversed_digits(base: int) -> Floats:
    """1, 2, 3, … mirrored at the point of their digits: evenly spread over 0 … 1."""
    number, found, share = np.arange(1, POINTS + 1), np.zeros(POINTS), 1.0
    while number.any():
        share /= base
        found += share * (number % base)
        number = number // base
    return found


def _least_whole(holds: Callable[[Floats], Any], high: Floats) -> Floats:
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


def of_regressor(model: Any, rows: Rows) -> Distribution:
    """The distribution of the target that a `gm.Regressor` predicts for each row, where its loss is a likelihood.

    The scale of squared and absolute loss is the most likely one, from the mean loss of the training rows. The
    uncertainty of the coefficients is averaged over where `summary()` has standard errors.

    >>> import gramian as gm
    >>> model = gm.Regressor(loss="absolute", penalty=None).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 2.0, 3.0])
    >>> model.predict_distribution([[4.0]]).median.round(6)
    array([4.])
    """
    f, loss = LinearModel.predict(model, rows), model._loss
    scale: Any = getattr(model, "scale_", None)
    if isinstance(loss, losses.Squared | losses.Absolute):
        penalty = penalty_of(model.penalty)
        costs = np.array([penalty.value(c) for c in np.atleast_2d(model.coef_)])
        scale = np.maximum(np.atleast_1d(model.objective_) - model.alpha_ * costs, 0.0)
        scale = np.sqrt(scale) if isinstance(loss, losses.Squared) else scale
    variance = np.zeros((len(f), len(model._covariances)))
    for j, covariance in enumerate(model._covariances):
        if covariance is not None:
            variance[:, j] = Posterior.inside(covariance).covariance(rows)[:, 0, 0]
    return predictive(loss, f, scale, variance.reshape(f.shape))

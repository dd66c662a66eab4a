"""Distributions that take in how well the coefficients are known: averages over their normal distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from gramian._core.types import Floats
from gramian.models.base.distribution import Distribution, Laplace, Normal, Poisson, StudentT, least_whole
from gramian.models.base.errors import Covariance
from gramian.models.base.linear_model import LinearModel
from gramian.objective import losses
from gramian.objective.losses.base import Loss
from gramian.rows import Block, Rows

REACH = 8.5  # deviations within which a normal is summed up
FINEST, COARSEST = 0.02, 0.8  # steps of that sum, in deviations
POINTS = 512  # pairs of points that stand for a normal of several dimensions
ROUNDING = 4e-15  # of a probability that is a sum
PANEL = 1024  # rows whose covariances are worked on at once


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
        return least_whole(lambda y: self._log(y + 1.0) <= self._log(y), self.mean)  # of counts it is below the mean

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
            return least_whole(lambda y: self._cdf(y) >= q, high)
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

    def to_original(self) -> Covariance:
        """The covariance of coefficients and intercepts in the units of the data."""
        m, p, r = self.root.shape
        turned = self.root.copy()
        turned[:, -1] -= np.einsum("d,mdr->mr", self.center * self.inverse, self.root[:, :-1])
        turned[:, :-1] *= self.inverse[:, None]
        flat = turned.reshape(m * p, r)
        return Covariance(flat @ flat.T, m, "posterior")

    @classmethod
    def to_standardized(cls, covariance: Covariance) -> "Posterior":
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
        scale = np.maximum(np.atleast_1d(model._mean_loss), 0.0)
        scale = np.sqrt(scale) if isinstance(loss, losses.Squared) else scale
    variance = np.zeros((len(f), len(model._covariances)))
    for j, covariance in enumerate(model._covariances):
        if covariance is not None:
            variance[:, j] = Posterior.to_standardized(covariance).covariance(rows)[:, 0, 0]
    return predictive(loss, f, scale, variance.reshape(f.shape))

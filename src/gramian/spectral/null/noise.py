"""The variance of noise behind a spectrum, and how far its leading eigenvalues are above it."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gramian._core.types import Floats
from gramian.spectral.null.tracy_widom import largest_of_noise, tail_curvature, tracy_widom

CLEAR = 4.0  # scales of the Tracy–Widom law beyond the edge from which a value is none of noise: p about 1e-4
DOUBT = 3.0  # standard errors of the median that it must differ by from the mean of what is left
LEVEL = 0.05  # p-value below which a value does not count for the noise
ANGLES = 4000


@dataclass(frozen=True, eq=False)
class Noise:
    """Variance of the noise, and the p-value of each eigenvalue as the largest of noise after those before it."""

    variance: float
    p_values: Floats


@dataclass(frozen=True)
class _Spectrum:
    """Eigenvalues (divisor dof) of d columns on dof degrees of freedom; `total` is the sum of all."""

    values: Floats
    total: float
    dof: float
    d: int

    def mean(self, k: int) -> float:
        """Noise by the mean of all but the first k, which hold a row and a column of it each."""
        return self._mean(float(self.values[:k].sum()), k)

    def _mean(self, aside: float, k: int) -> float:
        left = (self.dof - k) * (self.d - k)
        rest = self.total - aside
        return max(rest, 0.0) * self.dof / left if left > 0 and rest > 1e-14 * self.total else 0.0

    def middle(self, k: int) -> tuple[float, float]:
        """Noise by the median of all but the first k, and its relative error."""
        n, p = self.dof - k, self.d - k
        at, error = noise_median(p / n, min(n, p))
        return float(np.median(self.values[k:])) * self.dof / n / at, error

    def agrees(self, k: int, mean: float) -> bool:
        """Whether the median of all but the first k is that of noise."""
        if min(self.dof, self.d) - k < 3:
            return True
        middle, error = self.middle(k)
        return abs(middle - mean) <= DOUBT * error * mean

    def known(self, first: int, last: int, noise: float) -> Floats:
        """p-values of the values first … last − 1 among noise that they have no part in, each after those before it."""
        k, values = np.arange(first, last), self.values[first:last]
        if noise <= 0.0:  # whatever varies is more than that
            return np.where(values > 0, 0.0, 1.0)
        centre, scale = largest_of_noise(self.dof - k, self.d - k)
        return tracy_widom((values * (self.dof / (self.dof - k)) / noise - centre) / scale)[1]

    def own(self, i: int, k: int) -> float:
        """The p-value of value i as the first of what is left without k others, beside the mean of that and itself."""
        value = float(self.values[i])
        noise = self._mean(float(self.values[: k + 1].sum()) - value, k)
        if noise <= 0.0:
            return 0.0 if value > 0 else 1.0
        n, p = self.dof - k, self.d - k
        few, value = min(n, p), value * self.dof / n
        if few < 2:
            return 1.0  # one value is its own mean
        if few < 3:
            share = min(max(value / (noise * p), 0.5), 1.0)  # of two values, whose law is known exactly
            return float((4.0 * share * (1.0 - share)) ** (0.5 * (max(n, p) - 1.0)))
        centre, scale = (float(part) for part in largest_of_noise(n, p))
        excess = (value / noise - centre) / scale
        # A value that is large raises the mean that it is compared with, so that it spreads less (Nadler).
        less = (centre / scale) ** 2 / (n * p) * tail_curvature(excess)
        factor = 1.0 - less if less < 0.5 else 0.5 * np.exp(1.0 - 2.0 * less)
        return float(min(tracy_widom(excess)[1][0] * factor, 1.0))


def noise_of(values: Floats, total: float, dof: float, d: int, *, complete: bool) -> Noise:
    """From eigenvalues (divisor dof), of which all are known, or the first.

    The noise is the mean of what is left after the fewest leading values such that the rest looks like noise: its first
    is not significant, and its median agrees with its mean. Where that is so of no half of the values, noise is not of
    one size: it is then the median of all over that of the Marchenko–Pastur law, or the mean of what is not clearly
    beyond the edge, if that is more.
    """
    table = _Spectrum(values, total, dof, d)
    most = len(values) // 2 if complete else len(values)
    for k in range(most + 1):
        if k < len(values) and table.own(k, k) < LEVEL:
            continue
        noise = table.mean(k)
        if not complete or table.agrees(k, noise):
            beside = [table.own(i, k - 1) for i in range(k)]
            if k < len(values):
                beside.append(table.own(k, k))
            later = table.known(k + 1, len(values), noise)
            return Noise(noise, np.maximum.accumulate(np.concatenate([beside, later])))
    noise = table.middle(0)[0]
    centre, scale = largest_of_noise(dof, d)
    noise = max(noise, table.mean(int((values > noise * (centre + CLEAR * scale)).sum())))
    return Noise(noise, np.maximum.accumulate(table.known(0, len(values), noise)))


@lru_cache(maxsize=64)
def _law(ratio: float) -> tuple[float, float]:
    """Median of the Marchenko–Pastur law without its zeros, and its density there."""
    angle = (np.arange(ANGLES) + 0.5) * (np.pi / ANGLES)
    x = 1.0 + ratio - 2.0 * np.sqrt(ratio) * np.cos(angle)
    share = np.sin(angle) ** 2 / x
    share /= share.sum()
    below = np.cumsum(share) - 0.5 * share
    density = share * (ANGLES / np.pi) / (2.0 * np.sqrt(ratio) * np.sin(angle))
    return float(np.interp(0.5, below, x)), float(np.interp(0.5, below, density))


def noise_median(ratio: float, count: float = 1.0) -> tuple[float, float]:
    """Median of `count` eigenvalues, other than 0, of noise of unit variance with d/n = ratio, and its relative error.

    The number of eigenvalues below a point varies by √log(count) / π: they repel each other.

    >>> [round(noise_median(ratio)[0], 4) for ratio in (1.0, 1e-6)]
    [0.6528, 1.0]
    """
    at, density = _law(ratio)
    return at, float(np.sqrt(np.log(max(count, 1.0))) / (np.pi * count * density * at))

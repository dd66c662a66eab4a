"""Rows as points: an origin near them and a power of two, so that single precision is enough to compare distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Singles
from gramian.rows import parallel_map

PANEL_SIZE = 1 << 18  # numbers that a thread reads at once


@dataclass(frozen=True, eq=False)
class ScaledPoints:
    """X, and Z = (X − origin) · scale in single precision, with columns of zeros up to a multiple of four.

    The origin is a multiple of a power of two near the spread of its column, and the scale is a power of two: neither
    rounds anything that matters, so that equal distances stay equal.
    """

    X: NDArray[Any]
    Z: Singles
    origin: Floats
    scale: float

    @classmethod
    def of(
        cls, X: "ScaledPoints | NDArray[Any]", centers: Floats | None = None, *, about_centers: bool = False
    ) -> "ScaledPoints":
        """X as it is where it is prepared already; `centers` have their part in the scale.

        `about_centers` has the origin among them, so that rows far away take no digits from the others.
        """
        if isinstance(X, ScaledPoints):
            return X
        X = np.ascontiguousarray(X, dtype=None if X.dtype == np.float32 else np.float64)
        n, d = X.shape
        panel_rows = max(PANEL_SIZE // max(d, 1), 1)
        starts = range(0, n, panel_rows)
        small = is_small(n * d)
        ranges = (
            [(X.min(axis=0), X.max(axis=0), (X * np.float64(1.0 / n)).sum(axis=0))]
            if small
            else parallel_map(lambda i: _column_ranges(X[i : i + panel_rows], 1.0 / n), starts)
        )
        low, high = np.min([f[0] for f in ranges], axis=0), np.max([f[1] for f in ranges], axis=0)
        mean = np.clip(np.sum([f[2] for f in ranges], axis=0), low, high)
        if centers is not None:
            least, greatest = centers.min(axis=0), centers.max(axis=0)
            low, high = np.minimum(low, least), np.maximum(high, greatest)
        extent = np.maximum(high - mean, mean - low)
        if centers is not None and about_centers:
            mean = np.clip((centers * np.float64(1.0 / len(centers))).sum(axis=0), least, greatest)
            extent = np.maximum(greatest - mean, mean - least)
        unit = np.ldexp(1.0, np.clip(np.frexp(extent)[1] - 1, -1000, 1000))
        origin = np.where(extent > 0, np.rint(mean / unit) * unit, mean)
        origin = np.where(np.isfinite(origin), origin, 0.0)
        largest = float(np.maximum(high - origin, origin - low).max(initial=0.0))
        scale = float(np.ldexp(1.0, int(np.clip(-np.frexp(largest)[1], -1000, 1000)))) if 0 < largest < np.inf else 1.0
        Z = np.zeros((n, -(-d // 4) * 4), dtype=np.float32)
        if small:
            with np.errstate(over="ignore", invalid="ignore"):
                Z[:, :d] = (X - origin) * scale
            return cls(X, Z, origin, scale)
        parallel_map(lambda i: _to_single(X[i : i + panel_rows], origin, scale, Z[i : i + panel_rows]), starts)
        return cls(X, Z, origin, scale)

    def to_standardized(self, centers: Floats) -> Floats:
        """Centres in the coordinates of Z, in double precision."""
        return np.ascontiguousarray((centers - self.origin) * self.scale)

    def to_original(self, centers: Floats) -> Floats:
        """Centres in the coordinates of X."""
        return centers / self.scale + self.origin


@njit(cache=True, nogil=True)
def _column_ranges(X: Any, share: float) -> tuple[Any, Any, Any]:  # pragma: no cover - compiled
    """Least and greatest values of the columns, and their sums times `share`, which do not overflow."""
    n, d = X.shape
    low, high, total = np.empty(d), np.empty(d), np.zeros(d)
    for c in range(d):
        low[c] = X[0, c]
        high[c] = X[0, c]
    for i in range(n):
        x = X[i]
        for c in range(d):
            v, a, b = np.float64(x[c]), low[c], high[c]
            low[c] = v if v < a else a
            high[c] = v if v > b else b
            total[c] += v * share
    return low, high, total


@njit(cache=True, nogil=True)
def _to_single(X: Any, origin: Any, scale: float, Z: Any) -> None:  # pragma: no cover - compiled
    for i in range(len(X)):
        x, z = X[i], Z[i]
        for c in range(len(origin)):
            z[c] = np.float32((x[c] - origin[c]) * scale)
        for c in range(len(origin), len(z)):
            z[c] = np.float32(0.0)

"""Where the columns of a table are, how far they reach, and the coordinates that suit solvers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.features.deviations import means_and_deviations
from gramian.objective.penalties import PenaltyTerms
from gramian.rows import Block, Rows

LOCATED = 5000  # rows that show where columns are
DENSE = 10.0  # deviations between the mean of a sparse column and zero: fewer than one in a hundred is zero


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the columns are and how far they reach, and the sums of the weights and of the target."""

    weight: float
    mean: Floats
    deviation: Floats  # 0 where the column is constant
    target: Floats  # the mean of the target (t,)
    low: float
    high: float
    sparse: bool

    def deviations(self, intercept: bool) -> Floats:
        """Standard deviations of the columns, about zero without an intercept: what `standardize` divides them by."""
        return self.deviation if intercept else np.hypot(self.deviation, self.mean)


def columns_of(rows: Rows) -> Columns:
    """One pass: means and deviations of the columns; refuses numbers that are not finite.

    Of rows that are costly to make, the columns are located by some of them, and none is taken to be constant.
    """
    if rows.basis is not None:
        return _located(rows)

    def of_block(block: Block) -> "_Seen":
        y, w = block.y, block.weight
        assert y is not None
        used = y if w is None else y[w > 0]
        total = y.sum(axis=0) if w is None else w @ y
        low, high = (float(used.min()), float(used.max())) if used.size else (np.inf, -np.inf)
        with np.errstate(invalid="ignore"):
            return _Seen(means_and_deviations(block), total, low, high)

    seen = rows.sum(of_block)
    spread = seen.spread
    if spread.weight == 0:  # a part of a table whose rows all have weight zero
        nothing = np.zeros(rows.d)
        return Columns(0.0, nothing, nothing, np.zeros(len(rows.target_names)), 0.0, 0.0, rows.is_sparse)
    if not np.isfinite(spread.deviation).all() or not np.isfinite(spread.mean).all():
        rows.refuse_nonfinite()
    deviation = np.where(spread.constant, 0.0, spread.deviation)
    target = seen.total / spread.weight
    return Columns(spread.weight, spread.mean, deviation, target, seen.low, seen.high, rows.is_sparse)


def _located(rows: Any) -> Columns:
    some = rows.subset(np.arange(0, rows.n, max(rows.n // LOCATED, 1)))
    some.basis = None
    known = columns_of(some)

    def of_block(block: Block) -> "_Seen":
        y, w = block.y, block.weight
        assert y is not None
        used = y if w is None else y[w > 0]
        low, high = (float(used.min()), float(used.max())) if used.size else (np.inf, -np.inf)
        weight = float(len(y)) if w is None else float(w.sum())
        return _Seen(weight, y.sum(axis=0) if w is None else w @ y, low, high)

    seen = rows.sum(of_block)
    if seen.spread == 0:
        return known
    deviation = np.maximum(known.deviation, 1e-3 * (known.deviation.max(initial=0.0) or 1.0))
    return replace(
        known, weight=seen.spread, deviation=deviation, target=seen.total / seen.spread, low=seen.low, high=seen.high
    )


class _Seen:
    def __init__(self, spread: Any, total: Floats, low: float, high: float) -> None:
        self.spread, self.total, self.low, self.high = spread, total, low, high

    def __add__(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.spread + other.spread, self.total + other.total, min(self.low, other.low), max(self.high, other.high)
        )


def coordinates(columns: Columns, parts: PenaltyTerms | None, intercept: bool) -> tuple[Floats, Floats]:
    """Where each column's zero and unit are: powers of two, so that dividing by them is exact.

    Sparse columns keep their zero unless they hardly ever are zero; the columns of a group share their unit, and an
    unknown penalty keeps the units given.
    """
    mean, deviation = columns.mean, columns.deviation
    center = np.where(np.abs(mean) > DENSE * deviation, mean, 0.0) if columns.sparse else mean.copy()
    if not intercept:
        center[:] = 0.0
    if parts is None:
        return center, np.ones(len(center))
    reach = np.hypot(deviation, mean - center)
    scale = np.ldexp(1.0, np.clip(np.frexp(np.where(reach > 0, reach, 1.0))[1], -1021, 1022))
    for g in parts.groups:
        scale[g] = np.ldexp(1.0, int(np.round(np.mean(np.log2(scale[g])))))
    return center, scale

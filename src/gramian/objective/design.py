"""Where the columns of a table are, how far they reach, and the coordinates that suit solvers."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.penalties import PenaltyTerms
from gramian.rows import Block, Rows

LOCATED = 5000  # rows that show where columns are
FAR = 100.0  # deviations between a column's mean and zero beyond which products of raw columns lose digits
TAME = 2.0**-300, 2.0**300
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
    from gramian.features.deviations import means_and_deviations  # with compiled loops, which closed forms do without

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


class Coordinates:
    """The columns of a problem, the units of its θ and the terms of its penalty: read when they are first asked for.

    Problems that differ in alpha alone share them.

    Attributes
    ----------
    terms : PenaltyTerms or None
        The penalty as it is given: of the columns, or with `standardize` of columns divided by their deviations.
    standardize : bool or array (d,)
        Whether the penalty is of columns divided by their standard deviations; or by these numbers.
    """

    def __init__(
        self,
        rows: Rows,
        terms: PenaltyTerms | None,
        intercept: bool,
        standardize: bool | Floats = False,
        columns: Columns | None = None,
    ) -> None:
        self.rows, self.terms, self.intercept, self.standardize = rows, terms, intercept, standardize
        if columns is not None:
            self.__dict__["columns"] = columns

    @cached_property
    def columns(self) -> Columns:
        return columns_of(self.rows)

    @cached_property
    def deviations(self) -> Floats | None:
        """The deviations that the penalty is of columns divided by; None where it is of the columns as given."""
        if isinstance(self.standardize, bool):
            return self.columns.deviations(self.intercept) if self.standardize else None
        return self.standardize

    @cached_property
    def parts(self) -> PenaltyTerms | None:
        """The terms of the penalty of the coefficients in the units of the data."""
        if self.terms is None or self.deviations is None:
            return self.terms
        return self.terms.of_units(self.scale, self.deviations == 0)

    @cached_property
    def center(self) -> Floats:
        """Where each column's zero is. Sparse columns keep theirs unless they hardly ever are zero."""
        mean, deviation = self.columns.mean, self.columns.deviation
        if not self.intercept:
            return np.zeros(len(mean))
        return np.where(np.abs(mean) > DENSE * deviation, mean, 0.0) if self.columns.sparse else mean.copy()

    @cached_property
    def scale(self) -> Floats:
        """The unit of each column.

        Powers of two, so that dividing by them is exact; the columns of a group share theirs, and an unknown penalty
        keeps the units given. With `standardize` the deviations themselves.
        """
        if self.deviations is not None:
            return np.where(self.deviations == 0, 1.0, self.deviations)
        if self.terms is None:
            return np.ones(len(self.center))
        reach = np.hypot(self.columns.deviation, self.columns.mean - self.center)
        scale = np.ldexp(1.0, np.clip(np.frexp(np.where(reach > 0, reach, 1.0))[1], -1021, 1022))
        for g in self.terms.groups:
            scale[g] = np.ldexp(1.0, int(np.round(np.mean(np.log2(scale[g])))))
        return np.asarray(scale, dtype=np.float64)

    @cached_property
    def inverse(self) -> Floats:
        return 1.0 / self.scale

    @cached_property
    def tame(self) -> bool:
        """Whether differences stay within the float range."""
        within = ((self.scale > TAME[0]) & (self.scale < TAME[1])).all()
        return bool(within and np.abs(self.center).max(initial=0) < TAME[1])

    @cached_property
    def far(self) -> bool:
        """Whether raw products would lose digits."""
        return not self.tame or bool((np.abs(self.center) > FAR * self.scale).any())

    def restricted(self, index: Ints) -> "Coordinates":
        """Those of some columns, of a penalty without groups."""
        found = Coordinates(self.rows, None, self.intercept, False)
        known, parts = self.columns, self.parts
        assert parts is not None
        found.__dict__ |= {
            "columns": replace(known, mean=known.mean[index], deviation=known.deviation[index]),
            "deviations": None if self.deviations is None else self.deviations[index],
            "parts": PenaltyTerms(parts.square[index], parts.l1[index], (), parts.low[index], parts.high[index]),
            "center": self.center[index],
            "scale": self.scale[index],
            "tame": self.tame,
            "far": self.far,
        }
        return found

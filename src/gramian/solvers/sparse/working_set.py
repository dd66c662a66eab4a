"""Lasso and elastic net on the matrix itself, for many more columns than a Gram matrix could have.

Along the path a working set of columns grows: those the sequential strong rule keeps, and those whose correlation with
the residual then proves too large. Only their inner products are computed, each once; the exact active-set solver runs
on them; one product Xᵀr over all columns an alpha certifies the point, and the rule's mistakes are found by it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core import deadline
from gramian._core.types import Bools, Floats, Ints
from gramian.rows import parallel_map
from gramian.solvers.gaps import relative_gap
from gramian.solvers.sparse.active_set import ENDED, FAILED, by_coordinates, descended
from gramian.solvers.sparse.lasso import gap_of

CHUNK = 2048  # columns a thread correlates at once
MOST_EPOCHS, LEAST_EPOCHS, MOST_EPOCH_WORK = 10_000, 50, 2e9  # of coordinate descent, and its multiplications
EPOCHS_PER_CHANGE = 20  # of coordinate descent, for each change of the active set that max_iter allows
MOST_COLUMNS = 8192  # in the working set; beyond it, columns that rest are let go


@dataclass(eq=False)
class Table:
    """n × d features with weights that sum to one, columns centred and scaled on the fly; y is centred.

    With `standardize` columns are divided by their standard deviations, about zero without an intercept.
    """

    X: Any
    y: Floats
    weight: Floats
    intercept: bool
    standardize: bool = False
    mean: Floats = field(init=False)
    y_mean: float = field(init=False)
    by_column: Any = field(init=False)
    unit: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.mean = np.asarray(self.X.T @ self.weight) if self.intercept else np.zeros(self.X.shape[1])
        self.y_mean = float(self.weight @ self.y) if self.intercept else 0.0
        self.y = self.y - self.y_mean
        self.by_column = self.X.tocsc() if sp.issparse(self.X) else self.X
        self.unit = np.ones(self.X.shape[1])
        if self.standardize:
            deviations = np.sqrt(np.maximum(self.squares(), 0.0))
            self.unit = np.where(self.constant, 1.0, deviations)

    def correlations(self, r: Floats) -> Floats:
        """Σ w (x_j − mean_j) r for every column, in its unit."""
        v = self.weight * r
        if sp.issparse(self.X):
            return (np.asarray(self.X.T @ v) - self.mean * v.sum()) / self.unit
        d = self.X.shape[1]
        starts = range(0, d, CHUNK)
        parts = parallel_map(lambda start: v @ self.X[:, start : start + CHUNK], starts)
        return (np.concatenate(parts) - self.mean * v.sum()) / self.unit

    def columns(self, index: Ints) -> Floats:
        """√w (x_j − mean_j) of some columns in their units, one a row."""
        part = self.by_column[:, index]
        part = part.toarray() if sp.issparse(part) else part
        scaled = (part - self.mean[index]) / self.unit[index] * np.sqrt(self.weight)[:, None]
        return np.ascontiguousarray(scaled.T, dtype=np.float64)

    def squares(self) -> Floats:
        """Σ w (x_j − mean_j)²."""
        if sp.issparse(self.X):
            return np.asarray(self.X.multiply(self.X).T @ self.weight) - self.mean**2
        starts = range(0, self.X.shape[1], CHUNK)

        def of_chunk(start: int) -> Floats:
            part = self.X[:, start : start + CHUNK] - self.mean[start : start + CHUNK]
            with np.errstate(over="ignore"):
                return self.weight @ (part * part)

        return np.concatenate(parallel_map(of_chunk, starts))

    @cached_property
    def constant(self) -> Bools:
        """Columns that do not vary by more than rounding."""
        return self.squares() <= (4 * np.finfo(float).eps * self.mean) ** 2


class _WorkingSet:
    """Some columns with their inner products and the state of the active-set solver on them."""

    def __init__(self, table: Table, curved: bool) -> None:
        self.table = table
        self.curved = curved  # an l2 part lets more columns than rows be active
        self.member = np.zeros(table.X.shape[1], dtype=bool)
        self.index = np.zeros(0, dtype=np.int64)
        self.k, self.stale = 0, False
        self._make_room(int(2 ** np.ceil(np.log2(max(64, min(table.X.shape))))))

    def _make_room(self, capacity: int) -> None:
        m, n = len(self.index), len(self.table.y)
        held = self.__dict__.copy()
        self.Z = np.empty((capacity, n))
        self.G = np.empty((capacity, capacity))
        self.L = np.zeros((capacity if self.curved else min(capacity, n + 1),) * 2)
        self.z, self.sign = np.zeros(capacity), np.zeros(capacity)
        self.active, self.place = np.zeros(capacity, dtype=np.int64), np.zeros(capacity, dtype=np.int64)
        if m:
            self.Z[:m], self.G[:m, :m] = held["Z"][:m], held["G"][:m, :m]
            self.L[: self.k, : self.k] = held["L"][: self.k, : self.k]
            for name in ("z", "sign", "active", "place"):
                getattr(self, name)[:m] = held[name][:m]

    def add(self, index: Ints) -> None:
        if len(self.index) + len(index) > MOST_COLUMNS and self.k < len(self.index):
            self._let_go()
        m, count = len(self.index), len(index)
        while m + count > len(self.Z):
            self._make_room(2 * len(self.Z))
        self.Z[m : m + count] = self.table.columns(index)
        new = self.Z[m : m + count]
        starts = range(0, m + count, CHUNK // 4)
        parts = parallel_map(lambda s: new @ self.Z[s : min(s + CHUNK // 4, m + count)].T, starts)
        block = np.hstack(parts)
        self.G[m : m + count, : m + count] = block
        self.G[: m + count, m : m + count] = block.T
        self.index = np.concatenate([self.index, index])
        self.member[index] = True

    def _let_go(self) -> None:
        keep = self.active[: self.k].copy()
        order = np.arange(self.k)
        self.member[:] = False
        self.member[self.index[keep]] = True
        self.Z[: self.k], self.G[: self.k, : self.k] = self.Z[keep], self.G[np.ix_(keep, keep)]
        z, sign = self.z[keep], self.sign[keep]
        self.index = self.index[keep]
        for array, values in ((self.z, z), (self.sign, sign), (self.place, 1), (self.active, order)):
            array[:] = 0
            array[: self.k] = values

    def minimise(self, b: Floats, l1: Floats, l2: Floats, refactor: bool, slack: float, most: int) -> int:
        m = len(self.index)
        if self.stale:  # the factor is not that of the active set, which coordinate descent has left
            self.z[:m][self.place[:m] == 0] = 0.0
            refactor, self.stale = True, False
        self.k, rounds = descended(
            self.G, b, l1, l2, self.z[:m], self.sign[:m], self.active[:m], self.place[:m],
            self.k, self.L, refactor, slack, most,
        )  # fmt: skip
        if rounds == FAILED:
            square = np.ascontiguousarray(self.G[:m, :m])
            epochs = min(MOST_EPOCHS, EPOCHS_PER_CHANGE * most, max(int(MOST_EPOCH_WORK / m**2), LEAST_EPOCHS))
            rounds = by_coordinates(square, b, l1, l2, self.z[:m], slack, epochs)
            self.stale = True
            self.active[: self.k], self.place[:m] = 0, 0
            chosen = np.flatnonzero(self.z[:m])[: len(self.L)]
            self.k = len(chosen)
            self.active[: self.k], self.place[chosen] = chosen, 1
            self.sign[chosen] = np.sign(self.z[chosen])
        return rounds


@dataclass(frozen=True, eq=False)
class WidePath:
    """Coefficients (A, d), intercepts, objectives, relative gaps and rounds (A,), these negative as in `active_set`."""

    coefs: Floats
    intercepts: Floats
    objectives: Floats
    gaps: Floats
    rounds: Ints


def wide_path(table: Table, alphas: Floats, l1: Floats, l2: Floats, most: int) -> WidePath:
    """The path for alphas from large to small; l1, l2 are those of alpha = 1 in the form 2 l1 |z| + l2 z², z in units.

    From the alpha at which a deadline ended it the last point stands for all.
    """
    d = table.X.shape[1]
    b = table.correlations(table.y)
    yy = float(table.weight @ table.y**2)
    slack = 1e-12 * float(np.abs(b).max(initial=0.0))
    curved = bool((l2 > 0).any())
    working = _WorkingSet(table, curved)
    constant = table.constant
    count = len(alphas)
    out = WidePath(
        np.zeros((count, d)), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    )
    g, before = b, np.inf
    root = np.sqrt(table.weight)
    rounds_failed = ended = False
    for a, alpha in enumerate(alphas):
        bar = 2.0 * alpha - min(before, alpha * 2.0) if np.isfinite(before) else alpha
        wanted = (np.abs(g) >= np.maximum(bar, 0.0) * l1) & ~constant
        refactor = curved or a == 0 or rounds_failed
        for _ in range(most):
            ended = ended or deadline.passed()
            new = np.flatnonzero(wanted & ~working.member)
            if new.size and not ended:
                working.add(new)
            index, m, used = working.index, len(working.index), ENDED
            if not ended:
                used = working.minimise(b[index], alpha * l1[index], alpha * l2[index], refactor, slack, most)
            ended, rounds_failed = used == ENDED, used < 0
            out.rounds[a] = used if used < 0 else out.rounds[a] + used + 1
            refactor = curved or rounds_failed
            fitted = working.z[:m] @ working.Z[:m]
            r = table.y - np.divide(fitted, root, out=np.zeros_like(fitted), where=root > 0)
            g = table.correlations(r)
            w = np.zeros(d)
            w[index] = working.z[:m]
            g = g - alpha * l2 * w if curved else g
            wanted = (np.abs(g) > alpha * l1 + slack) & ~constant & ~working.member
            if ended or not wanted.any():
                break
        squared = float(table.weight @ r**2) + float(alpha * l2 @ w**2)
        out.coefs[a] = w / table.unit
        out.intercepts[a] = table.y_mean - table.mean @ out.coefs[a]
        out.objectives[a], gap = gap_of(
            w, np.where(constant, 0.0, g), float(table.weight @ (r * table.y)), squared, alpha * l1
        )
        out.gaps[a] = relative_gap(gap, yy) if yy > 0 else 0.0
        before = alpha
    return out

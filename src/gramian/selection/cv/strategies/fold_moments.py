"""Cross-validation of a whole path from one pass: per-fold moments in, validation losses out."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.rows import Rows, parallel_map
from gramian.selection.cv.scores import Scores, between, join, scores_of
from gramian.selection.cv.splits import Plan, fold_weights, split_sums
from gramian.solvers.least_squares.ridge_path import validation_loss
from gramian.statistics import Moments
from gramian.statistics.products import block_moments

Path = tuple[Floats, Floats]  # coefficients (A, d, t) and intercepts (A, t)
Losses = Callable[[Floats], tuple[Floats, Floats | None]]
WIDENINGS = 2
FINER = 10  # alphas between the neighbours of the best one
SEARCH = 0.7  # of the time that is left: what a search may take of it


class FoldMoments:
    """Training and test moments of every split, and the moments of all rows, from one pass.

    With leave-one-out there is a split for every row with a positive weight, and `weights` are those of the splits.
    """

    def __init__(self, rows: Rows, plans: list[Plan]) -> None:
        basis = rows.basis if rows.basis is not None and rows.basis.well_conditioned else None
        summed = rows if basis is None else basis.rows
        self.splits: list[tuple[Moments, Moments]] = split_sums(summed, block_moments(summed), plans)
        self.weights = fold_weights(plans, rows)
        if self.weights is not None:
            self.splits = [self.splits[row] for row in np.flatnonzero(self.weights)]
            self.weights = self.weights[self.weights > 0]
        for number, (train, test) in enumerate(self.splits):
            if train.weight == 0 or test.weight == 0:
                part = "training" if train.weight == 0 else "test"
                raise ValueError(
                    f"The {part} part of split {number} has no row with a positive weight: use fewer folds."
                )
        train, test = self.splits[0]
        whole = train + test
        self.total = whole if whole.n == rows.n else summed.sum(block_moments(summed))
        if basis is not None:
            R = basis.R
            self.total = self.total.turned(R)
            self.splits = parallel_map(lambda pair: (pair[0].turned(R), pair[1].turned(R)), self.splits)

    def losses(self, paths: list[Path]) -> Floats:
        """Validation losses (A, K) of the path of each training part."""
        columns = [validation_loss(test, *path) for path, (_, test) in zip(paths, self.splits, strict=True)]
        return np.column_stack(columns)


def searching() -> AbstractContextManager[deadline.Limit]:
    """A search that leaves time for the fit after it."""
    remaining = deadline.remaining()
    return deadline.within(None if remaining is None else SEARCH * remaining)


class Limited:
    """Validation losses; under a deadline only of the first alphas, as many as there is time for, and of one at least.

    `losses` gives the validation losses (A, K) of alphas from large to small, and the folds' weights or None.
    """

    def __init__(self, losses: Losses) -> None:
        self.losses, self.ended = losses, False

    def __call__(self, alphas: Floats) -> tuple[Floats, Floats | None]:
        if deadline.remaining() is None:
            return self.losses(alphas)
        tables: list[Floats] = []
        weights = None
        with searching():
            for a in range(len(alphas)):
                if (tables or self.ended) and deadline.passed():
                    self.ended = True
                    break
                table, weights = self.losses(alphas[a : a + 1])
                tables.append(table)
        return (np.concatenate(tables) if tables else np.empty((0, 0))), weights


def select(
    losses: Losses,
    grid: Floats,
    *,
    rule: str,
    fixed: bool,
    limits: tuple[float, float],
    finer: int = FINER,
) -> Scores:
    """Scores over the grid; unless it is fixed, widened while the best is at an end, then tightened around the best.

    `losses` gives the validation losses (A, K) of alphas from large to small, and the folds' weights or None; of fewer
    alphas where a deadline came first.
    """
    scores = _selected(losses, grid, rule, fixed, limits, finer)
    if deadline.ended():
        deadline.note(f"The choice of alpha ended with {len(scores.alphas)} alphas.")
    return scores


def _selected(losses: Losses, grid: Floats, rule: str, fixed: bool, limits: tuple[float, float], finer: int) -> Scores:
    table, weights = losses(grid)
    scores = scores_of(grid[: len(table)], table, rule, weights)
    if fixed:
        return scores
    for _ in range(WIDENINGS):
        if not scores.at_boundary:
            break
        step = np.geomspace(1.0, 1e-3, 13)[1:]
        end = scores.alphas[-1] * step if scores.best else scores.alphas[0] / step[::-1]
        end = end[(end >= limits[0]) & (end <= limits[1])]
        if not end.size:
            break
        table, weights = losses(end)
        end = end[: len(table)]
        if not end.size:
            break
        scores = join(scores, scores_of(end, table, rule, weights))
    fine = between(scores, finer)
    if fine.size:
        table, weights = losses(fine)
        fine = fine[: len(table)]
    if fine.size:
        scores = join(scores, scores_of(fine, table, rule, weights))
    return scores

"""Cross-validation of losses with a kink: Newton's method on a kink made round, from alpha to alpha, compiled."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.compiled import njit
from gramian.objective.loss import Kinked
from gramian.rows import MemoryRows, parallel_map
from gramian.rows.labels import CodedRows
from gramian.selection.splits import Plan
from gramian.solvers.fit import Fit
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_CELLS = 2e7  # numbers in a table of which a copy is kept
MOST_COLUMNS = 300  # whose Hessian is cheap to factorise at every step
SMALL = 20_000  # numbers in a table: below, compiled code is not worth the seconds that it takes to compile
MOST_STEPS = 300
TOL = 1e-9  # gap over the objective
FIRST_WIDTH = 1e-2  # over the mean distance from the kink, at least
FIRST_SHARE = 0.03  # of the rows, nearest to their kink, that are curved at first
NARROWER = 5.0
LOOSE, NOTHING = 1e-4, 1e-9  # a change of the intercept, over the mean distance from the kink; a slope that is none
SETTLED = 0.3  # share of the gap that Newton's method may leave before the kink is made sharper


def kinks_shared(problem: Problem) -> bool:
    """Whether it is one output with a kink and a quadratic penalty, on dense rows in memory with not many columns."""
    rows, parts = problem.rows, problem.parts
    dense = isinstance(rows, MemoryRows | CodedRows) and rows.basis is None and not rows.is_sparse
    quadratic = parts is not None and parts.smooth and parts.square.ndim == 1 and bool(parts.square.any())
    few = problem.p <= MOST_COLUMNS and rows.n * problem.p <= MOST_CELLS
    return isinstance(problem.loss, Kinked) and problem.m == 1 and dense and quadratic and few


class FoldKink:
    """The models of all rows and of every training part, each from alpha to alpha where the last ended.

    The slope of the loss goes from low to high over a width around the kink, which shrinks until the gap to the
    optimum of the kink itself is closed. Only rows within the width are curved, so a Newton step costs little more
    than a product of the table with a vector.
    """

    def __init__(self, problem: Problem, plans: list[Plan], refit: Callable[[NDArray[np.int64], float], Fit]) -> None:
        self.problem, self.plans, self.refit = problem, plans, refit
        block = problem.rows.collect()
        assert block.y is not None
        assert isinstance(problem.loss, Kinked)
        self.Z = problem.standard(problem.prepared(np.asarray(block.X)))
        self.kinks = [np.ascontiguousarray(part) for part in problem.loss.kink(block.y[:, 0])]
        weight = np.ones(len(self.Z)) if block.weight is None else block.weight
        train, self.test = [weight], []
        for plan in plans:
            labels = plan.folds.labels(0, len(self.Z))
            used = weight * (labels >= 0)
            train += list(plan.train[:, labels] * used)
            self.test += list(plan.test[:, labels] * used)
        self.train = np.array(train)
        self.known: dict[float, Floats] = {}
        self.path: dict[float, Floats] = {}

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part lacks a class."""
        if (self.train.sum(axis=1) <= 0).any() or not self._both_signs():
            return None
        found = parallel_map(lambda k: self._model(k, alphas), range(len(self.train)))
        for a, alpha in enumerate(alphas):
            self.known[float(alpha)] = np.stack([thetas[a] for thetas, _ in found])
            self.path[float(alpha)] = found[0][0][a][None]
        return np.column_stack([table for _, table in found[1:]])

    def _both_signs(self) -> bool:
        """Whether every training part has rows of both classes, where the target is a class."""
        if self.problem.loss.targets != "signs":
            return True
        positive = self.kinks[1] < 0
        return bool((self.train[:, positive].any(axis=1) & self.train[:, ~positive].any(axis=1)).all())

    def _penalties(self, alpha: float) -> tuple[Floats, Floats, Floats]:
        """The Hessian of the penalty, its inverse where it has one, and the coefficients that have none."""
        bend = self.problem.with_alpha(alpha).bend
        diagonal = np.diagonal(bend)
        inverse = np.diag(np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0))
        return bend, inverse, np.asarray(~bend.any(axis=1), dtype=np.float64)

    def _loose(self, e: Floats, low: Floats, high: Floats, share: Floats) -> bool:
        """Whether the intercept may be anywhere between two kinks: a separate fit then says which it takes."""
        if not self.problem.intercept:
            return False
        aside = LOOSE * float(share @ np.abs(e))
        up, down = (float(share @ np.where(e + shift > 0, high, low)) for shift in (aside, -aside))
        return up <= NOTHING or down >= -NOTHING

    def _model(self, k: int, alphas: Floats) -> tuple[Floats, Floats]:
        """θ at every alpha (A, p), and the validation losses (A,)."""
        at, low, high = self.kinks
        rows = np.flatnonzero(self.train[k])
        share = self.train[k][rows] / self.train[k].sum()
        Z, parts = np.ascontiguousarray(self.Z[rows]), [part[rows] for part in self.kinks]
        step: Any = kink_newton if Z.size > SMALL else kink_newton.py_func
        thetas, table = np.empty((len(alphas), Z.shape[1])), np.full(len(alphas), np.nan)
        nearest = min(self.known, key=lambda known: abs(np.log(known / alphas[0])), default=None)
        theta = self.problem.zero()[0] if nearest is None else self.known[nearest][k]
        for a, alpha in enumerate(alphas):
            penalty = self._penalties(float(alpha))
            theta, gap = step(Z, *parts, share, *penalty, theta.copy(), TOL, nearest is None and a == 0)
            if not gap <= TOL or self._loose(Z @ theta - parts[0], parts[1], parts[2], share):
                fit = self.refit(rows, float(alpha))
                theta = self.problem.inside(fit.coef, fit.intercept)[0]
            thetas[a] = theta
            if k:
                judged = np.flatnonzero(self.test[k - 1])
                e = self.Z[judged] @ theta - at[judged]
                lost = np.maximum(low[judged] * e, high[judged] * e)
                w = self.test[k - 1][judged]
                table[a] = w @ lost / w.sum() if len(judged) else np.nan
        return thetas, table


@njit(cache=True, nogil=True)
def kink_newton(
    Z: Any,
    at: Any,
    low: Any,
    high: Any,
    share: Any,
    bend: Any,
    relaxed: Any,
    unpenalised: Any,
    theta: Any,
    tol: float,
    cold: bool,
) -> Any:  # pragma: no cover - compiled
    """θ, and the gap over the objective."""
    n, p = Z.shape
    e = np.dot(Z, theta) - at
    sizes = np.sort(np.abs(e))
    width = 4.0 * sizes[min(int((6.0 if cold else 1.0) * FIRST_SHARE * n), n - 1)]
    mean = max(sizes.mean(), 1e-300)
    width = max(width, FIRST_WIDTH * mean)
    middle, rise = 0.5 * (low + high), high - low
    gap = np.inf
    for _ in range(MOST_STEPS):
        s = np.minimum(np.maximum(middle + rise * (e / width), low), high)
        pulled = np.dot(Z.T, share * s)
        bent = np.dot(bend, theta)
        gradient = pulled + bent
        losses = np.maximum(low * e, high * e)
        value = np.sum(share * losses) + 0.5 * np.sum(theta * bent)
        near = np.flatnonzero((s > low) & (s < high))
        H = bend.copy()
        if len(near):
            part = Z[near]
            scaled = part * (share[near] * rise[near] / width).reshape(-1, 1)
            H += np.dot(part.T, scaled)
        top = 0.0
        for j in range(p):
            top = max(top, H[j, j])
        for j in range(p):
            H[j, j] += 1e-12 * top
        direction = -np.linalg.solve(H, gradient)
        slope = np.sum(gradient * direction)
        left = 0.5 * np.sum(gradient * np.dot(relaxed, gradient)) + mean * np.sum(np.abs(gradient) * unpenalised)
        rounded = np.sum(share * (losses - s * e))
        gap = (rounded + left) / max(abs(value), 1e-300)
        if gap <= tol or width <= 1e-13 * mean:
            break
        if left <= SETTLED * rounded:
            width /= NARROWER
            continue
        moved = np.dot(Z, direction)
        first, second = np.sum(direction * bent), np.sum(direction * np.dot(bend, direction))
        below, above = 0.0, -1.0
        at_below, at_above = slope, 0.0
        t = 1.0
        for _ in range(30):
            c = np.minimum(np.maximum(middle + rise * ((e + t * moved) / width), low), high)
            now = np.sum(share * moved * c) + first + t * second
            if abs(now) <= 0.1 * abs(slope):
                break
            if now < 0.0:
                below, at_below = t, now
            else:
                above, at_above = t, now
            if above < 0.0:
                t *= 4.0
            else:
                t = below + (above - below) * min(max(at_below / (at_below - at_above), 0.1), 0.9)
        theta = theta + t * direction
        e = e + t * moved
    return theta, gap

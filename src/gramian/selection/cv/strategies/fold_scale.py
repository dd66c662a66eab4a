"""Cross-validation of Huber's loss with its scale: the model of all rows and of every training part, in one pass."""

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Floats
from gramian.objective.losses.regression import Huber
from gramian.objective.problem import Problem, joint_scale, least_scale
from gramian.rows import MemoryRows, parallel_map, single_threaded_blas
from gramian.selection.cv.splits import Plan, row_weights
from gramian.selection.cv.strategies.backtracking import Backtracking
from gramian.selection.cv.strategies.fold_newton import SETTLED
from gramian.selection.cv.strategies.fold_passes import extrapolated
from gramian.selection.cv.strategies.fold_small import INNER, MOST_WHOLE, nonsmooth_part
from gramian.selection.cv.strategy import FoldTask, SharedFolds
from gramian.solvers.smooth.proximal_newton import model_step

MAX_CELLS = 2e7  # numbers in a table of which a copy is kept
MAX_COLUMNS = 300  # whose Hessian is cheap to factorise at every step
MAX_PASSES = 60
PANEL = 4096  # rows of which the residuals of all models stay in the cache
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must bring
NOTHING = 1e-13  # of the objective: a slope of rounding
LEAST_SCALES = 1e3  # nearer to no noise, a separate fit says what the scale is


class FoldScale(SharedFolds):
    """Newton's method on coefficients and scale for a path of alphas, all training parts at once.

    A pass is two products with the table, for predictions and for gradients, that serve every part. The Hessian is
    a Gram matrix of the rows within delta scales of their prediction, updated by the few rows that cross that bound.
    """

    @staticmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        """Whether it is Huber's loss with its scale and a penalty on every column, on dense rows in memory."""
        rows, parts = problem.rows, problem.parts
        dense = isinstance(rows, MemoryRows) and rows.basis is None and not rows.is_sparse
        separate = parts is not None and not (parts.groups or parts.bounded) and parts.square.ndim == 1
        every = parts is not None and separate and bool((parts.square + parts.l1 > 0).all())
        models = 1 + sum(each.count for each in plans)
        most = MOST_WHOLE if parts is not None and parts.l1.any() else MAX_COLUMNS
        few = problem.p <= most and rows.n * max(problem.p, models) <= MAX_CELLS
        return problem.loss.joint_form and joint_scale(problem.loss) and problem.m == 1 and dense and every and few

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        problem, plans = self.problem, self.plans
        self.least = LEAST_SCALES * least_scale(problem)
        assert isinstance(problem.loss, Huber)
        self.delta = problem.loss.delta
        block = problem.rows.collect()
        assert block.y is not None
        self.y = np.asarray(block.y[:, 0], dtype=np.float64)
        self.Z = problem.standard(problem.prepared(np.asarray(block.X)))
        self.train, self.test = row_weights(plans, block.weights)
        self.total = self.train.sum(axis=1)
        self.panels = [slice(i, i + PANEL) for i in range(0, len(self.Z), PANEL)]
        self.known: dict[float, Floats] = {}  # θ and the logarithm of the scale of every model
        # Of rows beyond delta scales: on which side they are, their weight and Σ ± w z; and Σ w z zᵀ of the others.
        self.side = np.zeros(self.train.shape, dtype=np.int8)
        self.beyond = np.zeros(len(self.train))
        self.pulled = np.zeros((len(self.train), problem.p))
        self.gram = np.stack(parallel_map(lambda w: (self.Z * w[:, None]).T @ self.Z, list(self.train)))

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part does not converge."""
        if (self.total <= 0).any():
            return None
        table = np.empty((len(alphas), len(self.test)))
        with single_threaded_blas(), np.errstate(all="ignore"):  # what is not finite is given up
            for a, alpha in enumerate(alphas):
                models = self._at(float(alpha))
                if models is None:
                    return None
                self.known[float(alpha)] = models
                self.path[float(alpha)] = models[:1, :-1].copy()
                table[a] = [self._validation(*pair) for pair in zip(models[1:], self.test, strict=True)]
        return table

    def _validation(self, model: Floats, weight: Floats) -> float:
        """The mean of scale + scale · loss over a test part."""
        rows = np.flatnonzero(weight)
        if not len(rows):
            return float("nan")
        w, scale = weight[rows], float(np.exp(model[-1]))
        r = self.y[rows] - self.Z[rows] @ model[:-1]
        c = np.clip(r, -self.delta * scale, self.delta * scale)
        return scale + float(w @ (c * (2.0 * r - c))) / scale / float(w.sum())

    def _first(self) -> Floats:
        theta = self.problem.zero()[0]
        spread = np.sqrt(self.train @ (self.y - self.Z @ theta) ** 2 / self.total)
        return np.column_stack([np.tile(theta, (len(self.train), 1)), np.log(np.maximum(spread, 1e-300))])

    def _at(self, alpha: float) -> Floats | None:
        """θ and the logarithm of the scale of every model at alpha."""
        problem, p = self.problem.with_alpha(alpha), self.problem.p
        start = extrapolated(self.known, alpha) if self.known else self._first()
        base = np.column_stack([start[:, :p], np.exp(start[:, p])])
        search, everyone = Backtracking(base, sufficient=SUFFICIENT), np.arange(len(base))
        for _ in range(MAX_PASSES):
            trial = search.points()
            theta, scale = trial[:, :p], trial[:, p]
            if not (scale > self.least).all():
                return None
            value_there, squares, sums, side = self._pass(theta, scale)
            penalty_slope = problem.quadratic(theta)[1]
            nonsmooth = nonsmooth_part(problem, theta)
            value_there += 0.5 * (penalty_slope * theta[:, : problem.d]).sum(axis=1) + nonsmooth
            if not np.isfinite(value_there).all():
                return None
            rose = ~search.descended(everyone, value_there, value_there)
            if rose.any():
                if not search.shorten(rose):
                    return None
                continue
            self._follow(side)
            g = np.column_stack(
                [sums * (-2.0 / (scale * self.total))[:, None], 1.0 - squares / (scale**2 * self.total)]
            )
            g[:, : problem.d] += penalty_slope
            H = np.empty((len(base), p + 1, p + 1))
            H[:, :p, :p] = self.gram
            H[:, p, :p] = H[:, :p, p] = sums / scale[:, None] - self.delta * self.pulled
            H[:, p, p] = squares / scale**2 - self.delta**2 * self.beyond
            H *= (2.0 / (scale * self.total))[:, None, None]
            H[:, :p, :p] += problem.penalty_hessian
            step = self._direction(problem, H, g, theta)
            if step is None:
                return None
            slope = (g * step).sum(axis=1) + nonsmooth_part(problem, theta + step[:, :p]) - nonsmooth
            if not (slope <= NOTHING * value_there).all():
                return None
            lowest = step[:, p] / scale
            if (-slope <= SETTLED**2 * value_there).all() and (lowest > -0.5).all():
                return np.column_stack([theta + step[:, :p], np.log(scale + step[:, p])])
            search.advance(everyone, trial, value_there, step, slope)
            search.length = np.minimum(1.0, 0.5 / np.maximum(-lowest, 0.5))
        return None

    @staticmethod
    def _direction(problem: Problem, H: Floats, g: Floats, theta: Floats) -> Floats | None:
        """To the minimum of every quadratic model; with absolute values, of θ with the scale that suits it best."""
        if not problem.l1.any():
            try:
                return np.asarray(-np.linalg.solve(H, g[:, :, None])[:, :, 0])
            except np.linalg.LinAlgError:
                return None
        bend = H[:, -1, -1]
        if not (bend > 0).all():
            return None
        share = H[:, :-1, -1] / bend[:, None]
        A = H[:, :-1, :-1] - share[:, :, None] * H[:, None, -1, :-1]
        slope = g[:, :-1] - share * g[:, -1:]
        enough = INNER * np.abs(theta - problem.prox(theta - slope, 1.0)).max(axis=1)
        step = np.zeros_like(g)
        for k in range(len(g)):
            step[k, :-1] = model_step(problem, A[k], slope[k], theta[k], float(enough[k]))
        step[:, -1] = -g[:, -1] / bend - (share * step[:, :-1]).sum(axis=1)
        return step

    def _pass(self, theta: Floats, scale: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.int8]]:
        """Mean loss of every model, Σ w c² and Σ w c z of the residuals c clipped at delta scales, and their side."""
        edge = (self.delta * scale)[:, None]

        def of_panel(rows: slice) -> tuple[Floats, Floats, Floats, NDArray[np.int8]]:
            Z = self.Z[rows]
            r = self.y[rows] - theta @ Z.T
            c = np.minimum(np.maximum(r, -edge), edge)
            wc = self.train[:, rows] * c
            side = (r > edge).view(np.int8) - (r < -edge).view(np.int8)
            return np.einsum("kn,kn->k", wc, r), np.einsum("kn,kn->k", wc, c), wc @ Z, side

        parts = list(zip(*parallel_map(of_panel, self.panels), strict=True))
        products, squares, sums = (np.sum(part, axis=0) for part in parts[:3])
        value = scale + (2.0 * products - squares) / (scale * self.total)
        return value, squares, sums, np.concatenate(parts[3], axis=1)

    def _follow(self, side: NDArray[np.int8]) -> None:
        """Update the sums of rows beyond delta scales by the rows that crossed the bound."""
        crossed = (side != self.side) & (self.train > 0)
        for k in range(len(side)):
            rows = np.flatnonzero(crossed[k])
            if len(rows):
                now, old = side[k, rows], self.side[k, rows]
                w, Z = self.train[k, rows], self.Z[rows]
                moved = w * (np.abs(now) - np.abs(old))
                self.beyond[k] += moved.sum()
                self.pulled[k] += (w * (now - old)) @ Z
                self.gram[k] -= (Z * moved[:, None]).T @ Z
        self.side = side

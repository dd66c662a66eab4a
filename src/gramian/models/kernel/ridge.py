"""Ridge regression with a kernel."""

from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone

from gramian._core import validation
from gramian._core.types import Floats
from gramian._core.validation import choice, number
from gramian.kernels.input import positive_definite
from gramian.kernels.lowrank.landmarks import MappedRows
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.points import alone
from gramian.models.base.linear_model import Interval
from gramian.models.kernel.ridge_cv import WHOLE, KernelRidgeCV
from gramian.rows import Rows
from gramian.selection.cv.fold_moments import select
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import plan
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.kernel.kernel_ridge import Conjugate, Factor, KernelPath, Singular, dual_of

PANEL = 128  # rows of a block of the kernel matrix: it stays in the cache
TOLERANCE = 1e-9
STEPS_FROM = 4000  # rows from which conjugate gradients are tried before a Cholesky factor
STEPS_RANKS = ((64, 5.0), (500, 1.0))  # of factors, and what they may leave of k(x, x), in λ; the last preconditions
STEPS_SHARE = 130  # n / this many steps take less time than half of the factor
STEPS_REFINED, STEPS_TOLERANCE = 1e-12, 1e-11  # of y: left by steps that need no refinement; left by those that hold
MOST_TARGETS = 8
JUDGED = 13  # alphas by which a kernel is judged


class KernelRidge:
    """What `Ridge(kernel=…)` fits: β and b with f(x) = b + Σ β_i k(x, x_i), and what intervals need."""

    def __init__(
        self, model: Any, X: Any, y: Any, sample_weight: Any, alpha: float | None, grid: Any, *, judged: bool = False
    ) -> None:
        self.intercept = bool(model.fit_intercept)
        points, target = model._fit_points(X, y, sample_weight)
        target.refuse_labels()
        assert target.y is not None
        weight = target.weights
        used = np.flatnonzero(weight > 0)
        self.kernel, self.points = model.kernel_, alone(points[used])
        self.Y, self.weight, self.one = target.y[used], weight[used], target.one_target
        self.used, self.n = used, len(used)
        for name in ("scores_", "path_"):
            if hasattr(model, name):
                delattr(model, name)
        self.kept: Any = None
        self.alpha = self._select(model, grid) if alpha is None else alpha
        if judged:
            return
        self._solve()
        self.given, self.whole = X.collect().X if isinstance(X, Rows) else X, np.zeros(target.y.shape)  # for charts
        self.whole[used] = self.beta

    # the choice of alpha

    def _select(self, model: Any, grid: Any) -> float:
        trials: dict[Any, KernelRidgeCV] = getattr(model, "_trials", {})
        found = min(trials, key=lambda kernel: model.kernel_losses_[repr(kernel)], default=None)  # before it was fitted
        known = trials.get(found)
        trial = known if known is not None and known.many else self.trial(model, grid)  # few rows: by fewer alphas
        model.scores_ = scores = trial.final()
        if known is not None and trial is not known:  # judged again, by all alphas
            model.kernel_losses_[repr(found)] = float(scores.mean[scores.chosen])
        return float(scores.alphas[scores.chosen])

    def trial(self, model: Any, grid: Any, *, coarse: bool = False) -> KernelRidgeCV:
        """What alphas, and kernels, are judged by; `coarse` takes 13 alphas of the grid, and none between them."""
        fixed = not isinstance(grid, int)
        scale = float(self.kernel.diag(self.points).mean()) or 1.0
        alphas = grid if fixed else np.geomspace(10.0 * scale, 1e-8 * scale, grid)
        if coarse and not fixed:  # some of those by which the fit is judged, so that it is judged no worse
            alphas = alphas[np.unique(np.linspace(0, grid - 1, min(grid, JUDGED)).round().astype(int))]
        rows = MappedRows(self.points, 1, lambda p: np.zeros((len(p), 1)))
        splits = None if plan(model.cv, rows)[0].leave_one_out else splits_of(model.cv, rows)
        limits = (1e-12 * scale, 1e6 * scale)

        def choose(losses: Any) -> Scores:
            return select(losses, alphas, rule=model.rule, fixed=fixed or coarse, limits=limits)

        return KernelRidgeCV(self.kernel, self.points, self.Y, self.weight, self.intercept, splits, choose)

    # one alpha

    def _solve(self) -> None:
        self.lam = self.alpha * float(self.weight.sum())
        self.size = float(np.abs(self.Y).max()) or 1.0
        K = self.kernel.upper(self.points)
        note = ""
        if not self._by_steps(K):
            factor: Any = Factor(K, self.weight, self.alpha)
            how = "Cholesky"
            if factor.failed:
                factor, how = Singular(self.kernel.matrix(self.points), self.weight, self.alpha), "eigendecomposition"
                note = "The kernel matrix has no Cholesky factor: the shortest solution is taken."
            self._refined(factor, *dual_of(factor, self.Y, self.intercept), above=0.0)
            self.kept = factor
            self.solver = SolverInfo(how, f"{self.n} rows: one factor of their kernel matrix")
        self.certificate = Certificate(
            "gradient",
            self.value,
            TOLERANCE,
            self.value <= TOLERANCE,
            None,
            None,
            "rows",
            note=note,
            convex=positive_definite(self.kernel),
        )

    def _by_steps(self, K: Floats) -> bool:
        """β by conjugate gradients, where they are foreseen to be quicker than a factor; whether they were."""
        targets = self.Y.shape[1] + int(self.intercept)
        if self.n < STEPS_FROM or self.lam <= 0 or targets > MOST_TARGETS:
            return False
        trace = float(self.kernel.diag(self.points).sum()) or 1.0
        unit = self.lam / (trace * float(self.weight.max()))
        F = np.empty((self.n, 0))
        for rank, most in STEPS_RANKS:
            chosen, F = pivots(self.kernel, self.points, rank, tol=max(0.1 * unit, 1e-10))
            if chosen.unexplained > most * unit * self.n:
                return False
        method = Conjugate(K, F, self.weight, self.alpha, self.n // STEPS_SHARE)
        if method.failed:
            return False
        beta, b = dual_of(method, self.Y, self.intercept)
        if method.failed or not np.isfinite(beta).all():
            return False
        self._refined(method, beta, b, above=STEPS_REFINED)
        text = f"{self.n} rows: {method.taken} steps, preconditioned by a factor of rank {F.shape[1]}"
        self.solver = SolverInfo("conjugate gradients", text)
        return self.value <= STEPS_TOLERANCE

    def _refined(self, method: Any, beta: Floats, b: Floats, *, above: float) -> None:
        """Keep β and b, after one step of refinement if they leave more than `above` of y, and what they leave."""
        left = self._left(beta, b, self.lam)
        if np.abs(left).max() > above * self.size:
            again, shift = dual_of(method, left, self.intercept)
            if np.isfinite(again).all():
                better = self._left(beta + again, b + shift, self.lam)
                if np.abs(better).max() < np.abs(left).max():
                    beta, b, left = beta + again, b + shift, better
        self.beta, self.b, self.value = beta, b, float(np.abs(left).max()) / self.size

    @property
    def factor(self) -> Any:
        """A factor of K + λ D⁻¹, which intervals need: made when they are first asked for, if the fit needed none."""
        if self.kept is None:
            self.kept = Factor(self.kernel.upper(self.points), self.weight, self.alpha)
            if self.kept.failed:
                self.kept = Singular(self.kernel.matrix(self.points), self.weight, self.alpha)
        return self.kept

    def _left(self, beta: Floats, b: Floats, lam: float) -> Floats:
        """y − b − Kβ − λ D⁻¹ β: nothing at the optimum."""
        f = self.times(self.points, beta)
        return self.Y - b - f - lam * beta / self.weight[:, None]

    def times(self, points: Any, beta: Floats) -> Floats:
        """k(x, X) β of other points."""
        return self.kernel.times(points, self.points, beta)

    def predict(self, points: Any) -> Floats:
        """f of new points, (n, t)."""
        return self.times(points, self.beta) + self.b

    def loo_predictions(self) -> Floats:
        """What is predicted of each row by the model without it, (n, t)."""
        path = KernelPath(self.Y, self.weight, self.intercept, K=self.kernel.matrix(self.points))
        return np.asarray(self.Y - path.loo_residuals(np.array([self.alpha]))[0])

    # uncertainty: the Gaussian process whose mean this is

    @property
    def noise(self) -> Floats:
        """The variance of the noise (t,): λ times that of the process, by restricted maximum likelihood."""
        return self.lam * np.maximum((self.beta * (self.Y - self.b)).sum(axis=0), 0.0) / self.freedom

    @property
    def freedom(self) -> float:
        """Degrees of freedom left: a row of weight 2 counts as two."""
        total = float(self.weight.sum())
        return max(total - int(self.intercept), min(total, 1.0))

    def interval(self, points: Any, level: float, of: str) -> Interval:
        """Mean and ends: the process is uncertain where there are no rows nearby."""
        number("interval", level, low=0.0, high=1.0, open_low=True)
        choice("interval_of", of, ("observation", "mean"))
        if self.lam == 0:
            raise ValueError("alpha=0 interpolates: there is no noise, and no interval. Give alpha above 0.")
        if self.weight.sum() <= int(self.intercept):
            raise ValueError(
                f"A total weight of {self.weight.sum():g} leaves no degrees of freedom for a prediction interval; "
                "weights count rows, so that they should sum to the number of rows."
            )
        mean = self.predict(points)
        own = self.kernel.diag(points)
        ones = self.factor.half(np.ones((self.n, 1)))

        def panel(i: int) -> Floats:
            half = self.factor.half(self.kernel.block(self.points, points[i : i + PANEL]))
            found = own[i : i + PANEL] - (half**2).sum(axis=0)
            if self.intercept:
                found = found + (1.0 - ones[:, 0] @ half) ** 2 / float((ones**2).sum())
            return np.maximum(found, 0.0)

        variance = np.concatenate([panel(i) for i in range(0, len(points), PANEL)]) / self.lam
        total = np.sqrt((variance + (1.0 if of == "observation" else 0.0))[:, None] * self.noise)
        width = float(stdtrit(self.freedom, 0.5 + level / 2.0)) * total
        ends = [mean, mean - width, mean + width]
        return Interval(*(end[:, 0] if self.one else end for end in ends))


def trial_of(model: Any, kernel: Any, X: Any, y: Any, sample_weight: Any) -> KernelRidgeCV:
    """What a kernel is judged by, without a fit."""
    other = clone(model).set_params(kernel=kernel)
    grid = other.alphas if isinstance(other.alpha, str) else [float(other.alpha)]
    machine = KernelRidge(other, X, y, sample_weight, float("nan"), None, judged=True)
    grid = validation.alphas(grid)
    if isinstance(grid, int) and machine.n <= WHOLE:
        return machine.trial(other, grid, coarse=True)
    return machine.trial(other, grid)

"""Validation losses of kernel ridge regression: of all rows; of a sample of many, and of most for the last few."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.rows import parallel_map, single_threaded_blas
from gramian.selection.cv.scores import Scores
from gramian.solvers.kernel.kernel_ridge import Factor, KernelPath, dual_of, last_loo_residuals
from gramian.solvers.kernel.ridge_solution import KernelRidgeProblem
from gramian.solvers.kernel.tridiagonal import TridiagonalPath

Losses = Callable[[Floats], tuple[Floats, Floats | None]]
Splits = list[tuple[Any, Any]] | None
WHOLE = 2500  # rows up to which losses come from the whole kernel matrix
SAMPLE = 1000  # rows that stand for more of them
MOST = 4000  # rows by which the last few candidates are compared
TESTED = 2000  # of these: rows that are left out
RANK = 400  # of a factor of the kernel matrix
MAX_UNEXPLAINED = 10.0  # times alpha: what a factor may leave out of the mean of k(x, x)
STEP = 2.0  # by which alpha is moved where it is tried on more rows than it was chosen for
TRIES = 3
EIGEN = 4.0  # times n³: what an eigendecomposition and its folds cost in the time of tridiagonal reductions
ROUNDING = 1e-13  # of the largest eigenvalue: with a smaller λ folds are fitted one by one


@dataclass(frozen=True, eq=False)
class KernelRidgeCV:
    """Cross-validation of kernel ridge regression with one kernel: leave-one-out, or by the folds of `splits`.

    λ = alpha Σw is the noise next to the function: it is kept where fewer rows than all are used.
    """

    problem: KernelRidgeProblem
    splits: Splits
    choose: Callable[[Losses], Scores]
    known: dict[float, float] = field(default_factory=dict)  # losses at alphas that were asked for

    @property
    def kernel(self) -> Kernel:
        return self.problem.kernel

    @property
    def points(self) -> Any:
        return self.problem.points

    @property
    def Y(self) -> Floats:
        return self.problem.Y

    @property
    def weight(self) -> Floats:
        return self.problem.weight

    @property
    def intercept(self) -> bool:
        return self.problem.intercept

    @property
    def many(self) -> bool:
        return len(self.points) > WHOLE

    @cached_property
    def _order(self) -> Any:
        return np.random.default_rng(0).permutation(len(self.points))

    @cached_property
    def scores(self) -> Scores:
        """Scores of all rows, or of a sample of many."""
        if not self.many:
            return self.choose(self._losses(np.arange(len(self.points)), self.splits))
        part = np.sort(self._order[:SAMPLE])
        splits = self._within(part)
        return self.by_factor if splits is None and self.splits is not None else self.choose(self._losses(part, splits))

    @cached_property
    def extrapolated_decrease(self) -> float:
        """The factor of the smallest loss from the sample to all rows, if it decreases as from half of the sample."""
        halves = [np.sort(self._order[: SAMPLE // 2]), np.sort(self._order[SAMPLE // 2 : SAMPLE])]
        cut = [self._within(part) for part in halves]
        if self.splits is not None and None in cut:
            return 1.0
        scores = [self.choose(self._losses(part, splits)) for part, splits in zip(halves, cut, strict=True)]
        before = sum(float(half.mean[half.best]) for half in scores) / 2.0
        factor = float(self.scores.mean[self.scores.best]) / before if before > 0 else 1.0
        return float(np.clip(factor, 0.5, 1.0) ** np.log2(len(self.points) / SAMPLE))

    @cached_property
    def by_factor(self) -> Scores:
        """Scores of all rows from a factor K ≈ F Fᵀ of low rank."""
        return self.choose(self._losses(np.arange(len(self.points)), self.splits, self._factor[1]))

    @property
    def alpha(self) -> float:
        return float(self.scores.alphas[self.scores.chosen])

    def final(self) -> Scores:
        """Scores for the fit: where there are many rows, with alpha as it is best for many."""
        if not self.many:
            return self.scores
        left = self._factor[0].unexplained * float(self.kernel.diag(self.points).mean())
        if left <= MAX_UNEXPLAINED * self.alpha:
            return self.by_factor
        scores = self.scores
        if scores.rule != "best" or len(scores.alphas) == 1:
            return scores
        chosen, loss, tries = scores.chosen, self.loss(self.alpha), TRIES
        for down in (True, False):  # more rows mostly ask for less
            start = chosen
            while tries:
                after = self._beyond(scores.alphas, chosen, down=down)
                tries -= 1
                if after is None or not (other := self.loss(float(scores.alphas[after]))) < loss:
                    break
                chosen, loss = after, other
            if chosen != start:
                break
        return replace(scores, chosen=chosen)

    @staticmethod
    def _beyond(alphas: Floats, at: int, *, down: bool) -> int | None:
        """The next alpha that is a step away; None at the end of the grid."""
        if down:
            smaller = np.flatnonzero(alphas <= alphas[at] / STEP)
            return int(smaller[0]) if smaller.size else None
        larger = np.flatnonzero(alphas >= alphas[at] * STEP)
        return int(larger[-1]) if larger.size else None

    def loss(self, alpha: float) -> float:
        """The loss at alpha of rows left out of most of the rows; of folds, that of the first."""
        if alpha not in self.known:
            self.known[alpha] = self._loss(alpha)
        return self.known[alpha]

    def _loss(self, alpha: float) -> float:
        sample = self._order[:MOST]
        scale = float(self.weight.sum() / self.weight[sample].sum())
        if self.splits is None:
            count = min(TESTED, len(sample))
            points, Y, weight = self.points[sample], self.Y[sample], self.weight[sample]
            factor = Factor(self.kernel.upper(points), weight, alpha * scale)
            if factor.failed:
                F = pivots(self.kernel, points, RANK)[1]
                residuals = KernelPath(Y, weight, self.intercept, F=F).loo_residuals(np.array([alpha * scale]))[0][
                    -count:
                ]
            else:
                residuals = last_loo_residuals(factor, Y, self.intercept, count)
            return float(np.average((residuals**2).mean(axis=1), weights=weight[-count:]))
        train, test = (np.intersect1d(rows, sample) for rows in self.splits[0])
        if not len(train) or not len(test):
            train, test = self.splits[0]
        weight = self.weight[train]
        factor = Factor(self.kernel.upper(self.points[train]), weight, alpha * scale)
        if factor.failed:
            F = pivots(self.kernel, self.points[train], RANK)[1]
            beta, b = KernelPath(self.Y[train], weight, self.intercept, F=F).at(alpha * scale)
        else:
            beta, b = dual_of(factor, self.Y[train], self.intercept)
        residuals = self.Y[test] - self.kernel.block(self.points[test], self.points[train]) @ beta - b
        return float(np.average((residuals**2).mean(axis=1), weights=self.weight[test]))

    @cached_property
    def _factor(self) -> tuple[Any, Floats]:
        return pivots(self.kernel, self.points, RANK)

    def _losses(self, part: Any, splits: Splits, F: Floats | None = None) -> Losses:
        """Losses (A, K) of alphas from the kernel matrix of some rows, or from a factor of low rank."""
        Y, weight, intercept = self.Y[part], self.weight[part], self.intercept
        scale = float(self.weight.sum() / weight.sum())
        K: Any = self.kernel.matrix(self.points[part]) if F is None else None
        if splits is None:
            whole = KernelPath(Y, weight, intercept, K=K, F=F)
            return lambda alphas: (np.array([(m**2).mean(axis=1) for m in whole.loo_residuals(alphas * scale)]), weight)

        if F is not None:
            return self._losses_of_refits(Y, weight, splits, scale, K, F)

        partition = all(len(train) + len(test) == len(Y) for train, test in splits)
        if partition and sum(len(train) ** 3 for train, _ in splits) > EIGEN * len(Y) ** 3:
            return self._losses_of_folds(KernelPath(Y, weight, intercept, K=K), K, splits, scale)
        return self._losses_of_parts(Y, weight, splits, scale, K)

    def _losses_of_parts(self, Y: Floats, weight: Floats, splits: Any, scale: float, K: Floats) -> Losses:
        """Losses of folds, the training part of each made tridiagonal; where λ is rounding beside K, by refits."""

        def begun(pair: tuple[Any, Any]) -> TridiagonalPath:
            train = pair[0]
            return TridiagonalPath(K[train][:, train], Y[train], weight[train], self.intercept)

        with single_threaded_blas():
            paths = parallel_map(begun, splits)
        refits = cache(lambda: self._losses_of_refits(Y, weight, splits, scale, K, None))

        def losses(alphas: Floats) -> tuple[Floats, Floats | None]:
            def one(number: int) -> Floats:
                train, test = splits[number]
                beta, b = paths[number].at(alphas * (scale * float(weight[train].sum())))
                f = K[test][:, train] @ beta.reshape(len(train), -1)
                residuals = Y[test][:, None, :] - f.reshape(len(test), *b.shape) - b
                share = weight[test] / (weight[test].sum() * Y.shape[1])
                return np.asarray(share @ (residuals * residuals).sum(axis=2))

            with single_threaded_blas():
                table = np.column_stack(parallel_map(one, range(len(splits))))
            return self._without_gaps(table, alphas, refits), None

        return losses

    @staticmethod
    def _without_gaps(table: Floats, alphas: Floats, refits: Callable[[], Losses]) -> Floats:
        """Losses (A, K), of alphas that rounding has left without them by refits."""
        for a in np.flatnonzero(~np.isfinite(table).all(axis=1)):
            table[a] = refits()(alphas[a : a + 1])[0][0]
        return table

    def _losses_of_folds(self, whole: KernelPath, K: Floats, splits: Any, scale: float) -> Losses:
        """Losses of folds from one decomposition of all rows; where λ is rounding beside K, by refits."""
        Y, weight = whole.Y, whole.weight
        least = ROUNDING * float(whole.values[-1])
        totals = [float(weight[train].sum()) for train, _ in splits]
        folds, shares = [], []
        for _, test in splits:
            folds.append(whole.fold(test))
            shares.append(weight[test] / (weight[test].sum() * Y.shape[1]))
        refits = cache(lambda: self._losses_of_refits(Y, weight, splits, scale, K, None))

        def losses(alphas: Floats) -> tuple[Floats, Floats | None]:
            def one(alpha: float) -> Floats:
                fold_losses = np.empty(len(folds))
                for s, fold in enumerate(folds):
                    lam = alpha * scale * totals[s]
                    residuals = whole.fold_residuals(fold, lam) if lam > least else np.full((1, 1), np.inf)
                    fold_losses[s] = (
                        float((shares[s] @ (residuals * residuals)).sum()) if np.isfinite(residuals).all() else np.inf
                    )
                return fold_losses

            with single_threaded_blas():
                table = np.array(parallel_map(one, [float(alpha) for alpha in alphas]))
            return self._without_gaps(table, alphas, refits), None

        return losses

    def _losses_of_refits(self, Y: Floats, weight: Floats, splits: Any, scale: float, K: Any, F: Any) -> Losses:
        """Losses of folds, each decomposed by itself."""
        intercept = self.intercept

        def path(train: Any) -> KernelPath:
            inner = None if F is not None else K[train][:, train]
            return KernelPath(Y[train], weight[train], intercept, K=inner, F=None if F is None else F[train])

        def one(path: KernelPath, train: Any, test: Any, alpha: float) -> float:
            beta, b = path.at(alpha)
            f = K[test][:, train] @ beta if F is None else F[test] @ (F[train].T @ beta)
            return float(np.average(((Y[test] - f - b) ** 2).mean(axis=1), weights=weight[test]))

        paths = [path(train) for train, _ in splits]

        def losses(alphas: Floats) -> tuple[Floats, Floats | None]:
            pairs = list(zip(paths, splits, strict=True))
            return np.array(
                [[one(p, train, test, float(a) * scale) for p, (train, test) in pairs] for a in alphas]
            ), None

        return losses

    def _within(self, part: Any) -> Splits:
        """Splits of some rows, by their places among these; None where one has no rows to train on or to test."""
        if self.splits is None:
            return None
        place = np.full(len(self.points), -1)
        place[part] = np.arange(len(part))
        pairs = [(place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in self.splits]
        return pairs if all(len(train) and len(test) for train, test in pairs) else None


def finalists(trials: dict[Any, KernelRidgeCV], near: list[Any]) -> dict[Any, float]:
    """Losses by which kernels are compared: of many rows, the best few, and those `near`, again with most of the rows.

    The best few are two of the sample, and two if losses go on decreasing as from half of it: narrow kernels gain most
    from more rows.
    """
    losses = {kernel: float(trial.scores.mean[trial.scores.chosen]) for kernel, trial in trials.items()}
    if len(trials) == 1 or not all(trial.many for trial in trials.values()):
        return losses
    few = {*near, *(kernel for kernel, trial in trials.items() if trial.known)}
    if not few:
        ahead = {kernel: loss * trials[kernel].extrapolated_decrease for kernel, loss in losses.items()}
        few = {*sorted(losses, key=lambda k: losses[k])[:2], *sorted(ahead, key=lambda k: ahead[k])[:2]}
    again = {kernel: trials[kernel].loss(trials[kernel].alpha) for kernel in losses if kernel in few}
    worst = max(again.values())
    return {kernel: again.get(kernel, max(loss, worst)) for kernel, loss in losses.items()}

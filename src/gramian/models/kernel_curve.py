"""Validation losses of kernel ridge regression: exact for some rows; for many by a factor, or the learning curve."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.kernels.pivots import pivots
from gramian.selection.scores import Scores
from gramian.solvers.kernel_ridge import KernelPath

Floats = NDArray[np.float64]
Losses = Callable[[Floats], tuple[Floats, Floats | None]]
WHOLE = 2500  # rows up to which losses come from the whole kernel matrix
SAMPLE = {True: 1400, False: 1000}  # rows that stand for more of them: of leave-one-out, of folds
STEEPEST = 1.0  # losses fall at most as 1 / n
RANK = 600  # of a factor of the kernel matrix
LITTLE = 10.0  # times alpha: what a factor may leave out of the mean of k(x, x)
CLEAR = 1e-3  # an alpha that is seldom too small


def curve_scores(
    kernel: Any,
    points: Any,
    Y: Floats,
    weight: Floats,
    intercept: bool,
    splits: list[tuple[Any, Any]] | None,
    choose: Callable[[Losses], Scores],
) -> Scores:
    """Scores that `choose` finds from losses (A, K) of alphas: K rows left out one by one, or K folds.

    Up to `WHOLE` rows they are exact. Beyond, a factor K ≈ F Fᵀ of low rank serves where what it leaves out is little
    next to the alpha chosen. Where it is not, losses are exact for a sample of the rows, with λ, the noise next to the
    function, kept as it is; the smallest loss of the sample and those of its halves tell how it falls with the number
    of rows, and by this power losses are continued to all. So narrow kernels, which gain most from more rows and which
    a factor does not show, are compared as they are with all of them.
    """
    n = len(points)

    def scores(part: Any, some: Any) -> Scores:
        scale = float(weight.sum() / weight[part].sum())
        losses = _exact(kernel, points[part], Y[part], weight[part], intercept, some)
        return choose(lambda alphas: losses(alphas * scale))

    order = np.random.default_rng(0).permutation(n)[: SAMPLE[splits is None]]
    half = len(order) // 2
    parts = [np.sort(order), np.sort(order[:half]), np.sort(order[half : 2 * half])]
    cut = [_within(splits, part, n) for part in parts]
    scarce = any(not len(train) or not len(test) for some in cut if some is not None for train, test in some)
    if n <= WHOLE:
        return scores(np.arange(n), splits)
    chosen, F = pivots(kernel, points, RANK)
    left = chosen.left * float(kernel.diag(points).mean())
    if scarce or left < CLEAR * LITTLE:  # folds so small that a sample has none of some have no curve
        found = choose(_exact(kernel, points, Y, weight, intercept, splits, F))
        if scarce or left <= LITTLE * found.alphas[found.chosen]:
            return found
    whole, *halves = (scores(part, some) for part, some in zip(parts, cut, strict=True))
    before = sum(float(found.mean[found.best]) for found in halves) / 2.0
    fell = float(whole.mean[whole.best]) / before if before > 0 else 1.0
    fall = float(np.clip(fell, 2.0**-STEEPEST, 1.0) ** np.log2(n / len(order)))
    return replace(whole, folds=whole.folds * fall, mean=whole.mean * fall, se=whole.se * fall)


def _exact(
    kernel: Any,
    points: Any,
    Y: Floats,
    weight: Floats,
    intercept: bool,
    splits: list[tuple[Any, Any]] | None,
    F: Floats | None = None,
) -> Losses:
    """Losses from the kernel matrix, or from a factor that stands for it."""
    K = kernel.matrix(points) if F is None else None
    if splits is None:
        path = KernelPath(Y, weight, intercept, K=K, F=F)
        return lambda alphas: (np.array([(path.missed(float(a)) ** 2).mean(axis=1) for a in alphas]), weight)

    def made(train: Any) -> KernelPath:
        if F is not None:
            return KernelPath(Y[train], weight[train], intercept, F=F[train])
        return KernelPath(Y[train], weight[train], intercept, K=K[np.ix_(train, train)])  # type: ignore[index]

    def between(test: Any, train: Any, beta: Floats) -> Floats:
        if F is not None:
            return np.asarray(F[test] @ (F[train].T @ beta))
        return np.asarray(K[np.ix_(test, train)] @ beta)  # type: ignore[index]

    def one(path: KernelPath, train: Any, test: Any, alpha: float) -> float:
        beta, b = path.at(alpha)
        missed = Y[test] - between(test, train, beta) - b
        return float(np.average((missed**2).mean(axis=1), weights=weight[test]))

    paths = [made(train) for train, _ in splits]

    def losses(alphas: Floats) -> tuple[Floats, Floats | None]:
        table = [[one(p, *split, float(a)) for p, split in zip(paths, splits, strict=True)] for a in alphas]
        return np.array(table), None

    return losses


def _within(splits: list[tuple[Any, Any]] | None, part: Any, n: int) -> list[tuple[Any, Any]] | None:
    """Splits of some rows, by their places among these."""
    if splits is None:
        return None
    place = np.full(n, -1)
    place[part] = np.arange(len(part))
    return [tuple(found[found >= 0] for found in (place[train], place[test])) for train, test in splits]  # type: ignore[misc]

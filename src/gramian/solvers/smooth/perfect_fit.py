"""Perfect fits: the scale of the noise goes to 0, and a likelihood has no optimum."""

from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem, least_scale
from gramian.rows import MemoryRows
from gramian.solvers.row_products import RowProducts

SMALLEST_SHARE = 1e-12  # of the range of the target: a scale that is rounding
MAX_COUNTED_ENTRIES = 1e7  # of the design, that independent rows are sought in
MIN_INDEPENDENT = 1e-8  # of a row, orthogonal to the others


def perfect_fit(problem: Problem, theta: Any, scale: float | None) -> str:
    """Why there is no scale, in a sentence; empty where there is one.

    With W₀ of the weight W fitted exactly, −log likelihood of Student's t is (W₀ − nu (W − W₀)) log scale + O(1) as the
    scale goes to 0: unbounded below where W₀ / W > nu / (nu + 1), wherever the fit has ended. The objective of Huber's
    loss stays bounded, and has its minimum at a scale of 0.
    """
    if scale is None or not problem.loss.estimates_scale:
        return ""
    loss: Any = problem.loss
    largest = problem.reach + float(np.abs(theta).sum())  # of the terms of a prediction, in standard units
    if not loss.convex:
        limit = loss.nu / (loss.nu + 1.0)
        remedy = f"Give the scale of the noise, as in StudentT(nu={loss.nu:g}, scale=…)."
        if scale <= max(SMALLEST_SHARE * 1e9 * least_scale(problem), 64.0 * float(np.finfo(np.float64).eps) * largest):
            return (
                f"Perfect fit of more than {limit:.0%} of the rows: the likelihood is unbounded as the scale goes to "
                f"0, so no optimum exists; the scale was fixed at {scale:.3g}. {remedy}"
            )
        share = exact_share(problem, limit)
        if share <= limit * (1.0 + 1e-9):
            return ""
        return (
            f"{share:.0%} of the rows can be fitted perfectly, more than {limit:.0%}: the likelihood is unbounded as "
            f"the scale goes to 0, so no optimum exists; the scale {scale:.3g} is that of a stationary point. {remedy}"
        )
    if scale > least_scale(problem):
        return ""
    return (
        f"Perfect fit of many rows: the estimated scale is nothing next to the target, and held at {scale:.3g}. Give "
        f"the scale of the noise, as in {type(loss).__name__}(delta={loss.delta:g}, scale=…)."
    )


def exact_share(problem: Problem, limit: float) -> float:
    """A share of the weight that some coefficients fit exactly; 0 where it is known to be at most the limit.

    Of the commonest target (by the intercept alone), or of the heaviest independent rows with their repetitions.
    """
    if not isinstance(problem.rows, MemoryRows) or problem.parts is None or problem.parts.bounded:
        return 0.0
    rows = RowProducts(problem)
    values, group = np.unique(rows.y, return_inverse=True)
    shares = np.bincount(group, weights=rows.share)
    commonest = float(shares.max() if problem.intercept else shares[values == 0.0].sum())
    bound = float(np.sort(shares)[-problem.p :].sum())  # repetitions of a row have its target
    if commonest > limit or bound <= limit or len(rows.y) * problem.p > MAX_COUNTED_ENTRIES:
        return commonest
    Z = rows.predictions(np.eye(problem.p))
    distinct, group = np.unique(np.column_stack([Z, rows.y]), axis=0, return_inverse=True)
    shares = np.bincount(group.reshape(-1), weights=rows.share)
    order = np.argsort(-shares, kind="stable")
    return max(commonest, float(shares[order[_independent(distinct[order, :-1])]].sum()))


def _independent(Z: Floats) -> list[int]:
    """The first rows that are linearly independent of those before them, by Gram–Schmidt, twice."""
    Q = np.empty((0, Z.shape[1]))
    chosen: list[int] = []
    for i, row in enumerate(Z):
        rest = row - Q.T @ (Q @ row)
        rest -= Q.T @ (Q @ rest)
        size = float(np.linalg.norm(rest))
        if size > MIN_INDEPENDENT * float(np.linalg.norm(row)):
            Q = np.vstack([Q, rest / size])
            chosen.append(i)
        if len(Q) == Z.shape[1]:
            break
    return chosen

"""Perfect fits: the scale of the noise goes to 0, and a likelihood has no optimum."""

from typing import Any

import numpy as np

from gramian.objective.number_losses import StudentT
from gramian.solvers.problem import Problem, joint_scale, least_scale

SMALLEST_SHARE = 1e-12  # of the range of the target: a scale that is rounding


def perfect_fit(problem: Problem, theta: Any, scale: float | None) -> str:
    """Why there is no scale, in a sentence; empty where there is one.

    With W₀ of the weight W fitted exactly, −log likelihood of Student's t is (W₀ − nu (W − W₀)) log scale + O(1) as the
    scale goes to 0: unbounded below where W₀ / W > nu / (nu + 1). The objective of Huber's loss stays bounded, and has
    its minimum at a scale of 0.
    """
    if scale is None or not joint_scale(problem.loss):
        return ""
    loss: Any = problem.loss
    largest = problem.reach + float(np.abs(theta).sum())  # of the terms of a prediction, in standard units
    if isinstance(loss, StudentT):
        if scale > max(SMALLEST_SHARE * 1e9 * least_scale(problem), 64.0 * float(np.finfo(np.float64).eps) * largest):
            return ""
        return (
            f"Perfect fit of more than {loss.nu / (loss.nu + 1.0):.0%} of the rows: the likelihood is unbounded as the "
            f"scale goes to 0, so no optimum exists; the scale was fixed at {scale:.3g}. Give the scale of the noise, "
            f"as in StudentT(nu={loss.nu:g}, scale=…)."
        )
    if scale > least_scale(problem):
        return ""
    return (
        f"Perfect fit of many rows: the estimated scale is 0, held at {scale:.3g}. Give the scale of the noise, as in "
        f"{type(loss).__name__}(delta={loss.delta:g}, scale=…)."
    )

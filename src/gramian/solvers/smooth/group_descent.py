"""The quadratic model with norms of groups: each group in turn to its exact minimum."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem

DIAGONAL_SHIFT = 1e-9


def group_step(problem: Problem, H: Floats, g: Floats, theta: Floats, tol: float, sweeps: int) -> Floats:
    """argmin over δ of gᵀδ + ½ δᵀHδ + Σ cost ‖θ + δ‖ over the groups, flattened over the outputs."""
    H = H + DIAGONAL_SHIFT * float(np.diagonal(H).mean()) * np.eye(len(H))  # where H is singular a group has no minimum
    blocks: list[tuple[Ints, float]] = []
    for k in range(problem.m):
        blocks += [(members + k * problem.p, cost) for members, cost in problem.groups]
        if problem.intercept:
            blocks.append((np.array([k * problem.p + problem.d]), 0.0))
    spectra = [np.linalg.eigh(H[np.ix_(index, index)]) for index, _ in blocks]
    members = np.concatenate([index for index, _ in blocks])
    ends = np.cumsum([0, *[len(index) for index, _ in blocks]])
    costs = np.array([cost for _, cost in blocks])
    values = np.concatenate([np.maximum(v, 0.0) for v, _ in spectra])
    vectors = np.concatenate([Q.reshape(-1) for _, Q in spectra])
    return np.asarray(descend_groups(H, g, theta, members, ends, costs, values, vectors, tol, sweeps) - theta)


@njit(cache=True, nogil=True)
def descend_groups(
    H: Any, g: Any, theta: Any, members: Any, ends: Any, costs: Any, values: Any, vectors: Any, tol: float,
    sweeps: int,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Sweeps over the groups, each minimised in the basis in which its part of H is diagonal."""
    x, slope = theta.copy(), g.copy()
    for _ in range(sweeps):
        largest = 0.0
        first = 0
        for b in range(len(costs)):
            start, k = ends[b], ends[b + 1] - ends[b]
            index, curvatures = members[start : start + k], values[start : start + k]
            Q = vectors[first : first + k * k].reshape(k, k)
            first += k * k
            if curvatures[k - 1] <= 0.0:
                continue
            target = Q.T @ x[index] * curvatures - Q.T @ slope[index]
            new = Q @ group_minimum(curvatures, target, costs[b])
            change = new - x[index]
            if np.abs(change).max() > 0.0:
                before = slope[index]
                for j in range(k):
                    slope += change[j] * H[index[j]]
                x[index] = new
                slope_change = np.abs(slope[index] - before).max()
                if slope_change > largest:
                    largest = slope_change
        if largest <= tol:
            break
    return x


@njit(cache=True, nogil=True)
def group_minimum(curvatures: Any, target: Any, cost: float) -> Any:  # pragma: no cover - compiled
    """argmin over z of ½ Σ h z² − targetᵀz + cost ‖z‖: the length t = ‖z‖ solves Σ (target / (h t + cost))² = 1."""
    z = np.zeros(len(target))
    floor = 1e-14 * curvatures.max()
    if cost == 0.0:
        for i in range(len(z)):
            if curvatures[i] > floor:
                z[i] = target[i] / curvatures[i]
        return z
    if np.sqrt((target * target).sum()) <= cost:
        return z
    t = 0.0
    for _ in range(100):
        parts = target / (curvatures * t + cost)
        size = np.sqrt((parts * parts).sum())
        fall = (parts * parts * curvatures / (curvatures * t + cost)).sum() / size  # −∂ size / ∂ t
        if fall <= 0.0:
            break
        # Newton on 1 / size, which is nearly a straight line in t
        change = (size - 1.0) * size / fall
        t += change
        if abs(change) <= 1e-15 * t:
            break
    return target * t / (curvatures * t + cost)

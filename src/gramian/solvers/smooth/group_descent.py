"""The quadratic model with norms of groups: each group in turn to its exact minimum."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem

RAISED = 1e-9


def group_step(problem: Problem, H: Floats, g: Floats, theta: Floats, enough: float, sweeps: int) -> Floats:
    """argmin over δ of gᵀδ + ½ δᵀHδ + Σ cost ‖θ + δ‖ over the groups, flattened over the outputs."""
    H = H + RAISED * float(np.diagonal(H).mean()) * np.eye(len(H))  # where H is singular a group has no minimum
    blocks: list[tuple[Ints, float]] = []
    for k in range(problem.m):
        blocks += [(members + k * problem.p, cost) for members, cost in problem.groups]
        if problem.intercept:
            blocks.append((np.array([k * problem.p + problem.d]), 0.0))
    turned = [np.linalg.eigh(H[np.ix_(index, index)]) for index, _ in blocks]
    members = np.concatenate([index for index, _ in blocks])
    ends = np.cumsum([0, *[len(index) for index, _ in blocks]])
    costs = np.array([cost for _, cost in blocks])
    values = np.concatenate([np.maximum(v, 0.0) for v, _ in turned])
    vectors = np.concatenate([Q.reshape(-1) for _, Q in turned])
    return np.asarray(descend_groups(H, g, theta, members, ends, costs, values, vectors, enough, sweeps) - theta)


@njit(cache=True, nogil=True)
def descend_groups(
    H: Any, g: Any, theta: Any, members: Any, ends: Any, costs: Any, values: Any, vectors: Any, enough: float,
    sweeps: int,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Sweeps over the groups, each minimised in the basis in which its part of H is diagonal."""
    x, slope = theta.copy(), g.copy()
    for _ in range(sweeps):
        largest = 0.0
        first = 0
        for b in range(len(costs)):
            start, k = ends[b], ends[b + 1] - ends[b]
            index, bend = members[start : start + k], values[start : start + k]
            Q = vectors[first : first + k * k].reshape(k, k)
            first += k * k
            if bend[k - 1] <= 0.0:
                continue
            pull = Q.T @ x[index] * bend - Q.T @ slope[index]
            new = Q @ group_minimum(bend, pull, costs[b])
            change = new - x[index]
            if np.abs(change).max() > 0.0:
                before = slope[index]
                for j in range(k):
                    slope += change[j] * H[index[j]]
                x[index] = new
                moved = np.abs(slope[index] - before).max()
                if moved > largest:
                    largest = moved
        if largest <= enough:
            break
    return x


@njit(cache=True, nogil=True)
def group_minimum(bend: Any, pull: Any, cost: float) -> Any:  # pragma: no cover - compiled
    """argmin over z of ½ Σ bend z² − pullᵀz + cost ‖z‖: the length t = ‖z‖ solves Σ (pull / (bend t + cost))² = 1."""
    z = np.zeros(len(pull))
    floor = 1e-14 * bend.max()
    if cost == 0.0:
        for i in range(len(z)):
            if bend[i] > floor:
                z[i] = pull[i] / bend[i]
        return z
    if np.sqrt((pull * pull).sum()) <= cost:
        return z
    t = 0.0
    for _ in range(100):
        parts = pull / (bend * t + cost)
        size = np.sqrt((parts * parts).sum())
        fall = (parts * parts * bend / (bend * t + cost)).sum() / size  # −∂ size / ∂ t
        if fall <= 0.0:
            break
        # Newton on 1 / size, which is nearly a straight line in t
        change = (size - 1.0) * size / fall
        t += change
        if abs(change) <= 1e-15 * t:
            break
    return pull * t / (bend * t + cost)

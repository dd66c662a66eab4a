"""Information criteria of clusters: the likelihood of rows and their owners, and the numbers that were fitted."""

from typing import Any

import numpy as np

from gramian.structures.components.covariance import KINDS
from gramian.structures.loop.alternation import Loop, Outcome


def parameter_count(structures: list[Any], d: int) -> int:
    """Free numbers of a model: of its structures, its shares, and the scale of its noise or the matrix they share."""
    count = sum(each.parameters(d) for each in structures) + len(structures) - 1
    if not structures[0].density:
        return count + 1
    shared = any(getattr(each, "covariance", KINDS[0]) == "shared" for each in structures if hasattr(each, "_kind"))
    return count + (d * (d + 1) // 2 if shared else 0)


def log_likelihood(outcome: Outcome, d: int, weight: float) -> float:
    """Of the rows; where rows have one owner each, of the rows and their owners.

    Distances are normal noise across the structures, of one variance for all (Laplace's for absolute errors).
    """
    structures = outcome.state.structures
    if outcome.state.scale is not None or (structures[0].density and outcome.soft):
        return -outcome.value
    mass = outcome.mass[outcome.mass > 0]
    of_owners = float(mass @ np.log(mass / mass.sum()))
    if structures[0].density:
        return of_owners - outcome.value
    c = Loop.codimension(structures, d)
    value = max(outcome.value, 1e-300)
    if structures[0].power == 1:
        return of_owners - weight * c * (np.log(2.0 * value / (weight * c)) + 1.0)
    return of_owners - 0.5 * weight * c * (np.log(2.0 * np.pi * value / (weight * c)) + 1.0)


def bayes(outcome: Outcome, d: int, weight: float) -> float:
    """−2 log likelihood + parameters · log n: lower is better."""
    count = parameter_count(outcome.state.structures, d)
    return -2.0 * log_likelihood(outcome, d, weight) + count * float(np.log(weight))

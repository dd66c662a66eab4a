"""Information criteria of clusterings: the likelihood of rows and labels, and the number of free parameters."""

from typing import TYPE_CHECKING

import numpy as np

from gramian.structures.loop.alternation import Loop, LoopResult

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure


def parameter_count(structures: "list[Structure]", d: int) -> int:
    """Free parameters: of the structures, those they share, the mixing proportions and the scale of the noise."""
    count = sum(each.n_parameters(d) for each in structures) + len(structures) - 1
    return count + max(each.n_shared_parameters(d) for each in structures) + int(not structures[0].density)


def log_likelihood(result: LoopResult, d: int, weight: float) -> float:
    """Of the rows; where each row has one owner, the complete-data likelihood of rows and labels.

    Distances have normal noise orthogonal to the structures, of one variance for all; absolute errors Laplace noise.
    """
    structures = result.state.structures
    if result.state.scale is not None or (structures[0].density and result.soft):
        return -result.value
    mass = result.mass[result.mass > 0]
    of_labels = float(mass @ np.log(mass / mass.sum()))
    if structures[0].density:
        return of_labels - result.value
    c = Loop.codimension(structures, d)
    value = max(result.value, 1e-300)
    if structures[0].power == 1:
        return of_labels - weight * c * (np.log(2.0 * value / (weight * c)) + 1.0)
    return of_labels - 0.5 * weight * c * (np.log(2.0 * np.pi * value / (weight * c)) + 1.0)


def bic(result: LoopResult, d: int, weight: float) -> float:
    """−2 log likelihood + parameters · log n: lower is better."""
    count = parameter_count(result.state.structures, d)
    return -2.0 * log_likelihood(result, d, weight) + count * float(np.log(weight))

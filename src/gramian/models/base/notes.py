"""Notes of summaries on what a penalty does to the numbers in them."""

from typing import Any

import numpy as np

PENALISED = (
    "A penalty shrinks the estimates: intervals and p-values are about what they are on average, not about the true "
    "values; they contain neither the bias of the penalty"
)


def penalty_notes(alpha: Any, chosen: bool, errors: bool = True) -> list[str]:
    """What intervals and p-values do not contain, where there is a penalty."""
    if not errors or not np.any(np.asarray(alpha, dtype=np.float64) > 0):
        return []
    return [f"{PENALISED} nor the choice of alpha{' by cross-validation' if chosen else ''}."]

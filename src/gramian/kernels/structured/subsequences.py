"""Common subsequences of two strings by dynamic programming, compiled."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit


@njit(cache=True, nogil=True)
def common_subsequences(s: Any, t: Any, k: int, decay: float) -> float:  # pragma: no cover - compiled
    """Σ over common subsequences of k letters of decay^(letters skipped in s and in t); O(k |s| |t|), no subtraction.

    ends[i, j]: those of p letters that end at sᵢ and tⱼ; sums[i, j] = Σ_{i' ≤ i, j' ≤ j} decay^(i − i' + j − j') ends.
    """
    n, m = len(s), len(t)
    ends = np.zeros((n, m))
    total = 0.0
    for i in range(n):
        for j in range(m):
            if s[i] == t[j]:
                ends[i, j] = 1.0
                total += 1.0
    above = np.zeros(m)
    below = np.zeros(m)
    for _ in range(k - 1):
        total = 0.0
        above[:] = 0.0
        for i in range(n):
            along = 0.0
            for j in range(m):
                along = decay * along + ends[i, j]
                below[j] = along + decay * above[j]
            ends[i, 0] = 0.0
            for j in range(1, m):
                ends[i, j] = above[j - 1] if s[i] == t[j] else 0.0
                total += ends[i, j]
            above, below = below, above
    return total


@njit(cache=True, nogil=True)
def subsequence_row(s: Any, t: Any, starts: Any, k: int, decay: float, out: Any) -> None:  # pragma: no cover - compiled
    """The same of s with every string of t; string j is t[starts[j] : starts[j + 1]]."""
    for j in range(len(starts) - 1):
        other = t[starts[j] : starts[j + 1]]
        out[j] = common_subsequences(s, other, k, decay) if min(len(s), len(other)) >= k else 0.0

"""The loops of `chains` for few rows: what they do to whole rows is NumPy's, and nothing is compiled."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import interpreted
from gramian._core.numerics.small_tables import is_small
from gramian.structures.hierarchy import nn_chain

Floats = NDArray[np.float64]
NUMBERS = 64  # of a row of a loop that is interpreted: so many are looked at in the time of one of its steps


def loop(name: str, n: int) -> Callable[..., Any]:
    """A function of `chains` for n rows, compiled or not; both give the same bits."""
    if not is_small(n * NUMBERS):
        compiled: Callable[..., Any] = getattr(nn_chain, name)
        return compiled
    if name == "distance_rows":
        return distance_rows
    return interpreted(getattr(nn_chain, name), **INSTEAD)


def distance_rows(X: Floats, C: Floats, start: int, out: Floats) -> None:
    """Distances of rows X[start:] to all columns of C, a row of `out` each."""
    out[:] = 0.0
    for x, row in zip(X[start : start + len(out)].T, C, strict=True):
        away = row - x[:, None]
        out += away * away
    np.sqrt(out, out=out)


def _squares(C: Floats, x: Floats, m: int) -> Floats:
    squares = np.zeros(m)
    for row, v in zip(C[:, :m], x, strict=True):
        away = row - v
        squares += away * away
    return squares


def _least(values: Floats, gone: Floats, m: int) -> tuple[float, int]:
    return float((values[:m] + gone[:m]).min(initial=np.inf)), 0


def _first(values: Floats, gone: Floats, start: int, m: int, low: float) -> int:
    found = np.flatnonzero(values[start:m] + gone[start:m] == low)
    return start + int(found[0]) if len(found) else -1


def _nearer(
    C: Floats, x: Floats, here: int, near: Floats, come: Any, gone: Floats, m: int, buffer: Floats
) -> tuple[float, int]:
    squares = _squares(C, x, m)
    come[:m][squares < near[:m]] = here
    np.minimum(squares, near[:m], out=near[:m])
    return _least(near, gone, m)


def _ward_row(C: Floats, x: Floats, own: float, w: Floats, gone: Floats, m: int, out: Floats) -> tuple[float, int]:
    np.multiply(_squares(C, x, m), 2.0 * own * w[:m] / (own + w[:m]), out=out[:m])
    return _least(out, gone, m)


def _joined(D: Floats, w: Floats, a: int, b: int, m: int, method: int) -> None:
    v, u, low = w[a], w[b], D[a, b]
    A, B, others = D[a, :m], D[b, :m], w[:m]
    if method == nn_chain.SINGLE:
        np.minimum(A, B, out=A)
    elif method == nn_chain.COMPLETE:
        np.maximum(A, B, out=A)
    elif method == nn_chain.AVERAGE:
        A += u / (v + u) * (B - A)
    else:
        A[:] = ((v + others) * A + (u + others) * B - others * low) / (v + u + others)
    D[:m, a] = A


INSTEAD = {each.__name__: each for each in (_least, _first, _nearer, _ward_row, _joined)}

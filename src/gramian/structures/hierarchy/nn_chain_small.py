"""The loops of `nn_chain` for few rows, interpreted with vectorised steps: faster than compiling."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._core.numerics.compiled import interpreted
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats
from gramian.structures.hierarchy import nn_chain

NUMBERS_PER_STEP = 64  # that a compiled loop handles in the time of one interpreted step


def loop(name: str, n: int) -> Callable[..., Any]:
    """A function of `nn_chain` for n rows, compiled or interpreted; both give the same bits."""
    if not is_small(n * NUMBERS_PER_STEP):
        compiled: Callable[..., Any] = getattr(nn_chain, name)
        return compiled
    if name == "distance_rows":
        return distance_rows
    return interpreted(getattr(nn_chain, name), **VECTORISED)


def distance_rows(X: Floats, C: Floats, start: int, out: Floats) -> None:
    """Distances of rows X[start:] to all columns of C, a row of `out` each."""
    out[:] = 0.0
    for x, row in zip(X[start : start + len(out)].T, C, strict=True):
        deviation = row - x[:, None]
        out += deviation * deviation
    np.sqrt(out, out=out)


def _squares(C: Floats, x: Floats, m: int) -> Floats:
    squares = np.zeros(m)
    for row, v in zip(C[:, :m], x, strict=True):
        deviation = row - v
        squares += deviation * deviation
    return squares


def _least(values: Floats, removed: Floats, m: int) -> tuple[float, int]:
    return float((values[:m] + removed[:m]).min(initial=np.inf)), 0


def _first(values: Floats, removed: Floats, start: int, m: int, value: float) -> int:
    index = np.flatnonzero(values[start:m] + removed[start:m] == value)
    return start + int(index[0]) if len(index) else -1


def _nearer(
    C: Floats, x: Floats, here: int, nearest: Floats, parent: Any, removed: Floats, m: int, buffer: Floats
) -> tuple[float, int]:
    squares = _squares(C, x, m)
    parent[:m][squares < nearest[:m]] = here
    np.minimum(squares, nearest[:m], out=nearest[:m])
    return _least(nearest, removed, m)


def _ward_row(C: Floats, x: Floats, own: float, w: Floats, removed: Floats, m: int, out: Floats) -> tuple[float, int]:
    np.multiply(_squares(C, x, m), 2.0 * own * w[:m] / (own + w[:m]), out=out[:m])
    return _least(out, removed, m)


def _merge_row(D: Floats, w: Floats, a: int, b: int, m: int, method: int) -> None:
    v, u, merge_distance = w[a], w[b], D[a, b]
    A, B, others = D[a, :m], D[b, :m], w[:m]
    if method == nn_chain.SINGLE:
        np.minimum(A, B, out=A)
    elif method == nn_chain.COMPLETE:
        np.maximum(A, B, out=A)
    elif method == nn_chain.AVERAGE:
        A += u / (v + u) * (B - A)
    else:
        A[:] = ((v + others) * A + (u + others) * B - others * merge_distance) / (v + u + others)
    D[:m, a] = A


VECTORISED = {each.__name__: each for each in (_least, _first, _nearer, _ward_row, _merge_row)}

"""The loops of proximal Newton in plain Python, for few coefficients: the same bits without a compilation."""

from math import sqrt
from typing import Any

RAISED = 1e-11  # of the diagonal
SWEEPS = 10  # of coordinate descent, before the coefficients that are not at zero are solved for
FEW_ZEROS = 0.02  # of the coefficients that are not zero: so few that come or go leave a set worth solving for


def minimise_plain(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, tol: float, sweeps: int) -> None:
    """`proximal.minimise` on lists of numbers, which are an order faster to go through than arrays."""
    A, z, g, cost, lowest, highest = (part.tolist() for part in (H, x, slope, l1, low, high))
    for _ in range(0, sweeps, SWEEPS):
        largest, settled = _descend(A, z, g, cost, lowest, highest, tol)
        if largest <= tol:
            break
        if settled:
            _move(A, z, g, cost, lowest, highest, _free_step(A, z, g, cost, lowest, highest))
    x[:], slope[:] = z, g


def _descend(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, tol: float) -> tuple[float, bool]:
    p, moved_zeros, largest = len(x), 0, 0.0
    for sweep in range(SWEEPS):
        whole = sweep in (0, SWEEPS - 1)
        largest = 0.0
        for j in range(p):
            row, old, penalty = H[j], x[j], l1[j]
            h = row[j]
            if h <= 0.0 or (not whole and (old == 0.0 and penalty > 0.0)):
                continue
            z = old - slope[j] / h
            shrink = penalty / h
            new = z - shrink if z > shrink else (z + shrink if z < -shrink else 0.0)
            new = min(max(new, low[j]), high[j])
            change = new - old
            if change != 0.0:
                moved_zeros += sweep > 0 and (old == 0.0 or new == 0.0)
                x[j] = new
                slope[:] = [s + change * r for s, r in zip(slope, row, strict=True)]
                slope_change = abs(change) * h
                if slope_change > largest:
                    largest = slope_change
        if largest <= tol and whole:
            break
    return largest, moved_zeros <= FEW_ZEROS * sum(value != 0.0 for value in x)


def _free_step(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any) -> list[float]:
    p = len(x)
    step = [0.0] * p
    free = [j for j in range(p) if H[j][j] > 0.0 and (x[j] != 0.0 or l1[j] == 0.0) and low[j] < x[j] < high[j]]
    m = len(free)
    roots = [sqrt(H[j][j]) for j in free]
    A: list[list[float]] = []
    b: list[float] = []
    for i, j in enumerate(free):
        unit = 1.0 / roots[i]
        row = [H[j][k] * unit / root for k, root in zip(free, roots, strict=True)]
        row[i] = 1.0 + RAISED
        A.append(row)
        sign = 0.0 if x[j] == 0.0 else (1.0 if x[j] > 0.0 else -1.0)
        b.append(-unit * (slope[j] + l1[j] * sign))
    for i in range(m):
        pivot = i
        for k in range(i + 1, m):
            if abs(A[k][i]) > abs(A[pivot][i]):
                pivot = k
        A[i], A[pivot], b[i], b[pivot] = A[pivot], A[i], b[pivot], b[i]
        top = A[i]
        if top[i] == 0.0:
            return step
        for lower in range(i + 1, m):
            below = A[lower]
            factor = below[i] / top[i]
            for k in range(i + 1, m):
                below[k] -= factor * top[k]
            b[lower] -= factor * b[i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            b[i] -= A[i][k] * b[k]
        b[i] /= A[i][i]
    for j, root, value in zip(free, roots, b, strict=True):
        step[j] = value / root
    return step


def _move(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, step: list[float]) -> None:
    p = len(x)
    reach, changes = 1.0, [0.0] * p
    for _ in range(2):
        gain, first = 0.0, 1.0
        for j in range(p):
            change = reach * step[j]
            end = low[j] if change < 0.0 else high[j]
            if l1[j] > 0.0 and x[j] * change < 0.0 and abs(x[j]) <= abs(end - x[j]):
                end = 0.0
            if step[j] != 0.0 and abs(change) >= abs(end - x[j]):
                # a change may be too small to be told from zero
                first = min(first, (end - x[j]) / change) if change != 0.0 else first
                change = end - x[j]
            changes[j] = change
            gain += change * slope[j] + l1[j] * (abs(x[j] + change) - abs(x[j]))
        if reach < 1.0 or first == 1.0:
            break
        slope_changes = [0.0] * p
        for j in range(p):
            _add_row(slope_changes, changes[j], H[j])
        for j in range(p):
            gain += 0.5 * changes[j] * slope_changes[j]
        if gain < 0.0:
            break
        reach = first
    for j in range(p):
        x[j] = min(max(x[j] + changes[j], low[j]), high[j])
        _add_row(slope, changes[j], H[j])


def _add_row(total: list[float], factor: float, row: list[float]) -> None:
    if factor != 0.0:
        total[:] = [value + factor * r for value, r in zip(total, row, strict=True)]

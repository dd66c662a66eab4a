"""What pulls and pushes the rows of a t-SNE map: every pair, exactly, on vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array, Floats, Ints
from gramian.rows import parallel_map

PANEL = 512
SINGLE = np.float32


@dataclass(frozen=True, eq=False)
class Forces:
    """Of similarities P in a map: Kullback–Leibler divergence KL(P ‖ Q), q_ij = (1 + ‖y_i − y_j‖²)⁻¹ / Z."""

    P: sp.csr_matrix
    rows: Ints  # of the numbers of P
    certain: float  # Σ p log p
    compiled: tuple[Any, Any, Any]

    @classmethod
    def of(cls, P: sp.csr_matrix) -> "Forces":
        # Unsigned, because a place that might be negative keeps the loop from running on vectors.
        rows, p = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), P.data[P.data > 0]
        return cls(
            P,
            rows,
            float(p @ np.log(p)),
            (P.indptr.astype(np.uint64), P.indices.astype(np.uint32), P.data.astype(SINGLE)),
        )

    def gradient(self, Y: Floats, exaggeration: float = 1.0) -> tuple[Floats, float, float]:
        """4 Σ_j (exaggeration p_ij − q_ij) (1 + ‖y_i − y_j‖²)⁻¹ (y_i − y_j), the norm of its pulling half, and Z.

        Pairs in single precision, rows in double.
        """
        n, r = Y.shape
        columns = np.ascontiguousarray(Y.T)
        columns = (columns - columns.mean(axis=1)[:, None]).astype(SINGLE)
        pull = np.empty((n, r))
        loop = _flat if r == 2 else _deep

        def part(i: int) -> tuple[Any, float]:
            force = np.zeros((r, n), dtype=SINGLE)
            total = loop(columns, *self.compiled, i, min(i + PANEL, n), pull, force)
            return force, total

        parts = parallel_map(part, range(0, n, PANEL))
        Z = max(2.0 * float(sum(near for _, near in parts)), 1e-300)
        push = np.zeros((r, n))
        for force, _ in parts:
            push += force
        return 4.0 * (exaggeration * pull - push.T / Z), 4.0 * float(np.linalg.norm(pull)), Z

    def divergence(self, Y: Floats, Z: float) -> float:
        """KL(P ‖ Q), given the sum of all pairs."""
        squares = np.zeros(len(self.rows))
        for column in np.ascontiguousarray(Y.T):
            squares += (column[self.rows] - column[self.P.indices]) ** 2
        return self.certain + float(self.P.data @ np.log1p(squares)) + float(np.log(Z))

    def exact(self, Y: Floats) -> tuple[float, Floats, float]:
        """KL(P ‖ Q), its gradient, and the norm of the half that pulls, in double precision and not by the loops."""
        n = len(Y)
        P = self.P

        def part(i: int) -> tuple[float, Floats]:
            panel = slice(i, min(i + PANEL, n))
            D = np.zeros((panel.stop - i, n))
            for column in Y.T:
                D += (column[panel, None] - column) ** 2
            q = 1.0 / (1.0 + D)
            square = q * q
            return float(q.sum()) - (panel.stop - i), square.sum(axis=1)[:, None] * Y[panel] - square @ Y

        panels = parallel_map(part, range(0, n, PANEL))
        Z = float(sum(total for total, _ in panels))
        difference = Y[self.rows] - Y[P.indices]
        pulled = P.data / (1.0 + (difference**2).sum(axis=1))
        pull = np.column_stack([np.bincount(self.rows, pulled * c, n) for c in difference.T])
        push = np.concatenate([part for _, part in panels])
        return self.divergence(Y, Z or 1.0), 4.0 * (pull - push / (Z or 1.0)), 4.0 * float(np.linalg.norm(pull))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _flat(
    Y: Array, begins: Array, index: Array, p: Array, first: int, last: int, pull: Array, push: Array
) -> float:  # pragma: no cover - compiled
    """Rows first … last − 1 of a map of two dimensions, Y and push (2, n); pairs with earlier rows are those rows'.

    Gives the sum of (1 + ‖y_i − y_j‖²)⁻¹ over these pairs.
    """
    n = np.uint64(Y.shape[1])
    one, zero = np.float32(1.0), np.float32(0.0)
    X, H, FX, FH = Y[0], Y[1], push[0], push[1]
    total = 0.0
    for i in range(first, last):
        x, h = X[i], H[i]
        z, fx, fh = zero, zero, zero
        for j in range(np.uint64(i + 1), n):
            a, b = x - X[j], h - H[j]
            q = one / (one + a * a + b * b)
            z += q
            q *= q
            a *= q
            b *= q
            fx += a
            fh += b
            # Both are read before either is written: the loop then runs on vectors.
            u, v = FX[j] - a, FH[j] - b
            FX[j] = u
            FH[j] = v
        FX[i] += fx
        FH[i] += fh
        total += float(z)
        fx, fh = zero, zero
        for place in range(begins[i], begins[i + 1]):
            j = index[place]
            a, b = x - X[j], h - H[j]
            q = p[place] / (one + a * a + b * b)
            fx += q * a
            fh += q * b
        pull[i, 0], pull[i, 1] = fx, fh
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _deep(
    Y: Array, begins: Array, index: Array, p: Array, first: int, last: int, pull: Array, push: Array
) -> float:  # pragma: no cover - compiled
    """The same in any number of dimensions, Y and push (r, n): each row with all others, half the sum counts."""
    r, n = Y.shape
    one = np.float32(1.0)
    q = np.empty(n, np.float32)
    total = 0.0
    for i in range(first, last):
        q[:] = one
        for c in range(r):
            here = Y[c, i]
            for j in range(n):
                q[j] += (here - Y[c, j]) * (here - Y[c, j])
        z = np.float32(0.0)
        for j in range(n):
            q[j] = one / q[j]
            z += q[j]
        total += 0.5 * (np.float64(z) - 1.0)  # without the row itself
        for c in range(r):
            here, force = Y[c, i], np.float32(0.0)
            for j in range(n):
                force += q[j] * q[j] * (here - Y[c, j])
            push[c, i] = force
            force = np.float32(0.0)
            for place in range(begins[i], begins[i + 1]):
                j = index[place]
                force += p[place] * q[j] * (here - Y[c, j])
            pull[i, c] = force
    return total

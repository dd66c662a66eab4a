"""What pulls and pushes the rows of a t-SNE map: every pair, exactly, on vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from gramian.rows import parallel_map

Floats = NDArray[np.float64]
PANEL = 512
SINGLE = np.float32


@dataclass(frozen=True, eq=False)
class Forces:
    """Of similarities P in a map: Kullback–Leibler divergence KL(P ‖ Q), q_ij = (1 + ‖y_i − y_j‖²)⁻¹ / Z."""

    P: sp.csr_matrix
    compiled: tuple[Any, Any, Any]

    @classmethod
    def of(cls, P: sp.csr_matrix) -> "Forces":
        # Unsigned, because a place that might be negative keeps the loop from running on vectors.
        return cls(P, (P.indptr.astype(np.uint64), P.indices.astype(np.uint32), P.data.astype(SINGLE)))

    def gradient(self, Y: Floats, exaggeration: float = 1.0) -> tuple[Floats, float, float]:
        """4 Σ_j (exaggeration p_ij − q_ij) (1 + ‖y_i − y_j‖²)⁻¹ (y_i − y_j), the norm of its pulling half, and Z.

        Pairs in single precision, rows in double.
        """
        n, r = Y.shape
        columns = np.ascontiguousarray((Y - Y.mean(axis=0)).T, dtype=SINGLE)
        pull, push, near = np.empty((n, r)), np.empty((n, r)), np.empty(n)
        loop = _flat if r == 2 else _deep

        def part(i: int) -> None:
            loop(columns, *self.compiled, i, min(i + PANEL, n), pull, push, near)

        parallel_map(part, range(0, n, PANEL))
        Z = max(float(near.sum()), 1e-300)
        return 4.0 * (exaggeration * pull - push / Z), 4.0 * float(np.linalg.norm(pull)), Z

    def divergence(self, Y: Floats, Z: float) -> float:
        """KL(P ‖ Q), given the sum of all pairs."""
        P, used = self.P, self.P.data > 0
        rows = np.repeat(np.arange(len(Y)), np.diff(P.indptr))[used]
        squares = ((Y[rows] - Y[P.indices[used]]) ** 2).sum(axis=1)
        p = P.data[used]
        return float(p @ (np.log(p) + np.log1p(squares)) + np.log(Z))

    def exact(self, Y: Floats) -> tuple[float, Floats, float]:
        """KL(P ‖ Q), its gradient, and the norm of the half that pulls, in double precision and not by the loops."""
        n = len(Y)
        P = self.P

        def part(i: int) -> tuple[float, Floats]:
            some = slice(i, min(i + PANEL, n))
            D = np.zeros((some.stop - i, n))
            for column in Y.T:
                D += (column[some, None] - column) ** 2
            q = 1.0 / (1.0 + D)
            square = q * q
            return float(q.sum()) - (some.stop - i), square.sum(axis=1)[:, None] * Y[some] - square @ Y

        found = parallel_map(part, range(0, n, PANEL))
        Z = float(sum(near for near, _ in found))
        rows = np.repeat(np.arange(n), np.diff(P.indptr))
        difference = Y[rows] - Y[P.indices]
        pulled = P.data / (1.0 + (difference**2).sum(axis=1))
        pull = np.column_stack([np.bincount(rows, pulled * c, n) for c in difference.T])
        push = np.concatenate([part for _, part in found])
        return self.divergence(Y, Z or 1.0), 4.0 * (pull - push / (Z or 1.0)), 4.0 * float(np.linalg.norm(pull))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _flat(
    Y: Any, begins: Any, index: Any, p: Any, first: int, last: int, pull: Any, push: Any, near: Any
) -> None:  # pragma: no cover - compiled
    """Rows first … last − 1 of a map of two dimensions; Y is (2, n)."""
    n = Y.shape[1]
    one, zero = np.float32(1.0), np.float32(0.0)
    X, H = Y[0], Y[1]
    for i in range(first, last):
        x, h = X[i], H[i]
        z, fx, fh = zero, zero, zero
        for j in range(n):
            a, b = x - X[j], h - H[j]
            q = one / (one + a * a + b * b)
            z += q
            q *= q
            fx += q * a
            fh += q * b
        near[i] = np.float64(z) - 1.0  # without the row itself
        push[i, 0], push[i, 1] = fx, fh
        fx, fh = zero, zero
        for place in range(begins[i], begins[i + 1]):
            j = index[place]
            a, b = x - X[j], h - H[j]
            q = p[place] / (one + a * a + b * b)
            fx += q * a
            fh += q * b
        pull[i, 0], pull[i, 1] = fx, fh


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _deep(
    Y: Any, begins: Any, index: Any, p: Any, first: int, last: int, pull: Any, push: Any, near: Any
) -> None:  # pragma: no cover - compiled
    """The same in any number of dimensions; Y is (r, n)."""
    r, n = Y.shape
    one = np.float32(1.0)
    q = np.empty(n, np.float32)
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
        near[i] = np.float64(z) - 1.0
        for c in range(r):
            here, force = Y[c, i], np.float32(0.0)
            for j in range(n):
                force += q[j] * q[j] * (here - Y[c, j])
            push[i, c] = force
            force = np.float32(0.0)
            for place in range(begins[i], begins[i + 1]):
                j = index[place]
                force += p[place] * q[j] * (here - Y[c, j])
            pull[i, c] = force

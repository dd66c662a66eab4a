"""A metric of rows: the matrix M of the squared distance (x − x')ᵀM(x − x'), as a map x ↦ Lx with M = LᵀL."""

from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.numerics.distances import mean_row
from gramian.kernels.points import Vectors, refuse_other_columns
from gramian.kernels.validity.definite import ROUNDING, definiteness

LEARNED = "learned"
NOTHING = 1e-15  # of the largest eigenvalue: such directions are left out
MAX_WRITTEN_COLUMNS = 3  # columns up to which the text of a kernel has every number


def factor_of(kernel: Any, M: Any) -> Floats:
    """L (r, d) with LᵀL = M, r its rank; M that is not symmetric and positive semi-definite is refused."""
    name = f"metric of {type(kernel).__name__}"
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not len(M) or M.dtype.kind not in "fiu" or not np.isfinite(M).all():
        raise ValueError(
            f"{name} has shape {M.shape}; it must be None, {LEARNED!r} or a square matrix of finite numbers."
        )
    M = np.asarray(M, dtype=np.float64)
    judged = definiteness(M)
    if judged.refuted_beyond(ROUNDING) and judged.pair is not None:
        i, j = judged.pair
        raise ValueError(
            f"{name} is not symmetric: M[{i}, {j}] is {M[i, j]:.5g} and M[{j}, {i}] is {M[j, i]:.5g}. "
            "Give (M + Mᵀ) / 2 if that is what is meant."
        )
    if judged.refuted_beyond(ROUNDING):
        raise ValueError(
            f"{name} has a negative eigenvalue ({judged.smallest:.3g}, of the columns in units of the root of M's "
            "diagonal): a squared distance would be negative. M must be positive semi-definite, such as LᵀL."
        )
    root = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    unit = np.where(root > 0, root, 1.0)
    C = M / unit[:, None] / unit  # as correlations are: columns may have units far apart
    values, axes = np.linalg.eigh((C + C.T) / 2.0)
    keep = values > NOTHING * max(float(values[-1]), 0.0)
    keep[-1] = True  # M = 0 has a factor too
    return np.asarray((axes[:, keep] * np.sqrt(np.maximum(values[keep], 0.0))).T * root)


def transformed(A: Vectors, B: Vectors, L: Floats) -> tuple[Vectors, Vectors]:
    """L(x − c) of the rows of both, c the mean of B: their distances are those of the metric.

    Made once for the rows that these were cut from.
    """
    refuse_other_columns(A, B)
    if B.d != L.shape[1]:
        raise ValueError(f"The metric is {L.shape[1]} × {L.shape[1]}, and X has {B.d} columns; they must agree.")
    A = A.like(B)
    shift = np.zeros(B.d)
    if not B.is_sparse:
        (shift,) = B.home.made("mean", lambda rows: (mean_row(rows.X),))

    def make(rows: Vectors) -> tuple[Vectors]:
        X = rows.X if rows.is_sparse else rows.X - shift
        return (Vectors(np.ascontiguousarray(X @ L.T)),)

    key = ("metric", L.tobytes(), shift.tobytes())
    (one,), (other,) = A.made(key, make), B.made(key, make)
    return one, other


def written(value: Any) -> str:
    """A metric in the text of a kernel: of many columns only how many."""
    if isinstance(value, np.ndarray) and len(value) > MAX_WRITTEN_COLUMNS:
        return f"<{len(value)} × {len(value)}>"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)

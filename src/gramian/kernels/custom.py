"""Kernels that are given: as a matrix, or as a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.points import Items, Vectors, is_table, vectors
from gramian.kernels.validity.definite import definiteness, smallest_share, undecided
from gramian.kernels.validity.proof import Validity, asymmetric, negative_at, proven, unproven

ROUNDING = 1e-9  # of the largest entry: what a matrix that was computed may lack


class Entries:
    """Rows of a given matrix K, with the places of the points among its columns."""

    def __init__(self, K: Floats, places: Ints) -> None:
        self.K = K
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, where: Any) -> "Entries":
        return Entries(self.K, self.places[where])


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """A matrix that holds k already: X is K itself, (n, n) for the training points.

    New points are rows (m, n) of k between them and the training points: `Precomputed()(K_new)` gives them back.

    >>> Precomputed()([[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    @property
    def symmetric(self) -> bool:
        return False

    def points(self, X: Any) -> Entries:
        K = vectors(X).dense()
        return Entries(K, np.arange(len(K)))

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        if Z is not None:
            raise ValueError("Precomputed() takes the matrix of k between X and Z as its only argument.")
        return self.points(X).K.copy()

    def block(self, A: Entries, B: Entries) -> Floats:
        if B.places.size and B.places.max() >= A.K.shape[1]:
            raise ValueError(
                f"A precomputed matrix has {A.K.shape[1]} columns, and point {int(B.places.max())} is wanted; give one "
                "column for each training point."
            )
        return A.K[np.ix_(A.places, B.places)]

    def diag(self, A: Entries) -> Floats:
        if A.K.shape[0] != A.K.shape[1]:
            n, m = A.K.shape
            raise ValueError(f"A precomputed matrix of {n} × {m} has no diagonal of k(x, x); it must be square.")
        return A.K[A.places, A.places]

    def validity(self, X: Any = None) -> Validity:
        """Whether the matrix X is symmetric and positive semi-definite; unknown without one."""
        if X is None:
            return self.proof()
        K = self.points(X).K
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"The matrix is {K.shape[0]} × {K.shape[1]}; it must be square.")
        verdict = definiteness(K)
        if verdict.semidefinite:
            return proven(self, "the matrix is symmetric and positive semi-definite")
        if verdict.semidefinite is None:
            return unproven(self, undecided("the matrix", verdict.smallest))
        slight = smallest_share(K) >= -ROUNDING and float(np.abs(K - K.T).max()) <= ROUNDING * float(np.abs(K).max())
        if verdict.pair is not None:
            i, j = verdict.pair
            there, back = float(K[i, j]), float(K[j, i])
            return asymmetric(self.proof(), i, j, there, back, len(K), within_rounding=slight)
        assert verdict.vector is not None
        support = np.flatnonzero(verdict.vector)
        return negative_at(
            self.proof(), support, verdict.vector[support], verdict.value, len(K), within_rounding=slight
        )

    def proof(self) -> Validity:
        return unproven(self, "it depends on the matrix: k.validity(K) looks at one")


@dataclass(frozen=True, eq=False, repr=False)
class Custom(Kernel):
    """A function of your own: `f(X, Z)` gives the matrix (n, m), or `f(x, z)` one number with `pairwise=True`.

    Rows of numbers reach `f` as arrays (sparse ones as CSR), other objects as lists, or one by one if `pairwise`.

    >>> Custom(lambda x, z: min(x[0], z[0]), pairwise=True)([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    f: Callable[..., Any]
    pairwise: bool = False

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"f of Custom is {self.f!r}; it must be a function of two sets of points.")

    @property
    def symmetric(self) -> bool:
        return False

    def points(self, X: Any) -> Any:
        if is_table(X):
            return vectors(X)
        if not hasattr(X, "__len__") or isinstance(X, str):
            raise ValueError(
                f"Points for {self!r} must be rows of numbers or a list of objects; got {type(X).__name__}."
            )
        if not len(X):
            raise ValueError("X has no points: at least 1 is required.")
        return X if isinstance(X, Items) else Items(X)

    def block(self, A: Any, B: Any) -> Floats:
        shape = (len(A), len(B))
        if not self.pairwise:
            K = self.f(_given(A), _given(B))
            K = np.array(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
            if K.shape != shape:
                raise ValueError(
                    f"f of Custom gives shape {K.shape} for {shape[0]} and {shape[1]} points; it must give the "
                    f"matrix {shape}. A function of two single points needs pairwise=True."
                )
            return K
        left, right = _singles(A), _singles(B)
        return np.array([[_number(self.f(x, z)) for z in right] for x in left], dtype=np.float64).reshape(shape)

    def diag(self, A: Any) -> Floats:
        if self.pairwise:
            return np.array([_number(self.f(x, x)) for x in _singles(A)])
        return super().diag(A)

    def proof(self) -> Validity:
        return unproven(self, "no rule tells of a function of your own")

    def text(self) -> tuple[str, int]:
        from gramian.kernels.base import ATOM

        name = getattr(self.f, "__name__", None) or repr(self.f)
        return f"Custom({name}{', pairwise=True' if self.pairwise else ''})", ATOM


def _given(A: Any) -> Any:
    return A.X if isinstance(A, Vectors) else A.items


def _singles(A: Any) -> list[Any]:
    return list(A.dense() if isinstance(A, Vectors) else A.items)


def _number(value: Any) -> float:
    number = np.asarray(value, dtype=np.float64)
    if number.size != 1:
        raise ValueError(f"f of Custom gives shape {number.shape} for a pair of points; it must give one number.")
    return float(number.reshape(()))

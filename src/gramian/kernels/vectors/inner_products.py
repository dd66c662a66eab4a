"""Kernels of the inner product of two rows, and the two of equality: constant and white."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.parameters import is_whole, refuse_unless
from gramian.kernels.points import Vectors, inner, products, refuse_other_columns, square_norms, vectors
from gramian.kernels.validity.definite import ROUNDING, definiteness, undecided
from gramian.kernels.validity.proof import Validity, asymmetric, negative, negative_at, proven, refuted, unproven


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Kernel):
    """The inner product: k(x, x') = xᵀx'.

    >>> Linear()([[1.0, 2.0], [0.0, 3.0]])
    array([[5., 6.],
           [6., 9.]])
    """

    @property
    def is_linear(self) -> bool:
        return True

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return products(A, B)

    def diag(self, A: Vectors) -> Floats:
        return square_norms(A.X)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return vectors(X).dense()

    def proof(self) -> Validity:
        return proven(self, "an inner product")


@dataclass(frozen=True, eq=False, repr=False)
class WeightedLinear(Kernel):
    """The inner product of rows whose columns count differently: k(x, x') = Σ w x x', with weights w of at least 0."""

    weights: Floats

    @property
    def is_linear(self) -> bool:
        return True

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return products(self._weighted(A), B)

    def diag(self, A: Vectors) -> Floats:
        return square_norms(self._weighted(A, np.sqrt(self.weights)).X)

    def proof(self) -> Validity:
        return proven(self, "an inner product of columns with weights of at least 0")

    def _weighted(self, A: Vectors, weights: Floats | None = None) -> Vectors:
        weights = self.weights if weights is None else weights
        return Vectors(A.X @ sp.diags_array(weights) if A.is_sparse else A.X * weights)


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Kernel):
    """Products of up to `degree` features, weighted: k(x, x') = (xᵀx' + constant)^degree.

    With constant 0 the products of exactly `degree` features.

    >>> Polynomial(2)([[1.0, 2.0], [0.0, 3.0]])
    array([[ 36.,  49.],
           [ 49., 100.]])
    """

    degree: float = 3
    constant: float = 1.0

    def __post_init__(self) -> None:
        refuse_unless(self, "degree", self.degree, 0, open_=True)
        refuse_unless(self, "constant", self.constant, -np.inf, open_=True)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return self._raised(products(A, B))

    def diag(self, A: Vectors) -> Floats:
        return self._raised(square_norms(A.X))

    def features(self, X: Any, terms: int | None = None) -> Floats:
        from gramian.kernels.lowrank.feature_maps import monomials

        if not is_whole(self.degree) or self.constant < 0:
            return super().features(X, terms)
        return monomials(vectors(X).dense(), int(self.degree), float(self.constant))

    def proof(self) -> Validity:
        if is_whole(self.degree) and self.constant >= 0:
            return proven(self, "a polynomial with non-negative coefficients of an inner product")
        if self.constant < 0:
            return unproven(self, f"constant is negative ({self.constant:g})")
        return unproven(self, f"degree is no integer ({self.degree:g})")

    def _raised(self, P: Floats) -> Floats:
        P += self.constant
        if is_whole(self.degree):
            return power(P, int(self.degree))
        if (P < 0).any():
            raise ValueError(
                f"degree is {self.degree!r}, and xᵀx' + constant is negative for some rows, which has no such power; "
                "give an integer degree."
            )
        return np.power(P, self.degree, out=P)


@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Kernel):
    """The cosine of the angle between two rows: k(x, x') = xᵀx' / (‖x‖ ‖x'‖); 0 for rows of zeros.

    >>> Cosine()([[1.0, 0.0], [3.0, 3.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    def block(self, A: Vectors, B: Vectors) -> Floats:
        refuse_other_columns(A, B)
        return inner(_directions(A.like(B))[0], _directions(B)[0])

    def diag(self, A: Vectors) -> Floats:
        return np.asarray(_directions(A)[1])

    def features(self, X: Any, terms: int | None = None) -> Floats:
        U = _directions(vectors(X))[0]
        return np.asarray(U.toarray() if sp.issparse(U) else U)

    def proof(self) -> Validity:
        return proven(self, "the inner product of rows of length one")


@dataclass(frozen=True, eq=False, repr=False)
class Bilinear(Kernel):
    """An inner product by a matrix: k(x, x') = xᵀMx'. A kernel if M is symmetric and positive semi-definite.

    >>> Bilinear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 2.0], [0.0, 3.0]])
    array([[6., 6.],
           [6., 9.]])
    """

    M: Any

    def __post_init__(self) -> None:
        M = np.asarray(self.M)
        if M.ndim != 2 or M.shape[0] != M.shape[1] or M.dtype.kind not in "fiu" or not np.isfinite(M).all():
            raise ValueError(f"M of Bilinear has shape {M.shape}; it must be a square matrix of finite numbers.")
        object.__setattr__(self, "M", M)

    @property
    def symmetric(self) -> bool:
        return bool((self.M == self.M.T).all())

    @property
    def is_linear(self) -> bool:
        return True

    def block(self, A: Vectors, B: Vectors) -> Floats:
        refuse_other_columns(A, B)
        self._refuse(B.d)
        XM = np.asarray(A.X @ np.asarray(self.M, dtype=np.float64))
        return np.asarray((B.X @ XM.T).T if B.is_sparse else XM @ B.X.T)

    def diag(self, A: Vectors) -> Floats:
        self._refuse(A.d)
        XM = np.asarray(A.X @ np.asarray(self.M, dtype=np.float64))
        if A.is_sparse:
            return np.asarray(A.X.multiply(XM).sum(axis=1)).reshape(-1)
        return np.asarray(np.einsum("ij,ij->i", XM, A.X))

    def features(self, X: Any, terms: int | None = None) -> Floats:
        from gramian.kernels.lowrank.feature_maps import feature_map

        A = vectors(X)
        self._refuse(A.d)
        return np.asarray(A.X @ feature_map(self.M))

    def proof(self) -> Validity:
        known = unproven(self, "M is not symmetric and positive semi-definite")
        M = np.asarray(self.M, dtype=np.float64)
        verdict = definiteness(M)
        slight = not verdict.refuted_beyond(ROUNDING)
        if verdict.pair is not None:
            i, j = verdict.pair
            axes = np.eye(len(M))
            there, back = float(M[i, j]), float(M[j, i])
            return asymmetric(known, axes[i], axes[j], there, back, 2, within_rounding=slight)
        if verdict.vector is not None:
            return negative_at(known, verdict.vector[None], np.ones(1), verdict.value, 1, within_rounding=slight)
        if verdict.semidefinite is None:
            return unproven(self, undecided("M", verdict.smallest))
        return proven(self, "M is symmetric and positive semi-definite: M = VᵀV, an inner product of Vx")

    def _refuse(self, d: int) -> None:
        if d != len(self.M):
            raise ValueError(f"M of Bilinear is {len(self.M)} × {len(self.M)}, and X has {d} columns; they must agree.")


@dataclass(frozen=True, eq=False, repr=False)
class Sigmoid(Kernel):
    """A neuron's response: k(x, x') = tanh(slope · xᵀx' + offset). Not a kernel, though called one.

    >>> Sigmoid(0.1)([[1.0, 2.0]]).round(3)
    array([[0.462]])
    """

    slope: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        refuse_unless(self, "slope", self.slope, -np.inf, open_=True)
        refuse_unless(self, "offset", self.offset, -np.inf, open_=True)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        return self._squashed(products(A, B))

    def diag(self, A: Vectors) -> Floats:
        return self._squashed(square_norms(A.X))

    def proof(self) -> Validity:
        if self.slope == 0 and self.offset >= 0:
            return proven(self, "a constant that is not negative")
        if self.slope <= 0:
            return refuted(self, "k(x, x) is negative for a long row x")
        return refuted(self, "for a short row x and a long one z, k(x, z)² exceeds k(x, x) k(z, z)")

    def _squashed(self, P: Floats) -> Floats:
        P *= self.slope
        P += self.offset
        return np.tanh(P, out=P)


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Kernel):
    """The same for every pair: k(x, x') = value. Added to a kernel, it allows for an offset.

    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        refuse_unless(self, "value", self.value, -np.inf, open_=True)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        refuse_other_columns(A, B)
        return np.full((len(A), len(B)), float(self.value))

    def diag(self, A: Vectors) -> Floats:
        return np.full(len(A), float(self.value))

    def features(self, X: Any, terms: int | None = None) -> Floats:
        if self.value < 0:
            return super().features(X, terms)
        return np.full((len(vectors(X)), 1), np.sqrt(float(self.value)))

    def proof(self) -> Validity:
        if self.value < 0:
            return negative(unproven(self, "value is negative"), np.zeros((1, 1)), np.array([[float(self.value)]]), 1)
        return proven(self, "a constant that is not negative")


@dataclass(frozen=True, eq=False, repr=False)
class White(Kernel):
    """Each row for itself: k(x, x') = variance where the rows are equal, else 0.

    >>> White(0.5)([[1.0], [5.0], [1.0]])
    array([[0.5, 0. , 0.5],
           [0. , 0.5, 0. ],
           [0.5, 0. , 0.5]])
    """

    variance: float = 1.0

    def __post_init__(self) -> None:
        refuse_unless(self, "variance", self.variance, 0, open_=False)

    def block(self, A: Vectors, B: Vectors) -> Floats:
        refuse_other_columns(A, B)
        places: dict[bytes, int] = {}
        left, right = (
            np.array([places.setdefault(key, len(places)) for key in C.made("keys", _keys)[0]]) for C in (A.like(B), B)
        )
        return (left[:, None] == right) * float(self.variance)

    def diag(self, A: Vectors) -> Floats:
        return np.full(len(A), float(self.variance))

    def proof(self) -> Validity:
        return proven(self, "the inner product of one axis for each different row, times a number that is not negative")


def power(P: Floats, exponent: int) -> Floats:
    """P^exponent by squaring: faster than the general power, and exact in sign."""
    result: Floats | None = None
    square = P
    while True:
        if exponent & 1:
            result = square.copy() if result is None else np.multiply(result, square, out=result)
        exponent >>= 1
        if not exponent:
            break
        square = square * square
    return np.ones_like(P) if result is None else result


def _directions(A: Vectors) -> tuple[Any, Any]:
    """Rows divided by their length, and 1 for each row but those of zeros."""

    def make(rows: Vectors) -> tuple[Any, Floats]:
        X = rows.X
        largest = abs(X).max(axis=1)
        largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest).reshape(-1)
        nonzero = largest > 0
        largest = np.where(nonzero, largest, 1.0)
        # First by the largest number, so that squares neither overflow nor vanish.
        U = _divided(X, largest)
        return _divided(U, np.where(nonzero, np.sqrt(square_norms(U)), 1.0)), nonzero.astype(np.float64)

    return A.made("directions", make)


def _divided(X: Any, by: Floats) -> Any:
    return X.multiply(1.0 / by[:, None]).tocsr() if sp.issparse(X) else X / by[:, None]


def _keys(rows: Vectors) -> tuple[Any]:
    """The bytes of every row; −0 is 0 and zeros that a sparse row stores count as none."""
    if rows.is_sparse:
        X = rows.X.copy()
        X.eliminate_zeros()
        ends = X.indptr
        keys = [X.indices[i:j].astype(np.int64).tobytes() + (X.data[i:j] + 0.0).tobytes() for i, j in pairwise(ends)]
    else:
        keys = [row.tobytes() for row in rows.X + 0.0]
    unique = np.empty(len(keys), dtype=object)
    unique[:] = keys
    return (unique,)

"""Distances between rows: of single pairs, in float64, and cheap lower bounds of many at once."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.types import Bools, Floats, Ints
from gramian.models.neighbors.cells import Cells, Smallest
from gramian.rows import workspace

EPS = float(np.finfo(np.float64).eps)
SAFE = 2.0**-900, 2.0**900  # sums of squares beyond are computed again, of differences scaled by a power of two
BITS = 40  # of distances between features of a kernel
MANY = 2**13  # rows that are worth dividing into cells
FAR = 2.0**20  # queries farther than this times the spread of the rows are not worth a product: it would lose them all


class Bounds(ABC):
    """Lower bounds of a growing function of the length of differences, of queries from all rows, in blocks.

    Attributes
    ----------
    order : array (n,)
        The row that each column of the bounds is for: shuffled, so that a few columns are a sample of all.
    at_once : int
        Bounds to compute at once.
    words : str
        What they come from.
    """

    order: Ints
    at_once: int
    words: str
    slack: float

    def __init__(self, T: Any) -> None:
        self.order = np.random.default_rng(0).permutation(T.shape[0])
        self.slack = slack(T.shape[1])

    @abstractmethod
    def of(self, Q: Any) -> tuple[NDArray[Any], Floats]:
        """`lower` (b, n) and `base` (b,): key(length) ≥ lower + base for every pair."""

    @abstractmethod
    def key(self, length: Floats) -> Floats:
        """The growing function of the length that is bounded."""

    def limits(self, length: Floats, base: Floats, dtype: Any) -> NDArray[Any]:
        """What `lower` is at most for a row no farther than `length`."""
        with np.errstate(over="ignore"):
            limit = (self.key(length * (1.0 + self.slack)) - base).astype(dtype)
            return np.nextafter(limit, np.array(np.inf, dtype=dtype))


class GramBounds(Bounds):
    """‖q − x‖² ≥ ‖q‖² + ‖x‖² − 2 qᵀx − 2c (‖q‖² + ‖x‖²) of dense rows about their mean, from one matrix product.

    c = (d + 16) ε covers the rounding of the product, in whatever order it is added up, and of its arguments.
    """

    at_once = 2**22

    def __init__(self, T: Floats, dtype: Any) -> None:
        super().__init__(T)
        n, d = T.shape
        self.shift = T.mean(axis=0)
        Z = T[self.order]
        Z -= self.shift
        self.exponent = exponent_of(Z)
        Z = np.ldexp(Z, -self.exponent)
        self.cells = Cells(Z) if n >= MANY else None
        if self.cells is not None:
            self.order, Z = self.order[self.cells.order], Z[self.cells.order]
        self.words = f"all distances bounded by a product in {'single' if dtype == np.float32 else 'double'} precision"
        self.c = (d + 16.0) * float(np.finfo(dtype).eps)
        self.tiny = d * (2.0**-100 if dtype == np.float32 else 2.0**-1000)  # what underflow may take away
        self.right = np.empty((n, d + 1), dtype=dtype)
        self.right[:, :d] = -2.0 * Z
        self.right[:, d] = np.einsum("ij,ij->i", Z, Z) * (1.0 - 2.0 * self.c)

    def of(self, Q: Floats) -> tuple[NDArray[Any], Floats]:
        left, far, base = self._prepared(Q)[:3]
        lower = workspace("bounds", len(left), len(self.right), self.right.dtype)
        np.matmul(left, self.right.T, out=lower)
        if far.any():
            lower[far] = -np.inf
        return lower, base

    def smallest(self, Q: Floats, m: int) -> tuple[Ints, NDArray[Any], Floats]:
        """Columns (b, m) of the smallest of `lower`, what all others are at least (b,), and `base`, by cells.

        Rows of cells that are left out are farther than any with such a bound.
        """
        assert self.cells is not None
        left, far, base, U = self._prepared(Q)
        columns, rest = Smallest(left, self.right, m).of(self.cells, *self.cells.bounds(U, base))
        rest[far] = -np.inf
        return columns, rest, base

    def _prepared(self, Q: Floats) -> tuple[NDArray[Any], Bools, Floats, Floats]:
        """Queries in the units of the product, those that are too far for it, `base`, and queries in float64."""
        U = np.ldexp(Q - self.shift, -self.exponent)
        far = np.abs(U).max(axis=1) > FAR
        U[far] = 0.0
        left = np.ones((len(U), U.shape[1] + 1), dtype=self.right.dtype)
        left[:, :-1] = U
        return left, far, np.einsum("ij,ij->i", U, U) * (1.0 - 2.0 * self.c) - self.tiny, U

    def key(self, length: Floats) -> Floats:
        return np.ldexp(length, -self.exponent) ** 2


class SparseGramBounds(Bounds):
    """The same for sparse rows, which stay where they are."""

    at_once = 2**21
    words = "all distances bounded by a sparse product"

    def __init__(self, T: Any) -> None:
        super().__init__(T)
        self.exponent = exponent_of(T.data)
        Z = _scaled(T[self.order], self.exponent)
        self.c = (T.shape[1] + 16.0) * EPS
        self.right = Z.T.tocsr()
        self.norms = row_sums(Z, Z.data**2) * (1.0 - 2.0 * self.c)

    def of(self, Q: Any) -> tuple[NDArray[Any], Floats]:
        U = _scaled(Q, self.exponent)
        far = _row_maxima(U) > FAR
        U.data[np.repeat(far, np.diff(U.indptr))] = 0.0
        lower = (U @ self.right).toarray()
        lower *= -2.0
        lower += self.norms
        lower[far] = -np.inf
        return lower, row_sums(U, U.data**2) * (1.0 - 2.0 * self.c) - U.shape[1] * 2.0**-1000

    def key(self, length: Floats) -> Floats:
        return np.ldexp(length, -self.exponent) ** 2


class ManhattanBounds(Bounds):
    """Sums of absolute differences themselves, whose rounding is the slack."""

    at_once = 2**21
    words = "all distances added up"

    def __init__(self, T: Any) -> None:
        super().__init__(T)
        self.T = T[self.order]

    def of(self, Q: Any) -> tuple[NDArray[Any], Floats]:
        if sp.issparse(Q):
            from sklearn.metrics.pairwise import manhattan_distances

            return manhattan_distances(Q, self.T), np.zeros(Q.shape[0])
        from scipy.spatial.distance import cdist

        return cdist(Q, self.T, "cityblock"), np.zeros(len(Q))

    def key(self, length: Floats) -> Floats:
        return length * (1.0 + self.slack)


class Metric(ABC):
    """A distance: what is kept of a row, the distance of pairs, and bounds for the rest.

    Attributes
    ----------
    power : int
        The p of the norm that trees may use.
    keeps_shifts, keeps_scale : bool
        Whether distances stay when all rows are shifted, and grow with the scale of the columns.
    """

    power: int
    keeps_shifts = True
    keeps_scale = True

    def points(self, X: Any) -> Any:
        """What distances are computed from: float64 rows, dense or CSR."""
        return X

    @abstractmethod
    def pairs(self, A: Any, B: Any) -> Floats:
        """Distance of each row of A from the same row of B, from their differences."""

    @abstractmethod
    def bounds(self, T: Any, *, single: bool) -> Bounds:
        """Bounds for the rows T, in single precision where that is wanted and there is one."""

    def length(self, distance: Floats) -> Floats:
        """The norm of the difference of two points at a distance."""
        return distance


class Euclidean(Metric):
    """√Σ (a − b)².

    >>> Euclidean().pairs(np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]]))
    array([5.])
    """

    power = 2

    def pairs(self, A: Any, B: Any) -> Floats:
        return _lengths(A - B)

    def bounds(self, T: Any, *, single: bool) -> Bounds:
        return _gram_bounds(T, single)


class OfFeatures(Euclidean):
    """The same of features of a kernel, to forty bits: the features are rounded, and rows at one distance stay there.

    >>> OfFeatures().pairs(np.array([[0.0], [0.0]]), np.array([[2.0], [2.0 - 1e-14]]))
    array([2., 2.])
    """

    def pairs(self, A: Any, B: Any) -> Floats:
        fraction, exponent = np.frexp(super().pairs(A, B))
        return np.ldexp(np.rint(np.ldexp(fraction, BITS)), exponent - BITS)

    def length(self, distance: Floats) -> Floats:
        return distance * (1.0 + 2.0**-BITS)


class Manhattan(Metric):
    """Σ |a − b|.

    >>> Manhattan().pairs(np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]]))
    array([7.])
    """

    power = 1

    def pairs(self, A: Any, B: Any) -> Floats:
        D = abs(A - B)
        return row_sums(D, D.data) if sp.issparse(D) else np.einsum("ij->i", D)

    def bounds(self, T: Any, *, single: bool) -> Bounds:
        return ManhattanBounds(T)


class Cosine(Metric):
    """1 − cos of the angle, from rows of length one.

    Where it is small, as ‖a − b‖² / 2, which keeps its digits; elsewhere as 1 − aᵀb, which is 1 for rows that have
    nothing in common. A row of zeros has no angle: it gets a direction of its own, at 1 from every other row and 0 from
    its like.

    >>> metric = Cosine()
    >>> a, b = (metric.points(np.array([row])) for row in ([1.0, 1.0], [5.0, 0.0]))
    >>> metric.pairs(a, b).round(4)
    array([0.2929])
    """

    power = 2
    keeps_shifts = False
    keeps_scale = False

    def points(self, X: Any) -> Any:
        sparse = sp.issparse(X)
        sizes = _row_maxima(X) if sparse else np.abs(X).max(axis=1)
        zero = sizes == 0
        exponents = np.frexp(sizes)[1]
        if sparse:
            X = X.copy()
            counts = np.diff(X.indptr)
            X.data = np.ldexp(X.data, -np.repeat(exponents, counts))
            norms = np.sqrt(row_sums(X, X.data**2))
            X.data /= np.repeat(norms, counts)
            return sp.hstack([X, sp.csr_array(zero[:, None].astype(np.float64))], format="csr")
        X = np.ldexp(X, -exponents[:, None])
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        X /= np.where(zero, 1.0, norms)[:, None]
        return np.column_stack([X, zero])

    def pairs(self, A: Any, B: Any) -> Floats:
        if sp.issparse(A):
            products = A.multiply(B).tocsr()
            cosines = row_sums(products, products.data)
        else:
            cosines = np.einsum("ij,ij->i", A, B)
        return np.where(cosines < 0.5, 1.0 - cosines, 0.5 * _lengths(A - B) ** 2)

    def bounds(self, T: Any, *, single: bool) -> Bounds:
        return _gram_bounds(T, single)

    def length(self, distance: Floats) -> Floats:
        return np.sqrt(2.0 * distance)


FEATURES = OfFeatures()
METRICS: dict[str, Metric] = {"euclidean": Euclidean(), "manhattan": Manhattan(), "cosine": Cosine()}


def slack(d: int) -> float:
    """Relative room for the rounding of a distance of d differences."""
    return 4.0 * (d + 8.0) * EPS


def exponent_of(values: Any) -> int:
    """Binary exponent of the largest number."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def row_sums(X: Any, numbers: Floats) -> Floats:
    """Sums over the stored `numbers` of each row of a CSR matrix, column by column."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, numbers, minlength=X.shape[0]).astype(np.float64)


def _gram_bounds(T: Any, single: bool) -> Bounds:
    return SparseGramBounds(T) if sp.issparse(T) else GramBounds(T, np.float32 if single else np.float64)


def _lengths(D: Any) -> Floats:
    """√Σ d² of each row, without over- or underflow."""
    if sp.issparse(D):
        exponents = np.frexp(_row_maxima(D))[1]
        numbers = np.ldexp(D.data, -np.repeat(exponents, np.diff(D.indptr)))
        return np.ldexp(np.sqrt(row_sums(D, numbers**2)), exponents)
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", D, D)
    found = np.sqrt(squares)
    odd = np.flatnonzero(~((squares > SAFE[0]) & (squares < SAFE[1])))
    if odd.size:
        exponents = np.frexp(np.abs(D[odd]).max(axis=1))[1]
        some = np.ldexp(D[odd], -exponents[:, None])
        found[odd] = np.ldexp(np.sqrt(np.einsum("ij,ij->i", some, some)), exponents)
    return found


def _row_maxima(X: Any) -> Floats:
    """Largest absolute number of each row of a CSR matrix."""
    found = np.zeros(X.shape[0])
    filled = np.diff(X.indptr) > 0
    if X.data.size:
        found[filled] = np.maximum.reduceat(np.abs(X.data), X.indptr[:-1][filled])
    return found


def _scaled(X: Any, exponent: int) -> Any:
    return sp.csr_array((np.ldexp(X.data, -exponent), X.indices, X.indptr), shape=X.shape)

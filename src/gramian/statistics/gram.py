"""`Moments`: weighted count, means and centred cross-products of [X, y], mergeable without cancellation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from gramian.rows import Block, Rows, scan, scratch
from gramian.statistics.file import read_arrays, write_arrays

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAFE_EXPONENT = 400  # columns within 2^±400 are squared as they are; others are scaled by a power of two first
PANEL_CELLS = 2**18  # numbers multiplied out at once: two megabytes, what a core's cache and its neighbours hold
SPARSE_DENSITY = 0.1  # sparse blocks with a larger share of non-zeros are multiplied as dense ones
NOTHING = -(2**20)  # the exponent of zero


@dataclass(eq=False)
class Moments:
    """Sums of the second order of a table [X, y]: all that the linear family needs of its data.

    Made by `gm.moments`; two sets of rows are joined with `+` (Chan's update, means carried in twice the precision).

    Attributes
    ----------
    n : int
        Rows with a positive weight.
    weight : float
        Sum of the weights (n without weights).
    mean : array (d + t,)
        Weighted means of the features, then of the targets.
    cross : array (d + t, d + t)
        Weighted centred cross-products Σ w (z − mean)(z − mean)ᵀ of z = [x, y].
    d, t : int
        Features and targets.
    names, target_names : tuple of str
        Names of the features (None if they have none) and of the targets.

    Notes
    -----
    One pass, O(n (d + t)²) operations, O((d + t)²) memory.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.moments([[1.0], [2.0]], [1.0, 3.0])
    >>> second = gm.moments([[4.0]], [5.0])
    >>> both = first + second
    >>> both.n, both.mean
    (3, array([2.33333333, 3.        ]))
    >>> gm.LinearRegression().fit(both).coef_
    array([1.28571429])
    """

    n: int
    weight: float
    d: int
    names: tuple[str, ...] | None
    target_names: tuple[str, ...]
    one_target: bool
    precision: float
    mean_high: Floats
    mean_low: Floats
    scaled: Floats
    exponents: Ints

    @property
    def t(self) -> int:
        return len(self.target_names)

    @property
    def mean(self) -> Floats:
        return self.mean_high + self.mean_low

    @property
    def cross(self) -> Floats:
        with np.errstate(over="ignore"):
            cross = _rescaled(self.scaled, self.exponents)
        if not np.isfinite(cross).all():
            raise OverflowError(
                "The cross-products of these columns exceed the range of float64; "
                "use .scaled, which is divided by 2**.exponents for rows and columns."
            )
        return cross

    def second_moments(self) -> "Moments":
        """The same sums about zero instead of the mean: what a fit without an intercept needs."""
        half = 0.5 * self.mean_high + 0.5 * self.mean_low
        about_zero = self._copy()
        about_zero._add_outer(half, self.weight)
        about_zero.mean_high = np.zeros_like(half)
        about_zero.mean_low = np.zeros_like(half)
        return about_zero

    def select(self, columns: Any, targets: Any = None) -> "Moments":
        """The moments of some of the features (and targets), by index."""
        columns = np.arange(self.d)[columns]
        targets = np.arange(self.t) if targets is None else np.arange(self.t)[targets]
        keep = np.concatenate([columns, self.d + targets])
        return Moments(
            n=self.n,
            weight=self.weight,
            d=len(columns),
            names=None if self.names is None else tuple(self.names[j] for j in columns),
            target_names=tuple(self.target_names[j] for j in targets),
            one_target=self.one_target,
            precision=self.precision,
            mean_high=self.mean_high[keep],
            mean_low=self.mean_low[keep],
            scaled=self.scaled[np.ix_(keep, keep)],
            exponents=self.exponents[keep],
        )

    def __add__(self, other: "Moments") -> "Moments":
        if not isinstance(other, Moments):
            return NotImplemented
        self._refuse_other_columns(other)
        return self._copy()._absorb(other)

    def __radd__(self, other: Any) -> "Moments":
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return (
            (self.n, self.weight, self.d, self.names, self.target_names)
            == (other.n, other.weight, other.d, other.names, other.target_names)
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.exponents, other.exponents)
            and np.array_equal(self.scaled, other.scaled)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        weight = "" if self.weight == self.n else f", weight {self.weight:g}"
        target = f", target {', '.join(self.target_names)}" if self.target_names else ""
        return f"<Moments: {self.n} rows × {self.d} features{target}{weight}>"

    def save(self, path: Any) -> None:
        """Write to one file: a header and the arrays, with a digest; never code."""
        facts = {
            "n": self.n,
            "weight": float(self.weight).hex(),
            "d": self.d,
            "names": None if self.names is None else list(self.names),
            "target_names": list(self.target_names),
            "one_target": self.one_target,
            "precision": float(self.precision).hex(),
        }
        arrays = {name: getattr(self, name) for name in ("mean_high", "mean_low", "scaled", "exponents")}
        write_arrays(path, "moments", facts, arrays)

    @classmethod
    def load(cls, path: Any) -> "Moments":
        """Read what `save` wrote."""
        facts, arrays = read_arrays(path, "moments")
        p = facts["d"] + len(facts["target_names"])
        shapes = {"mean_high": (p,), "mean_low": (p,), "scaled": (p, p), "exponents": (p,)}
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError(f"{path} is not a moments file: its arrays do not have the shapes its header promises.")
        return cls(
            n=facts["n"],
            weight=float.fromhex(facts["weight"]),
            d=facts["d"],
            names=None if facts["names"] is None else tuple(facts["names"]),
            target_names=tuple(facts["target_names"]),
            one_target=facts["one_target"],
            precision=float.fromhex(facts["precision"]),
            **arrays,
        )

    def _copy(self) -> "Moments":
        return Moments(
            **{
                **self.__dict__,
                "scaled": self.scaled.copy(),
                "mean_high": self.mean_high.copy(),
                "mean_low": self.mean_low.copy(),
            }
        )

    def _refuse_other_columns(self, other: "Moments") -> None:
        if (self.d, self.t) != (other.d, other.t):
            raise ValueError(
                f"These moments have {self.d} features and {self.t} targets, the others {other.d} and {other.t}: "
                "only moments of the same columns can be added."
            )
        if self.names != other.names or self.target_names != other.target_names:
            raise ValueError(
                f"The columns differ: {self.names} → {self.target_names} against {other.names} → "
                f"{other.target_names}. Give both tables the same columns in the same order."
            )

    def _absorb(self, other: "Moments") -> "Moments":
        """Chan's merge, in place."""
        if other.weight == 0:
            return self
        if self.weight == 0:
            self.__dict__.update(other._copy().__dict__)
            return self
        share = other.weight / (self.weight + other.weight)
        # Half the difference is a float even where the difference itself is beyond the float range.
        half = (0.5 * other.mean_high - 0.5 * self.mean_high) + (0.5 * other.mean_low - 0.5 * self.mean_low)
        self._add_outer(half, self.weight * share, other)
        self.mean_high, self.mean_low = _two_sum(self.mean_high, self.mean_low + half * (2.0 * share))
        self.n += other.n
        self.weight += other.weight
        self.precision = max(self.precision, other.precision)
        return self

    def _add_outer(self, half: Floats, factor: float, other: "Moments | None" = None) -> None:
        """Add factor · (2 half)(2 half)ᵀ, and other's cross-products, rescaling where squares would not fit."""
        root = np.sqrt(factor)
        scaled = self.scaled if other is None else other.scaled
        exponents = self.exponents if other is None else other.exponents
        with np.errstate(all="ignore"):
            step = 2.0 * root * half
            diagonal = np.diagonal(self.scaled) + np.diagonal(scaled) + step * step
            fits = _squares_fit(diagonal) | ((diagonal == 0) & (step == 0))
            plain = not self.exponents.any() and not exponents.any() and bool(fits.all())
            if not plain:
                root_half = root * half
                sizes = [
                    magnitude(np.sqrt(np.diagonal(self.scaled)), self.exponents),
                    magnitude(np.sqrt(np.diagonal(scaled)), exponents),
                    magnitude(root_half, np.ones_like(exponents)),
                ]
                common = np.max(sizes, axis=0)
                common = np.where((np.abs(common) <= SAFE_EXPONENT) | (common == NOTHING), 0, common)
                self.scaled = _rescaled(self.scaled, self.exponents - common)
                self.exponents = common
                scaled = _rescaled(scaled, exponents - common)
                step = np.ldexp(root_half, 1 - common)
        if other is not None:
            self.scaled += scaled
        self.scaled = _add_outer(self.scaled, step)


def moments(X: Any, y: Any = None, *, sample_weight: Any = None) -> Moments:
    """`Moments` of a table, given as arrays, a data frame, a sparse matrix or `Rows`.

    >>> import gramian as gm
    >>> gm.moments([[0.0, 1.0], [2.0, 5.0]]).cross
    array([[2., 4.],
           [4., 8.]])
    """
    rows = scan(X, y, sample_weight=sample_weight)
    return rows.sum(block_moments(rows))


def block_moments(rows: Rows) -> Any:
    """The function that a pass for moments adds up."""

    def of_block(block: Block) -> Moments:
        result = _of_block(block, rows)
        if result is None:
            rows.refuse_nonfinite()
            raise AssertionError("sums of finite numbers were not finite")
        return result

    return of_block


def _of_block(block: Block, rows: Rows) -> Moments | None:
    w = block.weight
    n = len(block) if w is None else int(np.count_nonzero(w))
    weight = float(n) if w is None else float(w.sum())
    p = rows.d + len(rows.target_names)
    if weight == 0:
        return _wrap(rows, 0, 0.0, np.zeros(p), np.zeros(p), np.zeros((p, p)), np.zeros(p, dtype=np.int64))
    if not sp.issparse(block.source):
        sums = _dense_sums(block, weight)
    elif block.X.nnz <= SPARSE_DENSITY * rows.d * len(block):
        sums = _sparse_sums(block, weight)
    else:
        sums = _dense_sums(_dense(block), weight)
    return None if sums is None else _wrap(rows, n, weight, *sums)


def _wrap(rows: Rows, n: int, weight: float, high: Floats, low: Floats, scaled: Floats, exponents: Ints) -> Moments:
    return Moments(
        n=n,
        weight=weight,
        d=rows.d,
        names=rows.names,
        target_names=rows.target_names,
        one_target=rows.one_target,
        precision=rows.precision,
        mean_high=high,
        mean_low=low,
        scaled=scaled,
        exponents=exponents,
    )


def _dense(block: Block) -> Block:
    return Block(block.X.toarray(), block.y, block.weight, block.start)


def _dense_sums(
    block: Block, weight: float, exponents: Ints | None = None
) -> tuple[Floats, Floats, Floats, Ints] | None:
    y, w = block.y, block.weight
    m, d = len(block), block.source.shape[1]
    p = d + (0 if y is None else y.shape[1])
    heavy = 0 if w is None else int(w.argmax())
    # Shifting by one of the rows costs nothing and bounds cancellation: |x₀ − mean|² ≤ n · variance.
    first = block.part(slice(heavy, heavy + 1))[0]
    shift = np.concatenate([first, () if y is None else y[heavy]], dtype=np.float64)
    if exponents is not None:
        shift = np.ldexp(shift, -exponents)
    panel = max(PANEL_CELLS // (p + 1), 64)
    G: Floats = np.zeros((p + 1, p + 1)) if m > panel else np.empty(0)
    with np.errstate(all="ignore"):
        for start in range(0, m, panel):
            rows = slice(start, min(start + panel, m))
            Z = scratch("products", rows.stop - start, p + 1)
            if exponents is None:
                np.subtract(block.part(rows), shift[:d], out=Z[:, :d])
                if y is not None:
                    np.subtract(y[rows], shift[d:], out=Z[:, d:p])
            else:
                Z[:, :d] = block.part(rows)
                if y is not None:
                    Z[:, d:p] = y[rows]
                np.ldexp(Z[:, :p], -exponents, out=Z[:, :p])
                Z[:, :p] -= shift
            Z[:, p] = 1.0
            if w is not None:
                Z *= np.sqrt(w[rows])[:, None]
            if m > panel:
                G += Z.T @ Z
            else:
                G = Z.T @ Z
        diagonal = np.diagonal(G)[:p]
        if exponents is None and not _squares_fit(diagonal).all():
            wanted = _block_exponents(block.X, y, diagonal, shift)
            if wanted is None:
                return None
            if wanted.any():
                return _dense_sums(block, weight, wanted)
    sums = G[:p, p]
    scaled = _add_outer(G[:p, :p].copy(), sums / np.sqrt(weight), sign=-1.0)
    np.fill_diagonal(scaled, np.maximum(np.diagonal(scaled), 0.0))
    high, low = _two_sum(shift, sums / weight)
    if exponents is None:
        return high, low, scaled, np.zeros(p, dtype=np.int64)
    return np.ldexp(high, exponents), np.ldexp(low, exponents), scaled, exponents


def _block_exponents(X: Any, y: Floats | None, diagonal: Floats, shift: Floats) -> Ints | None:
    """Power of two for every column that cannot be squared as it is; None if a number is not finite."""
    exponents = np.zeros(len(diagonal), dtype=np.int64)
    d = X.shape[1]
    for j in np.flatnonzero(~_squares_fit(diagonal)):
        column = X[:, j] if j < d else y[:, j - d]  # type: ignore[index]
        if not np.isfinite(column).all():
            return None
        if (column != shift[j]).any():
            size = int(magnitude(np.abs(column).max(keepdims=True), np.zeros(1, dtype=np.int64))[0])
            exponents[j] = 0 if abs(size) <= SAFE_EXPONENT // 2 else size
    return exponents


def _sparse_sums(block: Block, weight: float) -> tuple[Floats, Floats, Floats, Ints] | None:
    """Products of a sparse block as it is. Mostly zeros, a column's mean is small against its deviation: no shift."""
    X, y, w = block.X.astype(np.float64), block.y, block.weight
    m, d = X.shape
    rest = np.empty((m, (0 if y is None else y.shape[1]) + 1))
    heavy = 0 if w is None else int(w.argmax())
    shift = np.zeros(d + rest.shape[1] - 1)
    if y is not None:
        shift[d:] = y[heavy]
        rest[:, :-1] = y - y[heavy]
    rest[:, -1] = 1.0
    if w is not None:
        root = np.sqrt(w)
        rest *= root[:, None]
        X = sp.diags_array(root).tocsr() @ X
    p = d + rest.shape[1] - 1
    G = np.empty((p, p))
    with np.errstate(all="ignore"):
        G[:d, :d] = (X.T @ X).toarray()
        side = np.asarray(X.T @ rest)
        G[:d, d:] = side[:, :-1]
        G[d:, :d] = side[:, :-1].T
        corner = rest.T @ rest
        G[d:, d:] = corner[:-1, :-1]
        diagonal = np.diagonal(G)
        empty = np.concatenate([np.bincount(X.indices, minlength=d) == 0, np.zeros(p - d, dtype=bool)])
        if not (_squares_fit(diagonal) | empty).all():
            return _dense_sums(_dense(block), weight)
    sums = np.concatenate([side[:, -1], corner[:-1, -1]])
    scaled = _add_outer(G, sums / np.sqrt(weight), sign=-1.0)
    np.fill_diagonal(scaled, np.maximum(np.diagonal(scaled), 0.0))
    high, low = _two_sum(shift, sums / weight)
    return high, low, scaled, np.zeros(p, dtype=np.int64)


def _add_outer(matrix: Floats, vector: Floats, sign: float = 1.0) -> Floats:
    """matrix ± vector vectorᵀ in place, exactly symmetric."""
    return dger(sign, vector, vector, a=matrix.T, overwrite_a=1).T


def _rescaled(matrix: Floats, change: Ints) -> Floats:
    """matrix · 2^change for rows and columns."""
    return np.ldexp(np.ldexp(matrix, change[:, None]), change[None, :])


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as a rounded sum and its rounding error."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def magnitude(values: Floats, exponents: Ints) -> Ints:
    """Binary exponent of values · 2^exponents; very small for zero."""
    return np.where(values != 0, np.frexp(values)[1] + exponents, NOTHING)


def _squares_fit(diagonal: Floats) -> NDArray[np.bool_]:
    """Which sums of squares are far from over- and underflow."""
    return (diagonal < 2.0 ** (2 * SAFE_EXPONENT)) & (diagonal > 2.0 ** (-2 * SAFE_EXPONENT))

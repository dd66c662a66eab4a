"""`PolynomialFeatures`: all monomials up to a degree."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from itertools import chain, combinations, combinations_with_replacement
from math import comb, log2
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.types import Array, Floats, Ints, Matrix, Table, Tags, Values
from gramian._core.validation import is_integer
from gramian.features.base import checked, fill, kept_dtype, read, refuse_nonfinite, refuse_too_large
from gramian.rows import Block, Rows

MAX_COLUMNS = 2**31 - 1
REMEDY = "Lower degree, set interaction_only=True, or use the polynomial kernel, which never forms these columns."


@estimator
class PolynomialFeatures(TransformerMixin, BaseEstimator):
    """Make a linear model polynomial: all products of features up to a degree.

    φ(x) = (x₁^p₁ ⋯ x_d^p_d : p₁ + … + p_d ≤ degree), in the order and with the names of scikit-learn's class.

    Parameters
    ----------
    degree : int or (int, int), default 2
        The largest degree, or the smallest and the largest.
    interaction_only : bool, default False
        Leave out powers of one feature: products of different features only.
    include_bias : bool, default True
        Begin with a column of ones.

    Attributes
    ----------
    n_output_features_ : int
        Columns of the output.
    powers_ : array (n_output_features_, d)
        Exponents of the features in each column.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    There are (d + degree choose degree) columns; each costs one multiplication per row. Sparse rows give CSR output,
    at the cost of its non-zeros alone. float32 is kept.

    Examples
    --------
    >>> import gramian as gm
    >>> features = gm.PolynomialFeatures(2).fit([[1.0, 2.0], [3.0, 4.0]])
    >>> features.transform([[3.0, 4.0]])
    array([[ 1.,  3.,  4.,  9., 12., 16.]])
    >>> features.get_feature_names_out()
    array(['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'], dtype=object)
    """

    degree: int | tuple[int, int] = 2
    _: KW_ONLY
    interaction_only: bool = False
    include_bias: bool = True

    def fit(self, X: Table, y: Values | None = None) -> Self:
        """Count the columns; nothing else is learned."""
        low, high = self._degrees()
        validation.switch("interaction_only", self.interaction_only)
        validation.switch("include_bias", self.include_bias)
        rows = read(self, X, fitting=True)
        refuse_nonfinite(rows)
        d = rows.d
        widest = _count(d, 1, high, self.interaction_only) + 1
        if widest > MAX_COLUMNS:
            raise ValueError(
                f"degree={self.degree} of {d} features makes more than the {MAX_COLUMNS} columns that "
                f"can be formed. {REMEDY}"
            )
        columns = _count(d, max(low, 1), high, self.interaction_only) + bool(self.include_bias)
        if columns == 0:
            raise ValueError(
                f"degree={self.degree}, interaction_only={self.interaction_only} and include_bias={self.include_bias} "
                f"leave no column of {d} features. Lower degree, or set include_bias=True."
            )
        self.n_output_features_ = columns
        return self

    def transform(self, X: Table) -> Matrix:
        """The monomials of every row: an array, or CSR for sparse X."""
        check_is_fitted(self)
        rows = read(self, X, fitting=False)
        if rows.is_sparse:
            return self._sparse(rows)
        from gramian.features.monomials import expand_dense

        first, begin = self._layout(rows.d)
        skip, bias = int(self.interaction_only), int(self.include_bias)

        def write(block: Block, part: Array) -> None:
            expand_dense(np.ascontiguousarray(block.X, dtype=part.dtype), first, bias, skip, begin, part)
            self._refuse_overflow(
                block.X, part, lambda flat: (block.start + flat // part.shape[1], flat % part.shape[1])
            )

        return fill(rows, self.n_output_features_, write, REMEDY)

    @property
    def powers_(self) -> Ints:
        check_is_fitted(self)
        powers = np.zeros((self.n_output_features_, self.n_features_in_), dtype=np.int64)
        start = int(self.include_bias)
        for degree, terms in self._terms():
            index = np.fromiter(chain.from_iterable(terms), dtype=np.int64)
            rows = np.arange(start, start + index.size // max(degree, 1))
            np.add.at(powers, (np.repeat(rows, degree), index), 1)
            start = start + len(rows)
        return powers

    def get_feature_names_out(self, input_features: Values | None = None) -> Array:
        """Names of the columns, such as 'x0^2 x1'."""
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        names = [_name(term, inputs) for _, terms in self._terms() for term in terms]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _degrees(self) -> tuple[int, int]:
        """The smallest and the largest degree, checked."""
        pair: Any = (0, self.degree) if is_integer(self.degree) else self.degree
        valid = (
            isinstance(pair, tuple | list | np.ndarray)
            and len(pair) == 2
            and all(is_integer(value) for value in pair)
            and 0 <= pair[0] <= pair[1]
        )
        if not valid:
            raise ValueError(
                f"degree is {self.degree!r}; it must be an integer of at least 0, or a pair (smallest, largest)."
            )
        return int(pair[0]), int(pair[1])

    def _formed(self, d: int) -> tuple[int, int]:
        """The smallest degree, and the largest that d features have terms of."""
        low, high = self._degrees()
        return low, min(high, d) if self.interaction_only else high

    def _terms(self) -> Iterator[tuple[int, Iterator[tuple[int, ...]]]]:
        """For every degree, the indices of the features that are multiplied, column by column."""
        low, high = self._formed(self.n_features_in_)
        choose = combinations if self.interaction_only else combinations_with_replacement
        if self.include_bias:
            yield 0, iter([()])
        for degree in range(max(low, 1), high + 1):
            yield degree, choose(range(self.n_features_in_), degree)

    def _layout(self, d: int) -> tuple[Ints, int]:
        """first[g, j]: where the terms of degree g that begin with feature j start; and where the kept terms start.

        The terms of degree g that begin with j are feature j times those of degree g − 1 that begin with j or later:
        a run of neighbours.
        """
        low, high = self._formed(d)
        skip = int(self.interaction_only)
        first = np.zeros((high + 1, d + 1), dtype=np.int64)
        if high:
            first[1] = int(self.include_bias) + np.arange(d + 1)
        for degree in range(2, high + 1):
            before = first[degree - 1]
            runs = before[d] - before[np.minimum(np.arange(d) + skip, d)]
            first[degree] = before[d] + np.concatenate([[0], np.cumsum(runs)])
        if low <= 1:
            return first, int(self.include_bias)
        return first, int(first[low, 0] if low <= high else first[high, d])

    def _sparse(self, rows: Rows) -> Matrix:
        from gramian.features.monomials import expand_sparse

        X = checked(rows.collect(), rows).X
        dtype = np.dtype(kept_dtype(rows))
        numbers = X.data.astype(dtype, copy=False)
        first, begin = self._layout(rows.d)
        whole, kept = self._stored(np.diff(X.indptr))
        stored = float(kept.sum())
        refuse_too_large(stored * (dtype.itemsize + 8), f"{rows.n} rows with {stored:.0f} non-zeros", REMEDY)
        indptr = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32 if stored <= MAX_COLUMNS else np.int64)
        data, indices = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1], dtype=indptr.dtype)
        skip, bias, room = int(self.interaction_only), int(self.include_bias), int(whole.max())
        expand_sparse(numbers, X.indices, X.indptr, first, bias, skip, begin, room, data, indices)
        self._refuse_overflow(
            numbers, data, lambda flat: (np.searchsorted(indptr, flat, side="right") - 1, indices[flat])
        )
        make = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        return make((data, indices, indptr), shape=(rows.n, self.n_output_features_))

    def _stored(self, counts: NDArray[Any]) -> tuple[Floats, Floats]:
        """Terms of rows with so many non-zeros: all that are formed, and those that are kept."""
        low, high = self._formed(self.n_features_in_)
        k = counts.astype(np.float64)
        whole = np.full(len(k), float(self.include_bias))
        kept = whole.copy()
        terms = np.ones(len(k))
        with np.errstate(over="ignore"):
            for degree in range(1, high + 1):
                terms = terms * (k - degree + 1 if self.interaction_only else k + degree - 1) / degree
                terms = np.maximum(np.round(terms), 0.0)
                whole += terms
                kept += terms * (degree >= low)
        return whole, kept

    def _refuse_overflow(self, inputs: Array, outputs: Array, locate: Callable[[int], tuple[Any, Any]]) -> None:
        """Raise if a product left the range of its type, naming its column and row."""
        largest = float(np.abs(inputs).max(initial=0.0))
        _, high = self._formed(self.n_features_in_)
        if largest <= 1.0 or log2(largest) * high < np.finfo(outputs.dtype).maxexp - 1:
            return
        bad = ~np.isfinite(outputs)
        if bad.any():
            row, column = locate(int(bad.argmax()))
            raise ValueError(
                f"{self.get_feature_names_out()[column]!r} exceeds the range of {outputs.dtype} at row {row}: features "
                f"are as large as {largest:.3g}. Scale them first, for example with gm.StandardScaler, or lower degree."
            )


def _count(d: int, low: int, high: int, interaction_only: bool) -> int:
    """Monomials of d features with degrees low … high, low ≥ 1; some number beyond MAX_COLUMNS if there are more."""
    if low > high:
        return 0
    if interaction_only:
        total = 0
        for degree in range(low, min(high, d) + 1):
            total += comb(d, degree)
            if total > MAX_COLUMNS:
                break
        return total
    if min(d, high) > 32:
        return comb(66, 33)
    return comb(d + high, high) - comb(d + low - 1, low - 1)


def _name(term: tuple[int, ...], inputs: Array) -> str:
    powers = Counter(term).items()
    return " ".join(f"{inputs[j]}^{power}" if power > 1 else str(inputs[j]) for j, power in powers) or "1"

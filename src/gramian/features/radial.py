"""`RadialBasisFeatures`: Gaussian bumps at centres."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.random import generator_from
from gramian._core.types import Array, Floats, RandomState, Table, Tags, Values
from gramian._core.validation import is_integer
from gramian.features.base import dense, fill, read, refuse_nonfinite, refuse_too_large
from gramian.features.distances import Exponents, median_distance
from gramian.rows import Block, MemoryRows, Rows, scan

MEDIAN_CENTERS = 1000
CELLS = 2**18  # distances computed together


@estimator
class RadialBasisFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Make a linear model local: one Gaussian bump per centre.

    φ_c(x) = exp(−‖x − c‖² / (2 h²)) for every centre c, with length scale h. No constant column.

    Parameters
    ----------
    centers : "data", int or array (m, d), default "data"
        The centres: all distinct rows given to `fit`; a number of its rows, far from each other (drawn one by one with
        probability proportional to the squared distance from those drawn before, as k-means++ does); or given.
    length_scale : "auto" or float, default "auto"
        h. "auto" is the median distance between the centres (1000 of them if there are more); 1 if all are equal.
    random_state : int, RandomState, Generator or None
        For drawing centres; None is seed 0.

    Attributes
    ----------
    centers_ : array (m, d)
        The centres.
    length_scale_ : float
        h.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    A transform costs O(n m d) in matrix products and n·m exponentials; drawing m centres costs m passes. Distances that
    a product would not give to 1e-13 of h² are computed from differences.

    Examples
    --------
    >>> import gramian as gm
    >>> features = gm.RadialBasisFeatures(length_scale=1.0).fit([[0.0], [2.0]])
    >>> features.transform([[0.0], [1.0]]).round(3)
    array([[1.   , 0.135],
           [0.607, 0.607]])
    """

    centers: str | int | Values = "data"
    _: KW_ONLY
    length_scale: float | str = "auto"
    random_state: RandomState = None

    def fit(self, X: Table, y: Values | None = None) -> Self:
        """Choose the centres and the length scale."""
        self._check_length_scale()
        rows = read(self, X, fitting=True)
        refuse_nonfinite(rows)
        if isinstance(rows, MemoryRows) and rows.weight is not None:
            rows = rows.subset(np.flatnonzero(rows.weight))  # a row without weight is no centre
        self.centers_ = self._choose_centers(rows)
        if isinstance(self.length_scale, str):
            m = len(self.centers_)
            sampled = np.linspace(0, m - 1, min(m, MEDIAN_CENTERS)).astype(np.int64)
            self.length_scale_ = median_distance(self.centers_[sampled])
        else:
            self.length_scale_ = float(self.length_scale)
        return self

    def transform(self, X: Table) -> Array:
        """One column per centre."""
        check_is_fitted(self)
        rows = read(self, X, fitting=False)
        exponents = Exponents(self.centers_, self.length_scale_)
        m = len(self.centers_)
        step = max(CELLS // m, 1)

        def write(block: Block, part: Array) -> None:
            for start in range(0, len(block), step):
                values = exponents(dense(block.X[start : start + step]))
                part[start : start + step] = np.exp(np.negative(values, out=values), out=values)

        return fill(rows, m, write, "Give centers= a smaller number.")

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_length_scale(self) -> None:
        h = self.length_scale
        if isinstance(h, str) and h == "auto":
            return
        if not (is_integer(h) or isinstance(h, float | np.floating)) or not 0 < h < np.inf:
            raise ValueError(f'length_scale is {h!r}; it must be "auto" or a positive number.')

    def _choose_centers(self, rows: Rows) -> Floats:
        choice = self.centers
        if isinstance(choice, str) and choice == "data":
            refuse_too_large(rows.n * rows.d * 8, f"{rows.n} centres of {rows.d} features", "Give centers= a number.")
            return _distinct(dense(rows.collect().X))
        if is_integer(choice):
            if not 1 <= choice <= rows.n:
                raise ValueError(f"centers is {choice}, and X has {rows.n} rows; give a number between 1 and {rows.n}.")
            return _drawn(rows, int(choice), self.random_state)
        if isinstance(choice, str) or np.ndim(choice) != 2:
            raise ValueError(f'centers is {choice!r}; it must be "data", a number, or an array (m, {rows.d}).')
        centers = dense(scan(choice).collect().X)
        if centers.shape[1] != rows.d:
            raise ValueError(f"centers has {centers.shape[1]} columns, and X has {rows.d}; they must agree.")
        bad = ~np.isfinite(centers).all(axis=1)
        if bad.any():
            raise ValueError(f"centers holds NaN or infinity in row {int(bad.argmax())}; leave that centre out.")
        return centers.copy()


def _distinct(X: Floats) -> Floats:
    """The rows without repetitions, in the order of their first appearance."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(X + 0.0):  # so that −0 is 0
        seen.setdefault(row.tobytes(), i)
    return X[list(seen.values())]


def _drawn(rows: Rows, count: int, random_state: RandomState) -> Floats:
    """Rows drawn with probability proportional to the squared distance from those drawn before."""
    generator = generator_from(random_state)
    _, exponent = np.frexp(max(rows.sum(lambda block: [float(abs(block.X).max())])))
    exponent = 0 if abs(exponent) <= 400 else exponent
    squares = np.full(rows.n, np.inf)

    def update(block: Block, center: Array) -> int:
        differences = np.ldexp(dense(block.X), -exponent) - center
        part = squares[block.start : block.start + len(block)]
        np.minimum(part, np.einsum("ij,ij->i", differences, differences), out=part)
        return 0

    chosen = [int(generator.integers(rows.n))]
    while len(chosen) < count:
        center = np.ldexp(dense(rows.block(chosen[-1], chosen[-1] + 1).X), -exponent)
        rows.sum(lambda block, center=center: update(block, center))  # type: ignore[misc]
        sums = np.cumsum(squares)
        if sums[-1] == 0:
            raise ValueError(
                f"centers is {count}, and X has {len(chosen)} distinct rows; give a smaller number or centers='data'."
            )
        place = np.searchsorted(sums, generator.random() * sums[-1], side="right")
        chosen.append(int(min(place, np.searchsorted(sums, sums[-1]))))
    return np.concatenate([dense(rows.block(i, i + 1).X) for i in chosen])

"""The pass for moments: cross-products of a block, in panels that fit the cache."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.float_range import SAFE_EXPONENT, add_outer, magnitude, squares_fit, two_sum
from gramian._core.types import Floats, Ints, Matrix, Table, Values, Weights
from gramian.rows import Block, Rows, scan, workspace
from gramian.statistics.gram import Moments

PANEL_CELLS = 2**18  # numbers multiplied out at once: two megabytes, what a core's cache and its neighbours hold
WIDE = 200  # columns from which panels are longer: adding their products up takes time too
SPARSE_DENSITY = 0.1  # sparse blocks with a larger share of non-zeros are multiplied as dense ones


def moments(X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Moments:
    """`Moments` of a table, given as arrays, a data frame, a sparse matrix or `Rows`.

    >>> import gramian as gm
    >>> gm.moments([[0.0, 1.0], [2.0, 5.0]]).cross
    array([[2., 4.],
           [4., 8.]])
    """
    rows = scan(X, y, sample_weight=sample_weight)
    return rows.sum(block_moments(rows))


def moments_of(rows: Rows) -> Moments:
    """One pass, over the cheaper rows that these are a product of where there are such."""
    basis = rows.basis
    if basis is None or not basis.well_conditioned:
        return rows.sum(block_moments(rows))
    return basis.rows.sum(block_moments(basis.rows)).turned(basis.R)


def block_moments(rows: Rows) -> Any:
    """The function that a pass for moments adds up."""
    rows.refuse_labels()

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
    cells = PANEL_CELLS if p < WIDE else max(PANEL_CELLS, 2 * (p + 1) ** 2)
    panel = -(-m // max(round(m * (p + 1) / cells), 1))
    G: Floats = np.zeros((p + 1, p + 1)) if m > panel else np.empty(0)
    with np.errstate(all="ignore"):
        for start in range(0, m, panel):
            rows = slice(start, min(start + panel, m))
            Z = workspace("products", rows.stop - start, p + 1)
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
        if exponents is None and not squares_fit(diagonal).all():
            wanted = _block_exponents(block.X, y, diagonal, shift)
            if wanted is None:
                return None
            if wanted.any():
                return _dense_sums(block, weight, wanted)
    sums = G[:p, p]
    scaled = add_outer(G[:p, :p].copy(), sums / np.sqrt(weight), sign=-1.0)
    np.fill_diagonal(scaled, np.maximum(np.diagonal(scaled), 0.0))
    high, low = two_sum(shift, sums / weight)
    if exponents is None:
        return high, low, scaled, np.zeros(p, dtype=np.int64)
    return np.ldexp(high, exponents), np.ldexp(low, exponents), scaled, exponents


def _block_exponents(X: Matrix, y: Floats | None, diagonal: Floats, shift: Floats) -> Ints | None:
    """Power of two for every column that cannot be squared as it is; None if a number is not finite."""
    exponents = np.zeros(len(diagonal), dtype=np.int64)
    d = X.shape[1]
    for j in np.flatnonzero(~squares_fit(diagonal)):
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
        if not (squares_fit(diagonal) | empty).all():
            return _dense_sums(_dense(block), weight)
    sums = np.concatenate([side[:, -1], corner[:-1, -1]])
    scaled = add_outer(G, sums / np.sqrt(weight), sign=-1.0)
    np.fill_diagonal(scaled, np.maximum(np.diagonal(scaled), 0.0))
    high, low = two_sum(shift, sums / weight)
    return high, low, scaled, np.zeros(p, dtype=np.int64)

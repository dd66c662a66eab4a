"""How large the eigenvalues of independent columns become: by permutation of the columns, or from their variances."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.rows import Block, Rows
from gramian.spectral.principal import Principal
from gramian.spectral.tracy_widom import tracy_widom

if TYPE_CHECKING:
    from gramian.spectral.null import SpectrumTest

Floats = NDArray[np.float64]
MOST_PERMUTED_CELLS = 200_000  # of a table whose columns are permuted; of larger ones sums of products are normal
MOST_PERMUTATIONS = 100
MOST_SIMULATED_COLUMNS = 500
ENOUGH, FAR = 5, 8.0  # tables, and their standard deviations above them all, that make more needless


def against_independence(
    test: "SpectrumTest", found: Principal, data: Any, seed: int, squares: Floats | None = None
) -> "SpectrumTest":
    """The test with eigenvalues that independent columns of these distributions reach counted as noise.

    Marchenko–Pastur noise is normal, of one variance. Columns that are skewed, have heavy tails or other variances
    have larger eigenvalues without anything in common. Every significant eigenvalue, one after the other, is compared
    with the largest one of what the axes before it leave, its columns permuted: it must exceed that of ⌈1/level⌉
    tables, or of the first five by far. Beyond 200,000 cells, where sums of products are normal, and of weighted rows
    and moments, it is compared with normal columns of the same sample variances (Wishart matrices, by Bartlett); of
    more than 500 columns, or fewer rows than columns, with the Tracy–Widom law at the edge that the variances give
    (Silverstein's equation; El Karoui 2007), which is a little too careful.
    """
    count = min(test.significant, len(found.axes) + 1)  # what the axes that are known can be taken from
    if count == 0:
        return test
    permuted = isinstance(data, Rows) and not data.weighted and data.n * data.d <= MOST_PERMUTED_CELLS
    permuted = permuted and (found.complete or not data.is_sparse)
    if not permuted:
        squares = column_squares(found) if squares is None else squares
        if squares is None and isinstance(data, Rows):
            squares = data.sum(lambda block: _block_squares(block, found))
        if squares is None:
            return test

    def p_value(k: int) -> float:
        value = float(found.values[k])
        if permuted:
            Z = _residual(data, found, k)
            return _beside(lambda rng: _permuted_gram(Z, rng), value, test.level, seed)
        assert squares is not None
        left = squares - (found.values[:k, None] * found.axes[:k] ** 2).sum(axis=0)
        left, n = left[left > 1e-14 * squares.max()], found.weight - 1.0 - k
        if len(left) <= min(MOST_SIMULATED_COLUMNS, n):
            return _beside(lambda rng: _wishart(left, n, rng), value, test.level, seed)
        return _by_variances(left, n, value)

    for k in range(count):
        p = p_value(k)
        if p >= test.level:
            p_values = np.concatenate([test.p_values[:k], np.maximum(test.p_values[k:], p)])
            return replace(test, significant=k, p_values=p_values)
    return test


def column_squares(found: Principal) -> Floats | None:
    """Σ w (x − mean)² of every column, in the units of the eigenvalues; None where not all axes are known."""
    if not found.complete or len(found.axes) < min(found.rank, len(found.values)):
        return None
    r = len(found.axes)
    return np.asarray((found.values[:r, None] * found.axes**2).sum(axis=0))


def _block_squares(block: Block, found: Principal) -> Floats:
    """What `column_squares` is, of a block of rows."""
    mean = np.ldexp(found.mean, -found.exponent)
    w = np.ones(len(block)) if block.weight is None else block.weight
    if sp.issparse(block.X):
        Z = block.X * float(np.ldexp(1.0, -found.exponent))
        return np.asarray(w @ Z.multiply(Z) - 2.0 * (w @ Z) * mean + w.sum() * mean**2).reshape(-1)
    return np.asarray(w @ (np.ldexp(np.asarray(block.X, dtype=np.float64), -found.exponent) - mean) ** 2)


def _residual(rows: Rows, found: Principal, k: int) -> Floats:
    """Centred rows in the units of the eigenvalues' roots, without their first k axes."""
    X = rows.collect().X
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    Z = np.ldexp(X, -found.exponent) - np.ldexp(found.mean, -found.exponent)
    return Z - (Z @ found.axes[:k].T) @ found.axes[:k]


def _permuted_gram(Z: Floats, rng: np.random.Generator) -> Floats:
    """Products of columns, or of rows where these are fewer, of the table with every column in an order of its own."""
    other = rng.permuted(Z, axis=0)
    return np.asarray(other.T @ other if Z.shape[1] <= Z.shape[0] else other @ other.T)


def _wishart(squares: Floats, n: float, rng: np.random.Generator) -> Floats:
    """Products of independent normal columns with these sums of squares, on n degrees of freedom."""
    d = len(squares)
    root = np.tril(rng.standard_normal((d, d)), -1)
    root[np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(n - np.arange(d)))
    root *= np.sqrt(squares / (root**2).sum(axis=1))[:, None]
    return np.asarray(root @ root.T)


def _beside(table: Callable[[np.random.Generator], Floats], value: float, level: float, seed: int) -> float:
    """1 / (tables until one has an eigenvalue as large), or less than the level where none of ⌈1/level⌉ has.

    Five tables are enough where the value is further above all of them than their own spread explains.
    """
    rng = np.random.default_rng(seed)
    tables = min(int(np.ceil(1.0 / level)), MOST_PERMUTATIONS)
    largest: list[float] = []
    for number in range(1, tables + 1):
        gram = table(rng)
        last = len(gram) - 1
        largest.append(float(sla.eigvalsh(gram, subset_by_index=[last, last], check_finite=False)[0]))
        if largest[-1] >= value:
            return max(1.0 / number, level)
        if number == ENOUGH and value > max(largest) + FAR * float(np.std(largest, ddof=1)):
            break
    return min(1.0 / (tables + 1.0), 0.999 * level)


def _by_variances(squares: Floats, n: float, value: float) -> float:
    """The p-value of a value as the largest eigenvalue of independent columns with these sums of squares."""
    if not squares.size or n < 2:
        return 1.0
    variances = squares / n
    top = float(variances.max())

    def terms(c: float) -> Floats:
        return np.asarray(variances * c / (top - variances * c)) if c < 1 else np.array([np.inf])

    low, high = 0.0, 1.0  # of c · top: the mean of squares over n rises from 0 to infinity
    for _ in range(200):
        c = 0.5 * (low + high)
        if float((terms(c) ** 2).sum()) < n:
            low = c
        else:
            high = c
    g = terms(low)
    unit = top / low
    centre = unit * (1.0 + float(g.sum()) / n)
    scale = unit * (1.0 + float((g**3).sum()) / n) ** (1.0 / 3.0) * n ** (-2.0 / 3.0)
    return float(tracy_widom((value / n - centre) / scale)[1][0])

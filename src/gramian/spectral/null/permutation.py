"""How large the eigenvalues of independent columns become: by permutation of the columns, or from their variances."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.spectral.null.factor_analysis import Factors, factors_of, factors_of_products
from gramian.spectral.null.tracy_widom import tracy_widom
from gramian.spectral.pca.principal_axes import Principal
from gramian.statistics import Moments, Triangle

if TYPE_CHECKING:
    from gramian.spectral.null.spectrum_test import SpectrumTest

MAX_PERMUTED_CELLS = 200_000  # of a table whose columns are permuted; of larger ones sums of products are normal
MAX_TABLES = 100
EXCEEDANCES = 5  # tables with a larger eigenvalue that end the comparison (Besag and Clifford, 1991)
MAX_SIMULATED_COLUMNS = 500
# Tables, and their standard deviations above them all, that make more needless. Eigenvalues of normal noise have light
# tails. Those of permuted columns may have heavy ones, of which 5 tables say little (10 % at level 5 %, of Pareto
# columns); with 30 no law brings the level above 5 %: Σ over j ≥ 4 of (70 choose j)/(100 choose j)/101 is 0.008,
# beside 4/101.
ENOUGH_NORMAL, ENOUGH_PERMUTED, FAR = 5, 30, 8.0


@single_threaded_blas()
def against_independence(
    test: "SpectrumTest",
    axes: Principal,
    data: Rows | Moments | Triangle | None,
    seed: int,
    squares: Floats | None = None,
) -> "SpectrumTest":
    """The test with eigenvalues that independent columns of these distributions reach counted as noise.

    Marchenko–Pastur noise is normal, of one variance. Columns that are skewed, have heavy tails or other variances
    have larger eigenvalues without anything in common. Every significant eigenvalue, one after the other, is compared
    with that in its place of tables of as many factors as are before it and of what factor analysis leaves, its columns
    permuted and of the noise variances of the factor model: at most four of 100 tables (at level 0.05) may have a
    larger one, or none of the first 30, 5 of
    normal noise, where it is far above them. (Without the factors, what the axes leave has
    smaller columns than the noise, and correlated ones.)
    Beyond 200,000 cells, where sums of products are normal, and of weighted rows and moments, the noise is normal of
    the same sample variances (Wishart matrices, by Bartlett); of more than 500 columns, or fewer rows than columns,
    the law is that of Tracy and Widom at the edge that the variances give (Silverstein's equation; El Karoui 2007),
    which is a little too careful. These know the columns by their variances alone: where few rows decide (heavy
    tails, rare ones of a binary column), more than 5 % of independent tables reach beyond them.
    """
    count = min(test.significant, len(axes.axes) + 1)  # what the axes that are known can be taken from
    if count == 0:
        return test
    rows = data if isinstance(data, Rows) else None
    small = rows is not None and not rows.weighted and rows.n * rows.d <= MAX_PERMUTED_CELLS
    permuted = rows if rows is not None and small and (axes.complete or not rows.is_sparse) else None
    if permuted is None:
        squares = column_squares(axes) if squares is None else squares
        if squares is None and rows is not None:
            squares = rows.sum(lambda block: _block_squares(block, axes))
        if squares is None:
            return test

    enough = ENOUGH_NORMAL if permuted is None else ENOUGH_PERMUTED
    Z = None if permuted is None else _centred(permuted, axes)
    products = None if permuted else _products(axes)
    bounds: list[float] = []  # largest eigenvalues without factors: σₖ₊₁(factors + noise) ≤ σ₁(noise)

    def p_value(k: int) -> float:
        value = float(axes.values[k])
        if len(bounds) >= enough and value > max(bounds) + FAR * float(np.std(bounds, ddof=1)):
            return _least_p(test.level)
        if Z is not None:
            factors = factors_of(Z, k) if k else Factors(np.zeros((Z.shape[1], 0)), (Z**2).sum(axis=0))
            common, noise = _split(Z, factors)
            return _beside(lambda rng: _permuted_gram(common, noise, rng), value, k, test.level, seed, bounds, enough)
        assert squares is not None
        n = axes.weight - 1.0
        if products is not None and len(squares) + k <= min(MAX_SIMULATED_COLUMNS, n):
            model = factors_of_products(products, k, n) if k else Factors(np.zeros((len(squares), 0)), squares)
            return _beside(lambda rng: _wishart(model, n, rng), value, k, test.level, seed, bounds, enough)
        residual_squares = squares - (axes.values[:k, None] * axes.axes[:k] ** 2).sum(axis=0)
        residual_squares = residual_squares[residual_squares > 1e-14 * squares.max()]
        if len(residual_squares) <= min(MAX_SIMULATED_COLUMNS, n - k):
            alone = Factors(np.zeros((len(residual_squares), 0)), residual_squares)
            return _beside(lambda rng: _wishart(alone, n - k, rng), value, 0, test.level, seed, [], enough)
        return _by_variances(residual_squares, n - k, value)

    for k in range(count):
        p = p_value(k)
        if p >= test.level:
            p_values = np.concatenate([test.p_values[:k], np.maximum(test.p_values[k:], p)])
            return replace(test, significant=k, p_values=p_values)
    return test


def column_squares(axes: Principal) -> Floats | None:
    """Σ w (x − mean)² of every column, in the units of the eigenvalues; None where not all axes are known."""
    if not axes.complete or len(axes.axes) < min(axes.rank, len(axes.values)):
        return None
    r = len(axes.axes)
    return np.asarray((axes.values[:r, None] * axes.axes**2).sum(axis=0))


def _block_squares(block: Block, axes: Principal) -> Floats:
    """What `column_squares` is, of a block of rows."""
    mean = np.ldexp(axes.mean, -axes.exponent)
    w = block.weights
    if sp.issparse(block.X):
        Z = block.X * float(np.ldexp(1.0, -axes.exponent))
        return np.asarray(w @ Z.multiply(Z) - 2.0 * (w @ Z) * mean + w.sum() * mean**2).reshape(-1)
    return np.asarray(w @ (np.ldexp(np.asarray(block.X, dtype=np.float64), -axes.exponent) - mean) ** 2)


def _centred(rows: Rows, axes: Principal) -> Floats:
    """Centred rows in the units of the eigenvalues' roots."""
    X = rows.collect().X
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return np.asarray(np.ldexp(X, -axes.exponent) - np.ldexp(axes.mean, -axes.exponent))


def _products(axes: Principal) -> Floats | None:
    """Sums of products of the centred columns; None where not all axes are known, or they are many."""
    if column_squares(axes) is None or axes.axes.shape[1] > MAX_SIMULATED_COLUMNS:
        return None
    r = len(axes.axes)
    return np.asarray((axes.axes.T * axes.values[:r]) @ axes.axes)


def _split(Z: Floats, factors: Factors) -> tuple[Floats, Floats]:
    """What the factors make of the rows, and the rest with the noise variances of the model."""
    if factors.scores is None:
        return np.zeros_like(Z), Z
    common = factors.scores @ factors.loadings.T
    noise = Z - common
    size = (noise**2).sum(axis=0)
    return common, noise * np.sqrt(np.where(size > 0, factors.noise / np.where(size > 0, size, 1.0), 0.0))


def _permuted_gram(common: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
    """Products of columns, or of rows where these are fewer, with every column of the noise in an order of its own."""
    other = common + rng.permuted(noise, axis=0)
    return np.asarray(other.T @ other if other.shape[1] <= other.shape[0] else other @ other.T)


def _wishart(model: Factors, n: float, rng: np.random.Generator) -> Floats:
    """Products of normal columns of a factor model with these sums of squares of the noise, on n degrees of freedom."""
    d, k = model.loadings.shape
    root = np.tril(rng.standard_normal((d + k, d + k)), -1)
    root[np.arange(d + k), np.arange(d + k)] = np.sqrt(rng.chisquare(n - np.arange(d + k)))
    root = root[k:]
    root *= np.sqrt(model.noise / (root**2).sum(axis=1))[:, None]
    root[:, :k] += model.loadings  # the scores are the first k coordinates
    return np.asarray(root @ root.T)


def _least_p(level: float) -> float:
    """The p-value of a value that no table reaches."""
    return min(1.0 / (_tables(level)[0] + 1.0), 0.999 * level)


def _tables(level: float) -> tuple[int, int]:
    """How many tables a value is compared with, and how many larger eigenvalues say that it is noise."""
    count = min(int(np.ceil(EXCEEDANCES / level)), MAX_TABLES)
    return count, max(int(level * (count + 1)), 1)


def _beside(
    table: Callable[[np.random.Generator], Floats],
    value: float,
    place: int,
    level: float,
    seed: int,
    bounds: list[float],
    enough: int,
) -> float:
    """The sequential Monte Carlo p-value of a value beside eigenvalues of tables in that place.

    Below the level where fewer tables than `_tables` allows have one as large; `bounds` gets the eigenvalues of the
    first place. `enough` tables suffice where the value is further above all of them than their own spread explains.
    """
    rng = np.random.default_rng(seed)
    largest: list[float] = []
    (count, limit), exceeded = _tables(level), 0
    for number in range(1, count + 1):
        gram = table(rng)
        last = len(gram) - 1 - place
        largest.append(float(sla.eigvalsh(gram, subset_by_index=[last, last], check_finite=False)[0]))
        if place == 0:
            bounds.append(largest[-1])
        exceeded += largest[-1] >= value
        if exceeded == limit:
            return max(limit / number, level)
        if number == enough and value > max(largest) + FAR * float(np.std(largest, ddof=1)):
            break
    return max(_least_p(level), min((exceeded + 1.0) / (count + 1.0), 0.999 * level))


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

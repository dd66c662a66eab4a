"""What a spectrum would be if there were nothing to find: edges of noise, p-values, scrambled columns."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core.fitted.charted import Drawn
from gramian._core.random import MAX_SEED, generator_from
from gramian._core.types import Floats, Matrix, RandomState, Table, Weights
from gramian._core.validation import number, whole
from gramian.rows import Rows, scan
from gramian.spectral.null.noise import noise_of
from gramian.spectral.null.permutation import against_independence
from gramian.spectral.pca.input import without_target
from gramian.spectral.pca.principal_axes import Principal, principal
from gramian.statistics import Moments, Triangle

SHOWN = 12  # eigenvalues in the text


@dataclass(frozen=True, eq=False)
class SpectrumTest(Drawn):
    """Eigenvalues of a covariance beside those of noise of one variance in every direction.

    Attributes
    ----------
    eigenvalues : array (m,)
        Of the covariance, decreasing (divisor Σw, or that of the `PCA` it belongs to).
    noise : float
        Variance of the noise: the mean of the eigenvalues that are not significant; or the median of all over that of
        the Marchenko–Pastur law, where it is clearly more. Up to half of the directions may be more than noise.
    edges : (low, high)
        Where the eigenvalues of such noise end (Marchenko–Pastur).
    threshold : float
        Variance that a direction must have for its eigenvalue to leave the noise: noise · (1 + √(d/n)) (Baik, Ben
        Arous, Péché).
    p_values : array (m,)
        Of each eigenvalue, as the largest of normal noise in the directions that are left after those before it
        (Tracy–Widom; the ratio of a value to its own mean is corrected for); not below the level from the first one on
        that independent columns reach: the same columns permuted, or of large tables columns of the same variances.
    significant : int
        Leading eigenvalues with p < `level`.
    level : float
    scrambled : array (repeats, m) or None
        Eigenvalues of the table with every column in an order of its own.
    n : float; d : int
        Rows (sum of weights) and columns that vary.
    """

    own_charts: ClassVar[tuple[str, ...]] = ("scree",)
    eigenvalues: Floats
    noise: float
    edges: tuple[float, float]
    threshold: float
    p_values: Floats
    significant: int
    level: float
    n: float
    d: int
    divided: float  # degrees of freedom over the divisor of the eigenvalues
    total: float
    scrambled: Floats | None = None

    @property
    def edge(self) -> float:
        """The upper edge."""
        return self.edges[1]

    @cached_property
    def spikes(self) -> Floats:
        """Variances behind the significant eigenvalues, less what noise adds to each."""
        if not 0 < self.noise < np.inf:
            return self.eigenvalues[: self.significant] / max(self.divided, 1e-300)
        x = self.eigenvalues[: self.significant] / (self.divided * self.noise)
        ratio = self.d / (self.n - 1.0)
        b = x + 1.0 - ratio
        return np.asarray(self.noise * 0.5 * (b + np.sqrt(np.maximum(b * b - 4.0 * x, 0.0))))

    @cached_property
    def cosines(self) -> Floats:
        """|cos| of the angle that is expected between each significant component and the direction behind it."""
        if self.noise == np.inf:
            return np.full(self.significant, np.nan)
        if self.noise <= 0:
            return np.ones(self.significant)
        ratio = self.d / (self.n - 1.0)
        h = np.maximum(self.spikes / self.noise - 1.0, np.sqrt(ratio))
        return np.asarray(np.sqrt(np.maximum(1.0 - ratio / h**2, 0.0) / (1.0 + ratio / h)))

    @property
    def above_scrambled(self) -> int | None:
        """Leading eigenvalues above 95 % of those in their place of the scrambled tables (parallel analysis)."""
        if self.scrambled is None:
            return None
        m = min(self.scrambled.shape[1], len(self.eigenvalues))
        with np.errstate(invalid="ignore"):  # of values beyond the range of numbers none is above another
            above = self.eigenvalues[:m] > np.quantile(self.scrambled[:, :m], 0.95, axis=0)
        return m if above.all() else int(above.argmin())

    def __str__(self) -> str:
        low, high = self.edges
        lines = [
            f"Spectrum of {self.n:g} rows × {self.d} columns that vary",
            f"noise: variance {self.noise:.4g}, eigenvalues between {low:.4g} and {high:.4g}; a direction is "
            f"detectable from variance {self.threshold:.4g}",
            f"{self.significant} of {len(self.eigenvalues)} eigenvalues are more than noise and independent columns "
            f"(p < {self.level:g})",
        ]
        if self.scrambled is not None:
            lines.append(f"{self.above_scrambled} are above those of scrambled columns")
        lines.append("   #  eigenvalue   share   p-value    behind it  |cos|")
        for i in range(min(SHOWN, len(self.eigenvalues))):
            share = self.eigenvalues[i] / self.total if 0 < self.total < np.inf else 0.0
            line = f"{i + 1:4d}  {self.eigenvalues[i]:10.4g}  {share:6.1%}  {self.p_values[i]:8.2g}"
            if i < self.significant:
                line += f"   {self.spikes[i]:10.4g}  {self.cosines[i]:5.3f}"
            lines.append(line)
        if len(self.eigenvalues) > SHOWN:
            lines.append(f"   … {len(self.eigenvalues) - SHOWN} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def null_of(axes: Principal, *, ddof: float = 0.0, level: float = 0.05) -> SpectrumTest:
    """The test of a spectrum that is known."""
    n, d, dof = axes.weight, axes.varying, axes.weight - 1.0
    # Weights are counts: rows given twice are two, also for how many eigenvalues there could have been.
    count = max(min(int(dof), d), 0)
    eigenvalues = np.concatenate([axes.values[:count], np.zeros(max(count - len(axes.values), 0))])
    count = count if axes.complete else min(count, len(axes.values))
    eigenvalues = eigenvalues[:count]
    eigenvalues[axes.rank :] = 0.0
    divisor = max(n - ddof, 1e-300)
    with np.errstate(over="ignore", under="ignore"):

        def whole(value: Any) -> Any:
            return np.ldexp(value, 2 * axes.exponent)

        divided = dof / divisor
        total = float(whole(axes.total / divisor))
        if count == 0 or dof <= 0 or axes.values[0] <= 0:
            values = whole(eigenvalues / divisor)
            return SpectrumTest(
                values, 0.0, (0.0, 0.0), 0.0, np.ones(count), 0, level, n, d, max(divided, 0.0), total
            )  # fmt: skip
        values = eigenvalues / dof
        behind = noise_of(values, axes.total / dof, dof, d, complete=axes.complete)
        noise, p_values = behind.variance, behind.p_values
        shown = p_values < level
        significant = count if shown.all() else int(shown.argmin())
        ratio = d / dof
        low, high = (1.0 - np.sqrt(ratio)) ** 2, (1.0 + np.sqrt(ratio)) ** 2
        edges = (float(whole(noise * low * divided)), float(whole(noise * high * divided)))
        threshold = float(whole(noise * (1.0 + np.sqrt(ratio))))
        return SpectrumTest(
            whole(values * divided), float(whole(noise)), edges, threshold, p_values, significant, level, n, d, divided,
            total,
        )  # fmt: skip


def spectrum_test(
    X: Table,
    *,
    sample_weight: Weights = None,
    level: float = 0.05,
    scrambles: int = 10,
    random_state: RandomState = None,
) -> SpectrumTest:
    """Which directions of a table are more than noise, and which could have been seen.

    Parameters
    ----------
    X : array, data frame, sparse matrix, `Rows` or `Moments`
        Columns are centred, not scaled: noise of one variance in every direction is what the eigenvalues are compared
        with. Scale them first where their units differ.
    sample_weight : array, optional
    level : float
        p-value below which an eigenvalue counts as more than noise.
    scrambles : int
        Tables with every column in an order of its own, whose eigenvalues stand beside (parallel analysis); 0 for
        none. Weighted rows and `Moments` are not scrambled.
    random_state : int, RandomState, Generator or None
        For scrambling; None is seed 0.

    Returns
    -------
    SpectrumTest
        `print` it, or read its attributes.

    Notes
    -----
    The cost of a `PCA` with all components, and as much again for each scrambled table. p-values are those of normal
    noise, the same in every column. Columns with heavy tails, skewed ones, or of other sizes have eigenvalues beyond
    its edges without anything in common: those do not count. A significant eigenvalue must also exceed that in its
    place of 95 % of tables (at level 0.05) with as many factors as are before it, and noise of the variances that
    factor analysis finds, its columns permuted; of more than 200,000 cells, of weighted rows and of `Moments`, normal
    noise of these variances. So the level holds for columns of any shape and size, also after directions in common,
    where columns are permuted; beside normal noise it is exceeded where few rows decide (heavy tails, rare ones of a
    binary column: 10 % of 100 rows instead of 5 %).

    Examples
    --------
    >>> import numpy as np
    >>> import gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 100))
    >>> X += np.outer(rng.standard_normal(400), np.full(100, 0.2))
    >>> found = gm.spectrum_test(X)
    >>> found.significant, found.above_scrambled, round(found.threshold, 1)
    (1, 1, 1.5)
    """
    level = number("level", level, low=0.0, high=1.0, open_low=True)
    repeats = whole("scrambles", scrambles, low=0)
    if isinstance(X, Moments | Triangle):
        if sample_weight is not None:
            raise ValueError("Moments hold their weights: give sample_weight to gm.moments itself.")
        axes = principal(X, None, "auto", 0)
        return against_independence(null_of(axes, level=level), axes, None, 0)
    rows = without_target(scan(X, sample_weight=sample_weight))
    axes = principal(rows, None, "auto", 0)
    seed = int(generator_from(random_state).integers(MAX_SEED))
    test = against_independence(null_of(axes, level=level), axes, rows, seed)
    if repeats == 0 or rows.weighted or rows.n < 2:
        return test
    rng = generator_from(random_state)
    return replace(test, scrambled=np.vstack([scrambled_values(rows, rng) for _ in range(repeats)]))


def scrambled_values(rows: Rows, rng: np.random.Generator) -> Floats:
    """Eigenvalues of the covariance of the table with every column in an order of its own."""
    axes = principal(scan(scrambled(rows.collect().X, rng)), None, "auto", 0)
    values = axes.values[: max(axes.most, 0)] / axes.weight
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, 2 * axes.exponent))


def scrambled(X: Matrix, rng: np.random.Generator) -> Matrix:
    """The table with every column in an order of its own."""
    if not sp.issparse(X):
        return np.asarray(rng.permuted(X, axis=0))
    columns = sp.csc_array(X)
    rows = np.concatenate(
        [
            np.sort(rng.choice(X.shape[0], count, replace=False))
            for count in np.diff(columns.indptr)
        ] or [np.empty(0, dtype=np.int64)]
    )  # fmt: skip
    order = rng.permutation(len(columns.data))
    inside = np.repeat(np.arange(X.shape[1]), np.diff(columns.indptr))
    data = columns.data[order[np.argsort(inside[order], kind="stable")]]
    return sp.csc_array((data, rows, columns.indptr), shape=X.shape).tocsr()

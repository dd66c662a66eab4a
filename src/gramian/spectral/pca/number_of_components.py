"""How many components: by their share of the variance, by the likelihood, by bi-cross-validation."""

import numpy as np
from scipy.special import gammaln

from gramian._core.types import Bools, Floats
from gramian.rows import CountedFolds, Rows
from gramian.spectral.pca.principal_axes import Principal
from gramian.statistics.gram import Moments
from gramian.statistics.products import block_moments

FOLDS = 3  # parts that rows and columns are each cut into
WIDEST = 3000  # columns, or rows where these are fewer, up to which there is bi-cross-validation


def by_share(axes: Principal, share: float) -> int | None:
    """The fewest components with so much of the variance; None if those that are known do not have it."""
    if axes.total <= 0:
        return 1
    reached = np.cumsum(axes.values) >= share * axes.total * (1.0 - 1e-12)
    return int(reached.argmax()) + 1 if reached.any() else (axes.most if axes.complete else None)


def by_likelihood(axes: Principal) -> int:
    """The number with the largest evidence under probabilistic PCA (Minka's approximation)."""
    if not axes.complete:
        raise ValueError(
            "criterion='likelihood' needs all eigenvalues, and of this table only the first are computed; take "
            "criterion='edge', or a number."
        )
    d, n = axes.varying, axes.weight
    most = min(axes.rank, d - 1)
    if most < 1:
        return 1
    values = np.concatenate([axes.values[: axes.most], np.zeros(d)])[:d] / n
    k = np.arange(1, most + 1)
    rest = (values.sum() - np.cumsum(values)[:most]) / (d - k)
    logs = np.log(np.maximum(values[:most], 1e-300 * values[0]))
    turns = np.cumsum(gammaln((d - k + 1) / 2) - (d - k + 1) / 2 * np.log(np.pi)) - k * np.log(2.0)
    free = d * k - k * (k + 1) / 2
    tiny = 1e-300 * values[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = -0.5 * n * (np.cumsum(logs) + (d - k) * np.log(np.maximum(rest, tiny)))
        # log |A|: pairs (i, j) of values, where j is a component or belongs to the noise.
        gap = np.log(np.maximum(values[:most, None] - values[None, :], 1e-15 * values[0]))
        inverse = np.maximum(1.0 / values[None, :most] - 1.0 / values[:most, None], 1e-15 / values[0])
        pair = np.triu(gap[:, :most] + np.log(inverse) + np.log(n), 1)
        inside = np.cumsum(np.cumsum(pair, axis=0), axis=1)[k - 1, k - 1]
        beyond = np.array([gap[:m, m:].sum() for m in k])
        curve = np.array(
            [np.log(np.maximum(1.0 / rest[m - 1] - 1.0 / values[:m], 1e-15 / values[0])).sum() for m in k]
        )  # fmt: skip
    size = inside + beyond + (d - k) * curve + k * (d - k) * np.log(n)
    evidence = turns + fit + 0.5 * (free + k) * np.log(2.0 * np.pi) - 0.5 * size - 0.5 * k * np.log(n)
    evidence[rest <= 1e-14 * values[0]] = -np.inf
    return int(np.argmax(evidence)) + 1 if np.isfinite(evidence).any() else most


def by_holding_out(rows: Rows, axes: Principal, seed: int) -> tuple[int, Floats]:
    """The number that predicts held-out parts of the table best, and the mean squared error of each number from 0.

    A part of the rows and of the columns is left out together: with X = [A B; C D] and A left out, A is predicted by
    B Dₖ⁺ C, where Dₖ is D with k components (Owen and Perry). All of it comes from the cross-products of each part of
    the rows, added up in one pass; or of the columns, where these are more.
    """
    n, d = axes.n, axes.d
    if min(n, d) < 2 * FOLDS:
        raise ValueError(
            f"criterion='bcv' leaves out a third of the rows and columns, and there are {n} × {d}: give n_components, "
            "or criterion='edge'."
        )
    if min(n, d) > WIDEST:
        raise ValueError(
            f"criterion='bcv' takes tables of up to {WIDEST} rows or columns, and this one has {n} × {d}: take "
            "criterion='edge', or a number."
        )
    grams = _by_rows(rows, axes, seed) if n >= d else _by_columns(rows, axes, seed)
    other = CountedFolds(FOLDS, seed + 1).labels(0, len(grams[0]))
    whole = np.sum(grams, axis=0)
    sizes = min(int((other != part).sum()) for part in range(FOLDS))
    errors = np.zeros(min(sizes, min(n, d) - 1) + 1)
    for left in grams:
        for part in range(FOLDS):
            errors += _held_out(left, whole - left, other == part, len(errors) - 1)
    errors /= axes.weight * d
    return max(int(np.argmin(errors)), 1), errors * float(np.ldexp(1.0, 2 * axes.exponent))


def _held_out(left: Floats, kept: Floats, out: Bools, most: int) -> Floats:
    """Squared error of 0 … most components on one part, from the cross-products of the rows left out and kept."""
    inner, cross = kept[np.ix_(~out, ~out)], kept[np.ix_(~out, out)]
    values, V = np.linalg.eigh(inner)
    values, V = values[::-1][:most], V[:, ::-1][:, :most]
    good = values > 1e-12 * max(float(values[0]), 0.0)
    g = np.where(good[:, None], (V.T @ cross) / np.where(good, values, 1.0)[:, None], 0.0)
    gain = np.einsum("ij,ij->i", g, V.T @ left[np.ix_(~out, out)])
    size = (V.T @ left[np.ix_(~out, ~out)] @ V) * (g @ g.T)
    squares = np.cumsum(np.cumsum(size, axis=0), axis=1).diagonal()
    total = float(np.trace(left[np.ix_(out, out)]))
    return total + np.concatenate([[0.0], squares - 2.0 * np.cumsum(gain)])


def _by_rows(rows: Rows, axes: Principal, seed: int) -> list[Floats]:
    """Cross-products about the common mean, of each part of the rows."""
    parts: list[Moments | None] = rows.sum_by_fold(block_moments(rows), CountedFolds(FOLDS, seed))
    grams = []
    for sums in parts:
        assert sums is not None
        change = sums.exponents[: axes.d] - axes.exponent
        C = np.ldexp(np.ldexp(sums.scaled[: axes.d, : axes.d], change[:, None]), change[None, :])
        off = np.ldexp(sums.mean[: axes.d] - axes.mean, -axes.exponent)
        grams.append(C + sums.weight * np.outer(off, off))
    return grams


def _by_columns(rows: Rows, axes: Principal, seed: int) -> list[Floats]:
    from gramian.spectral.pca.centred import CentredRows

    Z = CentredRows(rows).dense()
    labels = CountedFolds(FOLDS, seed).labels(0, axes.d)
    return [Z[:, labels == part] @ Z[:, labels == part].T for part in range(FOLDS)]

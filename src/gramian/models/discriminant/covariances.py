"""Covariances of classes: their shapes, shrunk and regular, and distances in their units."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.numerics.float_range import rescaled
from gramian._core.types import Bools, Floats, Ints
from gramian.features.deviations import MeansAndDeviations, means_and_deviations
from gramian.models.discriminant.conic import FAR
from gramian.rows import Block, Rows, workspace
from gramian.rows.reduce import add
from gramian.solvers.least_squares.factor import (
    MOMENTS_CARRY,
    Factor,
    Quadratic,
    factor_of_quadratic,
    factor_of_triangle,
    quadratic,
)
from gramian.statistics import Moments
from gramian.statistics.products import SPARSE_DENSITY, block_moments
from gramian.statistics.qr import block_triangle

THICKNESS = 1e-6  # what a direction without variance gets, as a share of the variance within all classes
WIDEST = 2.0**40  # all classes against one, where the empty directions of that one are measured
SQUARES = 2.0**400  # deviations up to here are squared as they are
UNITS = 1020  # columns are divided by powers of two within 2^±1020, which are floats; what is beyond still squares
PANEL_CELLS = 2**17  # numbers whitened at once: they stay in the cache for every class
SMALL_MEAN = 100.0  # squared mean over variance up to which the zeros of a sparse column may be skipped


@dataclass(frozen=True, eq=False)
class Shape:
    """A covariance by its root: Σ = 2^e TᵀT 2^e, T upper triangular (d, d), or a diagonal kept as (d,).

    >>> Shape(np.array([0.5, 0.75]), np.array([1, 2])).covariance()
    array([1., 9.])
    """

    root: Floats
    exponents: Ints

    @classmethod
    def of(cls, root: Floats, exponents: Ints) -> "Shape":
        """With exponents whose powers of two, and their inverses, are floats."""
        kept = np.clip(exponents, -UNITS, UNITS)
        return cls(np.ldexp(root, exponents - kept), kept)

    @cached_property
    def inverse(self) -> Floats:
        """W = T⁻¹: (x − mean) · 2^−e · W has covariance I."""
        if self.root.ndim == 1:
            return 1.0 / self.root
        return np.asarray(sla.solve_triangular(self.root, np.eye(len(self.root)), check_finite=False))

    @cached_property
    def scale(self) -> Floats:
        return np.ldexp(1.0, -self.exponents)

    @cached_property
    def log_volume(self) -> float:
        """½ log|Σ| in the units 2^e."""
        return float(np.log(np.abs(self.root if self.root.ndim == 1 else np.diagonal(self.root))).sum())

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation of every column."""
        return np.ldexp(self.root if self.root.ndim == 1 else np.linalg.norm(self.root, axis=0), self.exponents)

    def covariance(self) -> Floats:
        """Σ (d, d), or its diagonal (d,) where that is all there is."""
        with np.errstate(over="ignore", under="ignore"):
            if self.root.ndim == 1:
                found = variances = np.ldexp(self.root**2, 2 * self.exponents)
            else:
                found = rescaled(self.root.T @ self.root, self.exponents)
                variances = np.diagonal(found)
        if not np.isfinite(found).all() or not variances.all():
            j = int((~np.isfinite(variances) | (variances == 0)).argmax())
            raise OverflowError(
                f"The variance of column {j}, the square of {self.deviations[j]:.3g}, is beyond the range of float64. "
                "Predictions are not concerned; give the column in other units to see its covariances."
            )
        return found


@dataclass(frozen=True, eq=False)
class _Found:
    """One covariance, and what is known of it: tr Σ⁻¹S, the gradient of the likelihood in its own coordinates."""

    shape: Shape
    share: float
    rank: int
    trace: float
    gradient: float
    condition: float = 1.0
    through: str = "moments"


class _Parts(dict[int, Any]):
    """A statistic of every class, added class by class."""

    def _absorb(self, other: "_Parts") -> "_Parts":
        for c, value in other.items():
            self[c] = add(self[c], value) if c in self else value
        return self


def _by_class(rows: Rows, k: int, f: Callable[[int, Block], Any]) -> list[Any]:
    """Sums of f(c, rows of class c) over the classes 0 … k − 1, in one pass."""

    def of_block(block: Block) -> _Parts:
        assert block.y is not None
        codes: NDArray[Any] = block.y[:, 0].astype(np.uint16 if k < 2**16 else np.int64)  # short ones sort faster
        mixed = bool((codes[1:] < codes[:-1]).any())
        order = np.argsort(codes, kind="stable") if mixed else np.arange(len(codes))
        edges = np.searchsorted(codes[order], np.arange(k + 1))
        parts = _Parts()
        for c in np.flatnonzero(np.diff(edges)).tolist():
            cut = slice(edges[c], edges[c + 1])
            weight = None if block.weight is None else block.weight[order[cut]]
            source, index = (block.X, order[cut]) if mixed else (block.X[cut], None)
            parts[c] = f(c, Block(source, None, weight, block.start, index))
        return parts

    found = rows.sum(of_block)
    return [found[c] for c in range(k)]


def dense(rows: Rows, k: int, kind: str, share: float | None) -> tuple[Floats, Floats, list[_Found]]:
    """Means, weights, and full covariances: of every class, or one for all."""
    bare = copy.copy(rows)
    bare.target_names = ()
    of_block = block_moments(bare)
    sums: list[Moments] = _by_class(rows, k, lambda c, block: of_block(block))
    means, weights = np.stack([m.mean for m in sums]), np.array([m.weight for m in sums])
    deviations = [np.ldexp(np.sqrt(np.diagonal(m.scaled) / m.weight), m.exponents) for m in sums]
    typical = _typical(means, np.stack(deviations), weights, rows.precision)
    shared = kind == "shared"
    if shared:  # about the mean of its class each: as if all means were the same
        nothing = np.zeros(rows.d)
        pooled: Any = sum(replace(m, mean_high=nothing, mean_low=nothing) for m in sums)
        sums = [replace(pooled, mean_high=np.abs(means).max(axis=0))]
    quadratics = [quadratic(m, intercept=True) for m in sums]
    grams = [(q.G, _columns(q.x, q.constant)) for q in quadratics]
    tables = [(rescaled(G, x - x.max()) / m.weight, int(x.max())) for (G, x), m in zip(grams, sums, strict=True)]
    shares = [share] * len(grams) if share is not None else _ledoit_wolf(rows, means, tables, weights)
    factors = [
        factor_of_quadratic(replace(q, x=x) if s == 0 else _shrunk_table(q, x, s))
        for q, (_, x), s in zip(quadratics, grams, shares, strict=True)
    ]
    unsure = [
        g for g, f in enumerate(factors) if f.rank + f.constant.sum() < rows.d or f.scaled_condition > MOMENTS_CARRY
    ]
    if unsure:
        passes = [block_triangle(bare, mean) for mean in means]
        nothing = np.zeros(rows.d)
        triangles = _by_class(rows, k, lambda c, block: passes[c](block) if shared or c in unsure else 0)
        if shared:
            pooled = sum(replace(triangle, origin=nothing) for triangle in triangles)
            triangles = [replace(pooled, origin=np.abs(means).max(axis=0))]
        for g in unsure:
            factor = factor_of_triangle(triangles[g], intercept=True)
            grams[g] = factor.R, _columns(factor.x, factor.constant)
            factors[g] = _shrunk(replace(factor, x=grams[g][1]), shares[g])
    found = [_finished(f, *gram, typical, s) for f, gram, s in zip(factors, grams, shares, strict=True)]
    return means, weights, found


def _columns(x: Ints, constant: Bools) -> Ints:
    """Exponents in which columns that do not vary have no say."""
    return np.where(constant, x[~constant].min(initial=x.max()), x)


def _sphere(G: Floats, x: Ints) -> tuple[float, int]:
    """tr/d of a Gram matrix in units 2^x, as a number and a power of two: number · 4^power."""
    top = int(x.max())
    return float(np.ldexp(np.diagonal(G), 2 * (x - top)).mean()), top


def _shrunk_table(q: Quadratic, x: Ints, share: float) -> Quadratic:
    """(1 − share) G + share · (tr G/d) · I of a Gram matrix in units 2^x."""
    mean, top = _sphere(q.G, x)
    if mean == 0:
        return replace(q, x=x)
    units = np.maximum(x, top + int(np.frexp(np.sqrt(share * mean))[1]))
    G = (1.0 - share) * rescaled(q.G, x - units) + np.diag(np.ldexp(share * mean, 2 * (top - units)))
    return replace(q, G=G, x=units, constant=np.zeros(len(x), dtype=bool))


def _shrunk(factor: Factor, share: float) -> Factor:
    """The same of a factor: one root on top of the other."""
    mean, top = _sphere(factor.R.T @ factor.R, factor.x)
    if share * mean == 0:
        return factor
    units = np.maximum(factor.x, top + int(np.frexp(np.sqrt(share * mean))[1]))
    own = np.sqrt(1.0 - share) * np.ldexp(factor.R, factor.x - units)
    R = _triangular(np.vstack([np.diag(np.ldexp(np.sqrt(share * mean), top - units)), own]))
    return replace(factor, R=R, x=units, constant=np.zeros(len(units), dtype=bool), extended=None)


def _triangular(A: Floats) -> Floats:
    return np.asarray(sla.qr(A, mode="r", check_finite=False)[0][: A.shape[1]])


def _finished(factor: Factor, table: Floats, x: Ints, typical: Floats, share: float) -> _Found:
    """The covariance of a factor, made regular where it is not, and checked against the table it came from.

    `table`, in units 2^x, is a Gram matrix, or a root of it where that came from a triangle.
    """
    shape = _regular(factor, typical)
    W = np.ldexp(shape.inverse, (x - shape.exponents)[:, None])
    root = table @ W if factor.through == "triangle" else None
    white = (W.T @ table @ W if root is None else root.T @ root) / factor.weight
    shrunk = white
    if share > 0:
        mean, top = _sphere(table if root is None else table.T @ table, x)
        ball = np.ldexp(shape.inverse, (top - shape.exponents)[:, None]) * np.sqrt(share * mean / factor.weight)
        shrunk = (1.0 - share) * white + ball.T @ ball
    # Where every direction varies Σ⁻¹S is I; where some were made up it is a projection on the others.
    error = shrunk - np.eye(len(x)) if factor.rank == len(x) else shrunk @ shrunk - shrunk
    return _Found(
        shape,
        float(share),
        factor.rank,
        float(np.trace(white)),
        float(np.abs(error).max()),
        factor.scaled_condition,
        factor.through,
    )


def _regular(factor: Factor, typical: Floats) -> Shape:
    """Σ of a factor; empty directions get the same thickness in every class, in units of the typical deviations."""
    R, x, r = factor.R / np.sqrt(factor.weight), factor.x, factor.rank
    if r == len(x):
        return Shape.of(_triangular(R) if np.tril(R, -1).any() else R, x)
    keep, x = ~factor.constant, x.copy()
    x[~keep] = np.frexp(typical[~keep])[1]
    ratio = np.minimum(np.ldexp(typical, -x), WIDEST)
    _, s, Vt = factor.svd if keep.any() else (None, np.empty(0), np.empty((0, 0)))
    rows = np.zeros((len(x), len(x)))
    rows[:r, keep] = s[:r, None] * Vt[:r] / np.sqrt(factor.weight)
    empty = sla.qr(ratio[keep, None] * Vt[r:].T, mode="economic", check_finite=False)[0] if r < keep.sum() else Vt[r:].T
    end = r + empty.shape[1]
    rows[r:end, keep] = np.sqrt(THICKNESS) * (ratio[keep, None] * empty).T
    rows[end:, ~keep] = np.sqrt(THICKNESS) * np.diag(ratio[~keep])
    order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")  # large rows first: QR then keeps the small ones
    return Shape.of(_triangular(rows[order]), x)


def diagonal(rows: Rows, k: int, kind: str, share: float | None) -> tuple[Floats, Floats, list[_Found]]:
    """Means, weights, and variances: of every column, or one for all of them."""

    def spread(c: int, block: Block) -> MeansAndDeviations:
        with np.errstate(all="ignore"):
            found = means_and_deviations(block)
            ordinary = (found.deviation > 1.0 / SQUARES) & (found.deviation < SQUARES) | found.constant
            if not ordinary.all() and not sp.issparse(block.source):  # all columns in other units: the same bits in any
                units = np.frexp(np.abs(block.X).max(axis=0))[1]
                scaled = means_and_deviations(Block(np.ldexp(block.X, -units), None, block.weight, block.start))
                high, low, deviation = np.ldexp([scaled.mean_high, scaled.mean_low, scaled.deviation], units)
                found = MeansAndDeviations(found.weight, high, low, deviation, found.constant)
        if not (np.isfinite(found.mean).all() and np.isfinite(found.deviation).all()):
            rows.refuse_nonfinite()
        return found

    sums: list[MeansAndDeviations] = _by_class(rows, k, spread)
    means, weights = np.stack([s.mean for s in sums]), np.array([s.weight for s in sums])
    own, size = np.stack([s.deviation for s in sums]), np.abs(means)
    typical, even = _typical(means, own, weights, rows.precision), np.full(rows.d, 1.0 / rows.d)
    spheres = _root_mean_square(own.T, even)[:, None]
    part = np.full((k, 1), 1.0 if share is None else share)
    if kind == "spherical":
        typical, size = _root_mean_square(typical, even), _root_mean_square(size.T, even)[:, None]
        used = np.repeat(spheres, rows.d, axis=1)
    else:
        if share is None:
            units = np.frexp(own.max(axis=1))[1].tolist()
            tables = [(np.ldexp(row, -unit) ** 2, unit) for row, unit in zip(own, units, strict=True)]
            part = np.array(_ledoit_wolf(rows, means, tables, weights))[:, None]
        used = np.hypot(np.sqrt(1.0 - part) * own, np.sqrt(part) * spheres)
    flat = used <= 2.0 * rows.precision * size
    used = np.where(flat, np.sqrt(THICKNESS) * typical, used)
    ratios = (own / used) ** 2
    wanted = ratios.mean(axis=1, keepdims=True)
    if kind == "diagonal":
        wanted = (1.0 - part) * ratios
        some = part[:, 0] > 0
        wanted[some] += part[some] * (spheres[some] / used[some]) ** 2
    errors = np.where(flat, 0.0, np.abs(wanted - 1.0)).max(axis=1)
    found = []
    for c in range(k):
        exponents = np.frexp(used[c])[1].astype(np.int64)
        shape = Shape.of(np.ldexp(used[c], -exponents), exponents)
        rank = int((~flat[c]).sum())
        found.append(_Found(shape, float(part[c, 0]), rank, float(ratios[c].sum()), float(errors[c])))
    return means, weights, found


def _root_mean_square(values: Floats, share: Floats) -> Floats:
    """√Σ share · value² over the first axis, in range wherever the values are."""
    top = np.abs(values).max(axis=0)
    return np.asarray(top * np.sqrt(share @ (values / np.where(top > 0, top, 1.0)) ** 2))


def _typical(means: Floats, deviations: Floats, weights: Floats, precision: float) -> Floats:
    """Deviation of every column within the classes; between them where there is none; its size where it is constant."""
    share = weights / weights.sum()
    size = np.abs(means).max(axis=0)
    within = _root_mean_square(deviations, share)
    half = 0.5 * means
    across = 2.0 * _root_mean_square(half - share @ half, share)
    found = np.where(within > 2.0 * precision * size, within, across)
    return np.where(found > 2.0 * precision * size, found, np.where(size > 0, size, 1.0))


def _ledoit_wolf(rows: Rows, means: Floats, tables: list[tuple[Floats, int]], weights: Floats) -> list[float]:
    """Shares of least expected squared error, of covariances or variances S over 4^unit, by Ledoit and Wolf (2004).

    The error of S is estimated by (1/W²) Σ w ‖(x − m)(x − m)ᵀ − S‖²; the share is its part of ‖S − (tr S/d) I‖².
    """
    one = len(tables) == 1

    def fourth(c: int, block: Block) -> float:
        S, unit = tables[0 if one else c]
        scale, total = np.ldexp(1.0, -int(np.clip(unit, -UNITS, UNITS))), 0.0
        for cut, part in panels(block):
            Z = part * scale - means[c] * scale
            Z *= Z
            squares = Z.sum(axis=1) ** 2 if S.ndim == 2 else np.einsum("ij,ij->i", Z, Z)
            total += float(squares.sum() if block.weight is None else block.weight[cut] @ squares)
        return total

    sums = np.array(_by_class(rows, len(means), fourth))
    if one:
        sums, weights = sums.sum(keepdims=True), weights.sum(keepdims=True)
    shares = []
    for (S, unit), total, weight in zip(tables, sums, weights, strict=True):
        S = np.ldexp(S, 2 * (unit - int(np.clip(unit, -UNITS, UNITS))))
        diagonal = np.diagonal(S) if S.ndim == 2 else S
        distance = float(((S - diagonal.mean() * (np.eye(len(S)) if S.ndim == 2 else 1.0)) ** 2).sum())
        error = float(total / weight - (S * S).sum()) / weight
        shares.append(float(np.clip(error / distance, 0.0, 1.0)) if distance > 0 else 0.0)
    return shares


def panels(block: Block) -> Iterator[tuple[slice, Floats]]:
    """The block cut into dense parts that fit the cache."""
    size = max(PANEL_CELLS // block.source.shape[1], 1)
    for start in range(0, len(block), size):
        cut = slice(start, min(start + size, len(block)))
        yield cut, block.X[cut].toarray() if sp.issparse(block.source) else block.part(cut)


def units(x: Floats, mean: Floats, shape: Shape) -> Floats:
    """(x − mean) · 2^−e, cut off far outside, for any numbers."""
    with np.errstate(over="ignore"):
        return np.clip(2.0 * ((0.5 * x - 0.5 * mean) * shape.scale), -FAR, FAR)


def apply(rows: Rows, part: Floats, mean: Floats, shape: Shape, f: Callable[[Floats], Floats]) -> Floats:
    """f((part − mean) · 2^−e), one row for each."""
    Z = workspace("whitened", *part.shape)
    with np.errstate(all="ignore"):
        np.multiply(part, shape.scale, out=Z)
        Z -= mean * shape.scale
        found = f(Z)
    bad = ~np.isfinite(found.reshape(len(part), -1)).all(axis=1)
    if bad.any():
        if not np.isfinite(part[bad]).all():
            rows.refuse_nonfinite()
        found[bad] = f(units(part[bad].astype(np.float64), mean, shape))
    return found


def squares(rows: Rows, means: Floats, shapes: list[Shape]) -> Floats:
    """(x − mean)ᵀ Σ⁻¹ (x − mean), (n, classes)."""

    def of_block(block: Block) -> list[Floats]:
        found = np.empty((len(block), len(means)))
        sparse = sp.issparse(block.source) and shapes[0].root.ndim == 1
        if sparse and block.X.nnz <= SPARSE_DENSITY * rows.d * len(block):
            for c, (mean, shape) in enumerate(zip(means, shapes, strict=True)):
                found[:, c] = _sparse_squares(rows, block.X, mean, shape)
            return [found]
        for cut, part in panels(block):
            for c, (mean, shape) in enumerate(zip(means, shapes, strict=True)):
                found[cut, c] = apply(rows, part, mean, shape, partial(_norms, shape.inverse))
        return [found]

    return np.concatenate(rows.sum(of_block))


def _norms(inverse: Floats, Z: Floats) -> Floats:
    U = np.multiply(Z, inverse, out=Z) if inverse.ndim == 1 else Z @ inverse
    return np.asarray(np.einsum("ij,ij->i", U, U))


def _sparse_squares(rows: Rows, X: Any, mean: Floats, shape: Shape) -> Floats:
    """Of a diagonal Σ: Σ_j h_j² over all columns, and z (z − 2h) over the numbers stored, h and z in deviations.

    A column whose mean is many deviations from zero would lose digits so; such columns are taken as dense ones.
    """
    with np.errstate(all="ignore"):
        h = mean * shape.scale * shape.inverse
        heavy = ~(h * h <= SMALL_MEAN)
        light = np.where(heavy, 0.0, h)
        columns = X.indices
        z = X.data * shape.scale[columns] * shape.inverse[columns]
        terms = np.where(heavy[columns], 0.0, z * (z - 2.0 * light[columns]))
        found = np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), terms, X.shape[0]) + light @ light
    dense = np.flatnonzero(heavy)
    if dense.size:
        part = Shape(shape.root[dense], shape.exponents[dense])
        found += apply(rows, X[:, dense].toarray(), mean[dense], part, partial(_norms, part.inverse))
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        found[bad] = apply(rows, X[bad].toarray(), mean, shape, partial(_norms, shape.inverse))
    return found

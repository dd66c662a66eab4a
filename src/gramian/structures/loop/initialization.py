"""Initialisation: structures added one by one where rows fit worst, or fitted to the clusters of k-means."""

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core import validation
from gramian._core.types import Floats, Ints, Matrix
from gramian._core.weights import weights_or_ones
from gramian.rows import Rows
from gramian.rows.base import Block
from gramian.solvers.kmeans.lloyd import lloyd
from gramian.solvers.kmeans.points import ScaledPoints
from gramian.solvers.kmeans.seeding import by_weight, farthest, plus_plus
from gramian.structures.components.base import Structure, dense
from gramian.structures.components.point import Point
from gramian.structures.components.quadrics.levenberg import MAX_HARD_PASSES
from gramian.structures.loop.multipass import StructureTotals, run_requests
from gramian.structures.loop.rounding import clearly_less, first_largest, first_least
from gramian.structures.loop.state import pooled

INITS = ("k-means++", "farthest", "random")
MAX_POINT_SAMPLE = 10_000  # rows from which points are initialised
MAX_SHAPE_SAMPLE = 1024  # the same for other structures, whose losses are computed more often
SHAPE_TRIALS = 12
KMEANS_PASSES, KMEANS_TOL = 30, 1e-4  # of the k-means from whose clusters densities start


class SeedSample:
    """Distinct rows of positive weight, all or a random sample, for initialisation; missing numbers are column means.

    Equal rows are one with the weight of all, in an order that depends on the rows alone: draws are the same for rows
    that are repeated, weighted or in another order.
    """

    def __init__(self, rows: Rows, max_rows: int, rng: np.random.Generator) -> None:
        _, X, weight = drawn_rows(rows, max_rows, rng)
        if not sp.issparse(X) and np.isnan(X).any():
            missing = np.isnan(X)
            count = np.maximum((~missing).sum(axis=0), 1)
            X = np.where(missing, np.where(missing, 0.0, X).sum(axis=0) / count, X)
        first, of_row = _distinct(X)
        self.X: Any = X[first]
        self.weight: Floats = np.bincount(of_row, weights=weight, minlength=len(first)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.weight)

    def row(self, i: int) -> Floats:
        row = self.X[[i]]
        return np.asarray(row.toarray() if sp.issparse(row) else row).reshape(-1)


def drawn_rows(rows: Rows, max_rows: int, rng: np.random.Generator) -> tuple[Ints, Any, Floats]:
    """Rows of positive weight, all or `max_rows` of them drawn at random: their indices, themselves, their weights."""
    counts = rows.sum(lambda block: [int((block.weights > 0).sum())])
    total = sum(counts)
    ranks = np.arange(total) if total <= max_rows else np.sort(rng.choice(total, max_rows, replace=False))
    first_ranks = np.concatenate([[0], np.cumsum(counts)])

    def drawn(block: Block) -> list[tuple[Ints, Any, Floats]]:
        i = block.start // rows.block_size
        low, high = first_ranks[i], first_ranks[i + 1]
        of_block = ranks[np.searchsorted(ranks, low) : np.searchsorted(ranks, high)] - low
        if not len(of_block):
            return []
        w = block.weights
        index = np.flatnonzero(w > 0)[of_block]
        X = block.X if len(index) == len(w) else block.X[index]
        return [(block.start + index, dense(X), w[index])]

    parts = rows.sum(drawn)
    stack = sp.vstack if rows.is_sparse else np.concatenate
    X: Any = stack([X for _, X, _ in parts])
    return np.concatenate([index for index, _, _ in parts]), X, np.concatenate([w for *_, w in parts])


def _distinct(X: Matrix) -> tuple[Any, Any]:
    """The first row of each group of equal rows, sorted by the rows alone, and the group of every row."""
    keys = X @ np.random.default_rng(0).standard_normal(X.shape[1]) if sp.issparse(X) else X
    _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, of_row.reshape(-1)


def initial_structures(
    templates: "list[Structure]", rows: Rows, how: object, rng: np.random.Generator
) -> "list[Structure]":
    """Fitted structures to start from, one for every template."""
    if (fitted := fitted_structures(templates, how)) is not None:
        return fitted
    sample = SeedSample(rows, MAX_SHAPE_SAMPLE if have_shapes(templates, rows.d) else MAX_POINT_SAMPLE, rng)
    if not isinstance(how, str):
        return from_centers(templates, sample, centers_of(how, len(templates), rows.d))
    validation.choice("init", how, INITS)
    if not rows.is_sparse and all(each.is_mean for each in templates):
        centers = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        return [each.moved_to(center) for each, center in zip(templates, centers, strict=True)]
    if any(each.initialized_by == "part" for each in templates):
        first = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        clusters = lloyd(sample.X, sample.weight, first, max_iter=KMEANS_PASSES, tol=KMEANS_TOL)
        return from_centers(templates, sample, clusters.centers)
    return grown(templates, sample, how, rng)


def have_shapes(templates: "list[Structure]", d: int) -> bool:
    """Whether some structures are fitted first to several rows of a sample, by costly trials."""
    return any(each.initialized_by == "sample" and each.min_rows(d) > 1 for each in templates)


def start_rows(X: Matrix, weight: Any, k: int, how: str, rng: np.random.Generator) -> Any:
    """Indices of k rows to start means from."""
    validation.choice("init", how, INITS)
    if how == "farthest":
        return farthest(X, weight, k)
    if how == "k-means++":
        return plus_plus(X, weight, k, rng)
    return by_weight(weights_or_ones(weight, len(ScaledPoints.of(X).X)), k, rng)


def fitted_structures(templates: "list[Structure]", how: object) -> "list[Structure] | None":
    """The fitted structures that `init` lists, one for every template; None where it is something else."""
    if not (isinstance(how, list | tuple) and how and all(isinstance(each, Structure) for each in how)):
        return None
    structures = list(how)
    if len(structures) != len(templates):
        raise ValueError(f"init has {len(structures)} structures, and n_clusters is {len(templates)}.")
    for template, each in zip(templates, structures, strict=True):
        if type(template) is not type(each):
            raise TypeError(f"init has {each!r} where the model has {template!r}; give fitted structures of its kind.")
    copies = [copy(each) for each in structures]
    for template, each in zip(templates, copies, strict=True):
        vars(each).update(vars(template))
    return copies


def centers_of(how: object, k: int, d: int) -> Floats:
    """Centres to start from, checked."""
    centers = validation.array("init", how, f"one of {', '.join(map(repr, INITS))}, or centres of shape ({k}, {d})")
    if centers.shape != (k, d):
        raise ValueError(
            f"init has shape {centers.shape}; it must be one of {', '.join(map(repr, INITS))}, a list of fitted "
            f"structures, or an array of centres of shape ({k}, {d})."
        )
    if not np.isfinite(centers).all():
        raise ValueError("init holds NaN or infinity; centres must be finite numbers.")
    return centers


def from_centers(templates: "list[Structure]", sample: SeedSample, centers: Floats) -> "list[Structure]":
    """Structures fitted to the rows nearest to each centre; points are the centres."""
    points = [Point().moved_to(center) for center in centers]
    owners = first_least(np.column_stack([point.loss(sample.X) for point in points]))
    members = [np.flatnonzero(owners == j) for j in range(len(templates))]
    nonempty = np.array([len(index) > 0 for index in members])
    rows = [(sample.X[index], sample.weight[index]) if len(index) else (sample.X, sample.weight) for index in members]
    totals = [template.statistics(*row) for template, row in zip(templates, rows, strict=True)]

    def run_pass(pending: list[Any]) -> StructureTotals:
        return StructureTotals([None if f is None else f(*row) for f, row in zip(pending, rows, strict=True)])

    requests = [None if each.is_point else each.pass_requests(MAX_HARD_PASSES) for each in templates]
    estimates = run_requests(requests, pooled(templates, totals, nonempty), run_pass)
    structures = []
    for j, (template, estimate) in enumerate(zip(templates, estimates, strict=True)):
        each = template if template.is_point else template.refitted(estimate)
        structures.append(each if nonempty[j] and not template.is_point else each.moved_to(centers[j]))
    return structures


def extended(
    structures: "list[Structure]", template: "Structure", sample: SeedSample, rng: np.random.Generator
) -> "list[Structure]":
    """Structures and one more where they fit worst; a density is placed at the row of largest loss."""
    nearest = np.column_stack([each.loss(sample.X) for each in structures]).min(axis=1)
    if not template.density:
        return grown([template], sample, "k-means++", rng, structures)
    broad = template.fitted_to(sample.X, sample.weight)
    return [*structures, broad.moved_to(sample.row(int(nearest.argmax())))]


def grown(
    templates: "list[Structure]", sample: SeedSample, how: str, rng: np.random.Generator, before: Any = ()
) -> "list[Structure]":
    """Structures one by one, each the best of several trials on rows of large loss with those before it.

    For points this is greedy k-means++; "farthest" takes the row of largest loss, "random" any.
    """
    middle = Point("squared" if templates[0].power == 2 else "absolute")
    nearest = middle.fitted_to(sample.X, sample.weight).loss(sample.X)
    structures: list[Structure] = list(before)
    first = not structures
    if structures:
        nearest = np.column_stack([each.loss(sample.X) for each in structures]).min(axis=1)
    is_seed = np.zeros(len(sample), dtype=bool)
    order = _order(templates, how, rng)
    # half of the starts make one trial each, since the best of many often leads to the same local optimum
    single = how != "k-means++" or (len(order) > 1 and rng.random() < 0.5)
    for template in (templates[j] for j in order):
        size = template.min_rows(sample.X.shape[1])
        trials = SHAPE_TRIALS if size > 1 else 2 + int(np.log(len(templates)))
        if single and (size > 1 or how != "k-means++"):
            trials = 1
        best = None
        for trial in range(trials):
            seed = _seed(sample, nearest, is_seed, how, rng)
            index = _rows_about(sample, seed, size, nearest, trial, how, rng)
            candidate = template.rough_fit(sample.X[index], sample.weight[index])
            losses = candidate.loss(sample.X)
            lowered = losses if first and size == 1 else np.minimum(nearest, losses)
            total = float(sample.weight @ lowered)
            if best is None or clearly_less(total, best[0]):
                best = (total, candidate, lowered, seed)
        assert best is not None
        structures.append(best[1])
        nearest, is_seed[best[3]], first = best[2], True, False
    new = dict(zip(order, structures[len(before) :], strict=True))
    return [*before, *(new[j] for j in range(len(templates)))]


def _order(templates: "list[Structure]", how: str, rng: np.random.Generator) -> list[int]:
    """The order in which structures are added: random where they are of several kinds."""
    mixed = len({repr(each) for each in templates}) > 1 and how != "farthest"
    return [int(j) for j in rng.permutation(len(templates))] if mixed else list(range(len(templates)))


def _seed(sample: SeedSample, nearest: Floats, is_seed: Any, how: str, rng: np.random.Generator) -> int:
    """The row from which a structure is initialised."""
    if how == "farthest":
        return first_largest(nearest)
    total = np.cumsum(sample.weight * (nearest if how == "k-means++" else ~is_seed))
    if not total[-1] > 0:  # all losses are zero
        total = np.cumsum(sample.weight)
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(sample) - 1)


def _rows_about(
    sample: SeedSample, seed: int, size: int, nearest: Floats, trial: int, how: str, rng: np.random.Generator
) -> Any:
    """Rows that a structure is first fitted to: the seed, and neighbours of it or other rows of large loss."""
    n = len(sample)
    if size == 1 or n <= size:
        return np.array([seed]) if size == 1 else np.arange(n)
    deviation = sample.X - sample.X[seed]
    by_distance = np.argsort(np.einsum("ij,ij->i", deviation, deviation), kind="stable")
    if how == "farthest":
        return by_distance[: 2 * size]
    if trial % 2 and nearest.sum() > 0:
        p = sample.weight * nearest
        p[seed] = 0.0
        if np.count_nonzero(p) >= size - 1:
            others = rng.choice(n, size - 1, replace=False, p=p / p.sum())
            return np.append(seed, others)
    neighbors = by_distance[1 : 1 + max(3 * size, n // 20)]
    return np.append(seed, rng.choice(neighbors, min(size, len(neighbors)), replace=False))

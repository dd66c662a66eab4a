"""Where a loop starts: structures grown one by one where the rows fit worst, or from a division of the rows."""

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core import validation
from gramian.rows import Rows
from gramian.solvers.kmeans.lloyd import lloyd
from gramian.solvers.kmeans.points import Points
from gramian.solvers.kmeans.seeding import by_weight, farthest, plus_plus
from gramian.structures.components.base import Structure, dense, weights
from gramian.structures.components.levenberg import WITHIN
from gramian.structures.components.point import Point, all_means
from gramian.structures.loop.multipass import Answers, concluded
from gramian.structures.loop.rounding import clearly_less, first_largest, first_least
from gramian.structures.loop.state import shared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
INITS = ("k-means++", "farthest", "random")
SAMPLE = 10_000  # rows that points grow from; of other structures fewer, which are compared more often
SHAPE_SAMPLE = 1024
SHAPE_TRIALS = 12
WARM_PASSES, WARM_TOL = 30, 1e-4  # of k-means, whose parts densities start from


class Sample:
    """Rows of positive weight to start from: all, or some drawn at random; missing numbers are column means.

    Equal rows are one with the weight of all, in an order of their own: draws are the same for rows that are repeated,
    weighted or in another order.
    """

    def __init__(self, rows: Rows, most: int, rng: np.random.Generator) -> None:
        _, X, weight = drawn_rows(rows, most, rng)
        if not sp.issparse(X) and np.isnan(X).any():
            gone = np.isnan(X)
            count = np.maximum((~gone).sum(axis=0), 1)
            X = np.where(gone, np.where(gone, 0.0, X).sum(axis=0) / count, X)
        first, of_row = _distinct(X)
        self.X: Any = X[first]
        self.weight: Floats = np.bincount(of_row, weights=weight, minlength=len(first)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.weight)

    def row(self, i: int) -> Floats:
        found = self.X[[i]]
        return np.asarray(found.toarray() if sp.issparse(found) else found).reshape(-1)


def drawn_rows(rows: Rows, most: int, rng: np.random.Generator) -> tuple[Ints, Any, Floats]:
    """Rows of positive weight, all or `most` of them drawn at random: their places, themselves and their weights."""
    counts = rows.sum(lambda block: [int((weights(block) > 0).sum())])
    total = sum(counts)
    ranks = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
    before = np.concatenate([[0], np.cumsum(counts)])

    def taken(block: Any) -> list[Any]:
        i = block.start // rows.block_size
        mine = ranks[np.searchsorted(ranks, before[i]) : np.searchsorted(ranks, before[i + 1])] - before[i]
        if not len(mine):
            return []
        w = weights(block)
        index = np.flatnonzero(w > 0)[mine]
        X = block.X if len(index) == len(w) else block.X[index]
        return [(block.start + index, dense(X), w[index])]

    found = rows.sum(taken)
    stack = sp.vstack if rows.is_sparse else np.concatenate
    X: Any = stack([X for _, X, _ in found])
    return np.concatenate([index for index, _, _ in found]), X, np.concatenate([w for *_, w in found])


def _distinct(X: Any) -> tuple[Any, Any]:
    """The first of all equal rows, in an order that depends on the rows alone, and which of them each row equals."""
    keys = X @ np.random.default_rng(0).standard_normal(X.shape[1]) if sp.issparse(X) else X
    _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, of_row.reshape(-1)


def seeds(templates: list[Any], rows: Rows, how: Any, rng: np.random.Generator) -> list[Any]:
    """Fitted structures to start from, one for every template."""
    if (known := given_structures(templates, how)) is not None:
        return known
    shapes = any(each.grows == "sample" and each.least(rows.d) > 1 for each in templates)
    sample = Sample(rows, SHAPE_SAMPLE if shapes else SAMPLE, rng)
    parts = any(each.grows == "part" for each in templates)
    if not isinstance(how, str):
        return from_centers(templates, sample, centers_of(how, len(templates), rows.d))
    validation.choice("init", how, INITS)
    if not rows.is_sparse and all_means(templates):
        centers = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        return [each.through(center) for each, center in zip(templates, centers, strict=True)]
    if parts:
        first = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        settled = lloyd(sample.X, sample.weight, first, max_iter=WARM_PASSES, tol=WARM_TOL)
        return from_centers(templates, sample, settled.centers)
    return grown(templates, sample, how, rng)


def start_rows(X: Any, weight: Any, k: int, how: str, rng: np.random.Generator) -> Any:
    """Numbers of k rows to start means from."""
    validation.choice("init", how, INITS)
    if how == "farthest":
        return farthest(X, weight, k)
    if how == "k-means++":
        return plus_plus(X, weight, k, rng)
    return by_weight(np.ones(len(Points.of(X).X)) if weight is None else weight, k, rng)


def given_structures(templates: list[Any], how: Any) -> list[Any] | None:
    """Structures that were fitted before, one for every template; None where something else is given."""
    if not (isinstance(how, list | tuple) and how and all(isinstance(each, Structure) for each in how)):
        return None
    structures = list(how)
    if len(structures) != len(templates):
        raise ValueError(f"init has {len(structures)} structures, and n_clusters is {len(templates)}.")
    for template, each in zip(templates, structures, strict=True):
        if type(template) is not type(each):
            raise TypeError(f"init has {each!r} where the model has {template!r}; give fitted structures of its kind.")
    known = [copy(each) for each in structures]
    for template, each in zip(templates, known, strict=True):
        vars(each).update(vars(template))
    return known


def centers_of(how: Any, k: int, d: int) -> Floats:
    """Centres to start from, checked."""
    found = validation.array("init", how, f"one of {', '.join(map(repr, INITS))}, or centres of shape ({k}, {d})")
    if found.shape != (k, d):
        raise ValueError(
            f"init has shape {found.shape}; it must be one of {', '.join(map(repr, INITS))}, a list of fitted "
            f"structures, or an array of centres of shape ({k}, {d})."
        )
    if not np.isfinite(found).all():
        raise ValueError("init holds NaN or infinity; centres must be finite numbers.")
    return found


def from_centers(templates: list[Any], sample: Sample, centers: Floats) -> list[Any]:
    """Structures fitted to the rows nearest to each centre."""
    points = [Point().through(center) for center in centers]
    owners = first_least(np.column_stack([point.loss(sample.X) for point in points]))
    parts = [np.flatnonzero(owners == j) for j in range(len(templates))]
    rows = [(sample.X[part], sample.weight[part]) if len(part) else (sample.X, sample.weight) for part in parts]
    gathered = [template.gather(*row) for template, row in zip(templates, rows, strict=True)]
    there = np.array([len(part) > 0 for part in parts])

    def ask(questions: list[Any]) -> Answers:
        return Answers([None if q is None else q(*row) for q, row in zip(questions, rows, strict=True)])

    askings = [None if isinstance(template, Point) else template.learning(WITHIN) for template in templates]
    summaries = concluded(askings, shared(templates, gathered, there), ask)
    found = []
    for j, (template, summary) in enumerate(zip(templates, summaries, strict=True)):
        each = template if isinstance(template, Point) else template.refitted(summary)
        found.append(each if there[j] and not isinstance(template, Point) else each.through(centers[j]))
    return found


def extended(structures: list[Any], template: Any, sample: Sample, rng: np.random.Generator) -> list[Any]:
    """Structures and one more: where those before it fit worst, or of a density, about the row that fits worst."""
    nearest = np.column_stack([each.loss(sample.X) for each in structures]).min(axis=1)
    if not template.density:
        return grown([template], sample, "k-means++", rng, structures)
    broad = template.fitted_to(sample.X, sample.weight)
    return [*structures, broad.through(sample.row(int(nearest.argmax())))]


def grown(templates: list[Any], sample: Sample, how: str, rng: np.random.Generator, before: Any = ()) -> list[Any]:
    """Structures one by one, each the best of some fitted to rows that those before it fit badly.

    For points this is k-means++ with several trials; "farthest" takes the worst row of all, "random" any.
    """
    middle = Point("squared" if templates[0].power == 2 else "absolute")
    nearest = middle.fitted_to(sample.X, sample.weight).loss(sample.X)
    found: list[Any] = list(before)
    first = not found
    if found:
        nearest = np.column_stack([each.loss(sample.X) for each in found]).min(axis=1)
    taken = np.zeros(len(sample), dtype=bool)
    order = _order(templates, how, rng)
    few = how != "k-means++" or (len(order) > 1 and rng.random() < 0.5)  # the best of many is the same trap every time
    for template in (templates[j] for j in order):
        size = template.least(sample.X.shape[1])
        trials = SHAPE_TRIALS if size > 1 else 2 + int(np.log(len(templates)))
        if few and (size > 1 or how != "k-means++"):
            trials = 1
        best = None
        for trial in range(trials):
            seed = _seed(sample, nearest, taken, how, rng)
            mates = _mates(sample, seed, size, nearest, trial, how, rng)
            candidate = template.sketch(sample.X[mates], sample.weight[mates])
            losses = candidate.loss(sample.X)
            lowered = losses if first and size == 1 else np.minimum(nearest, losses)
            total = float(sample.weight @ lowered)
            if best is None or clearly_less(total, best[0]):
                best = (total, candidate, lowered, seed)
        assert best is not None
        found.append(best[1])
        nearest, taken[best[3]], first = best[2], True, False
    new = dict(zip(order, found[len(before) :], strict=True))
    return [*before, *(new[j] for j in range(len(templates)))]


def _order(templates: list[Any], how: str, rng: np.random.Generator) -> list[int]:
    """Structures of several kinds grow in any order."""
    mixed = len({repr(each) for each in templates}) > 1 and how != "farthest"
    return [int(j) for j in rng.permutation(len(templates))] if mixed else list(range(len(templates)))


def _seed(sample: Sample, nearest: Floats, taken: Any, how: str, rng: np.random.Generator) -> int:
    if how == "farthest":
        return first_largest(nearest)
    chances = sample.weight * (nearest if how == "k-means++" else ~taken)
    total = np.cumsum(chances)
    if not total[-1] > 0:  # every row is fitted already
        total = np.cumsum(sample.weight)
    return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(sample) - 1)


def _mates(
    sample: Sample, seed: int, size: int, nearest: Floats, trial: int, how: str, rng: np.random.Generator
) -> Any:
    """Rows that a structure is sketched from: the seed, and neighbours of it or others that fit badly."""
    n = len(sample)
    if size == 1 or n <= size:
        return np.array([seed]) if size == 1 else np.arange(n)
    away = sample.X - sample.X[seed]
    near = np.argsort(np.einsum("ij,ij->i", away, away), kind="stable")
    if how == "farthest":
        return near[: 2 * size]
    if trial % 2 and nearest.sum() > 0:
        chances = sample.weight * nearest
        chances[seed] = 0.0
        if np.count_nonzero(chances) >= size - 1:
            others = rng.choice(n, size - 1, replace=False, p=chances / chances.sum())
            return np.append(seed, others)
    pool = near[1 : 1 + max(3 * size, n // 20)]
    return np.append(seed, rng.choice(pool, min(size, len(pool)), replace=False))

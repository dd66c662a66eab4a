"""How many clusters: criteria along their number, each fit started from the one before."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core import deadline, validation
from gramian.rows import scan
from gramian.selection.cv.fold_moments import searching
from gramian.structures.components.point import Point
from gramian.structures.information_criteria import bayes
from gramian.structures.loop.alternation import Outcome, costs
from gramian.structures.loop.initialization import SHAPE_SAMPLE, Sample, drawn_rows, extended
from gramian.structures.loop.restarts import Search
from gramian.structures.loop.rounding import first_least
from gramian.warnings import ConvergenceWarning, warn_user

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CRITERIA = ("bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette", "stability")
SAMPLE = 2000  # rows that are compared in pairs, or fitted again and again
STRENGTH = 0.8  # prediction strength of clusters that are there (Tibshirani and Walther 2005)
CLEAR_FALL = 3.0  # standard deviations by which an objective falls further than that of rows without clusters
PARTITIONS = 10  # into halves, for the prediction strength
REPEATS = 10  # reference tables of the gap, and pairs of halves of the stability
CLEAR = 6.0  # ratio of the penalties at both ends of a number of clusters, beyond that of rows without any
FRESH = 3  # starts of each number of clusters, the one before extended among them


@dataclass(frozen=True, eq=False)
class Choice:
    """The criterion along the number of clusters, and the number chosen.

    Attributes
    ----------
    criterion : str
    n_clusters, values : arrays
        Numbers tried and their values; NaN where the criterion has none.
    errors : array or None
        Standard errors of the values, where they come from repetitions.
    objectives : array
        What the fits minimise.
    chosen : int
        The number of clusters.
    penalty : float or None
        λ of the criterion "penalty".
    at_boundary : bool
        Whether the number chosen is `max_clusters`, so that more might do better.
    """

    criterion: str
    n_clusters: Ints
    values: Floats
    errors: Floats | None
    objectives: Floats
    chosen: int
    penalty: float | None = None
    at_boundary: bool = False

    def __str__(self) -> str:
        text = f"{self.chosen} clusters by {self.criterion} of {self.n_clusters[0]} to {self.n_clusters[-1]}"
        return text + ("; the most tried" if self.chosen == self.n_clusters[-1] > 1 else "")

    def warn_at_boundary(self) -> None:
        """Warn where the number chosen is the most allowed."""
        if self.at_boundary:
            warn_user(f"{self.boundary_note} Give a larger max_clusters.", ConvergenceWarning)

    @property
    def boundary_note(self) -> str:
        return f"The number of clusters chosen, {self.chosen}, is max_clusters: more might do better."


@dataclass(eq=False)
class Task:
    """What is to be chosen, and how."""

    search: Search
    template: Any
    criterion: Any
    most: Any
    penalty: Any
    weight: float | None = None  # of the rows that outcomes are of, where they are more than those of the search
    inputs: Any = None  # rows that those of the search are features of
    features: Callable[[Any], Floats] | None = None  # of such rows

    def __post_init__(self) -> None:
        validation.choice("criterion", self.criterion, CRITERIA)
        validation.whole("max_clusters", self.most, low=1)
        if self.penalty != "auto":
            validation.number("penalty", self.penalty, low=0.0)
        if self.search.rule.opens() and hasattr(self.search.rule, "penalty"):
            raise ValueError("The rule 'rival' finds the number of clusters itself: give n_clusters, more than needed.")
        if not isinstance(self.search.init, str):
            raise ValueError('init has a fixed number of clusters; with n_clusters="auto" give a word.')
        distances = not self.template.density and not self.search.rule.soft
        if self.criterion in ("gap", "penalty") and not distances:
            raise ValueError(f'criterion "{self.criterion}" compares distances; of densities give "bic".')


def chosen(task: Task) -> tuple[Outcome, Choice]:
    """The outcome of the best number of clusters by the criterion."""
    with searching():
        outcomes = along(task.search, task.template, list(range(1, min(int(task.most), task.search.used) + 1)))
    choice = choice_of(task, outcomes)
    return outcomes[choice.chosen - 1], choice


def choice_of(task: Task, outcomes: list[Any]) -> Choice:
    """The choice among outcomes for 1, 2, … clusters, of which values and labels are looked at."""
    tried = np.arange(1, len(outcomes) + 1)
    objectives = np.array([each.value for each in outcomes])
    values, errors, best = RULES[task.criterion](task, outcomes, objectives)
    charge = float(values[0] - objectives[0]) if task.criterion == "penalty" else None
    if deadline.ended():
        deadline.note(f"The number of clusters was chosen among 1 to {len(outcomes)}.")
    ended = best + 1 == len(outcomes) == int(task.most) < task.search.used and best > 0
    return Choice(task.criterion, tried, values, errors, objectives, int(tried[best]), charge, ended)


def default_criterion(template: Any, rule: Any) -> str:
    """What "auto" stands for: the prediction strength of points, the BIC of densities and shapes.

    `bench/results/number_of_clusters.md` has the measurements.
    """
    return "prediction_strength" if isinstance(template, Point) and not rule.soft else "bic"


def boundary_note(model: Any) -> list[str]:
    """What a certificate says where the number of clusters chosen is the most allowed."""
    choice = getattr(model, "choice_", None)
    return [choice.boundary_note] if choice is not None and choice.at_boundary else []


def along(search: Search, template: Any, tried: list[int]) -> list[Outcome]:
    """Outcomes for every number, or as many as there is time for: each starts from the one before with one structure
    more, or afresh.
    """
    search = replace(search, n_init=min(search.n_init, FRESH))
    found: list[Outcome] = []
    for k in tried:
        if found and deadline.passed():
            break
        sample = Sample(search.rows, SHAPE_SAMPLE, search.rng)
        warm = extended(found[-1].state.structures, template, sample, search.rng) if found else None
        outcome = search.best([template] * k, warm)
        if not search.rule.soft and len(np.unique(outcome.labels)) < k:
            break  # no more distinct rows
        found.append(outcome)
    return found


def repeated(once: Callable[[], Any], count: int) -> list[Any]:
    """What is computed so many times, or as often as there is time for, and once at least."""
    found = [once()]
    while len(found) < count and not deadline.passed():
        more = once()
        if deadline.passed():  # before it was finished
            break
        found.append(more)
    return found


def _elbow(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, None, int]:
    """Farthest below the chord from the first to the last, of the logarithm: shares of what is left, not amounts."""
    if not task.template.density and not task.search.rule.soft:  # else it is that of a likelihood already
        values = np.log(np.maximum(values, max(1e-12 * values[0], 1e-300)))
    k = np.arange(len(values))
    chord = values[0] + (values[-1] - values[0]) * k / max(len(values) - 1, 1)
    return values, None, int((chord - values).argmax())


def _penalty(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, None, int]:
    """Objective + λk."""
    charge = persistent(values) if task.penalty == "auto" else float(task.penalty)
    found = values + charge * np.arange(1, len(values) + 1)
    return found, None, int(found.argmin())


def persistent(values: Floats) -> float:
    """The λ in the middle of the longest stretch, in its logarithm, over which objective + λk is least at the same k.

    As λ falls from the objective of one cluster to nothing, k rises along the corners of the convex curve below the
    objectives. Real clusters part what lies far apart, and more of them only what is close together: over the numbers
    between the two λ may change most without a change of k. Where no stretch is longer than rows of one normal or even
    spread have, λ is the objective of one cluster, which then is best.
    """
    corners = [0]
    for i in range(1, len(values)):
        while len(corners) > 1 and _fall(values, corners[-1], i) >= _fall(values, corners[-2], corners[-1]):
            corners.pop()
        corners.append(i)
    falls = [_fall(values, a, b) for a, b in pairwise(corners)]
    ends = [float(values[0]), *(fall for fall in falls if fall > 0)]
    if len(ends) < 2:
        return max(float(values[0]), 1e-300)
    tiny = 1e-12 * ends[0]
    lengths = [np.log(a / max(b, tiny)) for a, b in pairwise(ends)]
    longest = int(np.argmax(lengths))
    if lengths[longest] < np.log(CLEAR):
        return ends[0]
    return float(np.sqrt(ends[longest]) * np.sqrt(max(ends[longest + 1], tiny)))


def _fall(values: Floats, a: int, b: int) -> float:
    return float(values[a] - values[b]) / (b - a)


def _bic(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, None, int]:
    found = np.array([bayes(each, task.search.rows.d, task.search.loop.weight) for each in outcomes])
    return found, None, int(found.argmin())


def _sampled(task: Task) -> tuple[Any, Floats, Ints]:
    """Rows to compare, their weights and places."""
    index, X, weight = drawn_rows(task.search.rows, SAMPLE, task.search.rng)
    return X, weight, index


def _silhouette(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, None, int]:
    from sklearn.metrics import pairwise_distances

    X, weight, index = _sampled(task)
    apart = pairwise_distances(X)
    found = np.full(len(outcomes), np.nan)
    for i, outcome in enumerate(outcomes):
        labels = outcome.labels[index]
        if len(np.unique(labels)) > 1:
            found[i] = silhouette(apart, labels, weight)
    return found, None, int(np.nanargmax(found)) if np.isfinite(found).any() else 0


def silhouette(apart: Floats, labels: Ints, weight: Floats) -> float:
    """The weighted mean of (b − a)/max(a, b), from distances in pairs; weights are counts."""
    _, labels = np.unique(labels, return_inverse=True)
    owns = np.zeros((len(labels), labels.max() + 1))
    rows = np.arange(len(labels))
    owns[rows, labels] = weight
    mass, sums = owns.sum(axis=0), apart @ owns
    inner = sums[rows, labels] / np.maximum(mass[labels] - 1.0, 1e-300)
    outer = sums / mass
    outer[rows, labels] = np.inf
    other = outer.min(axis=1)
    size = np.maximum(inner, other)
    scores = np.where((mass[labels] > 1.0) & (size > 0), (other - inner) / np.where(size > 0, size, 1.0), 0.0)
    return float(weight @ scores / weight.sum())


def _gap(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, Floats, int]:
    """log objective below that of rows spread evenly over a box along the principal directions."""
    X, weight, _ = _sampled(task)
    X = X if task.inputs is None else task.inputs
    if sp.issparse(X):
        raise ValueError('criterion "gap" spreads rows over a box, which sparse rows do not fill; give "silhouette".')
    X = np.asarray(X, dtype=np.float64)
    mean = weight @ X / weight.sum()
    _, turn = np.linalg.eigh((weight[:, None] * (X - mean)).T @ (X - mean))
    turned = (X - mean) @ turn
    low, high = turned.min(axis=0), turned.max(axis=0)
    tiny = 1e-300
    tried = list(range(1, len(outcomes) + 1))

    def once() -> Floats:
        even = mean + task.search.rng.uniform(low, high, turned.shape) @ turn.T
        even = even if task.features is None else task.features(even)
        fits = along(_search_of(task.search, even, weight), task.template, tried)
        found = np.array([each.value for each in fits] + [fits[-1].value] * (len(tried) - len(fits)))
        return np.log(np.maximum(found, tiny) / weight.sum())

    logs = np.array(repeated(once, REPEATS))
    total = task.search.loop.weight if task.weight is None else task.weight
    gaps = logs.mean(axis=0) - np.log(np.maximum(values, tiny) / total)
    errors = logs.std(axis=0) * np.sqrt(1.0 + 1.0 / len(logs))
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    return gaps, errors, int(enough[0]) if len(enough) else len(gaps) - 1


def _stability(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, Floats, int]:
    """Agreement of two fits to halves of the rows: the most clusters within a standard error of the best."""
    from sklearn.metrics import adjusted_rand_score

    X, weight, _ = _sampled(task)
    tried = list(range(1, len(outcomes) + 1))

    def once() -> Floats:
        agreed = np.full(len(outcomes), np.nan)
        order = task.search.rng.permutation(len(weight))
        halves = [order[: len(order) // 2], order[len(order) // 2 :]]
        fits = [along(_search_of(task.search, X[half], weight[half]), task.template, tried) for half in halves]
        for i, pair in enumerate(zip(*fits, strict=False)):
            if i:
                agreed[i] = adjusted_rand_score(*(_owners(each, X) for each in pair))
        return agreed

    agreed = np.array(repeated(once, REPEATS))
    counted = np.isfinite(agreed).sum(axis=0)
    means = np.array([agreed[:, i][np.isfinite(agreed[:, i])].mean() if n else np.nan for i, n in enumerate(counted)])
    errors = np.array(
        [agreed[:, i][np.isfinite(agreed[:, i])].std() / np.sqrt(n) if n else np.nan for i, n in enumerate(counted)]
    )
    if not np.isfinite(means).any():
        return means, errors, 0
    best = int(np.nanargmax(means))
    return means, errors, int(np.flatnonzero(np.nan_to_num(means, nan=-1.0) >= means[best] - errors[best])[-1])


def _prediction_strength(task: Task, outcomes: list[Outcome], values: Floats) -> tuple[Floats, Floats, int]:
    """The most clusters in which other rows that belong together are predicted to do so (Tibshirani and Walther 2005).

    Of clusters fitted to one half of the rows, the worst is looked at: the share of its pairs that clusters of the
    other half hold together. Halves agree too on how to divide one long cloud: so the objective must also have fallen
    further than it does of rows without clusters.
    """
    X, weight, _ = _sampled(task)
    tried = list(range(1, len(outcomes) + 1))

    def once() -> Floats:
        found = np.zeros(len(outcomes))
        order = task.search.rng.permutation(len(weight))
        halves = [order[: len(order) // 2], order[len(order) // 2 :]]
        fits = [along(_search_of(task.search, X[half], weight[half]), task.template, tried) for half in halves]
        for i, pair in enumerate(zip(*fits, strict=False)):
            both = []
            for (own, other), half in zip((pair, pair[::-1]), halves, strict=True):
                both.append(held_together(_owners(other, X[half]), _owners(own, X[half]), weight[half]))
            found[i] = np.mean(both)
        return found

    strengths = np.array(repeated(once, PARTITIONS))
    strengths[:, 0] = 1.0
    means, errors = strengths.mean(axis=0), strengths.std(axis=0) / np.sqrt(len(strengths))
    strong = np.flatnonzero(means + errors >= STRENGTH)[::-1]
    null = _NullRows.like(X, weight)
    return means, errors, next(int(i) for i in strong if i == 0 or null is None or null.beaten(task, values, int(i)))


@dataclass(frozen=True, eq=False)
class _NullRows:
    """Rows without clusters: a normal cloud and an even box, with the principal axes of given rows."""

    low: Floats
    high: Floats
    spread: Floats
    weight: Floats

    @classmethod
    def like(cls, X: Any, weight: Floats) -> "_NullRows | None":
        """Of rows; None of sparse ones with too many columns to be written out."""
        if sp.issparse(X):
            if X.shape[1] > SAMPLE:
                return None
            X = X.toarray()
        away = np.asarray(X, dtype=np.float64) - np.average(X, axis=0, weights=weight)
        U, S, _ = np.linalg.svd(away * np.sqrt(weight)[:, None], full_matrices=False)
        turned = U * S / np.sqrt(np.maximum(weight, 1e-300))[:, None]
        return cls(turned.min(axis=0), turned.max(axis=0), S / np.sqrt(weight.sum()), weight)

    def _drawn(self, even: bool, rng: np.random.Generator) -> Floats:
        shape = (len(self.weight), len(self.spread))
        return rng.uniform(self.low, self.high, shape) if even else rng.standard_normal(shape) * self.spread

    def beaten(self, task: Task, values: Floats, i: int) -> bool:
        """Whether i + 1 clusters lower the objective of one by clearly more than they lower that of either kind.

        Where there is no time to see, they are taken to.
        """
        tiny = 1e-300
        fall = np.log(max(float(values[i]), tiny) / max(float(values[0]), tiny))

        def once(even: bool) -> float:
            search = replace(
                _search_of(task.search, self._drawn(even, task.search.rng), self.weight),
                n_init=min(task.search.n_init, FRESH),
            )
            one, several = (search.best([task.template] * k).value for k in (1, i + 1))
            return float(np.log(max(several, tiny) / max(one, tiny)))

        for even in (False, True):
            if deadline.passed():
                return True
            falls = np.array(repeated(partial(once, even), REPEATS))
            if fall >= falls.mean() - CLEAR_FALL * falls.std() * np.sqrt(1.0 + 1.0 / len(falls)):
                return False
        return True


def held_together(predicted: Ints, own: Ints, weight: Floats) -> float:
    """The least share, over own clusters, of pairs of rows that are predicted to be together; weights are counts."""
    counts = np.zeros((int(own.max()) + 1, int(predicted.max()) + 1))
    np.add.at(counts, (own, predicted), weight)
    total = counts.sum(axis=1)
    pairs = (counts * np.maximum(counts - 1.0, 0.0)).sum(axis=1)
    return float(np.min(pairs[total > 1] / (total * (total - 1.0))[total > 1], initial=1.0)) * float((total != 1).all())


def _owners(outcome: Outcome, X: Any) -> Ints:
    losses = np.column_stack([each.loss(X) for each in outcome.state.structures])
    return first_least(costs(losses, outcome.state, X.shape[1]) if outcome.soft else losses)


def _search_of(search: Search, X: Any, weight: Floats) -> Search:
    """The same search on other rows."""
    return replace(search, rows=scan(X, sample_weight=weight), used=len(weight))


RULES: dict[str, Callable[[Task, list[Outcome], Floats], tuple[Floats, Floats | None, int]]] = {
    "bic": _bic,
    "elbow": _elbow,
    "gap": _gap,
    "penalty": _penalty,
    "prediction_strength": _prediction_strength,
    "silhouette": _silhouette,
    "stability": _stability,
}

"""The choice of the number of clusters: criteria along k, each fit warm-started from the one before."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from gramian._core import deadline, validation
from gramian._core.types import Estimator, Floats, Ints, Matrix
from gramian.rows import scan
from gramian.selection.cv.strategies.fold_moments import searching
from gramian.structures.cluster_quality import co_membership, persistent_penalty, silhouette
from gramian.structures.information_criteria import bic
from gramian.structures.loop.alternation import LoopResult, joint_losses
from gramian.structures.loop.initialization import MAX_SHAPE_SAMPLE, SeedSample, drawn_rows, extended
from gramian.structures.loop.restarts import RestartSearch
from gramian.structures.loop.rounding import first_least
from gramian.warnings import ConvergenceWarning, warn_user

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure

CRITERIA = ("bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette", "stability")
LEAST_IS_BEST = ("bic", "penalty")
MAX_SAMPLE = 2000  # rows of pairwise distances, and of repeated fits
MIN_PREDICTION_STRENGTH = 0.8  # of clusters that exist (Tibshirani and Walther 2005)
MIN_NULL_DEVIATIONS = 3.0  # standard deviations by which the objective falls below that of rows without clusters
PARTITIONS = 10  # into halves, for the prediction strength
REPEATS = 10  # reference tables of the gap, and pairs of halves of the stability
MAX_STARTS = 3  # for each number of clusters, the warm start among them


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
        Whether the number chosen is `max_clusters`, so that more clusters might be better.
    limited : bool
        Whether `max_clusters` ended the numbers tried: nothing is known of more clusters.
    """

    criterion: str
    n_clusters: Ints
    values: Floats
    errors: Floats | None
    objectives: Floats
    chosen: int
    penalty: float | None = None
    at_boundary: bool = False
    limited: bool = False

    def __str__(self) -> str:
        noun = "cluster" if self.chosen == 1 else "clusters"
        text = f"{self.chosen} {noun} by {self.criterion} of {self.n_clusters[0]} to {self.n_clusters[-1]}"
        text += " (max_clusters)" if self.limited else ""
        if self.chosen == self.n_clusters[-1] > 1:
            return f"{text}; the largest number tried"
        return f"{text}; the criterion was still improving at {self.n_clusters[-1]}" if self.improving_at_end else text

    @property
    def improving_at_end(self) -> bool:
        """Whether `max_clusters` ended the numbers tried where the criterion was clearly improving, short of its best.

        Clearly is by more than the standard error, where there is one. Objectives, of which "elbow" is made, always
        improve.
        """
        if not self.limited or len(self.values) < 2 or self.criterion == "elbow":
            return False
        improvement = float(self.values[-1] - self.values[-2]) * (-1.0 if self.criterion in LEAST_IS_BEST else 1.0)
        return improvement > (0.0 if self.errors is None else float(self.errors[-1]))

    def warn_at_boundary(self) -> None:
        """Warn where the number chosen is `max_clusters`."""
        if self.at_boundary:
            warn_user(f"{self.boundary_note} Give a larger max_clusters.", ConvergenceWarning)

    @property
    def boundary_note(self) -> str:
        if self.at_boundary:
            return f"The number of clusters chosen, {self.chosen}, is max_clusters: more clusters might be better."
        if self.improving_at_end:
            return (
                f"The criterion {self.criterion} was still improving at {self.n_clusters[-1]} clusters, the largest "
                "number tried: more than that (max_clusters) might be better."
            )
        return ""


@dataclass(eq=False)
class ChoiceTask:
    """A search, the template of its structures, and the criterion by which k is chosen."""

    search: RestartSearch
    template: "Structure"
    criterion: Any
    max_clusters: Any
    penalty: float | str
    weight: float | None = None  # of all rows, where the search has a sample of them
    inputs: Any = None  # the rows whose kernel features are the rows of the search
    features: Callable[[Any], Floats] | None = None  # from such rows to their features

    def __post_init__(self) -> None:
        validation.choice("criterion", self.criterion, CRITERIA)
        validation.whole("max_clusters", self.max_clusters, low=1)
        if self.penalty != "auto":
            validation.number("penalty", self.penalty, low=0.0)
        if self.search.rule.penalizes_rivals:
            raise ValueError(
                "The rule 'rival' chooses the number of clusters itself: give n_clusters, more than needed."
            )
        if not isinstance(self.search.init, str):
            raise ValueError('init has a fixed number of clusters; with n_clusters="auto" give the name of a method.')
        distances = not self.template.density and not self.search.rule.soft
        if self.criterion in ("gap", "penalty") and not distances:
            raise ValueError(f'criterion "{self.criterion}" compares distances; for densities use "bic".')


def choose(task: ChoiceTask) -> tuple[LoopResult, Choice]:
    """The fit with the number of clusters that the criterion chooses, and the choice."""
    max_clusters = min(int(task.max_clusters), task.search.used)
    with searching():
        results = path(task.search, task.template, list(range(1, max_clusters + 1)))
    choice = choice_of(task, results)
    return results[choice.chosen - 1], choice


def choice_of(task: ChoiceTask, results: list[Any]) -> Choice:
    """The choice among fits of 1, 2, … clusters, by their values and labels."""
    tried = np.arange(1, len(results) + 1)
    objectives = np.array([each.value for each in results])
    values, errors, best = RULES[task.criterion](task, results, objectives)
    penalty = float(values[0] - objectives[0]) if task.criterion == "penalty" else None
    if deadline.ended():
        deadline.note(f"The number of clusters was chosen among 1 to {len(results)}.")
    limited = len(results) == int(task.max_clusters) < task.search.used
    at_boundary = limited and best + 1 == len(results) and best > 0
    return Choice(task.criterion, tried, values, errors, objectives, int(tried[best]), penalty, at_boundary, limited)


def default_criterion(template: "Structure", rule: Any) -> str:
    """The criterion of "auto": the prediction strength for points, the BIC for densities and shapes.

    `bench/results/number_of_clusters.md` has the measurements.
    """
    return "prediction_strength" if template.is_point and not rule.soft else "bic"


def boundary_note(model: Estimator) -> list[str]:
    """The sentence of the certificate where more clusters than `max_clusters` might be better."""
    choice = vars(model).get("choice_")
    return [choice.boundary_note] if choice is not None and choice.boundary_note else []


def path(search: RestartSearch, template: "Structure", tried: list[int]) -> list[LoopResult]:
    """Fits for every number of clusters, or as many as there is time for.

    The starts of each are the fit before with one structure more, and others of its own.
    """
    search = replace(search, n_init=min(search.n_init, MAX_STARTS))
    results: list[LoopResult] = []
    for k in tried:
        if results and deadline.passed():
            break
        sample = SeedSample(search.rows, MAX_SHAPE_SAMPLE, search.rng)
        warm = extended(results[-1].state.structures, template, sample, search.rng) if results else None
        result = search.best([template] * k, warm)
        if not search.rule.soft and len(np.unique(result.labels)) < k:
            break  # there are fewer than k distinct rows
        results.append(result)
    return results


def repeated(compute: Callable[[], Any], count: int) -> list[Any]:
    """The results of repetitions: `count` of them, or as many as there is time for, and at least one."""
    repetitions = [compute()]
    while len(repetitions) < count and not deadline.passed():
        repetition = compute()
        if deadline.passed():  # before it was finished
            break
        repetitions.append(repetition)
    return repetitions


def _elbow(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, None, int]:
    """The k farthest below the chord from the first to the last value of the log objective."""
    if not task.template.density and not task.search.rule.soft:  # a likelihood is a logarithm already
        values = np.log(np.maximum(values, max(1e-12 * values[0], 1e-300)))
    k = np.arange(len(values))
    chord = values[0] + (values[-1] - values[0]) * k / max(len(values) - 1, 1)
    return values, None, int((chord - values).argmax())


def _penalty(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, None, int]:
    """Objective + λk."""
    penalty = persistent_penalty(values) if task.penalty == "auto" else float(task.penalty)
    penalized = values + penalty * np.arange(1, len(values) + 1)
    return penalized, None, int(penalized.argmin())


def _bic(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, None, int]:
    criterion = np.array([bic(each, task.search.rows.d, task.search.loop.weight) for each in results])
    return criterion, None, int(criterion.argmin())


def _sampled(task: ChoiceTask) -> tuple[Any, Floats, Ints]:
    """A sample of rows, their weights and indices."""
    index, X, weight = drawn_rows(task.search.rows, MAX_SAMPLE, task.search.rng)
    return X, weight, index


def _fits_of_halves(task: ChoiceTask, X: Matrix, weight: Floats, tried: list[int]) -> tuple[list[Ints], list[Any]]:
    """The rows of two random halves, and the fits of every number of clusters to each."""
    order = task.search.rng.permutation(len(weight))
    halves = [order[: len(order) // 2], order[len(order) // 2 :]]
    return halves, [path(_search_of(task.search, X[half], weight[half]), task.template, tried) for half in halves]


def _silhouette(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, None, int]:
    from sklearn.metrics import pairwise_distances

    X, weight, index = _sampled(task)
    distances = pairwise_distances(X)
    silhouettes = np.full(len(results), np.nan)
    for i, result in enumerate(results):
        labels = result.labels[index]
        if len(np.unique(labels)) > 1:
            silhouettes[i] = silhouette(distances, labels, weight)
    return silhouettes, None, int(np.nanargmax(silhouettes)) if np.isfinite(silhouettes).any() else 0


def _gap(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, Floats, int]:
    """log objective below that of rows drawn uniformly from a box along the principal directions."""
    X, weight, _ = _sampled(task)
    X = X if task.inputs is None else task.inputs
    if sp.issparse(X):
        raise ValueError('criterion "gap" draws rows from a box, which sparse rows do not fill: use "silhouette".')
    X = np.asarray(X, dtype=np.float64)
    mean = weight @ X / weight.sum()
    _, axes = np.linalg.eigh((weight[:, None] * (X - mean)).T @ (X - mean))
    coordinates = (X - mean) @ axes
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    tiny = 1e-300
    tried = list(range(1, len(results) + 1))

    def log_objectives() -> Floats:
        uniform = mean + task.search.rng.uniform(low, high, coordinates.shape) @ axes.T
        uniform = uniform if task.features is None else task.features(uniform)
        fits = path(_search_of(task.search, uniform, weight), task.template, tried)
        objectives = np.array([each.value for each in fits] + [fits[-1].value] * (len(tried) - len(fits)))
        return np.log(np.maximum(objectives, tiny) / weight.sum())

    logs = np.array(repeated(log_objectives, REPEATS))
    total = task.search.loop.weight if task.weight is None else task.weight
    gaps = logs.mean(axis=0) - np.log(np.maximum(values, tiny) / total)
    errors = logs.std(axis=0) * np.sqrt(1.0 + 1.0 / len(logs))
    sufficient = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    return gaps, errors, int(sufficient[0]) if len(sufficient) else len(gaps) - 1


def _stability(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, Floats, int]:
    """The adjusted Rand index of fits to halves of the rows: the most clusters within a standard error of the best."""
    from sklearn.metrics import adjusted_rand_score

    X, weight, _ = _sampled(task)
    tried = list(range(1, len(results) + 1))

    def agreement() -> Floats:
        indices = np.full(len(results), np.nan)
        _, fits = _fits_of_halves(task, X, weight, tried)
        for i, pair in enumerate(zip(*fits, strict=False)):
            if i:
                indices[i] = adjusted_rand_score(*(_labels_of(each, X) for each in pair))
        return indices

    indices = np.array(repeated(agreement, REPEATS))
    counts = np.isfinite(indices).sum(axis=0)
    means = np.array([indices[:, i][np.isfinite(indices[:, i])].mean() if n else np.nan for i, n in enumerate(counts)])
    errors = np.array(
        [indices[:, i][np.isfinite(indices[:, i])].std() / np.sqrt(n) if n else np.nan for i, n in enumerate(counts)]
    )
    if not np.isfinite(means).any():
        return means, errors, 0
    best = int(np.nanargmax(means))
    return means, errors, int(np.flatnonzero(np.nan_to_num(means, nan=-1.0) >= means[best] - errors[best])[-1])


def _prediction_strength(task: ChoiceTask, results: list[LoopResult], values: Floats) -> tuple[Floats, Floats, int]:
    """The most clusters of prediction strength 0.8 (Tibshirani and Walther 2005) that improve on a null model.

    The strength is the share of the pairs of rows of a cluster of one half that the clusters of the other half predict
    to be together, of the worst cluster. Halves also agree on how to divide one elongated cluster: so the objective
    must fall further than it does for rows without clusters.
    """
    X, weight, _ = _sampled(task)
    tried = list(range(1, len(results) + 1))

    def strength() -> Floats:
        means = np.zeros(len(results))
        halves, fits = _fits_of_halves(task, X, weight, tried)
        for i, pair in enumerate(zip(*fits, strict=False)):
            both = []
            for (own, other), half in zip((pair, pair[::-1]), halves, strict=True):
                both.append(co_membership(_labels_of(other, X[half]), _labels_of(own, X[half]), weight[half]))
            means[i] = np.mean(both)
        return means

    strengths = np.array(repeated(strength, PARTITIONS))
    strengths[:, 0] = 1.0
    means, errors = strengths.mean(axis=0), strengths.std(axis=0) / np.sqrt(len(strengths))
    strong = np.flatnonzero(means + errors >= MIN_PREDICTION_STRENGTH)[::-1]
    null = _NullRows.like(X, weight)
    return (
        means,
        errors,
        next(int(i) for i in strong if i == 0 or null is None or null.is_improved(task, values, int(i))),
    )


@dataclass(frozen=True, eq=False)
class _NullRows:
    """The null model of rows without clusters: normal and uniform rows with the principal axes of the data."""

    low: Floats
    high: Floats
    deviation: Floats
    weight: Floats

    @classmethod
    def like(cls, X: Matrix, weight: Floats) -> "_NullRows | None":
        """The null model of rows; None where they are sparse with too many columns to be dense."""
        if sp.issparse(X):
            if X.shape[1] > MAX_SAMPLE:
                return None
            X = X.toarray()
        deviation = np.asarray(X, dtype=np.float64) - np.average(X, axis=0, weights=weight)
        U, S, _ = np.linalg.svd(deviation * np.sqrt(weight)[:, None], full_matrices=False)
        coordinates = U * S / np.sqrt(np.maximum(weight, 1e-300))[:, None]
        return cls(coordinates.min(axis=0), coordinates.max(axis=0), S / np.sqrt(weight.sum()), weight)

    def _sample(self, uniform: bool, rng: np.random.Generator) -> Floats:
        shape = (len(self.weight), len(self.deviation))
        return rng.uniform(self.low, self.high, shape) if uniform else rng.standard_normal(shape) * self.deviation

    def is_improved(self, task: ChoiceTask, values: Floats, i: int) -> bool:
        """Whether i + 1 clusters lower the objective clearly more than they do for rows of the null model.

        True where there is no time to compute that.
        """
        tiny = 1e-300
        log_ratio = np.log(max(float(values[i]), tiny) / max(float(values[0]), tiny))

        def null_log_ratio(uniform: bool) -> float:
            search = replace(
                _search_of(task.search, self._sample(uniform, task.search.rng), self.weight),
                n_init=min(task.search.n_init, MAX_STARTS),
            )
            single, several = (search.best([task.template] * k).value for k in (1, i + 1))
            return float(np.log(max(several, tiny) / max(single, tiny)))

        for uniform in (False, True):
            if deadline.passed():
                return True
            nulls = np.array(repeated(partial(null_log_ratio, uniform), REPEATS))
            if log_ratio >= nulls.mean() - MIN_NULL_DEVIATIONS * nulls.std() * np.sqrt(1.0 + 1.0 / len(nulls)):
                return False
        return True


def _labels_of(result: LoopResult, X: Matrix) -> Ints:
    losses = np.column_stack([each.loss(X) for each in result.state.structures])
    return first_least(joint_losses(losses, result.state, X.shape[1]) if result.soft else losses)


def _search_of(search: RestartSearch, X: Matrix, weight: Floats) -> RestartSearch:
    """The same search on other rows."""
    return replace(search, rows=scan(X, sample_weight=weight), used=len(weight))


RULES: dict[str, Callable[[ChoiceTask, list[LoopResult], Floats], tuple[Floats, Floats | None, int]]] = {
    "bic": _bic,
    "elbow": _elbow,
    "gap": _gap,
    "penalty": _penalty,
    "prediction_strength": _prediction_strength,
    "silhouette": _silhouette,
    "stability": _stability,
}

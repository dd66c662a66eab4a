"""The search for thresholds: objectives from cumulative counts, exact along every distinct score."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gramian._core.types import Array, Floats, Ints
from gramian.metrics.registry import METRICS

OF_COUNTS = {name: metric for name, metric in METRICS.items() if metric.of_counts is not None}


NAMES = tuple(sorted([*OF_COUNTS, "cost", "youden"]))


CONSTRAINT = re.compile(r"\s*(\w+)\s*(>=|<=)\s*([0-9.eE+-]+)\s*")


MOST_CALLS = 1000  # thresholds at which a function of the user is evaluated


MOST_ROUNDS = 50  # over the classes; each improves the objective, and few are ever needed


ROUNDING = 1e-12  # relative; objectives that differ by less are equal


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """What happens as the threshold of a class goes down, from no row predicted as it to all of them.

    Attributes
    ----------
    thresholds : array (m,)
        One for every set of rows that a threshold can decide for the class, decreasing.
    objective : array (m,)
        The objective there.
    recall, precision, fpr : array (m,)
        Of the class against the rest; `tpr` is another name for recall. Precision is 0 where no row is predicted as it.
    """

    thresholds: Floats
    objective: Floats
    recall: Floats
    precision: Floats
    fpr: Floats

    @property
    def tpr(self) -> Floats:
        """True positive rate: recall."""
        return self.recall


class Objective(NamedTuple):
    """What is tuned for: a metric's name or a function, the (metric, relation, bound) to keep, the costs."""

    goal: str | Callable[..., Any]
    constraints: tuple[tuple[str, str, float], ...]
    cost: Floats

    @property
    def sign(self) -> float:
        """1 where it is maximised, −1 where it is minimised."""
        minimised = self.goal == "cost" or (self.goal in OF_COUNTS and not OF_COUNTS[self.goal].greater_is_better)
        return -1.0 if minimised else 1.0


@dataclass(frozen=True, eq=False)
class SweepCounts:
    """At each of m thresholds, for each of k classes: the weight predicted as it, the correct part, and the cost."""

    predicted: Floats
    hits: Floats
    cost: Floats
    actual: Floats

    def measure(self, name: str, positive: int | None) -> Floats:
        """A metric (m,): of the positive class, or the mean over all classes."""
        if name == "cost":
            return self.cost / self.actual.sum()
        if name == "youden":
            return self.measure("recall", positive) - self.measure("fpr", positive)
        actual = np.broadcast_to(self.actual, self.hits.shape)
        return np.asarray(OF_COUNTS[name].of_counts(self.hits, actual, self.predicted, positive))  # type: ignore[misc]


class ThresholdSweep(NamedTuple):
    """All predictions that the threshold of one class can lead to, those of the others fixed.

    At the threshold `cuts[i]` the first `ends[i]` rows of `order` are predicted as `target`, the rest as `others`.
    """

    order: Ints
    ends: Ints
    cuts: Floats
    target: int
    others: Ints

    def at(self, i: int) -> Ints:
        """The prediction for each row at the i-th threshold."""
        predicted = self.others.copy()
        predicted[self.order[: self.ends[i]]] = self.target
        return predicted


@dataclass(frozen=True, eq=False)
class ThresholdScorer:
    """An objective over rows whose classes are known."""

    classes: Array
    codes: Ints
    weight: Floats
    weighted: bool
    positive: int | None
    objective: Objective

    def counts(self, line: ThresholdSweep) -> SweepCounts:
        """Cumulative counts: one row after the other leaves the class that it had and joins the target."""
        y, w, others = self.codes[line.order], self.weight[line.order], line.others[line.order]
        k, next_row = len(self.classes), np.arange(1, len(w) + 1)
        changes = []
        for amount, joining in ((w * (others == y), w * (y == line.target)), (w, w)):
            change = np.zeros((len(w) + 1, k))
            change[0] = np.bincount(others, amount, k)
            change[next_row, others] -= amount
            change[1:, line.target] += joining
            changes.append(np.cumsum(change, axis=0)[line.ends])
        before, after = w * self.objective.cost[y, others], w * self.objective.cost[y, line.target]
        cost = np.cumsum(np.append(before.sum(), after - before))[line.ends]
        return SweepCounts(changes[1], changes[0], cost, np.bincount(y, w, k).astype(np.float64))

    def weigh(self, line: ThresholdSweep, counts: SweepCounts) -> tuple[Floats, Floats]:
        """At every threshold: by how much constraints are missed (0 or below), and the objective."""
        missed = np.zeros(len(line.ends))
        for name, relation, bound in self.objective.constraints:
            excess = (counts.measure(name, self.positive) - bound) * (1.0 if relation == ">=" else -1.0)
            missed += np.minimum(excess + ROUNDING * abs(bound), 0.0)
        goal = self.objective.goal
        if isinstance(goal, str):
            return missed, counts.measure(goal, self.positive)
        weights = {"sample_weight": self.weight} if self.weighted else {}
        y = self.classes[self.codes]
        found = np.array([float(goal(y, self.classes[line.at(i)], **weights)) for i in range(len(line.ends))])
        if np.isnan(found).any():
            raise ValueError(
                f"objective gives NaN at the threshold {line.cuts[np.isnan(found).argmax()]:g}; it must give a number "
                "for every prediction, also where no row is predicted as a class."
            )
        return missed, found

    def thinned(self, line: ThresholdSweep) -> ThresholdSweep:
        """Not more thresholds than a function should be called for, both ends among them."""
        most = MOST_CALLS if self.positive is not None else max(MOST_CALLS // (5 * len(self.classes)), 20)
        if isinstance(self.objective.goal, str) or len(line.ends) <= most:
            return line
        some = np.round(np.linspace(0, len(line.ends) - 1, most)).astype(np.int64)
        return line._replace(ends=line.ends[some], cuts=line.cuts[some])

    def best(self, missed: Floats, value: Floats, tie: Floats) -> int:
        """The first of those that miss least, of these the best, of these the largest `tie`."""
        gain = value * self.objective.sign
        left = np.flatnonzero(missed == missed.max())
        left = left[gain[left] >= gain[left].max() - ROUNDING * np.abs(gain[np.isfinite(gain)]).max(initial=0.0)]
        return int(left[np.argmax(tie[left])])


def parsed(objective: Any, cost: Any) -> tuple[Any, tuple[tuple[str, str, float], ...]]:
    """The goal and the constraints, all of known names."""
    goal, *rest = objective if isinstance(objective, tuple | list) and len(objective) else [objective]
    constraints = []
    for text in rest:
        match = CONSTRAINT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ValueError(f"objective has the constraint {text!r}; write it like 'recall>=0.9' or 'fpr<=0.05'.")
        try:
            constraints.append((match[1], match[2], float(match[3])))
        except ValueError:
            raise ValueError(f"objective has the constraint {text!r}, whose bound is not a number.") from None
    if not (isinstance(goal, str) or callable(goal)):
        raise TypeError(
            f"objective is {objective!r}; it must be a metric's name, a tuple with constraints, or a function."
        )
    used = [*([goal] if isinstance(goal, str) else []), *(name for name, _, _ in constraints)]
    for name in used:
        if name not in NAMES:
            raise ValueError(f"objective names {name!r}; the metrics are {', '.join(NAMES)}.")
    if (cost is not None) != ("cost" in used):
        given = (
            "cost is given, and the objective does not use it" if cost is not None else "objective uses no cost matrix"
        )
        raise ValueError(f"{given}: give objective='cost' and cost=[[...], ...] together.")
    return goal, tuple(constraints)


def _line(margins: Floats, target: int, others: Ints, *, outer: float, closed: bool = False) -> ThresholdSweep:
    """Decisions for the target where margin > cut (≥ if closed), for every cut that makes a difference."""
    order = np.argsort(-margins, kind="stable")
    high = np.append(np.inf, margins[order])
    low = np.append(margins[order], -np.inf)
    with np.errstate(invalid="ignore"):
        between = np.clip(0.5 * high + 0.5 * low, low, high)
        between = np.where(between == low, high, between) if closed else np.where(between == high, low, between)
        # Beside an infinite margin, and beyond both ends, there is no half way.
        finite = np.isfinite(high), np.isfinite(low)
        cuts = np.select([finite[0] & finite[1], *finite], [between, high - outer, low + outer], 0.0)
    ends = np.flatnonzero(high > low)
    return ThresholdSweep(order, ends, cuts[ends], target, others)


def one_threshold(scorer: ThresholdScorer, scores: Floats) -> tuple[float, float, ThresholdCurve]:
    """Two classes: the best of all thresholds."""
    assert scorer.positive is not None
    others = np.full(len(scores), 1 - scorer.positive)
    line = scorer.thinned(_line(scores, scorer.positive, others, outer=np.inf, closed=scorer.positive == 0))
    counts = scorer.counts(line)
    missed, value = scorer.weigh(line, counts)
    _refuse_missed(scorer, missed)
    best = scorer.best(missed, value, counts.measure("youden", scorer.positive))
    return float(line.cuts[best]), float(value[best]), _curve(line.cuts, value, counts, scorer.positive)


def thresholds(
    scorer: ThresholdScorer, scores: Floats, response: str
) -> tuple[Floats, float, tuple[ThresholdCurve, ...]]:
    """Several classes: thresholds that none of them alone can improve."""
    ratio, k = response == "predict_proba", len(scorer.classes)
    with np.errstate(divide="ignore"):
        levels = np.log(scores) if ratio else scores  # p / τ is compared by log p − log τ
    starts = [np.zeros(k)]
    if ratio:
        starts.append(np.log(np.bincount(scorer.codes, scorer.weight, k) / scorer.weight.sum()))
    ends = [_coordinate_search(scorer, levels, start) for start in starts]
    offsets = max(ends, key=lambda end: end[:2])[2]
    if ratio:
        threshold = np.exp(offsets - offsets.max())
        threshold = np.maximum(threshold / threshold.sum(), np.finfo(np.float64).tiny)
    else:
        threshold = offsets - offsets.mean()
    curves = []
    for j in range(k):
        line = scorer.thinned(_line_of(levels, np.log(threshold) if ratio else threshold, j))
        counts = scorer.counts(line)
        cuts = np.exp(line.cuts) if ratio else line.cuts
        curves.append(_curve(cuts, scorer.weigh(line, counts)[1], counts, j))
    missed, value = _predicted(scorer, beside(scores, threshold, response))
    _refuse_missed(scorer, missed)
    return threshold, float(value[0]), tuple(curves)


def _coordinate_search(scorer: ThresholdScorer, levels: Floats, start: Floats) -> tuple[float, float, Floats]:
    """How far constraints are missed, the objective times its sign, and the offsets where no one alone is better."""
    sign, offsets = scorer.objective.sign, start.copy()
    missed, value = _predicted(scorer, levels - offsets)
    best = float(missed[0]), float(value[0]) * sign
    for _ in range(MOST_ROUNDS):
        before = best
        for j in range(len(offsets)):
            line = scorer.thinned(_line_of(levels, offsets, j))
            missed, value = scorer.weigh(line, scorer.counts(line))
            i = scorer.best(missed, value, -np.abs(line.cuts - offsets[j]))
            gain = float(value[i]) * sign
            better = gain > best[1] + ROUNDING * abs(best[1])
            if missed[i] > best[0] + ROUNDING or (missed[i] >= best[0] and better):
                best, offsets[j] = (float(missed[i]), gain), line.cuts[i]
        if best == before:
            break
    return *best, offsets


def _predicted(scorer: ThresholdScorer, shifted: Floats) -> tuple[Floats, Floats]:
    """What `ThresholdScorer.weigh` says of the decision for the largest number in each row."""
    line = ThresholdSweep(np.arange(len(shifted)), np.array([0]), np.zeros(1), 0, shifted.argmax(axis=1))
    return scorer.weigh(line, scorer.counts(line))


def _line_of(levels: Floats, offsets: Floats, j: int) -> ThresholdSweep:
    """What the threshold of class j can decide: a row joins j where its level is above the best other by the offset."""
    shifted = levels - offsets
    shifted[:, j] = -np.inf
    others = shifted.argmax(axis=1)
    with np.errstate(invalid="ignore"):
        margins = levels[:, j] - shifted[np.arange(len(levels)), others]
    return _line(np.where(np.isnan(margins), -np.inf, margins), j, others, outer=1.0)


def _curve(cuts: Floats, value: Floats, counts: SweepCounts, j: int) -> ThresholdCurve:
    return ThresholdCurve(cuts, value, *(counts.measure(name, j) for name in ("recall", "precision", "fpr")))


def _refuse_missed(scorer: ThresholdScorer, missed: Floats) -> None:
    if missed.max() < 0:
        wanted = " and ".join(f"{name} {relation} {bound:g}" for name, relation, bound in scorer.objective.constraints)
        raise ValueError(
            f"No threshold was found with {wanted} on the out-of-fold scores: ask for less, or use a better model."
        )


def beside(scores: Floats, threshold: Any, response: str) -> Floats:
    """Scores beside their thresholds: above 0, or the largest, is what is predicted."""
    return scores / threshold if scores.ndim == 2 and response == "predict_proba" else scores - threshold

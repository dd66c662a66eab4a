"""Which classes there are, and which of them a column of scores is for."""

from typing import Any, TypeVar

import numpy as np

from gramian._core.types import Array, Floats, Label, Values, Weights
from gramian.metrics.input import one_kind, read_labels, read_numbers, read_weights, same_length

T = TypeVar("T")


def scored(
    y: Values, scores: Values | None, sample_weight: Weights, labels: Values | None, name: str
) -> tuple[Array, Floats, Floats, Any]:
    """Labels, scores, weights and classes given, of the rows that have a weight; scores of one column are (n,)."""
    truth, values = read_labels(y, "y"), read_numbers(scores, name)
    same_length(len(truth), values, name)
    weight = read_weights(sample_weight, len(truth))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if not weight.all():
        truth, values, weight = truth[weight > 0], values[weight > 0], weight[weight > 0]
    classes = None if labels is None else distinct(labels)
    if classes is not None:
        truth, classes = one_kind(truth, classes, "y", "labels")
    return truth, values, weight, classes


def distinct(labels: Values | None) -> Array:
    """`labels=` as an array, each once."""
    classes = read_labels(labels, "labels")
    if len(np.unique(classes)) != len(classes):
        raise ValueError(f"labels holds a class twice: {classes.tolist()[:10]}.")
    return classes


def codes(values: Array, classes: Array, name: str) -> Array:
    """The place of each label among the classes."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes, values, sorter=order), len(classes) - 1)
    index = order[place]
    unknown = classes[index] != values
    if unknown.any():
        label = values[unknown][:1].tolist()[0]
        raise ValueError(f"{name} holds {label!r}, which is not among the labels {shown(classes)}.")
    return index


def totals(place: Array, weight: Floats, count: int) -> Floats:
    """Total weight at each of `count` places."""
    return np.bincount(place, weight, count).astype(np.float64, copy=False)


def columns_for(truth: Array, labels: Array | None, count: int, name: str) -> Array:
    """The class of each of the `count` columns of scores."""
    classes = np.unique(truth) if labels is None else labels
    if len(classes) != count:
        whose = "y has" if labels is None else "labels has"
        raise ValueError(
            f"{name} has {count} columns and {whose} {len(classes)} classes ({shown(classes)}): give labels=, the "
            "class of each column in order."
        )
    return classes


def positive_for(truth: Array, positive: Label | None, labels: Array | None, several: bool = False) -> Any:
    """The class that scores of one column are for; None where there are no rows to tell.

    `several`: whether y may have more than two classes, as long as `positive` says which one is meant.
    """
    seen = np.unique(truth)
    if labels is not None:
        if len(labels) != 2:
            raise ValueError(
                f"labels has {len(labels)} classes, and scores of one column are for two: give one column per class."
            )
        codes(seen, labels, "y")
        chosen = labels[1:].tolist()[0] if positive is None else like(positive, labels)
        if chosen not in labels.tolist():
            raise ValueError(f"positive={positive!r} is not among labels={labels.tolist()}.")
        return chosen
    if positive is not None:
        positive = like(positive, seen)
        if not several and len({*seen.tolist(), positive}) > 2:
            raise ValueError(
                f"y has the classes {shown(seen)}, and positive is {positive!r}: probabilities of one column are for "
                "two classes. Give one column per class."
            )
        return positive
    if len(seen) > 2:
        raise ValueError(
            f"y has {len(seen)} classes ({shown(seen)}) and the scores one column: give one column per class"
            + (", or positive=, the class that the scores are for." if several else ".")
        )
    if len(seen) == 2:
        return seen[1:].tolist()[0]
    return alone(seen.tolist()[0]) if len(seen) else None


def alone(label: Label) -> Label:
    """The positive class where only one class is seen: 1 of 0 and 1, or of −1 and 1."""
    if label in (-1, 0, 1):
        return True if isinstance(label, bool) else 1
    raise ValueError(
        f"There is only the class {label!r}: say with positive= or labels= which class is the positive one."
    )


def like(positive: Label | None, classes: Array) -> Any:
    """`positive` as a label of the same kind as the classes."""
    label = read_labels([positive], "positive")
    if len(classes):
        label, _ = one_kind(label, classes, "positive", "y")
    return label.tolist()[0]


def shown(classes: Array) -> str:
    """The first classes, for messages."""
    names = [repr(name) for name in classes.tolist()[:5]]
    return ", ".join(names) + (", …" if len(classes) > 5 else "")


def agreed(first: T, second: T, what: str) -> T:
    """What both parts say; refuse parts that differ."""
    if first != second:
        raise ValueError(
            f"The {what} of one part is {first!r} and of the other {second!r}: give positive= or labels= when building "
            "the parts, the same for all."
        )
    return first

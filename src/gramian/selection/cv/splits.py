"""What a cross-validation trains on and tests on, and its sums in as few passes as there can be."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Bools, Floats, Ints
from gramian.rows import CountedFolds, Folds, LabelledFolds, MemoryRows, Rows

T = TypeVar("T")
MOST_ATOMS = 64
FEW = 5  # the usual number of folds, which fewer rows than that make smaller


class KFold:
    """K random folds of equal size, known from the row's index alone; a splitter for scikit-learn too.

    `cv=5` means this one with seed 0. Nothing is shuffled in memory, and arrays, files and clusters agree on the folds.

    Parameters
    ----------
    n_splits : int
        Folds, at least 2.
    random_state : int
        Seed.

    Examples
    --------
    >>> import gramian as gm
    >>> [test.tolist() for _, test in gm.selection.KFold(2).split([[0], [1], [2], [3]])]
    [[1, 2], [0, 3]]
    """

    def __init__(self, n_splits: int = 5, *, random_state: int = 0) -> None:
        if not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise ValueError(f"cv is {n_splits!r}; the number of folds is a whole number of at least 2.")
        self.n_splits = int(n_splits)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = CountedFolds(self.n_splits, self.random_state).labels(0, n)
        for fold in range(self.n_splits):
            yield np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)

    def __repr__(self) -> str:
        return f"KFold({self.n_splits}, random_state={self.random_state})"


@dataclass(frozen=True)
class Plan:
    """Splits over atoms, the largest sets of rows that no split cuts apart.

    Attributes
    ----------
    folds : Folds
        The atom of every row.
    train, test : array of bool (splits, atoms)
        Which atoms a split trains and tests on.
    leave_one_out : bool
        Whether every row is a fold of its own.
    """

    folds: Folds
    train: Bools
    test: Bools
    leave_one_out: bool = False

    @property
    def count(self) -> int:
        return len(self.train)


def plan(cv: Any, rows: Rows) -> list[Plan]:
    """The splits of `cv` over these rows, as one plan, or one per split where their atoms would be too many."""
    if isinstance(cv, bytes) or (isinstance(cv, str) and cv != "loo"):
        raise ValueError(f'cv is {cv!r}; give a number of folds, "loo", or a splitter such as sklearn\'s KFold.')
    if rows.n < 2:
        raise ValueError(f"Cross-validation needs at least 2 rows; there is n_samples = {rows.n}: 1 sample.")
    kind = type(cv).__name__
    if isinstance(cv, str) or kind == "LeaveOneOut":
        eye = np.eye(1, dtype=bool)  # one atom a row: kept implicit
        return [Plan(LabelledFolds(np.arange(rows.n)), ~eye, eye, leave_one_out=True)]
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and cv < 2):
        raise ValueError(f"cv is {cv!r}; the number of folds is a whole number of at least 2.")
    if isinstance(cv, int | np.integer):
        cv = KFold(min(int(cv), rows.n) if cv <= FEW else int(cv))
    if isinstance(cv, KFold):
        if cv.n_splits > rows.n:
            raise ValueError(f"Cannot have {cv.n_splits} folds with {rows.n} rows (n_samples): use fewer folds.")
        eye = np.eye(cv.n_splits, dtype=bool)
        return [Plan(CountedFolds(cv.n_splits, cv.random_state), ~eye, eye)]
    return _plan_of_pairs(_pairs(cv, rows), rows.n)


def _pairs(cv: Any, rows: Rows) -> list[tuple[Ints, Ints]]:
    if hasattr(cv, "split"):
        y = rows.collect().y
        pairs = list(cv.split(np.empty((rows.n, 1)), None if y is None else y[:, 0] if y.shape[1] == 1 else y))
    else:
        try:
            pairs = [(train, test) for train, test in cv]
        except (TypeError, ValueError):
            raise TypeError(
                f'cv is {cv!r}; give a number of folds, "loo", a splitter, or a list of (train, test) index pairs.'
            ) from None
    if not pairs:
        raise ValueError("cv gives no splits: give at least one pair of training and test rows.")
    found = []
    for number, (train, test) in enumerate(pairs):
        train, test = (
            np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part) for part in (train, test)
        )
        if any(part.ndim != 1 or (part.size and part.dtype.kind not in "iu") for part in (train, test)):
            raise TypeError(
                f"Split {number} of cv holds arrays that are no indices of rows: give pairs (train, test) of whole "
                'numbers or masks, a number of folds, "loo", or a splitter.'
            )
        if not len(train) or not len(test):
            raise ValueError(f"Split {number} of cv has no {'training' if not len(train) else 'test'} rows.")
        found.append((train, test))
    return found


def _plan_of_pairs(pairs: list[tuple[Ints, Ints]], n: int) -> list[Plan]:
    labels = _partition(pairs, n)
    if labels is not None:
        eye = np.eye(len(pairs), dtype=bool)
        return [Plan(LabelledFolds(labels), ~eye, eye)]
    codes = np.zeros((n, len(pairs)), dtype=np.int8)
    for number, (train, test) in enumerate(pairs):
        codes[train, number] = 1
        codes[test, number] += 2
        if (codes[:, number] == 3).any():
            row = int((codes[:, number] == 3).argmax())
            raise ValueError(f"Split {number} of cv has row {row} in both its training and its test part.")
    patterns, labels = np.unique(codes, axis=0, return_inverse=True)
    labels = labels.reshape(-1).astype(np.int64)
    if len(patterns) > MOST_ATOMS + 2 * len(pairs):
        return [plan for pair in pairs for plan in _plan_of_pairs([pair], n)]
    return [Plan(LabelledFolds(labels), patterns.T == 1, patterns.T == 2)]


def _partition(pairs: list[tuple[Ints, Ints]], n: int) -> Ints | None:
    """The fold of every row, if the test parts are disjoint, cover all rows, and the rest is what is trained on."""
    if sum(len(test) for _, test in pairs) != n or any(len(train) + len(test) != n for train, test in pairs):
        return None
    labels = np.full(n, -1, dtype=np.int64)
    for number, (_, test) in enumerate(pairs):
        labels[test] = number
    if (labels < 0).any():
        return None
    for number, (train, _) in enumerate(pairs):
        trained = np.zeros(n, dtype=bool)
        trained[train] = True
        if (trained == (labels == number)).any():
            return None
    return labels


def subset(rows: Rows, index: Ints) -> Rows:
    """The rows of these numbers: in memory, or made when they are used as these are."""
    if isinstance(rows, MemoryRows) or rows.basis is not None:
        return rows.subset(index)  # type: ignore[attr-defined]
    block = rows.collect()
    whole = MemoryRows(
        block.X, block.y, block.weight, names=rows.names, target_names=rows.target_names, one_target=rows.one_target
    )
    return whole.subset(index)


def fold_weights(plans: list[Plan], rows: Rows) -> Floats | None:
    """What each fold counts: with leave-one-out its row's weight (zero: in no training or test part), else the same."""
    if not plans[0].leave_one_out:
        return None
    weight = rows.collect().weights
    if np.count_nonzero(weight) < 2:
        raise ValueError(
            f"Leave-one-out needs at least 2 rows with a positive weight; there are {np.count_nonzero(weight)} among "
            f"n_samples = {rows.n}."
        )
    return weight


def split_sums(rows: Rows, f: Callable[[Any], T], plans: list[Plan]) -> list[tuple[T, T]]:
    """(training total, test total) of every split, each atom summed once."""
    totals_of_splits: list[tuple[T, T]] = []
    for part in plans:
        totals: list[Any] = rows.sum_by_fold(f, part.folds)
        complete = part.count == len(totals) > 2 and bool((part.train == ~np.eye(part.count, dtype=bool)).all())
        if part.leave_one_out or complete:
            totals_of_splits += list(zip(_all_but_one(totals), totals, strict=True))
        else:
            for train, test in zip(part.train, part.test, strict=True):
                totals_of_splits.append((_total(totals, train), _total(totals, test)))
    return totals_of_splits


def _total(totals: list[Any], chosen: Bools) -> Any:
    return sum((total for total, use in zip(totals, chosen, strict=True) if use), 0)


def _all_but_one(totals: list[Any]) -> list[Any]:
    """For each total, the sum of all others: from sums before and after it, never by subtraction."""
    before: list[Any] = [0]
    after: list[Any] = [totals[-1]]
    for total in totals[:-1]:
        before.append(before[-1] + total)
    for total in reversed(totals[1:-1]):
        after.append(total + after[-1])
    return [*(a + b for a, b in zip(before[:-1], reversed(after), strict=True)), before[-1]]


def row_weights(plans: list[Plan], weight: Floats) -> tuple[Floats, list[Floats]]:
    """Weights (n,) of the rows in the model of all and in every training part, and in every test part."""
    train, test = [weight], []
    for plan in plans:
        labels = plan.folds.labels(0, len(weight))
        used = weight * (labels >= 0)
        train += list(plan.train[:, labels] * used)
        test += list(plan.test[:, labels] * used)
    return np.array(train), test

"""Several classes from binary decisions: one against the rest, one against one, error-correcting codes."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gramian._core.random import generator_from
from gramian._core.types import Floats
from gramian.objective.losses.base import Loss

MULTICLASS = ("auto", "ovr", "ovo", "code", "joint")
CODES = ("auto", "exhaustive", "dense", "sparse")
MOST_EXHAUSTIVE = 7  # classes: 63 binary problems
TRIALS = 200
LEAST_NORM = 1e-3  # of the largest: a class whose coefficients are nearly zero is at no meaningful distance


@dataclass(frozen=True, eq=False)
class ClassDecisions:
    """From predictions f of binary problems, or of all classes at once, to the decision values of classes.

    Attributes
    ----------
    multiclass : str; n_classes : int; code : array (k, bits) or None; loss : Loss
    norms : array (bits,)
        Of each function f, by which it becomes a distance.
    """

    multiclass: str
    n_classes: int
    code: Floats | None
    loss: Loss
    norms: Floats

    def __call__(self, f: Floats) -> Floats:
        """(n,) of two classes, positive for the second; (n, k) of more, the largest wins."""
        if self.n_classes == 2:
            return f[:, 1] - f[:, 0] if f.shape[1] == 2 else f[:, 0]
        if self.multiclass == "joint":
            return f
        assert self.code is not None
        return confidences(self.multiclass, self.code, self.loss, f, self.norms)


def code_matrix(multiclass: str, k: int, kind: str, random_state: Any) -> Floats:
    """k × bits of −1, 0 and 1: which side each class is on in each binary problem, 0 where it takes no part.

    >>> code_matrix("ovo", 3, "auto", 0)
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  1.],
           [ 0., -1., -1.]])
    """
    if k == 2:
        return np.array([[-1.0], [1.0]])
    if multiclass == "ovr":
        return 2.0 * np.eye(k) - 1.0
    if multiclass == "ovo":
        pairs = list(combinations(range(k), 2))
        found = np.zeros((k, len(pairs)))
        for bit, (i, j) in enumerate(pairs):
            found[i, bit], found[j, bit] = 1.0, -1.0
        return found
    if kind == "auto":
        kind = "exhaustive" if k <= MOST_EXHAUSTIVE else "dense"
    if kind == "exhaustive":
        if k > 12:
            raise ValueError(
                f'code="exhaustive" needs {2 ** (k - 1) - 1} binary problems for {k} classes: use "dense".'
            )
        return _exhaustive(k)
    return _random(k, sparse=kind == "sparse", random_state=random_state)


def _exhaustive(k: int) -> Floats:
    """All 2^(k−1) − 1 ways to cut the classes in two; the first class is always on the same side."""
    numbers = np.arange(2 ** (k - 1) - 1)
    bits = (numbers[None, :] >> np.arange(k - 2, -1, -1)[:, None]) & 1
    return np.vstack([np.ones(len(numbers)), 2.0 * bits - 1.0])


def _random(k: int, *, sparse: bool, random_state: Any) -> Floats:
    """The best of some random codes: rows far apart, no two columns alike or opposite, both sides in every column."""
    rng = generator_from(random_state)
    bits = int(np.ceil((15.0 if sparse else 10.0) * np.log2(k)))
    best, distance = None, -1.0
    for _ in range(TRIALS):
        if sparse:
            found = rng.choice([-1.0, 0.0, 1.0], p=[0.25, 0.5, 0.25], size=(k, bits))
        else:
            found = rng.choice([-1.0, 1.0], size=(k, bits))
        usable = (found == 1).any(axis=0) & (found == -1).any(axis=0)
        found = found[:, usable]
        oriented = found * np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
        _, first = np.unique(oriented, axis=1, return_index=True)
        found = found[:, np.sort(first)]
        if not found.shape[1]:
            continue
        apart = min(float(np.abs(found[i] - found[j]).sum()) for i, j in combinations(range(k), 2))
        if apart > distance:
            best, distance = found, apart
    assert best is not None
    assert distance > 0
    return best


def confidences(multiclass: str, code: Floats, loss: Loss, f: Floats, norms: Floats) -> Floats:
    """One number a class, (n, k), from the predictions f (n, bits) of the binary problems; the largest wins.

    One against the rest: f over the norm of its coefficients, a distance. One against one: votes, ties broken by the
    sum of such distances, bounded. Codes: minus the total loss of the class's code word.
    """
    largest = float(norms.max(initial=0.0)) or 1.0
    distance = f / np.where(norms > LEAST_NORM * largest, norms, largest)
    if multiclass == "ovr":
        return distance
    if multiclass == "ovo":
        votes, total = np.zeros((len(f), len(code))), np.zeros((len(f), len(code)))
        for bit in range(code.shape[1]):
            i, j = int(np.flatnonzero(code[:, bit] == 1)[0]), int(np.flatnonzero(code[:, bit] == -1)[0])
            votes[:, i] += f[:, bit] > 0
            votes[:, j] += f[:, bit] <= 0
            total[:, i] += distance[:, bit]
            total[:, j] -= distance[:, bit]
        return votes + total / (3.0 * (np.abs(total) + 1.0))
    found = np.zeros((len(f), len(code)))
    for c, word in enumerate(code):
        for bit, side in enumerate(word):
            found[:, c] -= loss.value(np.full(len(f), side if side else 1.0), f[:, bit] if side else np.zeros(len(f)))
    return found

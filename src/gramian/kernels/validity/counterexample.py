"""The search for points at which a function is not a kernel."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.validity.definite import smallest_share
from gramian.kernels.validity.proof import Validity, asymmetric, negative

NEGATIVE = 1e-9  # an eigenvalue below −1e-9 of the largest is not rounding
CLEAR = 1e-3  # one below this share ends the search
ASYMMETRY = 1e-9
SCALES = (1.0, 0.1, 3.0, np.pi / 2, 0.01, 0.5, 10.0, 100.0)
CLIMBS, STEPS = 4, 60
MAX_POINTS_AT_ONCE = 200  # given points in one matrix


class _Tried:
    """What the search has seen: the set of points with the most negative eigenvalue, and a pair without symmetry."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.points = 0
        self.sets = 0
        self.error: Exception | None = None
        self.best: list[tuple[float, Floats]] = []
        self.pair: tuple[Floats, Floats, float, float] | None = None

    def matrix(self, X: Any) -> Floats | None:
        """K at the points, both halves computed; None where the function has no value."""
        try:
            kernel = self.kernel.fitted(X) if self.kernel.waits_for() else self.kernel
            points = kernel.points(X)
            K = kernel.block(points, points)
        except Exception as error:  # a function given by the user may raise anything outside its domain
            self.error = error
            return None
        return K if np.isfinite(K).all() else None

    def look(self, X: Floats) -> float:
        """The smallest eigenvalue as a share of the largest at a set of points."""
        K = self.matrix(X)
        if K is None:
            return np.inf
        self.points += len(X)
        self.sets += 1
        gap = np.abs(K - K.T)
        if gap.max() > ASYMMETRY * np.abs(K).max():
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            self.pair = (X[i], X[j], float(K[i, j]), float(K[j, i]))
        share = smallest_share(K)
        self.best.append((share, X))
        self.best.sort(key=lambda entry: entry[0])
        del self.best[CLIMBS:]
        return share


def search(kernel: Kernel, known: Validity, X: Any = None) -> Validity:
    """A counter-example among the given points, or made-up ones; else `known`, saying how many points were tried."""
    tried = _Tried(kernel)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if X is not None:
            return _among(kernel, known, X)
        for points in _sets(kernel):
            if tried.look(points) < -CLEAR or tried.pair is not None:
                break
        else:
            for _, points in list(tried.best):
                _climb(tried, points)
        if tried.pair is not None:
            return asymmetric(known, *tried.pair, tried=tried.points)
        if tried.best and tried.best[0][0] < -NEGATIVE:
            points = _fewer(tried, tried.best[0][1])
            K = tried.matrix(points)
            assert K is not None
            return negative(known, points, K, tried.points)
    if known.valid is False:
        return replace(known, tried=tried.points)
    if not tried.points:
        why = f"it could not be computed at made-up points ({tried.error}); give points: k.validity(X)"
    else:
        why = f"no counter-example was found, {tried.points:,} points tried in {tried.sets:,} sets"
    return replace(known, rule=f"{known.rule}; {why}", tried=tried.points)


def _sets(kernel: Kernel) -> Iterator[Floats]:
    """Sets of points of one, two, three, … columns and of many scales: axes, lines, steps, clouds."""
    rng = np.random.default_rng(0)
    dimensions, scales = _hints(kernel)
    for scale in scales:
        for d in dimensions:
            axes = np.eye(d)[:6]
            yield scale * axes[:1]
            yield scale * np.vstack([np.zeros((1, d)), axes, -axes[:1], np.ones((1, d))])
            ramp = np.ones(d) if scale == 1.0 else axes[0]
            yield scale * np.outer(np.linspace(0.0, 1.0, 6), ramp)
            yield scale * np.outer(np.linspace(-1.0, 1.0, 7), ramp)
            yield scale * np.outer(2.0 ** np.arange(-4, 5), ramp)
            for n in (3, 6, 12):
                yield scale * rng.standard_normal((n, d))
                yield scale * rng.uniform(size=(n, d))


def _hints(kernel: Kernel) -> tuple[list[int], list[float]]:
    """Numbers of columns and scales worth trying, with those that the parameters name."""
    dimensions, scales = [1, 2, 3, 5], list(SCALES)
    for value in kernel.get_params().values():
        if isinstance(value, np.ndarray):
            dimensions.append(value.shape[0])
        elif isinstance(value, tuple) and all(isinstance(v, int | float) for v in value):
            dimensions += [len(value), int(min(max(value, default=0), 100)) + 1]
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 < abs(value) < 1e6:
            scales.append(float(abs(value)))
    return sorted({d for d in dimensions if d > 0}), list(dict.fromkeys(scales))


def _climb(tried: _Tried, points: Floats) -> None:
    """Move the points at random, keeping what lowers the eigenvalue."""
    rng = np.random.default_rng(1)
    best = tried.look(points)
    size = 0.3
    for _ in range(STEPS):
        moved = points * (1 + size * rng.standard_normal(points.shape))
        moved += size * 0.1 * np.abs(points).max() * rng.standard_normal(points.shape)
        share = tried.look(moved)
        if share < best:
            best, points = share, moved
        else:
            size = max(0.9 * size, 1e-2)


def _fewer(tried: _Tried, points: Floats) -> Floats:
    """As few points as show it, with as few digits."""

    def shows(some: Floats) -> bool:
        K = tried.matrix(some)
        return K is not None and smallest_share(K) < enough

    K = tried.matrix(points)
    assert K is not None
    enough = max(smallest_share(K), -1e-2) / 3
    for i in reversed(range(len(points))):
        rest = np.delete(points, i, axis=0)
        if len(rest) and shows(rest):
            points = rest
    for digits in (1, 2, 3):
        size = 10.0 ** np.floor(np.log10(np.abs(points).max() or 1.0))
        rounded = np.round(points / size, digits - 1) * size
        rounded = np.array([[float(f"{v:.6g}") for v in row] for row in rounded]) + 0.0  # no −0
        if shows(rounded):
            return rounded
    return points


def _among(kernel: Kernel, known: Validity, X: Any) -> Validity:
    """The same among given points of any kind, all of them or a spread of 200."""
    kernel = kernel.fitted(X) if kernel.waits_for() else kernel
    points = kernel.points(X)
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), MAX_POINTS_AT_ONCE)).astype(np.int64))
    K = kernel.block(points[chosen], points[chosen])
    gap = np.abs(K - K.T)
    if gap.max() > ASYMMETRY * np.abs(K).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        pair = _taken(X, chosen[[i, j]])
        return asymmetric(known, pair[0], pair[1], float(K[i, j]), float(K[j, i]), len(chosen))
    share = smallest_share(K)
    if share >= -NEGATIVE:
        why = f"no counter-example was found among the {len(chosen):,} points tried"
        return replace(known, rule=known.rule if known.valid is False else f"{known.rule}; {why}", tried=len(chosen))
    enough = max(share, -1e-2) / 3
    keep = np.arange(len(chosen))
    for place in reversed(range(len(chosen))):
        rest = keep[keep != place]
        if len(rest) and smallest_share(K[np.ix_(rest, rest)]) < enough:
            keep = rest
    return negative(known, _taken(X, chosen[keep]), K[np.ix_(keep, keep)], len(chosen))


def _taken(X: Any, index: Ints) -> Any:
    """Some of the points as they were given: rows of an array or a frame as an array, objects as a list."""
    if hasattr(X, "toarray"):
        return X.tocsr()[index].toarray()
    if hasattr(X, "to_numpy"):
        return X.to_numpy()[index]
    return X[index] if isinstance(X, np.ndarray) else [X[int(i)] for i in index]

"""Least stress by majorisation: each step minimises a quadratic that lies above the stress and touches it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from gramian._core import deadline
from gramian._core.numerics.compiled import njit
from gramian._core.types import Array, Floats
from gramian.rows import parallel_map

PANEL = 128
ROUNDING = 1e-15  # of the stress of no map at all
MEMORY = 6  # steps that an extrapolation learns from
NEAR = 1e-4  # relative gradient below which steps are extrapolated: the basin is chosen by then


@dataclass(frozen=True, eq=False)
class Layout:
    """Places (n, r), their stress, and the stresses on the way."""

    places: Floats
    stress: float
    history: list[tuple[int, float, float]]


class Stress:
    """σ(Y) = Σ_{i<j} w (δ − ‖y_i − y_j‖)² for dissimilarities δ and weights w of pairs, None for all equal."""

    def __init__(self, delta: Floats, weight: Floats | None) -> None:
        self.delta, self.weight = delta, weight
        self.n = len(delta)
        if weight is None:
            return
        parts, labels = connected_components(weight > 0, directed=False)
        if parts > 1:
            raise ValueError(
                f"weights leave the rows in {parts} parts with no weight between them (row 0 is with "
                f"{int((labels == labels[0]).sum())} of {self.n}): their distances are undetermined. Give positive "
                "weights between them, or scale each part alone."
            )
        self.total = weight.sum(axis=1)
        V = np.diag(self.total) - weight
        self.factor = sl.cho_factor(V + self.total.mean() / self.n, check_finite=False)

    def times(self, Y: Floats) -> Floats:
        """V Y, with V = Σ_{i<j} w (e_i − e_j)(e_i − e_j)ᵀ and the mean of Y at zero."""
        return self.n * Y if self.weight is None else self.total[:, None] * Y - self.weight @ Y

    def at(self, Y: Floats) -> tuple[float, Floats]:
        """The stress and B(Y) Y, of which V⁻¹ is the next step."""
        columns = np.ascontiguousarray(Y.T)
        weight = np.empty((0, 0)) if self.weight is None else self.weight
        pull, stress = np.empty_like(Y), np.empty(self.n)
        parallel_map(
            lambda i: _panel(columns, self.delta, weight, i, min(i + PANEL, self.n), pull, stress),
            range(0, self.n, PANEL),
        )
        return 0.5 * float(stress.sum()), pull

    def step(self, pull: Floats) -> Floats:
        """Where the quadratic above the stress is least: V⁺ B(Y) Y."""
        places = pull / self.n if self.weight is None else sl.cho_solve(self.factor, pull, check_finite=False)
        return places - places.mean(axis=0)

    def gradient(self, Y: Floats) -> float:
        """‖∇σ‖ relative to ‖2 V Y‖, from the distances anew and not by the loop above."""
        D = cdist(Y, Y)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(D > 0, 1.0 - self.delta / D, 0.0)
        ratio = ratio if self.weight is None else ratio * self.weight
        gradient = ratio.sum(axis=1)[:, None] * Y - ratio @ Y
        return _relative(gradient, self.times(Y - Y.mean(axis=0)))


def minimise(problem: Stress, start: Floats, *, max_iter: int, tol: float) -> Layout:
    """From a start to a stationary point, or until time is over; the stress never rises.

    Once near, steps are extrapolated from those before (Anderson), and an extrapolation that does not lower the stress
    is taken back.
    """
    Y = start - start.mean(axis=0)
    stress, pull = problem.at(Y)
    after = problem.step(pull)
    measure = _relative(problem.times(Y) - pull, problem.times(Y))
    history = [(0, stress, measure)]
    rounding = ROUNDING * problem.at(np.zeros_like(Y))[0]
    past: list[tuple[Floats, Floats]] = []
    for iteration in range(1, max_iter + 1):
        if measure <= tol or (iteration > 1 and deadline.passed()):
            break
        past = [*past[-MEMORY:], (Y, after)] if measure <= NEAR else []
        tried = _extrapolated(past) if len(past) > 1 else after
        found, pull = problem.at(tried)
        if tried is not after and not found <= stress + rounding:
            past, tried = [], after
            found, pull = problem.at(tried)
        if not found <= stress + rounding:
            break
        Y, stress, after = tried, min(found, stress), problem.step(pull)
        measure = _relative(problem.times(Y) - pull, problem.times(Y))
        history.append((iteration, stress, measure))
    return Layout(Y, stress, history)


def _extrapolated(past: list[tuple[Floats, Floats]]) -> Floats:
    """From places and the steps after them: where the steps would end if they changed linearly."""
    shape = past[-1][0].shape
    before, after = (np.array([pair[k].reshape(-1) for pair in past]) for k in (0, 1))
    moves = after - before
    change = np.diff(moves, axis=0)
    gram = change @ change.T
    gram[np.diag_indices(len(gram))] *= 1.0 + 1e-10
    share = sl.lstsq(gram, change @ moves[-1], check_finite=False)[0]
    return np.asarray(after[-1] - share @ np.diff(after, axis=0)).reshape(shape)


def scaled(problem: Stress, Y: Floats) -> Floats:
    """The same configuration in the size that has least stress."""
    D = cdist(Y, Y)
    weight: Any = 1.0 if problem.weight is None else problem.weight
    square = float((weight * D * D).sum())
    return Y * (float((weight * D * problem.delta).sum()) / square) if square > 0 else Y


def placed(Y: Floats, weight: Floats, delta: Floats, *, max_iter: int = 1000, tol: float = 1e-9) -> Floats:
    """Places of new points, each of least Σ_j w_j (δ_j − ‖y − y_j‖)² among fixed ones, δ (m, n).

    From two starts, the place of the nearest row and the one that squared distances give, and the better end is kept; a
    point at distance 0 from a row starts there alone.
    """
    share = weight / weight.sum()
    middle = share @ Y
    centred = Y - middle
    nearest = delta.argmin(axis=1)
    first = Y[nearest]
    squares = (centred**2).sum(axis=1) - delta**2
    inverse = np.linalg.pinv((centred * share[:, None]).T @ centred, rcond=1e-10, hermitian=True)
    second = middle + 0.5 * (squares * share) @ centred @ inverse
    same = delta[np.arange(len(delta)), nearest] == 0
    second[same] = first[same]
    ends = [_settled(start, Y, share, delta, max_iter, tol) for start in (first, second)]
    stress = [((cdist(end, Y) - delta) ** 2 @ share) for end in ends]
    return np.where((stress[1] < stress[0])[:, None], ends[1], ends[0])


def _settled(start: Floats, Y: Floats, share: Floats, delta: Floats, max_iter: int, tol: float) -> Floats:
    places, moving = start.copy(), np.arange(len(start))
    size = float(np.abs(Y - Y.mean(axis=0)).max(initial=0.0))
    middle = share @ Y
    for _ in range(max_iter):
        now, D = places[moving], cdist(places[moving], Y)
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(D > 0, delta[moving] / D, 0.0) * share
        after = middle + pull.sum(axis=1)[:, None] * now - pull @ Y
        places[moving] = after
        moving = moving[np.abs(after - now).max(axis=1) > tol * size]
        if not len(moving):
            break
    return places


def _relative(part: Floats, whole: Floats) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / size if size > 0 else 0.0


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _panel(
    Y: Array, delta: Array, weight: Array, first: int, last: int, pull: Array, stress: Array
) -> None:  # pragma: no cover - compiled
    """Rows first … last − 1 of B(Y) Y, and what each adds to twice the stress; Y is (r, n)."""
    r, n = Y.shape
    away = np.empty(n)
    weighted = weight.shape[0] > 0
    for i in range(first, last):
        away[:] = 0.0
        for c in range(r):
            here = Y[c, i]
            for j in range(n):
                away[j] += (here - Y[c, j]) * (here - Y[c, j])
        total = 0.0
        if weighted:
            for j in range(n):
                d = np.sqrt(away[j])
                total += weight[i, j] * (delta[i, j] - d) * (delta[i, j] - d)
                away[j] = weight[i, j] * delta[i, j] / d if d > 0.0 else 0.0
        else:
            for j in range(n):
                d = np.sqrt(away[j])
                total += (delta[i, j] - d) * (delta[i, j] - d)
                away[j] = delta[i, j] / d if d > 0.0 else 0.0
        stress[i] = total
        for c in range(r):
            here, force = Y[c, i], 0.0
            for j in range(n):
                force += away[j] * (here - Y[c, j])
            pull[i, c] = force

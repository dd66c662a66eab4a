"""Lloyd's algorithm for rows in memory, with distance bounds (Hamerly 2010) by which most rows are skipped."""

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core import deadline
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints, Singles
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.kmeans.assignment import FAR, GROUP, assign_all, reassign
from gramian.solvers.kmeans.cluster_sums import add_all, between_centers, lower_to_center, own_squares, update_moved
from gramian.solvers.kmeans.points import ScaledPoints

Labels = NDArray[np.int32]
MAX_TASKS, MIN_TASK_ROWS, ROWS_PER_CENTER = 32, 4096, 32
MAX_CHANGED_SHARE = 0.25  # of the rows with a new label, above which the sums are recomputed
PAIRS_PER_TASK = 4096  # pairs of centres
MAX_SINGLE_PRECISION = 1e15  # distance of centres from the points, in their units, for single precision
ROUND_UP = 1.0 + 2.0**-20
EXACT = 1e-12  # objective of an exact fit, in units of the weight and the variance of the columns


@dataclass(frozen=True, eq=False)
class LloydResult:
    """Centres, the index of the nearest one of every row, and Σ w ‖x − c‖² before and after every iteration.

    `mass` (k,) is the weight of every cluster, and `change` what one more iteration takes from the objective, from
    recomputed sums.
    """

    centers: Floats
    labels: Labels
    objective: float
    history: list[float]
    iterations: int
    converged: bool
    mass: Floats
    change: float


def lloyd(X: Any, weight: Floats | None, centers: Floats, *, max_iter: int = 300, tol: float = 0.0) -> LloydResult:
    """Lloyd's algorithm from the given centres: every row to its nearest centre, every centre to the mean of its rows.

    It ends when no row changes its cluster, when an iteration takes no more than `tol` of the objective from it, or by
    a deadline. A centre without rows moves to the row that is farthest from its own, so the objective never increases.
    Labels are those of double precision; the bits do not depend on the number of threads. An iteration costs at most
    n·k·d, and less as centres converge; memory is half that of X in double precision (none where X is
    `ScaledPoints`, which several runs can share), and twelve bytes a row.

    Examples
    --------
    >>> import numpy as np
    >>> fit = lloyd(np.array([[0.0], [1.0], [9.0], [11.0]]), None, np.array([[0.0], [1.0]]))
    >>> fit.centers.ravel().tolist(), fit.labels.tolist(), fit.objective
    ([0.5, 10.0], [0, 0, 1, 1], 2.5)
    """
    with single_threaded_blas():
        state = _LloydState.on(X, weight, centers)
        state.assign()
        iterations, converged = 0, False
        while not converged and iterations < max_iter and not (iterations and deadline.passed()):
            iterations += 1
            state.update()
            converged = state.assign() == 0 or (tol > 0 and state.relative_decrease() <= tol)
        return state.answer(iterations, converged)


def nearest_centers(X: Any, centers: Floats) -> tuple[Labels, Floats]:
    """The index of the nearest centre of every row, the lowest of equals, and the squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> labels, squares = nearest_centers(np.array([[0.0], [2.0], [5.0]]), np.array([[1.0], [3.0]]))
    >>> labels.tolist(), squares.tolist()
    ([0, 0, 1], [1.0, 1.0, 4.0])
    """
    with single_threaded_blas():
        state = _LloydState.on(X, None, centers, about_centers=True)
        state.search()
        return state.label, state.squares_in_original_units()


def own_squared_distances(X: Any, centers: Floats, labels: Any) -> Floats:
    """‖x − c‖² of every row and the centre of its label.

    Examples
    --------
    >>> import numpy as np
    >>> own_squared_distances(np.array([[0.0], [2.0], [5.0]]), np.array([[1.0], [3.0]]), np.array([0, 1, 1])).tolist()
    [1.0, 1.0, 4.0]
    """
    state = _LloydState.on(X, None, centers, about_centers=True)
    state.label[:] = labels
    return state.squares_in_original_units()


@dataclass(eq=False)
class _LloydState:
    """Rows, centres in scaled coordinates, distance bounds, and the sums of the clusters about pivots."""

    points: ScaledPoints
    weight: Floats
    C: Floats
    parts: list[tuple[int, int]]
    label: Labels
    upper: Singles
    lower: Singles
    movements: Floats | None = None  # of the centres since the last assignment
    recompute_sums: bool = True  # in the next assignment, instead of updated
    pivot: Floats = field(default_factory=lambda: np.empty((0, 0)))
    S: Floats = field(default_factory=lambda: np.empty((0, 0)))
    T: Floats = field(default_factory=lambda: np.empty((0, 0)))
    history: list[float] = field(default_factory=list)
    scaled_rows: Floats | None = (
        None  # rows in the coordinates of the centres, where NumPy is as fast as compiled loops
    )
    _variance: float | None = None

    @classmethod
    def on(cls, X: Any, weight: Floats | None, centers: Floats, *, about_centers: bool = False) -> "_LloydState":
        centers = np.asarray(centers, dtype=np.float64)
        points = ScaledPoints.of(X, centers, about_centers=about_centers)
        C = points.to_standardized(centers)
        if not np.abs(C).max(initial=0.0) < MAX_SINGLE_PRECISION:
            points = ScaledPoints.of(points.X, centers)
            C = points.to_standardized(centers)
        n, k = len(points.Z), len(C)
        count = min(max(n // max(MIN_TASK_ROWS, ROWS_PER_CENTER * k), 1), MAX_TASKS)
        ends = [n * i // count for i in range(count + 1)]
        w = np.empty(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        single = np.empty((2, n), dtype=np.float32)
        parts = list(pairwise(ends))
        state = cls(points, w, C, parts, np.empty(n, dtype=np.int32), single[0], single[1])
        if is_small(n * C.size):
            with np.errstate(over="ignore", invalid="ignore"):
                state.scaled_rows = points.to_standardized(points.X)
        return state

    def assign(self) -> int:
        """Every row to its nearest centre, and the sums of the clusters; the number of rows with a new label."""
        recomputes = self.recompute_sums
        count = self.search() if self.movements is None else self._search_again(recomputes)
        if recomputes:
            self._sum_clusters()
        self.recompute_sums = count > MAX_CHANGED_SHARE * len(self.label)
        shift = self.C - self.pivot
        inertia = self.T[:, 0] - 2.0 * (shift * self.S).sum(axis=1) + self.T[:, 1] * (shift * shift).sum(axis=1)
        self.history.append(float(np.maximum(inertia, 0.0).sum()))
        return count

    def relative_decrease(self) -> float:
        """The relative decrease of the objective by the last iteration."""
        before, after = self.history[-2:]
        size = max(before, EXACT * float(self.T[:, 1].sum()) * self.variance())
        return (before - after) / size if size > 0 else 0.0

    def search(self) -> int:
        """The nearest centre of every row."""
        if self.scaled_rows is not None:
            self.label[:] = _squares(self.scaled_rows[:, None] - self.C).argmin(axis=1)
            return len(self.label)
        arguments = self._arguments()
        parallel_map(lambda t: assign_all(*arguments, self.label, self.upper, self.lower, *t), self.parts)
        return len(self.label)

    def _arguments(self) -> tuple[Any, ...]:
        """Points and centres for the compiled loops, padded to multiples of four centres and coordinates."""
        p, C = self.points, self.C
        k, d = C.shape
        single = np.zeros((-(-k // GROUP) * GROUP, -(-d // GROUP) * GROUP), dtype=np.float32)
        single[:k, :d] = C
        squares = (C * C).sum(axis=1)
        half = np.full(len(single), FAR)
        half[:k] = 0.5 * squares
        return p.Z, p.Z.view(np.complex128), p.X, p.origin, p.scale, C, single, half, float(np.sqrt(squares.max()))

    def _search_again(self, recomputes: bool) -> int:
        """The same by the bounds after centres have moved, with updates of the sums unless they are recomputed."""
        assert self.movements is not None
        if self.scaled_rows is not None:
            before = self.label.copy()
            self.search()
            moved = np.flatnonzero(before != self.label)
            if not recomputes and len(moved):
                for label, sign in ((before, -1.0), (self.label, 1.0)):
                    S, T = self._sums(self.scaled_rows[moved], moved, label[moved], self.pivot)
                    self.S += sign * S
                    self.T += sign * T
            return len(moved)
        p, arguments = self.points, self._arguments()
        between, half_gaps = self._center_distances()
        order = np.argsort(self.movements, kind="stable")
        others = np.full(len(order), self.movements[order[-1]])
        others[order[-1]] = self.movements[order[-2]] if len(order) > 1 else 0.0
        steps = (
            between,
            half_gaps,
            (self.movements * ROUND_UP).astype(np.float32),
            (others * ROUND_UP).astype(np.float32),
        )

        def part(ends: tuple[int, int]) -> tuple[int, Any]:
            start, stop = ends
            moved, before = np.empty(stop - start, dtype=np.int64), np.empty(stop - start, dtype=np.int32)
            count = reassign(*arguments, *steps, self.label, self.upper, self.lower, start, stop, moved, before)
            if recomputes or count == 0:
                return count, None
            sums = np.zeros_like(self.S), np.zeros_like(self.T)
            rows = p.X, self.weight, p.origin, p.scale, self.pivot, self.label
            update_moved(*rows, moved, before, count, *sums)
            return count, sums

        results = parallel_map(part, self.parts)
        for _, sums in results:
            if sums is not None:
                self.S += sums[0]
                self.T += sums[1]
        return sum(count for count, _ in results)

    def _center_distances(self) -> tuple[Singles, Singles]:
        """Distances between centres, and half of that to the nearest; zeros where there are too many centres."""
        k = len(self.C)
        between = np.zeros((k, k), dtype=np.float32)
        if k == 1 or k * ROWS_PER_CENTER > 4 * len(self.label):
            return between, np.full(k, FAR if k == 1 else 0.0, dtype=np.float32)
        size = max(PAIRS_PER_TASK // k, 1)
        parallel_map(lambda i: between_centers(self.C, i, min(i + size, k), between), range(0, k, size))
        np.fill_diagonal(between, np.inf)
        half_gaps = 0.5 * between.min(axis=1)
        np.fill_diagonal(between, 0.0)
        return between, half_gaps

    def _sum_clusters(self) -> None:
        """The sums of the clusters about their centres."""
        p, (k, d) = self.points, self.C.shape
        if self.scaled_rows is not None:
            self.S, self.T = self._sums(self.scaled_rows, slice(None), self.label, self.C)
            self.pivot = self.C
            return

        def part(ends: tuple[int, int]) -> tuple[Floats, Floats]:
            sums = np.zeros((k, d)), np.zeros((k, 3))
            add_all(p.X, self.weight, p.origin, p.scale, self.C, self.label, *ends, *sums)
            return sums

        parts = parallel_map(part, self.parts)
        self.S, self.T, self.pivot = sum(s for s, _ in parts), sum(t for _, t in parts), self.C

    def _sums(self, rows: Floats, index: Any, label: Labels, pivot: Floats) -> tuple[Floats, Floats]:
        """The sums of few rows, in the order of the compiled loops."""
        k, d = pivot.shape
        w = self.weight[index] if len(self.weight) else np.ones(len(rows))
        deviation = rows - pivot[label]
        bins = (label[:, None] * d + np.arange(d)).ravel()
        S = np.bincount(bins, (w[:, None] * deviation).ravel(), minlength=k * d).reshape(k, d)
        T = [np.bincount(label, each, minlength=k) for each in (w * _squares(deviation), w, 1.0 * (w > 0))]
        return np.asarray(S, dtype=np.float64), np.stack(T, axis=1)

    def update(self) -> None:
        """Every centre to the mean of its rows."""
        nonempty = self.T[:, 2] > 0.5
        new = self.C.copy()
        new[nonempty] = self.pivot[nonempty] + self.S[nonempty] / self.T[nonempty, 1:2]
        if not nonempty.all():
            self.S[~nonempty], self.T[~nonempty] = 0.0, 0.0  # rounding errors of rows that were added and removed
            self._move_empty(new, np.flatnonzero(~nonempty))
        displacement = new - self.C
        self.movements, self.C = np.sqrt((displacement * displacement).sum(axis=1)), new

    def _move_empty(self, new: Floats, empty: Ints) -> None:
        """Centres without rows to the rows farthest from all centres, the lowest of equals; without one they stay."""
        p, squares = self.points, self.squares()
        if len(self.weight):
            squares[self.weight <= 0] = 0.0
        for j in empty:
            row = int(np.argmax(squares))
            if not squares[row] > 0:
                break
            new[j] = p.to_standardized(p.X[row])
            if self.scaled_rows is not None:
                np.minimum(squares, _squares(self.scaled_rows - new[j]), out=squares)
                continue
            arguments = p.X, p.origin, p.scale, new, int(j)
            parallel_map(partial(_lower_squares, arguments, squares), self.parts)

    def squares(self) -> Floats:
        """‖x − c‖² of every row and the centre of its label."""
        if self.scaled_rows is not None:
            return _squares(self.scaled_rows - self.C[self.label])
        p, out = self.points, np.empty(len(self.label))
        parallel_map(lambda t: own_squares(p.X, p.origin, p.scale, self.C, self.label, *t, out), self.parts)
        return out

    def squares_in_original_units(self) -> Floats:
        """The same in the units of X, where they may overflow."""
        unit = self.points.scale
        with np.errstate(over="ignore"):
            return self.squares() / unit / unit

    def variance(self) -> float:
        """The mean variance of the columns."""
        if self._variance is None:
            W = self.T[:, 1]
            total = float(W.sum())
            mean = (self.S + W[:, None] * self.pivot).sum(axis=0) / total
            deviation = self.pivot - mean
            squares = self.T[:, 0] + 2.0 * (deviation * self.S).sum(axis=1) + W * (deviation * deviation).sum(axis=1)
            self._variance = float(squares.sum()) / (total * len(mean))
        return self._variance

    def answer(self, iterations: int, converged: bool) -> LloydResult:
        if self.pivot is not self.C:
            self._sum_clusters()
            self.history[-1] = float(self.T[:, 0].sum())
        unit = self.points.scale
        history = [value / unit / unit for value in self.history]
        centers, labels, mass = self.points.to_original(self.C), self.label.copy(), self.T[:, 1].copy()
        self.recompute_sums = False
        self.update()
        self.assign()
        change = (self.history[-2] - self.history[-1]) / unit / unit
        return LloydResult(centers, labels, history[-1], history, iterations, converged, mass, change)


def _squares(deviation: Floats) -> Floats:
    """‖x‖² over the last axis."""
    return np.asarray((deviation * deviation).sum(axis=-1))


def _lower_squares(arguments: tuple[Any, ...], squares: Floats, ends: tuple[int, int]) -> None:
    lower_to_center(*arguments, *ends, squares)

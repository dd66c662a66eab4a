"""k-means in the feature space of a kernel: exact, from products of the kernel matrix with the shares of clusters."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from gramian._core import deadline, validation
from gramian._core.fitted.cluster_labels import KnownRows
from gramian.kernels.input import point_weights, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, is_table, vectors
from gramian.rows import Rows, scan, single_threaded_blas
from gramian.selection.cv.fold_moments import searching
from gramian.selection.evaluation.sample import seed_of
from gramian.solvers.certificate import ALTERNATION, Certificate, SolverInfo
from gramian.solvers.eigen import eigen
from gramian.structures.components.base import refuse_kernel_out_of_range
from gramian.structures.components.kernel_point import KernelPoint
from gramian.structures.components.point import Point
from gramian.structures.loop.assignments import Nearest
from gramian.structures.loop.restarts import Search
from gramian.structures.loop.state import State
from gramian.structures.number_of_clusters import FRESH, Choice, Task, boundary_note, choice_of
from gramian.warnings import ConvergenceWarning, warn_user

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
KEPT = 4096  # points up to which the matrix is kept
SAMPLE = 500  # points that are compared in pairs, or fitted again and again
REST = 1e-6  # of the spread in the feature space that these may lose
INITS = ("k-means++", "farthest", "random")


@dataclass(eq=False)
class _Found:
    labels: Ints
    value: float
    own: Floats  # loss of every point
    norms: Floats
    history: list[tuple[int, float, float]]
    converged: bool


class KernelFit:
    """The fit of `KMeans(kernel=…)`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def read(self, X: Any, *, reset: bool) -> Any:
        """Points of the kernel; tables are checked for their columns."""
        X = X.collect().X if isinstance(X, Rows) else X
        if is_table(X):
            validate_data(self.model, X, skip_check_array=True, reset=reset)
            if reset:
                self.model.n_features_in_ = vectors(X).d
        return self.model.kernel_.points(X)

    @staticmethod
    def comparable(X: Any) -> Any:
        """Points as they are found again: rows of numbers, or what the kernel compares."""
        X = X.collect().X if isinstance(X, Rows) else X
        return vectors(X).X if is_table(X) else X

    @single_threaded_blas()
    def fit(self, X: Any, sample_weight: Any) -> None:
        model = self.model
        k = model._counts(None)
        if k is None and model.criterion == "bic":
            raise ValueError(
                'criterion "bic" counts the directions that noise fills, and a feature space does not say how many: '
                'with a kernel give criterion="prediction_strength", "silhouette", "stability", "gap", "elbow" or '
                '"penalty".'
            )
        validation.choice("init", model.init if isinstance(model.init, str) else repr(model.init), INITS)
        for name in ("n_init", "max_iter"):
            validation.whole(name, getattr(model, name), low=1)
        tol = validation.number("tol", model.tol, low=0.0)
        if isinstance(X, Rows):
            block = X.collect()
            X, sample_weight = block.X, block.weight
        model.kernel_ = kernel_of(model.kernel).fitted(X, point_weights(X, sample_weight))
        refuse_invalid(model.kernel_, X)
        points = self.read(X, reset=True)
        refuse_kernel_out_of_range(model.kernel_.diag(points), X)
        rows = scan(np.zeros((len(points), 1)), sample_weight=sample_weight)
        given = rows.collect().weight
        weight = np.ones(len(points)) if given is None else np.asarray(given, dtype=np.float64)
        used = int((weight > 0).sum())
        if k is not None and k > used:
            raise ValueError(
                f"n_clusters is {k}, and X has {used} points of positive weight (n_samples={used}): give at most "
                f"{used} clusters."
            )
        engine = _Engine(model.kernel_, points, weight)
        rng = np.random.default_rng(seed_of(model.random_state))
        if hasattr(model, "choice_"):
            del model.choice_
        if k is None:
            best, model.choice_ = self._chosen(engine, used, rng)
            model.choice_.warn_at_boundary()
        else:
            starts = 1 if model.init == "farthest" or k == 1 else int(model.n_init)
            tries = [engine.run(engine.seeds(k, model.init, rng), int(model.max_iter), tol)]
            while len(tries) < starts and not deadline.passed():
                tries.append(engine.run(engine.seeds(k, model.init, rng), int(model.max_iter), tol))
            best = min(tries, key=lambda found: found.value)
        model._known = known = KnownRows.of(self.comparable(X))
        if (labels := known.together(best.labels, weight)) is not best.labels:
            best = engine.judged(np.unique(labels, return_inverse=True)[1], best)
        self._take(engine, best, given)

    def _chosen(self, engine: "_Engine", used: int, rng: np.random.Generator) -> tuple[_Found, Choice]:
        """The best number of clusters: fits of all points along it, judged by some as rows of features."""
        model = self.model
        index = np.flatnonzero(engine.weight > 0)
        if len(index) > SAMPLE:
            index = np.sort(rng.choice(index, SAMPLE, replace=False))
        points = engine.points[index]
        criterion = "prediction_strength" if model.criterion == "auto" else model.criterion
        if criterion == "gap" and not isinstance(points, Vectors):
            raise ValueError(
                'criterion "gap" compares with rows spread evenly over a box, and points of this kernel are no rows of '
                'numbers: give criterion="prediction_strength", "silhouette", "stability", "elbow" or "penalty".'
            )
        F, weight = engine.features(points), engine.weight[index]
        search = Search(
            scan(F, sample_weight=weight), Nearest(), float((weight @ F**2 / weight.sum()).mean()), model.init,
            int(model.n_init), int(model.max_iter), float(model.tol), len(index), rng,
        )  # fmt: skip
        task = Task(
            search, Point(), criterion, model.max_clusters, model.penalty, float(engine.weight.sum()),
            getattr(points, "X", None), lambda X: engine.features(engine.kernel.points(X)),
        )  # fmt: skip
        with searching():
            found = engine.along(min(int(model.max_clusters), used), model, rng)
        choice = choice_of(task, [replace(each, labels=each.labels[index]) for each in found])
        return found[choice.chosen - 1], choice

    def _take(self, engine: "_Engine", found: _Found, given: Any) -> None:
        model = self.model
        owned, labels = np.unique(found.labels, return_inverse=True)
        again = engine.losses(found.labels, len(found.norms))[0]
        value = float(engine.weight @ again[np.arange(len(labels)), found.labels])
        fewer = (value - float(engine.weight @ again.min(axis=1))) / value if value > 0 else 0.0
        model.labels_, model.n_clusters_ = labels, len(owned)
        model.structures_ = []
        for j, old in enumerate(owned):
            each = KernelPoint(model.kernel)
            each.kernel_ = model.kernel_
            model.structures_.append(each.mean_of(engine.points, engine.weight * (labels == j), found.norms[old]))
        model._state = State(model.structures_, np.full(len(owned), 1.0 / len(owned)))
        model._rule, model._missing = Nearest(), False
        model._scores = -again[np.arange(len(labels)), found.labels][model._known.first[model._known.group]]
        model._row_weight = given
        model.objective_ = value
        model.history_, model.n_iter_ = found.history, len(found.history) - 1
        tolerance = max(float(model.tol), 1e-12)
        model.certificate_ = Certificate(
            ALTERNATION, fewer, tolerance, fewer <= tolerance, None, None, engine.through,
            note=" ".join(boundary_note(model)), convex=False,
        )  # fmt: skip
        model.solver_ = SolverInfo("kernel alternation", engine.reason)
        if hasattr(model, "centers_"):
            del model.centers_
        if not model.certificate_.holds and not deadline.ended():
            warn_user(
                f"KMeans stopped after {model.n_iter_} passes (max_iter={model.max_iter}): rows that would move "
                f"lower the objective by {fewer:.2g} of it. Give a larger max_iter.",
                ConvergenceWarning,
            )


class _Engine:
    """Points of a kernel and their weights; distances from means in its feature space."""

    def __init__(self, kernel: Any, points: Any, weight: Floats) -> None:
        self.kernel, self.points, self.weight = kernel, points, weight
        self.K = kernel.matrix(points) if len(points) <= KEPT else None
        self.own = kernel.diag(points)
        self.through = "kernel matrix" if self.K is not None else "kernel panels"
        self.reason = (
            f"the matrix of {len(points)} points is kept"
            if self.K is not None
            else f"the matrix of {len(points)} points is made panel by panel in every pass"
        )

    def losses(self, labels: Ints, k: int) -> tuple[Floats, Floats, Floats]:
        """‖φ(x) − mean‖² (n, k), the squared lengths of the means, and the weights of the clusters."""
        H = np.zeros((len(labels), k))
        H[np.arange(len(labels)), labels] = self.weight
        mass = H.sum(axis=0)
        H /= np.where(mass > 0, mass, 1.0)
        T = self.K @ H if self.K is not None else self.kernel.times(self.points, self.points, H)
        norms = np.einsum("ij,ij->j", H, T)
        losses = np.maximum(self.own[:, None] - 2.0 * T + norms, 0.0)
        losses[:, mass == 0] = np.inf
        return losses, norms, mass

    def column(self, i: int) -> Floats:
        """‖φ(x) − φ(x_i)‖² of every point."""
        across = self.K[:, i] if self.K is not None else self.kernel.block(self.points, self.points[[i]])[:, 0]
        return np.maximum(self.own - 2.0 * across + self.own[i], 0.0)

    def seeds(self, k: int, how: str, rng: np.random.Generator) -> Ints:
        """Labels by the nearest of k points that are drawn far from each other."""
        if how == "random":
            drawn = rng.choice(np.flatnonzero(self.weight > 0), k, replace=False)
            return np.column_stack([self.column(int(i)) for i in drawn]).argmin(axis=1)
        away: list[Floats] = []
        nearest = self.losses(np.zeros(len(self.weight), dtype=np.int64), 1)[0][:, 0]
        for _ in range(k):
            chances = np.cumsum(self.weight * nearest)
            trials = []
            for _ in range(1 if how == "farthest" else 2 + int(np.log(k))):
                if how == "farthest" or not chances[-1] > 0:
                    i = int(np.where(self.weight > 0, nearest, -1.0).argmax())
                else:
                    i = min(int(np.searchsorted(chances, rng.random() * chances[-1], side="right")), len(nearest) - 1)
                column = self.column(i)
                lowered = column if not away else np.minimum(nearest, column)
                trials.append((float(self.weight @ lowered), column, lowered))
            _, column, nearest = min(trials, key=lambda trial: trial[0])
            away.append(column)
        return np.column_stack(away).argmin(axis=1)

    def run(self, labels: Ints, max_iter: int, tol: float) -> _Found:
        """Means and owners in turn; an empty cluster takes the point that fits worst."""
        k = int(labels.max()) + 1
        history: list[tuple[int, float, float]] = []
        rows, before = np.arange(len(labels)), np.inf
        for iteration in range(max_iter + 1):
            losses, norms, _ = self.losses(labels, k)
            value = float(self.weight @ losses[rows, labels])
            fall = (before - value) / before if np.isfinite(before) and before > 0 else np.inf
            history.append((iteration, value, fall))
            new = losses.argmin(axis=1)
            new = np.where(losses[rows, new] < losses[rows, labels] * (1.0 - 1e-12), new, labels)
            done = bool((new == labels).all()) or fall <= tol
            if done or iteration == max_iter or (iteration and deadline.passed()):
                break
            labels, before = self._filled(new, losses, k), value
        return _Found(labels, value, losses[rows, labels], norms, history, done)

    def judged(self, labels: Ints, before: _Found) -> _Found:
        """Other labels at the end of a run."""
        losses, norms, _ = self.losses(labels, int(labels.max()) + 1)
        own = losses[np.arange(len(labels)), labels]
        return replace(before, labels=labels, value=float(self.weight @ own), own=own, norms=norms)

    def along(self, most: int, model: Any, rng: np.random.Generator) -> list[_Found]:
        """Fits for 1, 2, … clusters, as many as points differ: from the one before and one point more, or afresh."""
        found: list[_Found] = []
        for k in range(1, most + 1):
            if found and deadline.passed():
                break
            tries = [self.seeds(k, model.init, rng)] if not found else [self._extended(found[-1], rng)]
            afresh = 0 if model.init == "farthest" or k == 1 else min(int(model.n_init), FRESH) - 1
            tries += [self.seeds(k, model.init, rng) for _ in range(afresh)]
            outcomes = [self.run(labels, int(model.max_iter), float(model.tol)) for labels in tries]
            best = min(outcomes, key=lambda each: each.value)
            if len(np.unique(best.labels)) < k:
                break
            found.append(best)
        return found

    def _extended(self, before: _Found, rng: np.random.Generator) -> Ints:
        """The same labels, and one more about a point that fits badly."""
        chances = np.cumsum(self.weight * before.own)
        i = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
        nearer = self.column(min(i, len(chances) - 1)) < before.own
        return np.where(nearer, int(before.labels.max()) + 1, before.labels)

    def features(self, points: Any) -> Floats:
        """Rows (m, r) with the distances that points have in the feature space, about their mean."""
        K = self.kernel.matrix(points)
        side = K.mean(axis=0)
        found = eigen(0.5 * (K + K.T) - side[:, None] - side + side.mean())
        values = np.maximum(found.values, 0.0)
        left = values[::-1].cumsum()[::-1]
        kept = max(int((left > REST * left[0]).sum()), 1)
        return found.vectors[:, :kept] * np.sqrt(values[:kept])

    def _filled(self, labels: Ints, losses: Floats, k: int) -> Ints:
        counts = np.bincount(labels[self.weight > 0], minlength=k)
        own = np.where(self.weight > 0, losses[np.arange(len(labels)), labels], -1.0)
        for j in np.flatnonzero(counts == 0):
            worst = int(np.where(counts[labels] > 1, own, -1.0).argmax())
            if own[worst] <= 0:
                break
            counts[labels[worst]] -= 1
            labels[worst], own[worst] = j, -1.0
            counts[j] = 1
        return labels

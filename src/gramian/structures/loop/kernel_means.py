"""Kernel k-means: exact, from products of the kernel matrix with the membership weights of the clusters."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core import deadline, validation
from gramian._core.fitted.cluster_labels import KnownRows
from gramian._core.random import seed_from
from gramian._core.types import Estimator, Floats, Ints, Matrix, Points, Table, Weights
from gramian._core.weights import weights_or_ones
from gramian.kernels.input import point_weights, read_points, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, is_table, vectors
from gramian.kernels.representation import KernelMatrix
from gramian.rows import Rows, scan, single_threaded_blas
from gramian.selection.cv.strategies.fold_moments import searching
from gramian.solvers.eigen import eigen
from gramian.structures.components.base import Structure, refuse_kernel_out_of_range
from gramian.structures.components.kernel_point import KernelPoint
from gramian.structures.components.point import Point
from gramian.structures.loop.assignments import Nearest
from gramian.structures.loop.restarts import RestartSearch
from gramian.structures.number_of_clusters import MAX_STARTS, Choice, ChoiceTask, choice_of

MAX_KEPT_POINTS = 4096  # for which the kernel matrix is kept
MAX_SAMPLE = 500  # points of pairwise distances, and of repeated fits
MAX_UNEXPLAINED = 1e-6  # share of the variance in the feature space that explicit features may leave out
INITS = ("k-means++", "farthest", "random")


@dataclass(eq=False)
class KernelKMeansResult:
    """The end of one run: labels, the objective, the loss of every point, and ‖mean‖² of every cluster."""

    labels: Ints
    value: float
    losses: Floats
    norms: Floats
    history: list[tuple[int, float, float]]
    converged: bool


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """Means in the feature space of a kernel, and the points that they own.

    Attributes
    ----------
    representation : KernelMatrix
        The kernel and the points of the fit.
    labels : array (n,); structures : list of KernelPoint
    known : KnownRows
        By which the rows of the fit are recognised: their labels and scores are those of the fit.
    scores : array
        −1 times the loss of each row of the fit.
    row_weight : array (n,) or None
    value, decrease : float
        The objective, and the share of it by which one more pass would lower it.
    choice : Choice or None
    through, reason : str
        For the certificate and the solver.
    """

    representation: KernelMatrix
    labels: Ints
    structures: list[Structure]
    known: KnownRows
    scores: Floats
    row_weight: Floats | None
    value: float
    decrease: float
    history: list[tuple[int, float, float]]
    choice: Choice | None
    through: str
    reason: str


def comparable(X: Matrix) -> Any:
    """Points by which rows of the fit are recognised: rows of numbers, or what the kernel compares."""
    X = X.collect().X if isinstance(X, Rows) else X
    return vectors(X).X if is_table(X) else X


class KernelFit:
    """The fit of `KMeans(kernel=…)`, with the parameters of the model."""

    def __init__(self, model: Estimator) -> None:
        self.model = model

    @single_threaded_blas()
    def fit(self, X: Table, sample_weight: Weights, k: int | None) -> KernelMeans:
        """Means of k clusters, or of as many as the criterion chooses."""
        model = self.model
        if k is None and model.criterion == "bic":
            raise ValueError(
                'criterion "bic" needs the dimension of the noise, which a feature space does not determine: with a '
                'kernel use criterion="prediction_strength", "silhouette", "stability", "gap", "elbow" or "penalty".'
            )
        validation.choice("init", model.init if isinstance(model.init, str) else repr(model.init), INITS)
        validation.whole("n_init", model.n_init, low=1)
        validation.whole("max_iter", model.max_iter, low=1)
        tol = validation.number("tol", model.tol, low=0.0)
        if isinstance(X, Rows):
            block = X.collect()
            X, sample_weight = block.X, block.weight
        kernel = kernel_of(model.kernel).fitted(X, point_weights(X, sample_weight))
        refuse_invalid(kernel, X)
        points = read_points(model, X, kernel, reset=True)
        refuse_kernel_out_of_range(kernel.diag(points), X)
        rows = scan(np.zeros((len(points), 1)), sample_weight=sample_weight)
        row_weight = rows.collect().weight
        weight = weights_or_ones(row_weight, len(points))
        used = int((weight > 0).sum())
        if k is not None and k > used:
            raise ValueError(
                f"n_clusters is {k}, and X has {used} points of positive weight (n_samples={used}): give at most "
                f"{used} clusters."
            )
        space = _FeatureSpace(kernel, points, weight)
        rng = np.random.default_rng(seed_from(model.random_state, default=None))
        choice = None
        if k is None:
            best, choice = self._chosen(space, used, rng)
            choice.warn_at_boundary()
        else:
            n_starts = 1 if model.init == "farthest" or k == 1 else int(model.n_init)
            runs = [space.run(space.seeds(k, model.init, rng), int(model.max_iter), tol)]
            while len(runs) < n_starts and not deadline.passed():
                runs.append(space.run(space.seeds(k, model.init, rng), int(model.max_iter), tol))
            best = min(runs, key=lambda run: run.value)
        known = KnownRows.of(comparable(X))
        if (labels := known.together(best.labels, weight)) is not best.labels:
            best = space.relabeled(np.unique(labels, return_inverse=True)[1], best)
        return self._means(space, best, known, row_weight, choice)

    def _chosen(self, space: "_FeatureSpace", used: int, rng: np.random.Generator) -> tuple[KernelKMeansResult, Choice]:
        """The fit with the number of clusters that the criterion chooses on a sample of points as rows of features."""
        model = self.model
        index = np.flatnonzero(space.weight > 0)
        if len(index) > MAX_SAMPLE:
            index = np.sort(rng.choice(index, MAX_SAMPLE, replace=False))
        points = space.points[index]
        criterion = "prediction_strength" if model.criterion == "auto" else model.criterion
        if criterion == "gap" and not isinstance(points, Vectors):
            raise ValueError(
                'criterion "gap" draws uniform rows from a box, and points of this kernel are not rows of numbers: use '
                'criterion="prediction_strength", "silhouette", "stability", "elbow" or "penalty".'
            )
        F, weight = space.features(points), space.weight[index]
        search = RestartSearch(
            scan(F, sample_weight=weight), Nearest(), float((weight @ F**2 / weight.sum()).mean()), model.init,
            int(model.n_init), int(model.max_iter), float(model.tol), len(index), rng,
        )  # fmt: skip
        task = ChoiceTask(
            search, Point(), criterion, model.max_clusters, model.penalty, float(space.weight.sum()),
            points.X if isinstance(points, Vectors) else None, lambda X: space.features(space.kernel.points(X)),
        )  # fmt: skip
        with searching():
            results = space.path(min(int(model.max_clusters), used), model, rng)
        choice = choice_of(task, [replace(each, labels=each.labels[index]) for each in results])
        return results[choice.chosen - 1], choice

    def _means(
        self, space: "_FeatureSpace", result: KernelKMeansResult, known: KnownRows, row_weight: Any, choice: Any
    ) -> KernelMeans:
        """The result without clusters that own no point."""
        nonempty, labels = np.unique(result.labels, return_inverse=True)
        losses = space.losses(result.labels, len(result.norms))[0]
        own_losses = losses[np.arange(len(labels)), result.labels]
        value = float(space.weight @ own_losses)
        structures: list[Structure] = []
        for j, old in enumerate(nonempty):
            each = KernelPoint(self.model.kernel)
            each.kernel_ = space.kernel
            structures.append(each.mean_of(space.points, space.weight * (labels == j), result.norms[old]))
        return KernelMeans(
            representation=KernelMatrix(space.kernel, space.points, np.arange(len(labels))),
            labels=labels,
            structures=structures,
            known=known,
            scores=-own_losses[known.first[known.group]],
            row_weight=row_weight,
            value=value,
            decrease=(value - float(space.weight @ losses.min(axis=1))) / value if value > 0 else 0.0,
            history=result.history,
            choice=choice,
            through=space.through,
            reason=space.reason,
        )


class _FeatureSpace:
    """Points of a kernel with their weights, and their squared distances from means in its feature space."""

    def __init__(self, kernel: Any, points: Points, weight: Floats) -> None:
        self.kernel, self.points, self.weight = kernel, points, weight
        self.K = kernel.matrix(points) if len(points) <= MAX_KEPT_POINTS else None
        self.diagonal = kernel.diag(points)
        self.through = "kernel matrix" if self.K is not None else "kernel panels"
        self.reason = (
            f"the kernel matrix of {len(points)} points is kept"
            if self.K is not None
            else f"the kernel matrix of {len(points)} points is computed panel by panel in every pass"
        )

    def losses(self, labels: Ints, k: int) -> tuple[Floats, Floats, Floats]:
        """‖φ(x) − mean‖² (n, k), the squared lengths of the means, and the weights of the clusters."""
        H = np.zeros((len(labels), k))
        H[np.arange(len(labels)), labels] = self.weight
        mass = H.sum(axis=0)
        H /= np.where(mass > 0, mass, 1.0)
        T = self.K @ H if self.K is not None else self.kernel.times(self.points, self.points, H)
        norms = np.einsum("ij,ij->j", H, T)
        losses = np.maximum(self.diagonal[:, None] - 2.0 * T + norms, 0.0)
        losses[:, mass == 0] = np.inf
        return losses, norms, mass

    def column(self, i: int) -> Floats:
        """‖φ(x) − φ(x_i)‖² of every point."""
        column = self.K[:, i] if self.K is not None else self.kernel.block(self.points, self.points[[i]])[:, 0]
        return np.maximum(self.diagonal - 2.0 * column + self.diagonal[i], 0.0)

    def seeds(self, k: int, how: str, rng: np.random.Generator) -> Ints:
        """Labels by the nearest of k seeds: k-means++, farthest-first or random."""
        if how == "random":
            drawn = rng.choice(np.flatnonzero(self.weight > 0), k, replace=False)
            return np.column_stack([self.column(int(i)) for i in drawn]).argmin(axis=1)
        columns: list[Floats] = []
        nearest = self.losses(np.zeros(len(self.weight), dtype=np.int64), 1)[0][:, 0]
        for _ in range(k):
            until = np.cumsum(self.weight * nearest)
            trials = []
            for _ in range(1 if how == "farthest" else 2 + int(np.log(k))):
                if how == "farthest" or not until[-1] > 0:
                    i = int(np.where(self.weight > 0, nearest, -1.0).argmax())
                else:
                    i = min(int(np.searchsorted(until, rng.random() * until[-1], side="right")), len(nearest) - 1)
                column = self.column(i)
                lowered = column if not columns else np.minimum(nearest, column)
                trials.append((float(self.weight @ lowered), column, lowered))
            _, column, nearest = min(trials, key=lambda trial: trial[0])
            columns.append(column)
        return np.column_stack(columns).argmin(axis=1)

    def run(self, labels: Ints, max_iter: int, tol: float) -> KernelKMeansResult:
        """Alternate means and labels; an empty cluster takes the point of largest loss."""
        k = int(labels.max()) + 1
        history: list[tuple[int, float, float]] = []
        rows, before = np.arange(len(labels)), np.inf
        for iteration in range(max_iter + 1):
            losses, norms, _ = self.losses(labels, k)
            value = float(self.weight @ losses[rows, labels])
            decrease = (before - value) / before if np.isfinite(before) and before > 0 else np.inf
            history.append((iteration, value, decrease))
            new = losses.argmin(axis=1)
            new = np.where(losses[rows, new] < losses[rows, labels] * (1.0 - 1e-12), new, labels)
            done = bool((new == labels).all()) or decrease <= tol
            if done or iteration == max_iter or (iteration and deadline.passed()):
                break
            labels, before = self._filled(new, losses, k), value
        return KernelKMeansResult(labels, value, losses[rows, labels], norms, history, done)

    def relabeled(self, labels: Ints, result: KernelKMeansResult) -> KernelKMeansResult:
        """A result with other labels."""
        losses, norms, _ = self.losses(labels, int(labels.max()) + 1)
        own_losses = losses[np.arange(len(labels)), labels]
        return replace(result, labels=labels, value=float(self.weight @ own_losses), losses=own_losses, norms=norms)

    def path(self, max_clusters: int, model: Estimator, rng: np.random.Generator) -> list[KernelKMeansResult]:
        """Fits for 1, 2, … clusters while there are distinct points; one start of each extends the fit before."""
        results: list[KernelKMeansResult] = []
        for k in range(1, max_clusters + 1):
            if results and deadline.passed():
                break
            starts = [self.seeds(k, model.init, rng)] if not results else [self._extended(results[-1], rng)]
            n_more = 0 if model.init == "farthest" or k == 1 else min(int(model.n_init), MAX_STARTS) - 1
            starts += [self.seeds(k, model.init, rng) for _ in range(n_more)]
            runs = [self.run(labels, int(model.max_iter), float(model.tol)) for labels in starts]
            best = min(runs, key=lambda run: run.value)
            if len(np.unique(best.labels)) < k:
                break
            results.append(best)
        return results

    def _extended(self, before: KernelKMeansResult, rng: np.random.Generator) -> Ints:
        """The same labels, and one more cluster about a point drawn by its loss."""
        until = np.cumsum(self.weight * before.losses)
        i = int(np.searchsorted(until, rng.random() * until[-1], side="right"))
        nearer = self.column(min(i, len(until) - 1)) < before.losses
        return np.where(nearer, int(before.labels.max()) + 1, before.labels)

    def features(self, points: Points) -> Floats:
        """Centred rows (m, r) whose distances are those of the points in the feature space (kernel PCA)."""
        K = self.kernel.matrix(points)
        column_means = K.mean(axis=0)
        spectrum = eigen(0.5 * (K + K.T) - column_means[:, None] - column_means + column_means.mean())
        values = np.maximum(spectrum.values, 0.0)
        unexplained = values[::-1].cumsum()[::-1]
        rank = max(int((unexplained > MAX_UNEXPLAINED * unexplained[0]).sum()), 1)
        return spectrum.vectors[:, :rank] * np.sqrt(values[:rank])

    def _filled(self, labels: Ints, losses: Floats, k: int) -> Ints:
        counts = np.bincount(labels[self.weight > 0], minlength=k)
        own_losses = np.where(self.weight > 0, losses[np.arange(len(labels)), labels], -1.0)
        for j in np.flatnonzero(counts == 0):
            worst = int(np.where(counts[labels] > 1, own_losses, -1.0).argmax())
            if own_losses[worst] <= 0:
                break
            counts[labels[worst]] -= 1
            labels[worst], own_losses[worst] = j, -1.0
            counts[j] = 1
        return labels

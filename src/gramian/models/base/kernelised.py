"""`kernel=` on linear models: points instead of columns, and a linear model on the rows of a factor of K."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix, point_weights, refuse_invalid
from gramian.kernels.lowrank.landmarks import MOST_CELLS, MappedRows, SupportRows, landmark_rows, sampled_pivots
from gramian.kernels.lowrank.pivoted_cholesky import Landmarks, pivots_of_distinct
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, is_table, vectors
from gramian.kernels.vectors.stationary import Mahalanobis
from gramian.models.base.composed import penalty_of
from gramian.models.kernel.learned_metric import learn_metric
from gramian.models.kernel.search import chosen, loss_of_fit, searched
from gramian.objective.penalties import L2
from gramian.rows import MemoryRows, Rows, parallel_map, replacement_index, scan, single_threaded_blas

PANEL = 512
EXACT_RANK = 2000  # rows up to which a factor of K is taken whole


class Kernelised:
    """Estimators with `kernel` and `rank`: reading points, and the factor that stands for the kernel matrix."""

    kernel: Any
    rank: Any = None
    kernel_: Kernel
    intercept_: Any
    dual_coef_: Any
    _pivots: Landmarks
    _support_points: Any

    @property
    def coef_(self) -> Any:
        """Coefficients of the columns: without a kernel, or with one that is linear in them."""
        if hasattr(self, "kernel_") and self._has_function:
            return self._primal_coef()
        if "_coef" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no coef_: it is not fitted, or not linear.")
        return self._coef

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._coef = value

    @property
    def _feature_coef(self) -> Any:
        """Coefficients of what the fit was to: the columns, features of landmark points, or k at support vectors."""
        return self._coef

    @property
    def _extent(self) -> Any:
        """Points around the rows of the fit, for charts: landmark points that are rows of numbers, or None."""
        points = self._pivots.points if hasattr(self, "_pivots") else None
        return points.dense() if isinstance(points, Vectors) else None

    @property
    def _has_function(self) -> bool:
        """Whether the fit is f(x) = b + k(x, P) B; that of nearest neighbours is not."""
        return any(hasattr(self, name) for name in ("_support_points", "_machine")) or (
            hasattr(self, "_pivots") and "_coef" in self.__dict__
        )

    def _primal_coef(self) -> Floats:
        """k(e_j, P) B for unit vectors e_j, where k is linear."""
        kernel = self.kernel_
        if not kernel.is_linear:
            raise AttributeError(
                f"{type(self).__name__} with kernel {kernel!r} has no coef_: its function is not linear in the "
                "columns. dual_coef_ are the coefficients of k(x, ·) at the rows that it is made of."
            )
        units: Any = sp.identity(self.n_features_in_, format="csr")
        if hasattr(self, "feature_names_in_"):
            import pyarrow as pa

            units = pa.table(list(units.toarray()), names=list(map(str, self.feature_names_in_)))
        at, dual = self._dual_points()
        with single_threaded_blas():
            coef = kernel.times(kernel.points(units), at, np.ascontiguousarray(dual)).T
        return np.ascontiguousarray(coef[0] if not is_classifier(self) and np.ndim(self.dual_coef_) == 1 else coef)

    def _read_points(self, X: Any, *, reset: bool) -> Any:
        """Points of the kernel; tables are checked for their columns as everywhere."""
        if isinstance(X, Rows):
            X = X.collect().X
        if is_table(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if reset:
                self.n_features_in_ = vectors(X).d
        return (self.kernel_ if hasattr(self, "kernel_") else kernel_of(self.kernel)).points(X)

    def _fit_points(self, X: Any, y: Any, sample_weight: Any, *, targeted: bool = True) -> tuple[Any, MemoryRows]:
        """Points, and rows of nothing but their target and weights; sets `kernel_`."""
        target: Any = None
        if isinstance(X, Rows) and not targeted:
            block = X.collect()
            X, sample_weight = block.X, block.weight if sample_weight is None else sample_weight
        elif isinstance(X, Rows) and y is None:
            block = X.collect()
            target = MemoryRows(
                np.zeros((X.n, 1)), block.y, block.weight, target_names=X.target_names, one_target=X.one_target,
                labels=X.labels, target_type=X.target_type,
            )  # fmt: skip
            X = block.X
        elif y is None and targeted:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        for name in ("kernel_", "kernel_losses_", "metric_weights_", "_learned"):
            if hasattr(self, name):
                delattr(self, name)
        table = is_table(X)
        weight = point_weights(X, sample_weight) if target is None else target.weight
        if targeted and isinstance(self.kernel, Mahalanobis) and self.kernel.learns:
            kernel = self._learn_metric(X, y, sample_weight, target)
        elif searched(self.kernel) and not targeted:  # nothing to judge by: the median distance
            kernel = kernel_of("rbf" if isinstance(self.kernel, str) else self.kernel)
        elif searched(self.kernel):
            labels = y if target is None else target.y[:, 0]
            kernel, self.kernel_losses_ = chosen(self, X, labels, sample_weight if target is None else weight)
        else:
            kernel = kernel_of(self.kernel, auto=True)
        self.kernel_ = kernel.fitted(X, weight)
        refuse_invalid(self.kernel_, X)
        points = self._read_points(X, reset=True)
        if not table and hasattr(self, "n_features_in_"):
            del self.n_features_in_
        if not targeted:
            y = np.zeros(len(points))
        if target is None:
            target = scan(np.zeros((len(points), 1)), y, sample_weight=sample_weight)
        index = replacement_index(target.weight)
        if index is not None:
            points, target = points[index], target if is_classifier(self) else target.settled()
        return points, target

    def _learn_metric(self, X: Any, y: Any, sample_weight: Any, target: Any) -> Kernel:
        """The kernel with its metric learned; sets `kernel_losses_` of each number of rounds and `metric_weights_`."""
        points = self._read_points(X, reset=True)
        if target is None:
            target = scan(np.zeros((len(points), 1)), y, sample_weight=sample_weight)
        if not is_classifier(self):
            target.refuse_labels()
        self._learned = learn_metric(self, self.kernel, points, target)
        self.kernel_losses_ = {f"{count} rounds": float(loss) for count, loss in enumerate(self._learned.losses)}
        self.metric_weights_ = self._learned.weights
        return self._learned.kernel

    def _metric_notes(self) -> list[str]:
        """For `summary`: what was learned of the metric, if it was."""
        if not hasattr(self, "_learned"):
            return []
        names = getattr(self, "feature_names_in_", None)
        return [self._learned.note([f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names))]

    # what linear models call

    def _source(self, X: Any, y: Any, sample_weight: Any, *, sums: bool = True) -> Any:
        self._forget()
        if self.kernel is None:
            return super()._source(X, y, sample_weight, sums=sums)  # type: ignore[misc]
        rows = self._factor_rows(X, y, sample_weight)
        rows.refuse_labels()
        return rows

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._forget()
        if self.kernel is None:
            return super()._labelled(X, y, sample_weight)  # type: ignore[misc]
        return self._labelled_points(self._factor_rows(X, y, sample_weight))

    def _labelled_points(self, rows: Rows) -> Rows:
        """Class numbers of rows that stand for points: what is known of the points' own columns stays."""
        names = ("n_features_in_", "feature_names_in_")
        known = {name: getattr(self, name) for name in names if hasattr(self, name)}
        found = super()._labelled(rows, None, None)  # type: ignore[misc]
        for name in names:
            if hasattr(self, name):
                delattr(self, name)
        self.__dict__.update(known)
        return found

    def _rows(self, X: Any) -> Rows:
        if isinstance(X, MappedRows):  # points that were read already
            return X
        if hasattr(self, "_support_points"):
            return SupportRows(self._read_points(X, reset=False), self.kernel_, self._support_points)
        return self._kernel_rows(X) if hasattr(self, "_pivots") else super()._rows(X)  # type: ignore[misc]

    def _intercept_alone(self) -> dict[str, Any]:
        """The table of `summary`: of a function by its kernel, only the intercept is a coefficient."""
        values = np.atleast_1d(self.intercept_)
        return {"name": np.array(["intercept"] * len(values), dtype=object), "estimate": values}

    def _kernel_notes(self) -> Any:
        """For `summary`: no table of coefficients, but the kernel and its rank; None without a kernel."""
        if hasattr(self, "_support_points"):
            return self._intercept_alone(), [f"kernel {self.kernel_!r} · {len(self._support_points)} support vectors"]
        if not hasattr(self, "_pivots"):
            return None
        chosen = self._pivots
        return self._intercept_alone(), [
            f"kernel {self.kernel_!r} · {len(chosen.index)} rows stand for all, "
            f"{chosen.unexplained:.2g} of the trace left",
            *self._metric_notes(),
        ]

    def _forget(self) -> None:
        if self.kernel is None and self.rank is not None:
            raise ValueError("rank is for kernels: give kernel= too, or leave rank out.")
        for name in ("kernel_", "_pivots", "_coef", "dual_coef_", "kernel_losses_", "metric_weights_", "_learned"):
            if hasattr(self, name):
                delattr(self, name)

    def _set_kernel_dual(self) -> None:
        """`dual_coef_`: the coefficients of k(·, P), P the rows that stand for all."""
        if hasattr(self, "_pivots"):
            coef = self._feature_coef
            self.dual_coef_ = self._pivots.dual(np.atleast_2d(coef).T).T.reshape(np.shape(coef))

    def parts(self, X: Any) -> dict[str, Floats]:
        """What each summand of the kernel (or column of an ANOVA kernel) adds to f(x): with the intercept, f(x).

        (n,), or (n, t) of several targets or several functions that decide between classes.
        """
        check_is_fitted(self)
        if not self._has_function:
            raise ValueError("parts() are those of a function by its kernel: give kernel=, such as RBF() + Linear().")
        points, (at, dual) = self._read_points(X, reset=False), self._dual_points()
        kernel, names = self.kernel_, self.kernel_.summands(getattr(self, "n_features_in_", None))

        def panel(i: int) -> list[Floats]:
            return [block @ dual for block in kernel.split(points[i : i + PANEL], at)]

        with single_threaded_blas():
            found = [
                np.concatenate(part) for part in zip(*parallel_map(panel, range(0, len(points), PANEL)), strict=True)
            ]
        total: dict[str, Floats] = {}
        for name, part in zip(map(repr, names), found, strict=True):  # equal summands are shown as one
            total[name] = total[name] + part if name in total else part
        return {name: part[:, 0] if dual.shape[1] == 1 else part for name, part in total.items()}

    def _dual_points(self) -> tuple[Any, Floats]:
        """Points P and B (len(P), outputs) with f(x) = b + k(x, P) B."""
        if hasattr(self, "_support_points"):
            return self._support_points, np.atleast_2d(self.dual_coef_).T
        return self._pivots.points, self._pivots.dual(np.atleast_2d(self._feature_coef).T)

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of the kernel, such as `kernel__length_scale`, make a new kernel, for it is frozen."""
        inner = {name[8:]: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)  # type: ignore[misc]
        if inner:
            self.kernel = kernel_of(self.kernel).set_params(**inner)
        return self

    def _kernel_loss(self, kernel: Kernel, X: Any, y: Any, sample_weight: Any) -> float:
        """The validation loss by which kernels are compared."""
        return loss_of_fit(self, kernel, X, y, sample_weight)

    def _kernel_losses(self, losses: dict[Kernel, float], near: list[Kernel]) -> dict[Kernel, float]:
        """The losses of kernels once all are known: a model may judge the best again, and those `near` the best."""
        return losses

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = is_matrix(self.kernel)
        return tags

    def _factor_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows F of a factor K ≈ F Fᵀ with the target: what a linear model with ‖w‖² is fitted to."""
        penalty = penalty_of(getattr(self, "penalty", "l2"))
        if not isinstance(penalty, L2):
            raise ValueError(
                f"With kernel= the penalty is the norm of the function: penalty must be 'l2', not {penalty!r}."
            )
        points, target = self._fit_points(X, y, sample_weight)
        n = len(points)
        rank = min(n, EXACT_RANK) if self.rank is None else self._rank(n)
        if n * rank > MOST_CELLS and not self._needs_distances():
            self._pivots = sampled_pivots(self.kernel_, points, rank, weight=target.weight)
            return landmark_rows(self._pivots, points, target)
        self._pivots, F = pivots_of_distinct(self.kernel_, points, rank, target.weight)
        if self._needs_distances():
            F = np.column_stack([F, np.zeros(n)])
        return MemoryRows(
            F, target.y, target.weight, target_names=target.target_names, one_target=target.one_target,
            labels=target.labels, target_type=target.target_type,
        )  # fmt: skip

    def _needs_distances(self) -> bool:
        """Whether features must carry distances: then with what is left of x beside them."""
        return False

    def _rank(self, n: int) -> int:
        rank = self.rank
        if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
            raise ValueError(f"rank is {rank!r}; it must be None or a whole number of at least 1.")
        return min(int(rank), n)

    def _kernel_rows(self, X: Any) -> Rows:
        """New points as rows of the features that were fitted."""
        check_is_fitted(self)
        points = self._read_points(X, reset=False)
        chosen = self._pivots
        if not self._needs_distances():
            return landmark_rows(chosen, points)

        def turn(some: Any) -> Floats:
            found = chosen.features(some)
            if is_matrix(self.kernel_):  # k(x, x) is not known, and does not change which rows are nearest
                return np.column_stack([found, np.zeros(len(found))])
            rest = np.maximum(self.kernel_.diag(some) - (found**2).sum(axis=1), 0.0)
            return np.column_stack([found, np.sqrt(rest)])

        return MappedRows(points, len(chosen.index) + 1, turn)

"""`kernel=` on linear models: points instead of columns, and a linear model on the rows of a factor of K."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.kernels.base import Kernel
from gramian.kernels.given import Precomputed
from gramian.kernels.named import kernel_of
from gramian.kernels.pivots import Pivots, pivots
from gramian.kernels.points import is_table, vectors
from gramian.models.composed import penalty_of
from gramian.models.kernel_search import chosen, loss_of_fit, searched
from gramian.objective.penalties import L2
from gramian.rows import Block, MemoryRows, Rows, scan

Floats = NDArray[np.float64]
MOST_CELLS = 50_000_000  # numbers of features that are kept in memory
LEAST_SAMPLE = 20_000
TRIED = 100  # points that a kernel without a proof is tried on
EXACT_RANK = 2000  # rows up to which a factor of K is taken whole


class MappedRows(Rows):
    """Points as rows of numbers, by a map that is applied block by block; with the target and weights of other rows."""

    def __init__(self, points: Any, d: int, turn: Callable[[Any], Floats], target: MemoryRows | None = None) -> None:
        self.points, self.turn, self.target = points, turn, target
        self.n, self.d, self.names = len(points), d, None
        self.target_names, self.one_target, self.weighted = (), True, False
        if target is not None:
            self.target_names, self.one_target, self.weighted = target.target_names, target.one_target, target.weighted
            self.labels, self.target_type = target.labels, target.target_type
        self.precision = float(np.finfo(np.float64).eps)
        self.is_sparse = False

    def block(self, start: int, stop: int) -> Block:
        part = self.turn(self.points[start:stop])
        if self.target is None:
            return Block(part, None, None, start)
        given = self.target.block(start, stop)
        return Block(part, given.y, given.weight, start)


class Kernelised:
    """Estimators with `kernel` and `rank`: reading points, and the factor that stands for the kernel matrix."""

    kernel: Any
    rank: Any = None
    kernel_: Kernel
    coef_: Any
    intercept_: Any
    dual_coef_: Any
    _pivots: Pivots
    _support_points: Any

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
            X = X.collect().X
        elif isinstance(X, Rows) and y is None:
            block = X.collect()
            target = MemoryRows(
                np.zeros((X.n, 1)), block.y, block.weight, target_names=X.target_names, one_target=X.one_target,
                labels=X.labels, target_type=X.target_type,
            )  # fmt: skip
            X = block.X
        elif y is None and targeted:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        for name in ("kernel_", "kernel_losses_"):
            if hasattr(self, name):
                delattr(self, name)
        table = is_table(X)
        if searched(self.kernel):
            kernel, self.kernel_losses_ = chosen(self, X, y if target is None else target.y[:, 0], sample_weight)
        else:
            kernel = kernel_of(self.kernel)
        self.kernel_ = kernel.fitted(X)
        refuse_invalid(self.kernel_, X)
        points = self._read_points(X, reset=True)
        if not table and hasattr(self, "n_features_in_"):
            del self.n_features_in_
        if not targeted:
            y = np.zeros(len(points))
        if target is None:
            target = scan(np.zeros((len(points), 1)), y, sample_weight=sample_weight)
        return points, target

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
        if hasattr(self, "_support_points"):
            support = self._support_points
            points = self._read_points(X, reset=False)
            return MappedRows(points, len(support), lambda some: self.kernel_.block(some, support))
        return self._kernel_rows(X) if hasattr(self, "_pivots") else super()._rows(X)  # type: ignore[misc]

    def _intercept_alone(self) -> dict[str, Any]:
        """The table of `summary`: of a function by its kernel, only the intercept is a coefficient."""
        values = np.atleast_1d(self.intercept_)
        return {"name": np.array(["intercept"] * len(values), dtype=object), "estimate": values}

    def _kernel_notes(self) -> Any:
        """For `summary`: no table of coefficients, but the kernel and its rank; None without a kernel."""
        if not hasattr(self, "_pivots"):
            return None
        chosen = self._pivots
        return self._intercept_alone(), [
            f"kernel {self.kernel_!r} · {len(chosen.index)} rows stand for all, {chosen.left:.2g} of the trace left"
        ]

    def _forget(self) -> None:
        if self.kernel is None and self.rank is not None:
            raise ValueError("rank is for kernels: give kernel= too, or leave rank out.")
        for name in ("kernel_", "_pivots", "dual_coef_"):
            if hasattr(self, name):
                delattr(self, name)

    def _set_kernel_dual(self) -> None:
        """`dual_coef_`: the coefficients of k(·, P), P the rows that stand for all."""
        if hasattr(self, "_pivots"):
            self.dual_coef_ = self._pivots.dual(np.atleast_2d(self.coef_).T).T.reshape(np.shape(self.coef_))

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
        tags.input_tags.pairwise = isinstance(self.kernel, Precomputed)
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
            return self._streamed(points, rank, target)
        self._pivots, F = pivots(self.kernel_, points, rank)
        if self._needs_distances():
            F = np.column_stack([F, np.zeros(n)])
        return MemoryRows(
            F, target.y, target.weight, target_names=target.target_names, one_target=target.one_target,
            labels=target.labels, target_type=target.target_type,
        )  # fmt: skip

    def _streamed(self, points: Any, rank: int, target: MemoryRows) -> MappedRows:
        """Features that are made block by block, of rows that a sample of the points gives."""
        n = len(points)
        count = min(n, max(20 * rank, LEAST_SAMPLE))
        sample = np.sort(np.random.default_rng(0).choice(n, count, replace=False))
        self._pivots, _ = pivots(self.kernel_, points[sample], rank)
        return MappedRows(points, len(self._pivots.index), self._pivots.features, target)

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
            return MappedRows(points, len(chosen.index), chosen.features)

        def turn(some: Any) -> Floats:
            found = chosen.features(some)
            rest = np.maximum(self.kernel_.diag(some) - (found**2).sum(axis=1), 0.0)
            return np.column_stack([found, np.sqrt(rest)])

        return MappedRows(points, len(chosen.index) + 1, turn)


def refuse_invalid(kernel: Kernel, X: Any) -> None:
    """Raise where a kernel is shown not to be one: by the rules, or by some of the points at hand."""
    found = kernel.proof()
    if found.valid is None:
        found = kernel.validity(X if isinstance(kernel, Precomputed) else X[:TRIED])
    if found.valid is False:
        raise ValueError(
            f"{kernel!r} is no kernel: {found.rule}. `print(kernel.validity())` shows why. A matrix is made one by "
            "gm.kernels.repaired(K), with kernel=gm.kernels.Precomputed()."
        )

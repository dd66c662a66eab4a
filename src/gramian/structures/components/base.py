"""`Structure`: the loss of every row and the refit to weighted rows; every clustering is an alternation over these."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from gramian._core.fitted.charted import Drawn
from gramian._core.types import Floats, Matrix, Table, Values, Weights
from gramian.kernels.points import is_table
from gramian.rows import Rows, scan
from gramian.structures.components.geometry import Geometry
from gramian.structures.loop.multipass import BlockStatistic, PassRequest, run_request

MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-150, 1e152  # of the numbers whose squares are summed without under- or overflow


class Structure(Drawn, ABC):
    """The model of one cluster: a point, line, circle, density …; a dataclass whose fields are its parameters.

    A subclass defines `loss`, `statistics`, `_update`, `moved_to` and `n_parameters`; the loop, the restarts, the
    choice of k, the charts and the checks are derived. Where one pass over the rows does not determine the refit,
    `pass_requests` asks for further sums. The class attributes are traits: other modules read them, never the class.
    """

    own_charts: ClassVar[tuple[str, ...]] = ("structure",)  # none where it has no place among the columns
    density: ClassVar[bool] = False  # the loss is −log density, not a power of the distance
    power: ClassVar[int] = 2  # of the distance in the loss
    is_point: ClassVar[bool] = False  # its position is all that it learns
    is_mean: ClassVar[bool] = False  # a point refitted to the mean: Lloyd's algorithm applies
    scale_free: ClassVar[bool] = False  # the loss stays the same when all rows are multiplied by a positive number
    takes_sparse: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False
    initialized_by: ClassVar[str] = "sample"  # fitted first to a "sample" of few rows, or to a "part" found by k-means
    location_attribute: ClassVar[str] = "center_"  # the fitted attribute (d,) that places it
    noun: ClassVar[tuple[str, str]] = ("structure", "structures")

    # what a subclass defines

    @abstractmethod
    def loss(self, X: Matrix) -> Floats:
        """The term of every row in the objective: the distance to the power `power`, or −log density."""

    @abstractmethod
    def statistics(self, X: Matrix, weight: Floats) -> Any:
        """The sufficient statistics of a block for the refit: anything with `+`."""

    @abstractmethod
    def _update(self, estimate: Any) -> None:
        """Set the fitted attributes from what `pass_requests` returns; the loss never rises on the same rows."""

    @abstractmethod
    def moved_to(self, x: Floats) -> "Structure":
        """A copy translated so that x lies on it."""

    @abstractmethod
    def n_parameters(self, d: int) -> int:
        """Free parameters in d dimensions."""

    def n_shared_parameters(self, d: int) -> int:
        """Free parameters in d dimensions that all structures of this kind in a model share."""
        return 0

    def codimension(self, d: int) -> int:
        """Dimensions orthogonal to it, in which rows have noise."""
        return d

    def min_rows(self, d: int) -> int:
        """Rows that determine it."""
        return 1

    def check(self, d: int) -> None:
        """Raise where its parameters do not fit d columns."""

    def with_column_scales(self, scales: Floats) -> "Structure":
        """A copy that knows the standard deviation of each column of the data of the model."""
        return copy(self)

    def pooled(self, totals: list[Any]) -> list[Any]:
        """The statistics of all structures of this kind in a model, after those parameters they share are pooled."""
        return totals

    def fused_pass(self, state: Any, loop: Any) -> Any:
        """A compiled E-step over a block for all structures of a soft state at once, where there is one; else None."""
        return None

    def pass_requests(self, max_passes: int | None = None) -> PassRequest[Any]:
        """Request sums over its rows, one pass each, and return what `_update` takes; the first is `statistics`.

        `max_passes` bounds the passes of a refit within a loop, which will be repeated; None is until convergence.
        """
        return (yield self.statistics)

    def rough_fit(self, X: Matrix, weight: Floats) -> Self:
        """A cheap first fit to a few rows."""
        return self.fitted_to(X, weight)

    def loss_unit(self, variance: float) -> float:
        """The size of the loss of rows of this variance, in which tolerances of the loop are measured."""
        return 1.0 if self.scale_free else float(variance ** (0.5 * self.power))

    @property
    def n_floored_directions(self) -> int:
        """Directions whose variance was raised to the least that its parameters allow."""
        return 0

    def geometry(self) -> Geometry | None:
        """What a chart draws; None where it has no place among the columns."""
        return Geometry(self.location)

    def measures(self) -> dict[str, object]:
        """Fitted quantities by name, for the subtitle of its chart."""
        return {self.location_attribute.rstrip("_").replace("center", "centre"): self.location}

    # what is derived

    @property
    def is_fitted(self) -> bool:
        """Whether it has been fitted."""
        return self.location_attribute in vars(self)

    @property
    def location(self) -> Floats:
        """The point (d,) that places it: its centre, or its mean."""
        return np.asarray(vars(self)[self.location_attribute], dtype=np.float64)

    def fit(self, X: Table, sample_weight: Weights = None) -> Self:
        """Fit it alone to all rows.

        Parameters
        ----------
        X : array (n, d), data frame or Rows
        sample_weight : array (n,), optional
            Weights are counts.
        """
        rows = X if isinstance(X, Rows) else scan(X, sample_weight=sample_weight)
        self._validate_rows(rows)
        self.check(rows.d)
        vars(self).pop(self.location_attribute, None)  # an earlier fit is no start
        self._fit_alone(rows)
        return self

    def _validate_rows(self, rows: Rows) -> None:
        """Raise where rows are sparse or hold missing, infinite or extreme numbers that it cannot take."""
        if rows.is_sparse and not self.takes_sparse:
            raise TypeError(f"{self!r} needs dense rows, and X is a sparse matrix: give X.toarray().")
        refuse_unusable(rows, self.takes_missing)

    def _fit_alone(self, rows: Rows) -> None:
        self._update(run_request(self.pass_requests(), total_over(rows)))

    def fitted_to(self, X: Matrix, weight: Floats, max_passes: int | None = None) -> Self:
        """A copy that is fitted to rows in memory."""
        return self.refitted(run_request(self.pass_requests(max_passes), lambda statistic: statistic(X, weight)))

    def refitted(self, estimate: Any) -> Self:
        """A copy that is updated by what `pass_requests` returned."""
        other = copy(self)
        other._update(estimate)
        return other

    def _require_fitted(self) -> None:
        if not self.is_fitted:
            raise ValueError(f"{self!r} is not fitted yet: call fit first.")

    def _map_rows(self, X: Matrix, f: Any) -> Floats:
        """f of new rows, block by block, after they are validated."""
        self._require_fitted()
        rows = X if isinstance(X, Rows) else scan(X)
        self._validate_rows(rows)
        d = len(self.location)
        if rows.d != d:
            raise ValueError(f"X has {rows.d} columns, and {self!r} was fitted to {d}.")
        return np.concatenate(rows.sum(lambda block: [f(dense(block.X))]))

    def chart(
        self,
        kind: str | None = None,
        X: Table = None,
        y: Values | None = None,
        *,
        sample_weight: Weights = None,
        theme: str = "light",
    ) -> Any:
        """One Altair chart (extra `app`): the structure, and with X the rows.

        Parameters
        ----------
        kind : "structure", optional
        X : array (n, d), data frame or Rows, optional
        y : None
            Rows have no target here.
        sample_weight : array (n,), optional
            Weights are counts.
        theme : "light" or "dark"
        """
        self._require_fitted()
        return super().chart(kind, X, y, sample_weight=sample_weight, theme=theme)

    def distance(self, X: Table) -> Floats:
        """Euclidean distance of every row, orthogonal to the structure."""
        return np.sqrt(self._map_rows(X, self._squared_distances))

    def _squared_distances(self, X: Matrix) -> Floats:
        return self.loss(X)


class ProbabilityDensity(Structure):
    """A structure whose loss is −log of a probability density with mean `mean_`; k-means finds its first rows."""

    density: ClassVar[bool] = True
    initialized_by: ClassVar[str] = "part"
    location_attribute: ClassVar[str] = "mean_"
    mean_: Floats
    regularized_: int
    _unit: Floats  # the standard deviation of each column

    @abstractmethod
    def scatter_matrix(self) -> Floats:
        """The (d, d) matrix whose ellipsoids are the contours of the density."""

    def sampled(self, noise: Floats, rng: np.random.Generator) -> Floats:
        """Rows of the density from rows of standard normal noise."""
        return np.asarray(self.mean_ + noise @ np.linalg.cholesky(self.scatter_matrix()).T)

    def with_column_scales(self, scales: Floats) -> Self:
        other = copy(self)
        other._unit = scales
        return other

    def log_density(self, X: Table) -> Floats:
        """log density of every row."""
        return -self._map_rows(X, self.loss)

    def distance(self, X: Table) -> Floats:
        """Euclidean distance of every row from the mean."""
        return super().distance(X)

    def _squared_distances(self, X: Matrix) -> Floats:
        deviation = X - self.mean_
        return np.einsum("ij,ij->i", deviation, deviation)

    def moved_to(self, x: Floats) -> Self:
        other = copy(self)
        other.mean_ = np.array(x, dtype=np.float64)
        return other

    @property
    def n_floored_directions(self) -> int:
        return self.regularized_

    def geometry(self) -> Geometry:
        return Geometry(self.location, covariance=self.scatter_matrix())


def total_over(rows: Rows) -> Any:
    """A function of a block statistic: its sum over all rows with their weights."""

    def total(statistic: BlockStatistic) -> Any:
        return rows.sum(lambda block: statistic(dense(block.X), block.weights))

    return total


def dense(X: Matrix) -> Any:
    """Rows in float64; sparse rows stay sparse."""
    if sp.issparse(X):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def refuse_unusable(rows: Rows, missing: bool) -> None:
    """Raise where numbers are infinite or, unless `missing` allows it, missing; or where their squares overflow."""
    magnitudes = rows.sum(lambda block: _MaxMagnitudes(_max_magnitudes(block.X, missing))).values
    if not np.isfinite(magnitudes).all():
        rows.refuse_nonfinite()
    largest, column = float(magnitudes.max()), int(magnitudes.argmax())
    if largest > MAX_MAGNITUDE or 0 < largest < MIN_MAGNITUDE:
        name = column if rows.names is None else repr(rows.names[column])
        remedy, range_error = ("multiply", "underflows to zero") if largest < 1 else ("divide", "overflows")
        raise ValueError(
            f"The largest number of X is {largest:.3g} (column {name}), whose square {range_error}: {remedy} X by a "
            f"power of ten, so that it lies between {MIN_MAGNITUDE:g} and {MAX_MAGNITUDE:g}."
        )


def refuse_kernel_out_of_range(squares: Floats, X: Matrix) -> None:
    """Raise where k(x, x) of rows of numbers overflows, or underflows to zero though the rows are not zero."""
    if not is_table(X) or MIN_MAGNITUDE**2 <= float(np.abs(squares).max()) <= MAX_MAGNITUDE**2:
        return
    rows = scan(X)
    magnitudes = rows.sum(lambda block: _MaxMagnitudes(_max_magnitudes(block.X, False))).values
    if magnitudes.any():
        name = int(magnitudes.argmax()) if rows.names is None else repr(rows.names[int(magnitudes.argmax())])
        raise ValueError(
            f"k(x, x) reaches {float(np.abs(squares).max()):.3g}, beyond the range of numbers: rescale X, whose column "
            f"{name} has the largest number, {magnitudes.max():.3g}."
        )


@dataclass(eq=False)
class _MaxMagnitudes:
    """The largest magnitude in each column; merged by the maximum."""

    values: Floats

    def __add__(self, other: "_MaxMagnitudes") -> "_MaxMagnitudes":
        return _MaxMagnitudes(np.maximum(self.values, other.values))


def _max_magnitudes(X: Matrix, missing: bool) -> Floats:
    """The largest magnitude in each column; not finite where a number is not."""
    if sp.issparse(X):
        high, low = (each.toarray().astype(np.float64).reshape(-1) for each in (X.max(axis=0), X.min(axis=0)))
    else:
        values = np.asarray(X)
        if missing:
            values = np.where(np.isnan(values), 0.0, values)
        high, low = (np.asarray(f(values, axis=0, initial=0), dtype=np.float64) for f in (np.max, np.min))
    return np.asarray(np.maximum(high, -low), dtype=np.float64)

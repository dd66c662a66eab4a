"""What the rows look like to a model: their columns, or a kernel's values at points of the fit."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from gramian._core.text import percentage
from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix, read_points
from gramian.kernels.lowrank.mapped_rows import KernelValues, MappedRows
from gramian.kernels.points import Vectors
from gramian.rows import Basis, MemoryRows, Rows, parallel_map, single_threaded_blas
from gramian.rows.feature_names import new_rows

PANEL = 512
MAX_ROUNDING = 1e-8  # of a Gram matrix, relative, after multiplication with R⁻¹ on both sides


class Representation(ABC):
    """How a fitted model sees rows: a fitted attribute that prediction, parts, summaries and charts ask."""

    kernel: Kernel | None

    @abstractmethod
    def rows(self, model: Any, X: Any) -> Rows:
        """New rows as the coefficients of the fit multiply them; tables are checked for the columns of the fit."""

    @property
    def extent(self) -> Floats | None:
        """Rows of numbers around which the rows of the fit lie; None where they are not kept."""
        return None


@dataclass(frozen=True)
class Columns(Representation):
    """The columns as they were given.

    Attributes
    ----------
    count : int
    names : tuple of str, or None
    """

    count: int
    names: tuple[str, ...] | None = None
    kernel: None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, model: Any) -> "Columns":
        """The columns that a model remembers of its fit."""
        names = getattr(model, "feature_names_in_", None)
        return cls(model.n_features_in_, None if names is None else tuple(names))

    def rows(self, model: Any, X: Any) -> Rows:
        return new_rows(model, X)


@dataclass(frozen=True, eq=False)
class KernelRepresentation(Representation):
    """A kernel's values k(·, P) at points P of the fit, of which functions f(x) = b + k(x, P) B are made.

    Attributes
    ----------
    kernel : Kernel
        As fitted.
    points : prepared points
        P.
    index : array (r,)
        The rows of the fit that they are.
    """

    kernel: Kernel
    points: Any
    index: Ints

    @abstractmethod
    def features(self, points: Any) -> Floats:
        """Features of prepared points, (n, r)."""

    @abstractmethod
    def rows_of(self, points: Any, target: MemoryRows | None = None) -> Rows:
        """Prepared points as rows of their features."""

    @abstractmethod
    def dual(self, coef: Floats) -> Floats:
        """B (r, t) of k(·, P) from coefficients (r, t) of the features."""

    @abstractmethod
    def note(self) -> str:
        """What it is, for a summary."""

    @abstractmethod
    def facts(self) -> dict[str, int]:
        """Its size, for a summary."""

    def rows(self, model: Any, X: Any) -> Rows:
        return X if isinstance(X, MappedRows) else self.rows_of(self.read(model, X))

    def read(self, model: Any, X: Any) -> Any:
        """New points, prepared; tables are checked for the columns of the fit."""
        return read_points(model, X, self.kernel, reset=False)

    @property
    def extent(self) -> Floats | None:
        return self.points.dense() if isinstance(self.points, Vectors) else None

    @property
    def vectors(self) -> Any:
        """P as rows of numbers, dense or sparse; None of other points."""
        return self.points.X if isinstance(self.points, Vectors) else None

    def parts(self, points: Any, dual: Floats, d: int | None) -> dict[str, Floats]:
        """What each summand of the kernel adds to k(x, P) B, (n, t), by its text; d columns where points have them."""
        kernel = self.kernel

        def panel(i: int) -> list[Floats]:
            return [block @ dual for block in kernel.split(points[i : i + PANEL], self.points)]

        with single_threaded_blas():
            panels = parallel_map(panel, range(0, len(points), PANEL))
        values = [np.concatenate(part) for part in zip(*panels, strict=True)]
        total: dict[str, Floats] = {}
        for name, part in zip(map(repr, kernel.summands(d)), values, strict=True):  # equal summands are shown as one
            total[name] = total[name] + part if name in total else part
        return total

    def coefficients(self, dual: Floats, d: int, names: Any) -> Floats:
        """Coefficients (t, d) of the columns where k is linear in them: k(e_j, P) B for unit vectors e_j."""
        units: Any = sp.identity(d, format="csr")
        if names is not None:
            import pyarrow as pa

            units = pa.table(list(units.toarray()), names=list(map(str, names)))
        with single_threaded_blas():
            return self.kernel.times(self.kernel.points(units), self.points, np.ascontiguousarray(dual)).T


@dataclass(frozen=True, eq=False)
class KernelMatrix(KernelRepresentation):
    """The kernel itself, exactly: P are the rows of the fit that have a dual coefficient."""

    def features(self, points: Any) -> Floats:
        return self.kernel.block(points, self.points)

    def rows_of(self, points: Any, target: MemoryRows | None = None) -> Rows:
        return KernelValues(points, self.kernel, self.points, target)

    def dual(self, coef: Floats) -> Floats:
        return coef

    def note(self) -> str:
        return f"{len(self.index)} support vectors"

    def facts(self) -> dict[str, int]:
        return {"n": len(self.index)}


@dataclass(frozen=True, eq=False)
class Landmarks(KernelRepresentation):
    """Landmark points P: k(x, x') ≈ φ(x)ᵀφ(x') with φ(x) = R⁻ᵀ k(P, x), exact where x or x' is one of them.

    Attributes
    ----------
    R : array (r, r)
        Upper triangle with K_PP = RᵀR.
    unexplained : float
        Share of the trace of K that is not explained.
    neglected : float
        Of a factor that is meant to be exact: share of the variation about their mean of the points of the fit that it
        leaves out, because it is rounding next to k(x, x).
    with_residual : bool
        Whether a last feature holds √(k(x, x) − ‖φ(x)‖²): distances from the rows of the fit are then exact.
    """

    R: Floats
    unexplained: float
    _: KW_ONLY
    neglected: float = 0.0
    with_residual: bool = False

    def features(self, points: Any) -> Floats:
        F = self.solve_RT(self.kernel.block(points, self.points))
        if not self.with_residual:
            return F
        if is_matrix(self.kernel):  # k(x, x) is not known, and does not change which rows are nearest
            return np.column_stack([F, np.zeros(len(F))])
        return np.column_stack([F, np.sqrt(np.maximum(self.kernel.diag(points) - (F**2).sum(axis=1), 0.0))])

    def rows_of(self, points: Any, target: MemoryRows | None = None) -> MappedRows:
        """The features of points, with k(x, P) itself as their basis where they are no more than φ."""
        rows = MappedRows(points, len(self.index) + self.with_residual, self.features, target)
        if self.with_residual:
            return rows
        trcon = sl.get_lapack_funcs("trcon", (self.R,))
        reciprocal = float(trcon(self.R, norm="1", uplo="U", diag="N")[0])
        well_conditioned = float(np.finfo(np.float64).eps) <= MAX_ROUNDING * reciprocal**2
        rows.basis = Basis(KernelValues(points, self.kernel, self.points, target), self.R, well_conditioned)
        return rows

    def solve_RT(self, block: Floats) -> Floats:
        """From k(x, P) to φ(x)."""
        return np.asarray(sl.solve_triangular(self.R, block.T, trans="T", lower=False, check_finite=False).T)

    def dual(self, coef: Floats) -> Floats:
        return np.asarray(sl.solve_triangular(self.R, coef, lower=False, check_finite=False))

    def note(self) -> str:
        return f"{len(self.index)} landmark points; {percentage(self.unexplained)} of the kernel trace unexplained"

    def facts(self) -> dict[str, int]:
        return {"rank": len(self.index)}

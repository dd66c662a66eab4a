"""`Structure`: how far a row is from it, and how it is refitted to weighted rows. All clustering is made of these."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.fitted.charted import Drawn
from gramian.kernels.points import is_table
from gramian.rows import Rows, scan
from gramian.structures.loop.multipass import PassRequest, answered

Floats = NDArray[np.float64]
SMALLEST, LARGEST = 1e-150, 1e152  # numbers, the squares of which are added up with all their digits


class Structure(Drawn, ABC):
    """One structure for one cluster: a point, line, circle, density …; a dataclass whose fields are its parameters.

    A new one says `loss`, `gather` and `_learn`; the loop of every clustering is then derived. One that no single pass
    determines says in `learning` which sums it needs. What is learned ends in an underscore.
    """

    density: ClassVar[bool] = False  # its loss is −log of a density
    power: ClassVar[int] = 2  # of the distance, in the loss
    takes_sparse: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False
    grows: ClassVar[str] = "sample"  # a first fit is to a few rows, or to a "part" that k-means found

    # what a structure says

    @abstractmethod
    def loss(self, X: Any) -> Floats:
        """What the loop minimises for every row: the squared distance, or −log density."""

    @abstractmethod
    def gather(self, X: Any, weight: Floats) -> Any:
        """What a pass adds up to refit it: anything with `+`."""

    @abstractmethod
    def _learn(self, summary: Any) -> None:
        """Set what is learned from a summary; never worse on its rows than what was learned before."""

    @abstractmethod
    def through(self, x: Floats) -> "Structure":
        """The same structure moved so that x lies on it."""

    @abstractmethod
    def parameters(self, d: int) -> int:
        """Free numbers of it in d dimensions."""

    def codimension(self, d: int) -> int:
        """Directions in which rows can lie off it."""
        return d

    def least(self, d: int) -> int:
        """Rows that determine it."""
        return 1

    def check(self, d: int) -> None:
        """Raise where its parameters do not fit d columns."""

    def prepared(self, spread: Floats) -> "Structure":
        """A copy that knows the standard deviation of each column of the data it is one of several structures of."""
        return copy(self)

    def together(self, summaries: list[Any]) -> list[Any]:
        """Summaries of all structures of this kind in a model, where they share something."""
        return summaries

    def fused(self, state: Any, loop: Any) -> Any:
        """A pass over a block for all structures of a soft state at once, where that is faster; else None."""
        return None

    def learning(self, passes: int | None = None) -> PassRequest[Any]:
        """Ask for sums over its rows and return what `_learn` takes: the first question is always `gather`.

        `passes` are the most it should ask for where it would be refitted again; None is until nothing changes.
        """
        return (yield self.gather)

    def sketch(self, X: Any, weight: Floats) -> Self:
        """A first, rough fit to a few rows."""
        return self.fitted_to(X, weight)

    # what is derived

    def fit(self, X: Any, sample_weight: Any = None) -> Self:
        """Fit it alone to all rows.

        Parameters
        ----------
        X : array (n, d), data frame or Rows
        sample_weight : array (n,), optional
            Weights are counts.
        """
        rows = X if isinstance(X, Rows) else scan(X, sample_weight=sample_weight)
        if rows.is_sparse and not self.takes_sparse:
            raise TypeError(f"{self!r} needs dense rows, and X is a sparse matrix: give X.toarray().")
        self.refuse(rows)
        self.check(rows.d)
        self._fit_alone(rows)
        return self

    def refuse(self, rows: Rows) -> None:
        """Raise where numbers are infinite or too large or small, or missing where it cannot do without them."""
        refuse_unusable(rows, self.takes_missing)

    def _fit_alone(self, rows: Rows) -> None:
        def ask(question: Any) -> Any:
            return rows.sum(lambda block: question(dense(block.X), weights(block)))

        self._learn(answered(self.learning(), ask))

    def fitted_to(self, X: Any, weight: Floats, passes: int | None = None) -> Self:
        """A copy that is fitted to rows in memory."""
        return self.refitted(answered(self.learning(passes), lambda question: question(X, weight)))

    def refitted(self, summary: Any) -> Self:
        """A copy that is fitted to what `learning` returned."""
        found = copy(self)
        found._learn(summary)
        return found

    def _each(self, X: Any, f: Any) -> Floats:
        """f of new rows, block by block, after they are checked."""
        if not hasattr(self, self._learned):
            raise ValueError(f"{self!r} is not fitted yet: call fit first.")
        rows = X if isinstance(X, Rows) else scan(X)
        if rows.is_sparse and not self.takes_sparse:
            raise TypeError(f"{self!r} needs dense rows, and X is a sparse matrix: give X.toarray().")
        self.refuse(rows)
        d = len(getattr(self, self._learned))
        if rows.d != d:
            raise ValueError(f"X has {rows.d} columns, and {self!r} was fitted to {d}.")
        return np.concatenate(rows.sum(lambda block: [f(dense(block.X))]))

    _learned: ClassVar[str] = "center_"

    def chart(
        self, kind: str | None = None, X: Any = None, y: Any = None, *, sample_weight: Any = None, theme: str = "light"
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
        if not hasattr(self, self._learned):
            raise ValueError(f"{self!r} is not fitted yet: call fit first.")
        return super().chart(kind, X, y, sample_weight=sample_weight, theme=theme)

    def distance(self, X: Any) -> Floats:
        """Euclidean distance of every row, orthogonal to the structure."""
        return np.sqrt(self._each(X, self._squares))

    def _squares(self, X: Any) -> Floats:
        return self.loss(X)


def dense(X: Any) -> Any:
    """Rows in float64; sparse ones stay sparse."""
    if sp.issparse(X):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def refuse_unusable(rows: Rows, missing: bool) -> None:
    """Raise where numbers are infinite or, unless they may be, missing; or where their squares would not be numbers."""
    sizes = rows.sum(lambda block: _Largest(_largest(block.X, missing))).sizes
    if not np.isfinite(sizes).all():
        rows.refuse_nonfinite()
    largest, column = float(sizes.max()), int(sizes.argmax())
    if largest > LARGEST or 0 < largest < SMALLEST:
        name = column if rows.names is None else repr(rows.names[column])
        way, square = ("multiply", "zero") if largest < 1 else ("divide", "infinite")
        raise ValueError(
            f"The largest number of X is {largest:.3g} (column {name}), the square of which is {square} to the "
            f"computer: {way} X by a power of ten, so that it lies between {SMALLEST:g} and {LARGEST:g}."
        )


def refuse_kernel_out_of_range(squares: Floats, X: Any) -> None:
    """Raise where k(x, x) of rows of numbers is infinite, or zero to the computer though the rows are not."""
    if not is_table(X) or SMALLEST**2 <= float(np.abs(squares).max()) <= LARGEST**2:
        return
    rows = scan(X)
    sizes = rows.sum(lambda block: _Largest(_largest(block.X, False))).sizes
    if sizes.any():
        name = int(sizes.argmax()) if rows.names is None else repr(rows.names[int(sizes.argmax())])
        raise ValueError(
            f"k(x, x) reaches {float(np.abs(squares).max()):.3g}, beyond the range of numbers: rescale X, whose column "
            f"{name} has the largest number, {sizes.max():.3g}."
        )


@dataclass(eq=False)
class _Largest:
    sizes: Floats

    def __add__(self, other: "_Largest") -> "_Largest":
        return _Largest(np.maximum(self.sizes, other.sizes))


def _largest(X: Any, missing: bool) -> Floats:
    """The largest size of a number of each column; not finite where one is not."""
    if sp.issparse(X):
        high, low = (each.toarray().astype(np.float64).reshape(-1) for each in (X.max(axis=0), X.min(axis=0)))
        found = np.maximum(high, -low)
    else:
        values = np.asarray(X)
        if missing:
            values = np.where(np.isnan(values), 0.0, values)
        high, low = (np.asarray(f(values, axis=0, initial=0), dtype=np.float64) for f in (np.max, np.min))
        found = np.maximum(high, -low)
    return np.asarray(found, dtype=np.float64)


def weights(block: Any) -> Floats:
    """Weights of a block's rows, one each if there are none."""
    return np.ones(len(block)) if block.weight is None else np.asarray(block.weight, dtype=np.float64)

"""`On`: a kernel of some columns of a table."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.types import Floats
from gramian.kernels.algebra import OfMappedPoints
from gramian.kernels.base import ATOM, Kernel, within
from gramian.kernels.points import Vectors
from gramian.kernels.validity.proof import Validity, proven


@dataclass(frozen=True, eq=False, repr=False)
class On(OfMappedPoints):
    """A kernel of some columns alone, written `k.on(columns)`: names of a data frame's columns, or places.

    Kernels on different columns multiply and add up to kernels on pairs (x, z) and on mixed tables. A single column
    that holds no numbers is given to the kernel as a list.

    >>> from gramian.kernels import Linear
    >>> Linear().on(1)([[2.0, 3.0]])
    array([[9.]])
    """

    base: Kernel
    columns: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = self.columns
        if isinstance(columns, list | np.ndarray):
            columns = tuple(v.item() if isinstance(v, np.generic) else v for v in columns)
            object.__setattr__(self, "columns", columns)
        places = self._places
        if not places or not all(isinstance(c, str | int | np.integer) and not isinstance(c, bool) for c in places):
            raise ValueError(f"columns of on() is {self.columns!r}; give names or places of columns.")

    @property
    def single(self) -> Any:
        """The name or place of the one column; None of several."""
        return self._places[0] if len(self._places) == 1 else None

    @property
    def _places(self) -> tuple[Any, ...]:
        return self.columns if isinstance(self.columns, tuple) else (self.columns,)

    @property
    def is_linear(self) -> bool:
        return self.base.is_linear

    def summands(self, d: int | None = None) -> tuple[Kernel, ...]:
        return tuple(On(part, self.columns) for part in self.base.summands(len(self._places)))

    def split(self, A: Any, B: Any) -> tuple[Floats, ...]:
        return self.base.split(A, B)

    def proof(self) -> Validity:
        return proven(self, "a kernel of some columns", self.base.proof())

    def text(self) -> tuple[str, int]:
        shown = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        return f"{within(self.base, ATOM)}.on({shown!r})", ATOM

    def mapped(self, X: Any) -> Any:
        return self.chosen(X)

    def chosen(self, X: Any) -> Any:
        """The columns of a table that are compared."""
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if isinstance(frame, nw.DataFrame):
            names = [
                c if isinstance(c, str) else frame.columns[self._checked(c, len(frame.columns))] for c in self._places
            ]
            for name in names:
                if name not in frame.columns:
                    known = ", ".join(map(repr, frame.columns[:10]))
                    raise ValueError(f"on({self.columns!r}): there is no column {name!r}; the columns are {known}.")
            if len(names) == 1 and not (frame[names[0]].dtype.is_numeric() or frame[names[0]].dtype == nw.Boolean):
                return frame[names[0]].to_list()
            return frame.select(names).to_native()
        for c in self._places:
            if isinstance(c, str):
                raise ValueError(
                    f"on({self.columns!r}) names a column, and X has no names: give a data frame, or places."
                )
        if isinstance(X, Vectors):
            X = X.X
        if sp.issparse(X):
            return X.tocsc()[:, [self._checked(c, X.shape[1]) for c in self._places]].tocsr()
        table = X if isinstance(X, np.ndarray) else _table(X)
        if table.ndim != 2:
            raise ValueError(f"on({self.columns!r}) needs a table with columns; X has {table.ndim} dimension(s).")
        chosen = table[:, [self._checked(c, table.shape[1]) for c in self._places]]
        if table.dtype.kind != "O":
            return chosen
        try:
            return chosen.astype(np.float64)
        except (TypeError, ValueError):
            return chosen[:, 0].tolist() if chosen.shape[1] == 1 else chosen

    def _checked(self, c: Any, d: int) -> int:
        if not -d <= c < d:
            raise ValueError(f"on({self.columns!r}) wants column {c}, and X has {d} columns.")
        return int(c)


def _table(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    return array if array.dtype.kind in "fiub" else np.array(X, dtype=object)

"""What a fitted model remembers of its training rows: hashes of some of them, so that a leak can be seen."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.numerics import hashes
from gramian._core.types import Ints

SAMPLED_ROWS = 256
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Hashes of up to 256 rows, spread evenly over those fitted to, and of their targets."""

    rows: Hashes
    targets: Hashes


def remembering(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A `fit` that leaves the fingerprint of its rows in `_training_rows`; None where they cannot be read."""

    @wraps(fit)
    def fitted(self: Any, *args: Any, **options: Any) -> Any:
        result = fit(self, *args, **options)
        X = args[0] if args else options.get("X")
        y = args[1] if len(args) > 1 else options.get("y")
        self._training_rows = fingerprint(X, y)
        return result

    return fitted


def fingerprint(X: Any, y: Any = None) -> TrainingRows | None:
    """The fingerprint of a table in memory, and of its target where that is given."""
    if hasattr(X, "one_target") and hasattr(X, "X"):  # `Rows` in memory
        block = X.collect()
        X, y = block.X, block.y[:, 0] if X.one_target and block.y is not None else block.y
    try:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        index = np.unique(np.linspace(0, n - 1, min(n, SAMPLED_ROWS)).astype(np.int64))
        targets = np.zeros(0, dtype=np.uint64) if y is None else row_hashes(_some(y, index))
        return TrainingRows(row_hashes(_some(X, index)), targets)
    except (TypeError, ValueError, AttributeError, IndexError, KeyError):
        return None


def row_hashes(table: Any) -> Hashes:
    """A number for each row, the same for arrays, frames and sparse matrices of equal numbers in single precision."""
    frame = nw.from_native(table, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        table = frame.to_numpy()
    values = table.toarray() if sp.issparse(table) else np.asarray(table)
    values = values.reshape(len(values), int(np.prod(values.shape[1:])))  # a table may have no rows
    if values.dtype.kind not in "fiub":
        return hashes.item_hashes(map(repr, values.tolist()))
    with np.errstate(over="ignore", invalid="ignore"):
        return hashes.row_hashes(values.astype(np.float32).astype(np.float64))


def _some(table: Any, index: Ints) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[index]
    frame = nw.from_native(table, pass_through=True, eager_only=True, allow_series=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return frame[index.tolist()].to_native()
    return table.tocsr()[index] if sp.issparse(table) else np.asarray(table)[index]

"""A classifier over the plane of its two features: the window, the grid, and what is decided where."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.metrics.classes import codes
from gramian.metrics.input import read_labels
from gramian.rows import Rows, scan

Floats = NDArray[np.float64]
GRID = 120  # places along each side at which the classifier is asked
PAD = 0.06  # of the range of the data, around it
DEVIATIONS = 3.0  # around the means of normal densities


@dataclass(frozen=True, eq=False)
class Plane:
    """A grid over a window, and what a classifier says at its places.

    Attributes
    ----------
    x, y : array (GRID,)
        Places along each feature.
    decisions : array (GRID, GRID, k)
        One number a class, rows along y; the largest is decided.
    probabilities : array (GRID, GRID, k) or None
    smooth : bool
        Whether the decisions are those of `decision_function` itself, so that its margins can be drawn.
    """

    x: Floats
    y: Floats
    decisions: Floats
    probabilities: Floats | None
    smooth: bool

    def margin(self, place: int) -> Floats:
        """How much more one class has than the best of the others."""
        others = np.delete(self.decisions, place, axis=2).max(axis=2)
        return self.decisions[:, :, place] - others

    def heart(self, place: int) -> tuple[int, int]:
        """The place decided for a class that is nearest to the middle of all such; its best one if there is none."""
        own = np.argwhere(self.decisions.argmax(axis=2) == place)
        if not len(own):
            row, column = np.unravel_index(int(self.margin(place).argmax()), self.decisions.shape[:2])
            return int(row), int(column)
        row, column = own[int(((own - own.mean(axis=0)) ** 2).sum(axis=1).argmin())]
        return int(row), int(column)


def coordinates(X: Any) -> Floats:
    """The two columns of all rows."""
    rows = X if isinstance(X, Rows) else scan(X)
    if rows.d != 2:
        raise ValueError(f"X has {rows.d} columns; a boundary is drawn over two.")
    rows.refuse_nonfinite()
    found = rows.sum(lambda block: [block.X.toarray() if sp.issparse(block.X) else block.X])
    return np.concatenate(found).astype(np.float64)


def window(model: Any, points: Floats | None) -> Floats:
    """(low, high) of each feature, (2, 2): around the rows, or around what the model knows of them."""
    known = [] if points is None else [points]
    inside = getattr(model, "estimator_", model)
    pad = PAD
    if hasattr(inside, "support_vectors_"):
        vectors = inside.support_vectors_
        known.append(np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64))
        pad = PAD if points is not None else 0.5
    elif points is None and hasattr(getattr(getattr(inside, "_pivots", None), "points", None), "dense"):
        known.append(inside._pivots.points.dense())
    elif points is None and hasattr(inside, "means_") and hasattr(inside, "covariances_"):
        spread = DEVIATIONS * _deviations(np.asarray(inside.covariances_), len(inside.means_))
        known += [inside.means_ - spread, inside.means_ + spread]
    if not sum(len(part) for part in known):
        raise ValueError(
            f"This {type(model).__name__} does not know where its rows were: give X, rows to draw the boundary over."
        )
    low, high = np.concatenate(known).min(axis=0), np.concatenate(known).max(axis=0)
    gap = pad * (high - low)
    gap = np.where(gap > 0, gap, np.maximum(np.abs(high), 1.0) * 0.5)
    return np.column_stack([low - gap, high + gap])


def _deviations(covariances: Floats, k: int) -> Floats:
    """(k, 2), from full, shared, diagonal or spherical covariances."""
    if covariances.ndim >= 2 and covariances.shape[-2:] == (2, 2) and (covariances.ndim == 3 or k != 2):
        variances = np.diagonal(covariances, axis1=-2, axis2=-1)
    elif covariances.shape == (2, 2):  # shared, or the variances of two classes
        shared = (
            covariances[0, 1] == covariances[1, 0] and covariances[0, 1] ** 2 <= covariances[0, 0] * covariances[1, 1]
        )
        variances = np.diagonal(covariances) if shared else covariances
    else:
        variances = covariances if covariances.ndim == 2 else covariances[:, None]
    return np.broadcast_to(np.sqrt(variances), (k, 2))


def asked(what: Callable[[Any], Any], ends: Floats, X: Any = None) -> tuple[Floats, Floats, Floats]:
    """Places along each feature, and the numbers that a function of tables has over the grid of them."""
    x, y = (np.linspace(low, high, GRID) for low, high in ends)
    table = like(X, np.column_stack([part.reshape(-1) for part in np.meshgrid(x, y)]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return x, y, np.asarray(what(table), dtype=np.float64)


def over(model: Any, ends: Floats, X: Any = None) -> Plane:
    """Ask a classifier over a window; X is a table such as it was fitted on, if there is one."""
    x, y = (np.linspace(low, high, GRID) for low, high in ends)
    table = like(X, np.column_stack([part.reshape(-1) for part in np.meshgrid(x, y)]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        decided = np.asarray(model.predict(table))
        p = np.asarray(model.predict_proba(table)) if hasattr(model, "predict_proba") else None
        f = np.asarray(model.decision_function(table)) if hasattr(model, "decision_function") else None
    classes = np.asarray(model.classes_)
    k = len(classes)
    places = codes(read_labels(decided, "decided"), read_labels(classes, "classes_"), "decided")
    f = np.column_stack([-0.5 * f, 0.5 * f]) if f is not None and f.ndim == 1 else f
    cost = getattr(model, "cost", None)
    tries = [] if cost is None or p is None or np.shape(cost) != (k, k) else [-p @ np.asarray(cost, dtype=np.float64)]
    for part in [*tries, f, p]:
        if part is not None and part.shape[1] == k and (part.argmax(axis=1) == places).mean() > 0.999:
            found, smooth = part, part is f
            break
    else:
        found, smooth = np.eye(k)[places], False
    shape = (GRID, GRID, k)
    return Plane(x, y, np.nan_to_num(found).reshape(shape), None if p is None else p.reshape(shape), smooth)


def like(X: Any, grid: Floats) -> Any:
    """The grid as a frame, where X is one whose columns have names."""
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or not all(isinstance(name, str) for name in frame.columns):
        return grid
    columns = dict(zip(frame.columns, grid.T, strict=True))
    return nw.from_dict(columns, backend=frame.implementation).to_native()

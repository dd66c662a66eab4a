"""A classifier over the plane of its two features: the window, the grid, and the predictions on it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from gramian._core.types import Estimator, Floats, Table
from gramian.charts.declaration import has, wrapped
from gramian.charts.marks.scatter import table
from gramian.metrics.classes import codes
from gramian.metrics.input import read_labels
from gramian.rows import Rows, scan

GRID = 120  # points along each side
PAD, SUPPORT_PAD = 0.06, 0.5  # of the range of the rows, or of the support vectors, around it


@dataclass(frozen=True, eq=False)
class DecisionGrid:
    """A grid over a window, and the decision values and probabilities of a classifier on it.

    Attributes
    ----------
    x, y : array (GRID,)
        Coordinates along each feature.
    decisions : array (GRID, GRID, k)
        One number per class, rows along y; the class with the largest is predicted.
    probabilities : array (GRID, GRID, k) or None
    smooth : bool
        Whether these are the values of `decision_function`, so that its margins can be drawn.
    """

    x: Floats
    y: Floats
    decisions: Floats
    probabilities: Floats | None
    smooth: bool

    def margin(self, place: int) -> Floats:
        """The decision value of a class minus the largest of the others."""
        others = np.delete(self.decisions, place, axis=2).max(axis=2)
        return self.decisions[:, :, place] - others

    def label_point(self, place: int) -> tuple[int, int]:
        """The grid point predicted as a class that is nearest to the mean of all such; else its largest margin."""
        own = np.argwhere(self.decisions.argmax(axis=2) == place)
        if not len(own):
            row, column = np.unravel_index(int(self.margin(place).argmax()), self.decisions.shape[:2])
            return int(row), int(column)
        row, column = own[int(((own - own.mean(axis=0)) ** 2).sum(axis=1).argmin())]
        return int(row), int(column)


def coordinates(X: Table) -> Floats:
    """The two columns of all rows."""
    rows = X if isinstance(X, Rows) else scan(X)
    if rows.d != 2:
        raise ValueError(f"X has {rows.d} columns; a boundary is drawn over two.")
    return table(rows)


def window(model: Estimator, points: Floats | None) -> Floats:
    """(low, high) of each feature, (2, 2): around the rows, or around the points that the model keeps."""
    vectors = support_vectors(model)
    sources = [part for part in (points, vectors) if part is not None]
    if not sources:
        sources.append(kept_points(model))
    low, high = np.concatenate(sources).min(axis=0), np.concatenate(sources).max(axis=0)
    gap = (PAD if points is not None or vectors is None else SUPPORT_PAD) * (high - low)
    gap = np.where(gap > 0, gap, np.maximum(np.abs(high), 1.0) * 0.5)
    return np.column_stack([low - gap, high + gap])


def support_vectors(model: Estimator) -> Floats | None:
    """Of a support vector machine, or of the one inside a model; None of others and where there are none."""
    model = wrapped(model)
    if not has(model, "support_vectors_"):
        return None
    vectors = model.support_vectors_
    dense = np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64)
    return dense if len(dense) else None


def kept_points(model: Estimator) -> Any:
    """Points (m, 2) around the rows of the fit that a model keeps: support vectors, landmarks, Gaussians; else None."""
    vectors = support_vectors(model)
    if vectors is not None:
        return vectors
    model = wrapped(model)
    if has(model, "representation_"):
        return model.representation_.extent
    return _around_means(model) if has(model, "means_", "covariances_", "covariance") else None


def _around_means(model: Any) -> Floats:
    """Three standard deviations about the means of Gaussian classes."""
    variances = np.asarray(model.covariances_)
    if model.covariance in ("full", "shared"):
        variances = np.diagonal(variances, axis1=-2, axis2=-1)
    deviations = np.sqrt(variances[:, None] if model.covariance == "spherical" else variances)
    return np.concatenate([model.means_ - 3.0 * deviations, model.means_ + 3.0 * deviations])


def on_grid(functions: list[Callable[[Any], Any]], ends: Floats, X: Table = None) -> tuple[Floats, Floats, list[Any]]:
    """Coordinates along each feature, and the values of functions of a table over the grid of them.

    X is a table such as the model was fitted on, if there is one.
    """
    x, y = (np.linspace(low, high, GRID) for low, high in ends)
    points = as_table_like(X, np.column_stack([part.reshape(-1) for part in np.meshgrid(x, y)]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return x, y, [np.asarray(function(points)) for function in functions]


def decision_grid(model: Estimator, ends: Floats, X: Table = None) -> DecisionGrid:
    """Evaluate a classifier over a window."""
    methods = [name for name in ("predict", "predict_proba", "decision_function") if has(model, name)]
    x, y, values = on_grid([getattr(model, name) for name in methods], ends, X)
    answers = dict(zip(methods, values, strict=True))
    p, f = answers.get("predict_proba"), answers.get("decision_function")
    classes = np.asarray(model.classes_)
    k = len(classes)
    predicted = codes(read_labels(answers["predict"], "predicted"), read_labels(classes, "classes_"), "predicted")
    f = np.column_stack([-0.5 * f, 0.5 * f]) if f is not None and f.ndim == 1 else f
    cost = model.cost if has(model, "cost") else None
    costs = [] if cost is None or p is None or np.shape(cost) != (k, k) else [-p @ np.asarray(cost, dtype=np.float64)]
    for scores in [*costs, f, p]:
        if scores is not None and scores.shape[1] == k and (scores.argmax(axis=1) == predicted).mean() > 0.999:
            decisions, smooth = scores, scores is f
            break
    else:
        decisions, smooth = np.eye(k)[predicted], False
    shape = (GRID, GRID, k)
    return DecisionGrid(x, y, np.nan_to_num(decisions).reshape(shape), None if p is None else p.reshape(shape), smooth)


def as_table_like(X: Table, grid: Floats) -> Any:
    """The grid as a frame, where X is one whose columns have names."""
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or not all(isinstance(name, str) for name in frame.columns):
        return grid
    columns = dict(zip(frame.columns, grid.T, strict=True))
    return nw.from_dict(columns, backend=frame.implementation).to_native()

"""Plain NumPy answers the qualities are measured against. Nothing here comes from Gramian or from a peer's own word."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLOCK = 50_000


@dataclass(frozen=True)
class Sums:
    """Count, sums and cross-products of the rows of [X, y], taken about one given centre."""

    n: int
    first: Array
    second: Array
    centre: Array

    @classmethod
    def of(cls, X: Array, y: Array, centre: Array) -> "Sums":
        width = X.shape[1] + 1
        first, second = np.zeros(width), np.zeros((width, width))
        for start in range(0, len(y), BLOCK):
            block = np.column_stack([X[start : start + BLOCK], y[start : start + BLOCK]]) - centre
            first += block.sum(0)
            second += block.T @ block
        return cls(len(y), first, second, centre)

    def __sub__(self, part: "Sums") -> "Sums":
        return Sums(self.n - part.n, self.first - part.first, self.second - part.second, self.centre)

    def centred(self) -> tuple[Array, Array]:
        """Mean cross-products of X with X and of X with y, about this part's own mean."""
        cross = self.second / self.n - np.outer(self.first, self.first) / self.n**2
        return cross[:-1, :-1], cross[:-1, -1]

    def intercept(self, coef: Array) -> float:
        """The intercept in centred coordinates that goes with these coefficients."""
        return float(self.first @ np.append(-coef, 1.0)) / self.n

    def mse(self, coef: Array, intercept: float) -> float:
        """Mean squared error of coefficients and a centred intercept on these rows."""
        direction = np.append(-coef, 1.0)
        square = direction @ self.second @ direction - 2 * intercept * (self.first @ direction)
        return float(square / self.n + intercept**2)


def folds(X: Array, y: Array, count: int = 5) -> tuple[Sums, list[Sums]]:
    """Sums of all rows and of each fold of scikit-learn's KFold(count) (consecutive rows)."""
    centre = np.append(X.mean(0), y.mean())
    sizes = np.full(count, len(y) // count)
    sizes[: len(y) % count] += 1
    edges = np.append(0, np.cumsum(sizes))
    parts = [Sums.of(X[a:b], y[a:b], centre) for a, b in pairwise(edges)]
    n, first, second = (sum(getattr(part, name) for part in parts) for name in ("n", "first", "second"))
    return Sums(n, first, second, centre), parts


def cv_mse(total: Sums, parts: list[Sums], solve: Any) -> float:
    """Mean over folds of the validation error of solve(XᵀX/m, Xᵀy/m), fitted on the other folds."""
    errors = []
    for part in parts:
        train = total - part
        coef = solve(*train.centred())
        errors.append(part.mse(coef, train.intercept(coef)))
    return float(np.mean(errors))


def least_squares(X: Array, y: Array) -> tuple[Array, float]:
    """Centred normal equations with one step of refinement on the residual."""
    total, _ = folds(X, y, 1)
    gram, moment = total.centred()
    coef = np.linalg.solve(gram, moment)
    mean = total.centre[:-1]
    residual = y - y.mean() - (X @ coef - mean @ coef)
    coef = coef + np.linalg.solve(gram, X.T @ (residual - residual.mean()) / len(y))
    return np.asarray(coef, dtype=float), float(y.mean() - mean @ coef)


def lasso_gaps(X: Array, y: Array, coefs: Array, alphas: Array, duals: Array | None = None) -> Array:
    """Duality gap of ‖y − Xw‖²/n + alpha ‖w‖₁ over its value at zero, for centred X and y and each row of coefs.

    The dual point is the residual, or the row of `duals` when a peer returns one and it is better; either is put on
    its best feasible multiple here, so a bad one can only make the gap larger.
    """
    n = len(y)
    residuals = y - coefs @ X.T
    primal = (residuals**2).sum(1) / n + alphas * np.abs(coefs).sum(1)
    dual = np.zeros(len(alphas))
    for points in [residuals] if duals is None else [residuals, duals]:
        square = np.maximum((points**2).sum(1), np.finfo(float).tiny)
        along = points @ y
        room = alphas / np.maximum(np.abs(points @ X).max(1), np.finfo(float).tiny)
        step = np.clip(2 * along / (n * square), -room, room)
        dual = np.maximum(dual, step * along - n * step**2 * square / 4)
    return np.asarray((primal - dual) / (y @ y / n), dtype=float)


def forward_selection(X: Array, y: Array, count: int) -> set[int]:
    """Greedy forward selection by the mean validation error of five folds, every candidate solved afresh."""
    total, parts = folds(X, y)
    trains = [(total - part).centred() for part in parts]
    chosen: list[int] = []
    for _ in range(count):
        errors = {}
        for candidate in set(range(X.shape[1])) - set(chosen):
            errors[candidate] = subset_mse(total, parts, trains, [*chosen, candidate])
        chosen.append(min(errors, key=lambda candidate: errors[candidate]))
    return set(chosen)


def subset_mse(total: Sums, parts: list[Sums], trains: list[tuple[Array, Array]], subset: list[int]) -> float:
    """Cross-validated error of least squares on some columns."""
    errors = []
    for part, (gram, moment) in zip(parts, trains, strict=True):
        coef = np.zeros(len(moment))
        coef[subset] = np.linalg.solve(gram[np.ix_(subset, subset)], moment[subset])
        errors.append(part.mse(coef, (total - part).intercept(coef)))
    return float(np.mean(errors))


def fitted(model: Any, **more: Any) -> dict[str, Any]:
    """What a linear model returns: coefficients, intercept, and a note where sklearnex fell back to scikit-learn."""
    answer = {"coef": np.ravel(model.coef_), "intercept": float(np.ravel(model.intercept_)[0]), **more}
    if type(model).__module__.startswith("sklearnex"):
        answer["note"] = "oneDAL" if hasattr(model, "_onedal_estimator") else "fell back to scikit-learn"
    return answer

"""The objective over two coefficients, for the contours under the paths of solvers."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Estimator, Floats, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.charts.declaration import has, loss_of
from gramian.charts.marks.text import feature_names, labels
from gramian.charts.solvers.recorder import Recorder
from gramian.metrics.classes import codes
from gramian.metrics.input import one_kind, read_labels
from gramian.objective.losses.base import Loss, Scaled
from gramian.objective.penalties import Penalty, Zero
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Rows, scan

GRID = 60
MAX_CELLS = 40_000_000  # rows × grid points; beyond, every k-th row is used
MAX_RELATIVE_DIFFERENCE = 1e-6  # of two objectives of the same problem


@dataclass(frozen=True, eq=False)
class ObjectiveSurface:
    """The objective over two of the components of θ; a third one, the intercept, is at its optimum.

    Attributes
    ----------
    names : (str, str)
    scale : array (2,)
        Factors from θ to the units of the data.
    """

    names: tuple[str, str]
    scale: Floats
    rows: Floats  # (n, p), centred and scaled, with a column of ones for the intercept
    target: Floats
    weight: Floats
    problem: Problem
    best: Floats  # (p,)
    noise: float | None

    @classmethod
    def of(cls, model: Estimator, X: Table, y: Values | None, sample_weight: Weights) -> "ObjectiveSurface":
        """The objective of a fitted model over its data."""
        data = _signed(model, X, y, sample_weight)
        if data.d > 2 or (data.d == 1 and not model.fit_intercept):
            raise ValueError(
                "The paths over the objective need two coefficients, or one and an intercept; these models have "
                f"{data.d}{' and an intercept' if model.fit_intercept else ''}."
            )
        loss, penalty = _loss_and_penalty(model)
        problem = Problem(
            data,
            loss,
            penalty,
            float(model.alpha_) if has(model, "alpha_") else 0.0,
            intercept=bool(model.fit_intercept),
            standardize=has(model, "standardize") and bool(model.standardize),
        )
        block = data.collect()
        assert block.y is not None
        raw = block.X.toarray() if data.is_sparse else block.X
        Z = (np.asarray(raw, dtype=np.float64) - problem.center) * problem.inverse
        Z = np.column_stack([Z, np.ones(len(Z))]) if model.fit_intercept else Z
        weight = block.weights
        best = problem.to_standardized(np.atleast_2d(model.coef_).T, np.atleast_1d(model.intercept_))[0]
        names = labels(feature_names(model))
        if data.d == 1:
            names = [names[0], f"intercept, at the mean of {names[0]}"]
        scale = np.append(problem.inverse, 1.0)[:2]
        noise = float(model.scale_) if joint_scale(loss) else None
        surface = cls((names[0], names[1]), scale, Z, block.y[:, 0], weight, problem, best, noise)
        value, fitted = float(surface.at(best[None, :])[0]), float(np.mean(model.objective_))
        if not abs(value - fitted) <= MAX_RELATIVE_DIFFERENCE * max(abs(fitted), 1e-300) + 1e-12:
            raise ValueError(
                f"The objective over X and y is {value:.6g} at the fitted coefficients, and that of the fit is "
                f"{fitted:.6g}: give the data that the models were fitted to."
            )
        return surface

    def at(self, thetas: Floats) -> Floats:
        """The objective at each θ (G, p)."""
        f = self.rows @ thetas.T
        loss, y = self.problem.loss, self.target[:, None]
        if self.noise is not None:
            assert isinstance(loss, Scaled)
            values = loss.joint(y, f, self.noise)
        else:
            values = loss.value(y, f)
        coefs = thetas[:, : self.problem.d] * self.problem.inverse
        penalty = np.array([self.problem.penalty_value(c[:, None]) for c in coefs]) if self.problem.alpha else 0.0
        return np.asarray(self.weight @ values / self.weight.sum() + self.problem.alpha * penalty)

    def start(self) -> tuple[Floats, float]:
        """The default starting point of solvers, and the objective there."""
        theta = self.problem.zero()[0]
        return theta, float(self.at(theta[None, :])[0])

    def grid(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats, int]:
        """Grids of both coefficients (in the units of the data), the objective (y × x), and the number of rows used."""
        stride = -(-len(self.rows) * GRID * GRID // MAX_CELLS)
        sampled = ObjectiveSurface(
            self.names,
            self.scale,
            self.rows[::stride],
            self.target[::stride],
            self.weight[::stride],
            self.problem,
            self.best,
            self.noise,
        )
        x, y = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
        thetas = np.tile(self.best, (GRID * GRID, 1))
        thetas[:, :2] = np.column_stack([part.reshape(-1) for part in np.meshgrid(x, y)])
        lines = [sampled.at(part) for part in np.array_split(thetas, GRID)]
        return x * self.scale[0], y * self.scale[1], np.concatenate(lines).reshape(GRID, GRID), len(sampled.rows)


def recorder_of(model: Estimator) -> Recorder | None:
    """The recorder among the callbacks of a model, if it has one."""
    callbacks = (model.callbacks or ()) if has(model, "callbacks") else ()
    return next((part for part in callbacks if isinstance(part, Recorder)), None)


def _signed(model: Estimator, X: Table, y: Values | None, sample_weight: Weights) -> Rows:
    """Rows with the target of the solver: ±1 for two classes, with class weights."""
    if not has(model, "classes_"):
        return scan(X, y, sample_weight=sample_weight)
    if len(model.classes_) != 2 or model.multiclass_ == "joint":
        raise ValueError("The paths over the objective need one output: two classes, and not multiclass='joint'.")
    values, known = one_kind(read_labels(y, "y"), read_labels(model.classes_, "classes_"), "y", "the model")
    code = codes(values, known, "y")
    weight = weights_or_ones(sample_weight, len(code))
    reweighted = has(model, "class_weight") and model.class_weight is not None
    factors = model.class_totals_ / np.bincount(code, weight, 2) if reweighted else None
    weight = weight if factors is None else weight * factors[code]
    unweighted = sample_weight is None and factors is None
    return scan(X, 2.0 * code - 1.0, sample_weight=None if unweighted else weight)


def _loss_and_penalty(model: Estimator) -> tuple[Loss, Penalty]:
    """What the objective of a model is made of, before a scale is estimated."""
    from gramian.models.base.composed import loss_of as loss_named
    from gramian.models.base.composed import penalty_of

    loss = loss_of(model) if has(model, "classes_") else loss_named(model.loss, ("numbers", "counts"))
    assert loss is not None
    return loss, penalty_of(model.penalty) if has(model, "penalty") else Zero()

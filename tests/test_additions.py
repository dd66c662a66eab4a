"""What it costs to add a loss, a penalty, a kernel and a metric: a few lines each, checked as their kind and fitted."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy

import gramian as gm
from checks import test_kernels, test_losses, test_metrics, test_penalties
from gramian.kernels.numerics.distances import distances
from gramian.kernels.validity.proof import proven
from gramian.kernels.vectors.stationary import Stationary
from gramian.metrics import Confusion, Interval, define_metric
from gramian.metrics.definition import DEFINED
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import FoldedConcave, Penalty


@dataclass(frozen=True)
class LogCosh(Loss):
    def value(self, y, f):
        return np.logaddexp(y - f, f - y) - np.log(2.0)

    def gradient(self, y, f):
        return np.tanh(f - y)

    def curvature(self, y, f):
        return 1.0 - np.tanh(f - y) ** 2

    def conjugate(self, y, u):
        return u * y + (xlogy(1.0 + u, 1.0 + u) + xlogy(1.0 - u, 1.0 - u)) / 2.0


@dataclass(frozen=True)
class HuberNorm(Penalty):
    separable = True

    def value(self, w):
        return float(np.where(np.abs(w) <= 1.0, 0.5 * w**2, np.abs(w) - 0.5).sum())

    def prox(self, w, step):
        return np.where(np.abs(w) <= 1.0 + step, w / (1.0 + step), w - step * np.sign(w))

    def conjugate(self, u):
        return 0.5 * float(u @ u) if np.abs(u).max() <= 1.0 else np.inf


@dataclass(frozen=True)
class Plateau(FoldedConcave):
    end: float = 4.0
    scale: Any = None

    def knots(self):
        return np.array([0.0, 2.0, self.end]), np.array([1.0, 0.5, 0.0])


@dataclass(frozen=True, eq=False, repr=False)
class Cauchy(Stationary):
    length_scale: Any = 1.0

    def block(self, A, B):
        return 1.0 / (1.0 + distances(A, B, self.scale) ** 2)

    def proof(self):
        return proven(self, "the rational quadratic kernel with a mixture of 1")


@define_metric(Confusion.of, needs="labels", greater_is_better=True, range=(0.0, 1.0))
def geometric_mean(table, *, interval=None):
    recalls = table.recall(average=None, interval=interval)
    if interval is None:
        return float(np.prod(recalls) ** (1.0 / len(recalls)))
    return Interval(*(float(np.prod(part) ** (1.0 / len(part))) for part in recalls))


METRIC = DEFINED.pop("geometric_mean")  # other tests visit the metrics of the package alone


@pytest.fixture
def named():
    DEFINED["geometric_mean"] = METRIC
    yield
    del DEFINED["geometric_mean"]


def lines_of(member):
    return sum(bool(line.strip()) for line in inspect.getsource(member).splitlines())


def test_lines():
    assert lines_of(LogCosh) <= 12
    assert lines_of(HuberNorm) <= 12
    assert lines_of(Plateau) <= 12
    assert lines_of(gm.penalties.MCP.knots) + lines_of(gm.penalties.SCAD.knots) <= 4
    assert lines_of(Cauchy) <= 8
    assert lines_of(gm.kernels.RationalQuadratic.block) <= 8
    assert lines_of(inspect.unwrap(geometric_mean)) <= 12


def test_a_loss_is_checked_and_fitted():
    loss = LogCosh()
    test_losses.test_gradient_and_curvature_are_derivatives(loss)
    test_losses.test_convexity_and_smoothness_are_as_declared(loss)
    test_losses.test_conjugate_is_the_supremum(loss)
    test_losses.test_probabilities_and_links(loss)
    X, y = table()
    model = gm.Regressor(loss, "l1", alphas=5, cv=3).fit(X, y)
    assert model.certificate_.claim == "global optimum"
    np.testing.assert_allclose(model.coef_[:2], [2.0, -1.0], atol=0.3)


@pytest.mark.parametrize("penalty", [HuberNorm(), Plateau(), Plateau(3.0, 0.5)], ids=repr)
def test_a_penalty_is_checked_and_fitted(penalty):
    test_penalties.test_zero_and_convexity(penalty)
    test_penalties.test_separability(penalty)
    for step in (0.1, 1.5):
        test_penalties.test_prox_minimises_its_objective(penalty, step)
    if penalty.convex:
        test_penalties.test_conjugate_is_the_supremum(penalty)
    else:
        test_penalties.test_slope_is_the_derivative_of_a_concave_function_of_the_size(penalty)
        test_penalties.test_prox_of_single_coefficients_against_a_grid(penalty)
        test_penalties.test_the_penalty_at_an_alpha(penalty)
    X, y = table()
    model = gm.Regressor("squared", penalty, alphas=5, cv=3, tol=1e-6).fit(X, y)
    assert model.certificate_.claim == ("global optimum" if penalty.convex else "stationary point")
    np.testing.assert_allclose(model.coef_[:2], [2.0, -1.0], atol=0.3)


@pytest.mark.parametrize("kernel", [Cauchy(1.3), Cauchy((1.0, 2.0, 0.5))], ids=repr)
def test_a_kernel_is_checked_and_fitted(kernel, monkeypatch):
    rows = test_kernels.ROWS
    test_kernels.test_matrix_is_what_validity_says(kernel, rows)
    test_kernels.test_diagonal_and_blocks_are_of_the_matrix(kernel, rows)
    test_kernels.test_two_sets_of_points(kernel, rows)
    test_kernels.test_panels_and_threads_do_not_matter(kernel, rows, monkeypatch)
    test_kernels.test_tables_of_every_kind_agree(kernel)
    test_kernels.test_bad_tables_are_refused(kernel)
    test_kernels.test_parameters_round_trip(kernel, rows)
    np.testing.assert_allclose(kernel(rows), gm.kernels.RationalQuadratic(kernel.length_scale, 1.0)(rows * 2**0.5))
    X, y = table()
    model = gm.Ridge(kernel=kernel + gm.kernels.Linear()).fit(X[:, :3], y)
    assert model.certificate_.holds
    assert gm.metrics.r2(y, model.predict(X[:, :3])) > 0.9
    assert gm.Ridge(kernel=Cauchy("auto")).fit(X, y).certificate_.holds


@pytest.mark.usefixtures("named")
def test_a_metric_is_checked_and_evaluated():
    for kind in ("one", "several"):
        for name, check in inspect.getmembers(test_metrics.TestMetric(), inspect.ismethod):
            if name.startswith("test_") and not getattr(check, "pytestmark", None):
                check("geometric_mean", kind)
    X, y = table()
    labels = y > 0
    for metrics in ("geometric_mean", geometric_mean, {"g": geometric_mean}):
        result = gm.selection.evaluate(gm.LogisticRegression(0.01), X, labels, metrics=metrics, outer=4)
        (score,) = result.scores.values()
        assert score.greater_is_better
        assert 0.5 < score.low < score.mean < score.high <= 1.0
        np.testing.assert_allclose(score.pooled.value, geometric_mean(labels, result.predictions), rtol=1e-12)


def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    return X, X[:, 0] * 2.0 - X[:, 1] + 0.3 * rng.standard_normal(120)

"""Plain loops that run before their compiled ones: the same bits, and nothing is compiled for one small fit."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gramian as gm
from gramian._core.numerics.compiled import interpreted
from gramian.objective.problem import Problem
from gramian.solvers.first_order import perceptron
from gramian.solvers.kernel import dual_perceptron
from gramian.solvers.smooth.plain_descent import minimise_plain
from gramian.solvers.smooth.proximal_newton import minimise
from gramian.solvers.solve import fit_problem
from gramian.structures.components.quadrics import circle
from gramian.structures.components.quadrics import ellipsoid_projection as projection


@pytest.mark.parametrize("seed", range(50))
def test_plain_proximal_descent_has_the_compiled_bits(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 20))
    A = rng.normal(size=(int(rng.integers(1, p + 3)), p)) * 10.0 ** rng.uniform(-2, 2, p)
    x, slope, l1 = rng.normal(size=p) * (rng.random(p) < 0.6), 10.0 * rng.normal(size=p), rng.random(p)
    low, high = (np.where(rng.random(p) < 0.4, sign * rng.random(p), sign * np.inf) for sign in (-1.0, 1.0))
    x = np.clip(x, low, high)
    found = []
    for loop in (minimise, minimise_plain):
        there, left = x.copy(), slope.copy()
        loop(A.T @ A, there, left, l1, low, high, 1e-9, 300)
        found.append((there, left))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("seed", range(50))
def test_plain_ellipsoid_projections_have_the_compiled_bits(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 160)), int(rng.integers(2, 12))
    X, axes = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.9), 10.0 ** rng.uniform(-3, 1, d)
    a = axes / axes.max()
    results = []
    for project in (projection._project_rows, projection._project_rows_plain):
        y, distances = np.empty((n, d)), np.empty(n)
        project(X, a, *projection._gaps(a), np.empty(d), y, distances)
        results.append(np.column_stack([y, distances]))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("seed", range(50))
def test_plain_circle_equations_have_the_compiled_bits(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 160)), int(rng.integers(1, 12))
    X, weight, state = rng.normal(size=(n, d)), rng.random(n), rng.normal(size=d + 1)
    X[0] = 0.3 + 1.7 * state[:d]  # a row at the centre
    results = []
    for equations in (circle._equations, circle._equations_plain):
        gradient, hessian = np.zeros(d + 1), np.zeros((d + 1, d + 1))
        J = np.append(state[:d], -1.0)
        value = equations(X, weight, np.full(d, 0.3), 1.7, state, J, gradient, hessian)
        results.append(np.concatenate([gradient, hessian.ravel(), [value]]))
    np.testing.assert_array_equal(*results)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_plain_perceptron_has_the_compiled_bits(monkeypatch, kernel):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) + 4.0 * np.eye(3)[y]
    plain = interpreted(dual_perceptron.sweep_dual, _add_mistake=dual_perceptron._add_mistake_plain)
    loops = (dual_perceptron.sweep_dual, perceptron.sweep_dense), (plain, interpreted(perceptron.sweep_dense))
    coefs = []
    for dual, dense in loops:
        monkeypatch.setattr(dual_perceptron, "_sweep_few", dual)
        monkeypatch.setattr(perceptron, "_sweep_few", dense)
        model = gm.Perceptron(kernel=kernel, average=True, max_iter=5, random_state=0).fit(X, y)
        coefs.append(model.dual_coef_ if kernel else model.coef_)
    np.testing.assert_array_equal(*coefs)


@pytest.mark.parametrize(
    "model",
    [
        "Classifier(penalty=gm.penalties.L1())",
        "Perceptron()",
        "Perceptron(kernel='rbf')",
        "KCircles(2, n_init=2)",
    ],
)
def test_first_small_fit_compiles_nothing(tmp_path, model):
    """Within the time that plain loops are given, which is without end here, so that no clock decides."""
    code = (
        "import gramian._core.numerics.compiled as c; c.COMPILING = c.LOADING = float('inf');"
        "import numpy as np, gramian as gm; r = np.random.default_rng(0); y = np.repeat([0, 1], 40);"
        f"gm.{model}.fit(r.normal(size=(80, 3)) + 4.0 * y[:, None], y)"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not [*tmp_path.rglob("*.nbi")]


def test_huber_scale_with_group_penalty_needs_few_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 10))
    y = X[:, 0] + 0.1 * rng.normal(size=9)
    problem = Problem(gm.scan(X, y), gm.losses.Huber(), gm.penalties.GroupL1((0, 1) * 5), 0.02)
    fit = fit_problem(problem, warn=False)
    assert fit.certificate.holds
    assert fit.iterations < 100

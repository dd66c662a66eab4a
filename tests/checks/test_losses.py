"""Every loss: its derivatives are derivatives, its convexity is as declared, its conjugate is the supremum."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from checks.members import members
from gramian.objective.losses import Loss

LOSSES = members(Loss)
Y, F = np.array([-2.0, -0.3, 0.0, 0.7, 3.0]), np.array([-1.4, 0.2, 0.9, 2.1, -0.6])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradient_and_curvature_are_derivatives(loss):
    h = 1e-5
    slope = (loss.value(Y, F + h) - loss.value(Y, F - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(Y, F), slope, rtol=1e-6, atol=1e-8)
    bend = (loss.gradient(Y, F + h) - loss.gradient(Y, F - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(Y, F), bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_convexity_is_as_declared(loss):
    f = np.linspace(-5, 5, 401)
    for y in Y:
        bends = np.diff(loss.value(np.full_like(f, y), f), 2)
        assert loss.convex == bool((bends >= -1e-10).all())


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.convex], ids=repr)
def test_conjugate_is_the_supremum(loss):
    for y in Y:
        one = np.array([y])
        for f in F:
            u = loss.gradient(one, np.array([f]))
            best = minimize_scalar(lambda g, one=one, u=u: float(loss.value(one, np.array([g]))[0] - u[0] * g))
            np.testing.assert_allclose(loss.conjugate(one, u)[0], -best.fun, rtol=1e-6, atol=1e-8)

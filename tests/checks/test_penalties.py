"""Every penalty: its prox minimises what it says, its conjugate is the supremum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from checks.members import members
from gramian.objective.penalties import Penalty

SQUARE = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 0.5], [0.3, 0.0, 1.0]])
VARIANTS = {
    "ElasticNet": [{"l1_ratio": 0.0}, {"l1_ratio": 0.9}, {"l1_ratio": 1.0}],
    "Tikhonov": [{"matrix": SQUARE}, {"matrix": SQUARE[:2]}],
}
PENALTIES = [p for p in members(Penalty, VARIANTS) if getattr(p, "matrix", SQUARE).shape[1] == 3]
POINTS = np.random.default_rng(0).standard_normal((6, 3)) * 2


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_zero_and_convexity(penalty):
    assert penalty.value(np.zeros(3)) == 0.0
    for a, b in zip(POINTS, POINTS[::-1], strict=True):
        assert penalty.value((a + b) / 2) <= (penalty.value(a) + penalty.value(b)) / 2 + 1e-12


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("step", [0.1, 1.5])
def test_prox_minimises_its_objective(penalty, step):
    rng = np.random.default_rng(1)
    for w in POINTS:
        u = penalty.prox(w, step)

        def objective(v, w=w):
            return 0.5 * ((v - w) ** 2).sum() + step * penalty.value(v)

        found = objective(u)
        for size in (1.0, 1e-2, 1e-4):
            for v in u + size * rng.standard_normal((200, 3)):
                assert objective(v) >= found - 1e-10


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_conjugate_is_the_supremum(penalty):
    for w in POINTS:
        # A point where the supremum is attained: u in the subdifferential at prox(w), with step 1.
        p = penalty.prox(w, 1.0)
        u = (w - p) * (1 - 1e-12)
        np.testing.assert_allclose(penalty.conjugate(u), u @ p - penalty.value(p), rtol=1e-6, atol=1e-8)
        best = minimize(
            lambda v, u=u: penalty.value(v) - u @ v,
            p + 0.1,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
        )
        assert penalty.conjugate(u) >= -best.fun - 1e-7


def test_conjugates_are_infinite_outside_their_domain():
    from gramian.objective.penalties import L1, ElasticNet, Tikhonov

    assert L1().conjugate(np.array([1.1])) == np.inf
    assert ElasticNet(1.0).conjugate(np.array([1.1])) == np.inf
    assert Tikhonov(np.array([[1.0, 0.0]])).conjugate(np.array([0.0, 1.0])) == np.inf

"""Every penalty: its prox minimises what it says, its conjugate is the supremum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from checks.members import members
from gramian.objective.penalties import L1, L2, Box, ElasticNet, GroupL1, NonNegative, Penalty, Tikhonov, Zero

SQUARE = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 0.5], [0.3, 0.0, 1.0]])
VARIANTS = {
    "ElasticNet": [{"l1_ratio": 0.0}, {"l1_ratio": 0.9}, {"l1_ratio": 1.0}],
    "Tikhonov": [{"matrix": SQUARE}, {"matrix": SQUARE[:2]}],
    "GroupL1": [{"groups": ("a", "b", "a")}],
    "Box": [{"low": (-1.0, -np.inf, 0.0), "high": 0.5, "penalty": L1()}, {"penalty": ElasticNet(0.3)}],
    "NonNegative": [{"penalty": L2()}],
}
PENALTIES = [p for p in members(Penalty, VARIANTS) if getattr(p, "matrix", SQUARE).shape[1] == 3]
POINTS = np.random.default_rng(0).standard_normal((6, 3)) * 2


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_zero_and_convexity(penalty):
    assert penalty.value(np.zeros(3)) == 0.0
    for a, b in zip(POINTS, POINTS[::-1], strict=True):
        assert penalty.value((a + b) / 2) <= (penalty.value(a) + penalty.value(b)) / 2 + 1e-12
        assert penalty.value(penalty.prox(a, 1.0)) < np.inf


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

        def objective(v, u=u):
            inside = penalty.prox(v, 0.0)  # the projection, where there are bounds
            return penalty.value(inside) - u @ inside + np.abs(v - inside).sum()

        best = minimize(
            objective,
            p + 0.1,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000},
        )
        assert penalty.conjugate(u) >= -best.fun - 1e-7


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_parts_add_up(penalty):
    parts = penalty.parts(3)
    for w in [*POINTS, *np.clip(POINTS, 0, 0.5)]:
        S = np.diag(parts.square) if parts.square.ndim == 1 else parts.square
        total = w @ S @ w + parts.l1 @ np.abs(w)
        total += sum(np.sqrt(len(g)) * np.linalg.norm(w[g]) for g in parts.groups)
        inside = (w >= parts.low).all() and (w <= parts.high).all()
        np.testing.assert_allclose(penalty.value(w), total if inside else np.inf, rtol=1e-12)
    assert parts.bounded == isinstance(penalty, Box | NonNegative)
    assert parts.smooth == (isinstance(penalty, L2 | Tikhonov | Zero) or penalty == ElasticNet(0.0))
    assert parts.nothing == isinstance(penalty, Zero)


def test_conjugates_are_infinite_outside_their_domain():
    assert L1().conjugate(np.array([1.1])) == np.inf
    assert ElasticNet(1.0).conjugate(np.array([1.1])) == np.inf
    assert Tikhonov(np.array([[1.0, 0.0]])).conjugate(np.array([0.0, 1.0])) == np.inf
    assert GroupL1().conjugate(np.array([1.0, 1.1])) == np.inf
    assert Zero().conjugate(np.array([0.1])) == np.inf
    assert NonNegative().conjugate(np.array([0.1])) == np.inf
    assert NonNegative().conjugate(np.array([-0.1])) == 0.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ElasticNet(1.5), ValueError, "l1_ratio is 1.5"),
        (lambda: Box(2.0, 1.0), ValueError, "low is 2.0 and high 1.0"),
        (lambda: Box(0.0, 1.0, GroupL1()), TypeError, "GroupL1 cannot be had within bounds"),
        (lambda: GroupL1((0, 1)).parts(3), ValueError, "groups has 2 labels"),
        (lambda: Tikhonov(np.eye(2)).parts(3), ValueError, "one column per feature"),
    ],
)
def test_parameters_out_of_range_are_named(make, error, text):
    with pytest.raises(error, match=text):
        make()

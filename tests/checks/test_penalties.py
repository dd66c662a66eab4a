"""Every penalty: its prox minimises what it says, its conjugate is the supremum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from checks.members import members
from gramian.objective.penalties import (
    L1,
    L2,
    MCP,
    SCAD,
    Box,
    ElasticNet,
    GroupL1,
    NonNegative,
    Penalty,
    Tikhonov,
    Zero,
)

SQUARE = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 0.5], [0.3, 0.0, 1.0]])
VARIANTS = {
    "ElasticNet": [{"l1_ratio": 0.0}, {"l1_ratio": 0.9}, {"l1_ratio": 1.0}],
    "Tikhonov": [{"matrix": SQUARE}, {"matrix": SQUARE[:2]}],
    "GroupL1": [{"groups": ("a", "b", "a")}],
    "Box": [{"low": (-1.0, -np.inf, 0.0), "high": 0.5, "penalty": L1()}, {"penalty": ElasticNet(0.3)}],
    "NonNegative": [{"penalty": L2()}],
    "MCP": [{"gamma": 1.5, "scale": 0.7}, {"gamma": 0.4}],
    "SCAD": [{"a": 2.2, "scale": 0.7}, {"a": 1.3}],
}
PENALTIES = [p for p in members(Penalty, VARIANTS) if getattr(p, "matrix", SQUARE).shape[1] == 3]
CONVEX = [p for p in PENALTIES if p.convex]
IN_TERMS = [p for p in PENALTIES if p.parts(3) is not None]
CONCAVE = [p for p in PENALTIES if p.slope(np.zeros(3)) is not None]
POINTS = np.random.default_rng(0).standard_normal((6, 3)) * 2


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_zero_and_convexity(penalty):
    assert penalty.value(np.zeros(3)) == 0.0
    c = penalty.weak_convexity
    assert (c == 0.0) == penalty.convex

    def excess(a, b, c):
        """How far the value in the middle, with ½ c ‖w‖² added, is above the chord."""
        return penalty.value((a + b) / 2) - c * ((a - b) ** 2).sum() / 8 - (penalty.value(a) + penalty.value(b)) / 2

    for a, b in zip(POINTS, POINTS[::-1], strict=True):
        assert penalty.value(a) + penalty.value(b) == np.inf or excess(a, b, c) <= 1e-12
        assert penalty.value(penalty.prox(a, 1.0)) < np.inf
    if not penalty.convex:
        line = np.linspace(0.0, 5.0, 2001)[:, None] * np.array([1.0, 0.0, 0.0])
        assert max(excess(a, b, 0.99 * c) for a, b in zip(line[:-2], line[2:], strict=True)) > 0.0


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_separability(penalty):
    w = np.clip(POINTS[0], 0.0, 0.4)
    total = sum(penalty.value(np.where(np.arange(3) == j, w, 0.0)) for j in range(3))
    if penalty.separable:
        np.testing.assert_allclose(total, penalty.value(w), rtol=1e-12)
    else:
        assert type(penalty) in (Tikhonov, GroupL1)


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
def test_slope_is_the_derivative_of_a_concave_function_of_the_size(penalty):
    def value(x):
        return penalty.value(np.array([x, 0.0, 0.0]))

    slope = penalty.slope(np.zeros(3))
    np.testing.assert_array_equal(slope, 1.0)
    for x in np.abs(POINTS.ravel()):
        of_x = penalty.slope(np.array([-x, 0.0, 0.0]))[0]
        np.testing.assert_allclose((value(x + 1e-5) - value(x - 1e-5)) / 2e-5, of_x, atol=1e-5)
        for other in np.linspace(0.0, 4.0, 50):  # the tangent lies above
            assert value(other) <= value(x) + of_x * (other - x) + 1e-12


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
def test_prox_of_single_coefficients_against_a_grid(penalty):
    grid = np.linspace(-6.0, 6.0, 24_001)
    values = np.array([penalty.value(np.array([u])) for u in grid])
    for step in (0.05, 0.3, 0.9, 1.5, 4.0):
        for w in np.linspace(-5.0, 5.0, 41):
            u = penalty.prox(np.array([w]), step)
            found = 0.5 * (u[0] - w) ** 2 + step * penalty.value(u)
            assert found <= (0.5 * (grid - w) ** 2 + step * values).min() + 1e-12


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_penalty_at_an_alpha(penalty):
    at = penalty.at(0.3)
    scaled = getattr(penalty, "scale", 0.0) is None
    assert at == (type(penalty)(**vars(penalty) | {"scale": 0.15}) if scaled else penalty)
    assert at.at(0.7) == at
    assert penalty.at(0.0) == penalty


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


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda p: type(p).__name__)
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


@pytest.mark.parametrize("penalty", IN_TERMS, ids=lambda p: type(p).__name__)
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
    assert MCP().conjugate(np.array([0.1])) == SCAD().conjugate(np.array([0.1])) == np.inf
    assert MCP().conjugate(np.array([0.0])) == 0.0
    assert NonNegative().conjugate(np.array([0.1])) == np.inf
    assert NonNegative().conjugate(np.array([-0.1])) == 0.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ElasticNet(1.5), ValueError, "l1_ratio is 1.5"),
        (lambda: MCP(0.0), ValueError, "gamma is 0.0; it must be a number above 0"),
        (lambda: MCP(scale="1"), ValueError, "scale is '1'; it must be a number above 0"),
        (lambda: SCAD(1.0), ValueError, "a is 1.0; it must be a number above 1"),
        (lambda: SCAD(scale=-1.0), ValueError, "scale is -1.0; it must be a number above 0"),
        (lambda: Box(2.0, 1.0), ValueError, "low is 2.0 and high 1.0"),
        (lambda: Box(0.0, 1.0, GroupL1()), TypeError, "GroupL1 cannot be combined with bounds"),
        (lambda: GroupL1((0, 1)).parts(3), ValueError, "groups has 2 labels"),
        (lambda: Tikhonov(np.eye(2)).parts(3), ValueError, "one column per feature"),
    ],
)
def test_parameters_out_of_range_are_named(make, error, text):
    with pytest.raises(error, match=text):
        make()

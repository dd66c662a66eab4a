"""Every loss: its derivatives are derivatives, its convexity is as declared, its conjugate is the supremum."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar

import gramian as gm
from checks.members import members
from gramian.objective.losses import RootHinge
from gramian.objective.losses.base import Loss, PiecewiseLinear, Scaled

VARIANTS = {
    "Power": [{"p": p} for p in (1.0, 2.0, 3.5)],
    "Huber": [{"delta": 0.5, "scale": 2.0}],
    "StudentT": [{"nu": 1.0, "scale": 0.7}],
    "Quantile": [{"q": 0.9}],
    "MultiHinge": [{"margin": 0.0}],
    "SoftMargin": [{"temperature": 0.3}],
}
LOSSES = members(Loss, VARIANTS)
ONE = [loss for loss in LOSSES if loss.targets != "classes"]
SEVERAL = [loss for loss in LOSSES if loss.targets == "classes"]
F = np.array([-1.4, 0.2, 0.9, 2.1, -0.6])


def targets(loss):
    return {
        "numbers": np.array([-2.0, -0.3, 0.0, 0.7, 3.0]),
        "counts": np.array([0.0, 1.0, 2.0, 0.5, 7.0]),
        "signs": np.array([-1.0, 1.0, 1.0, -1.0, 1.0]),
        "classes": np.array([0.0, 2.0, 1.0, 1.0, 0.0]),
    }[loss.targets]


@pytest.mark.parametrize("loss", ONE, ids=repr)
def test_gradient_and_curvature_are_derivatives(loss):
    h, y = 1e-5, targets(loss)
    slope = (loss.value(y, F + h) - loss.value(y, F - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(y, F), slope, rtol=1e-6, atol=1e-8)
    bend = (loss.gradient(y, F + h) - loss.gradient(y, F - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(y, F), bend, rtol=1e-6, atol=1e-8)
    for together, alone in zip(loss.all(y, F), (loss.value, loss.gradient, loss.curvature), strict=True):
        np.testing.assert_allclose(together, alone(y, F), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_gradient_and_curvature_of_several_classes(loss):
    h, y = 1e-5, targets(loss)
    f = np.random.default_rng(0).standard_normal((5, 3)) * 2
    for j in range(3):
        step = h * np.eye(3)[j]
        slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * h)
        np.testing.assert_allclose(loss.gradient(y, f)[:, j], slope, rtol=1e-6, atol=1e-8)
        bend = (loss.gradient(y, f + step) - loss.gradient(y, f - step)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(y, f)[:, :, j], bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", ONE, ids=repr)
def test_convexity_and_smoothness_are_as_declared(loss):
    f = np.linspace(-5, 5, 4001)
    rough = False
    for y in targets(loss):
        bends = np.diff(loss.value(np.full_like(f, y), f), 2)
        assert not loss.convex or (bends >= -1e-10).all()
        rough |= bool((np.abs(np.diff(loss.gradient(np.full_like(f, y), f))) > 0.3).any())
    if not loss.convex:
        all_bends = [np.diff(loss.value(np.full_like(f, y), f), 2).min() for y in targets(loss)]
        assert min(all_bends) < -1e-10
    assert loss.smooth != rough or type(loss).__name__ in ("Power", "Poisson")  # steep, not broken


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_convexity_of_several_classes(loss):
    rng, y = np.random.default_rng(1), targets(loss)
    for _ in range(200):
        a, b = rng.standard_normal((2, 5, 3)) * 3
        assert (loss.value(y, (a + b) / 2) <= (loss.value(y, a) + loss.value(y, b)) / 2 + 1e-12).all()


@pytest.mark.parametrize("loss", [loss for loss in ONE if loss.convex], ids=repr)
def test_conjugate_is_the_supremum(loss):
    for y in targets(loss):
        one = np.array([y])
        for f in F:
            u = loss.gradient(one, np.array([f]))
            best = minimize_scalar(
                lambda g, one=one, u=u: float(loss.value(one, np.array([g]))[0] - u[0] * g),
                bounds=(-60, 60),
                method="bounded",
                options={"xatol": 1e-10},
            )
            np.testing.assert_allclose(loss.conjugate(one, u)[0], -best.fun, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
def test_conjugate_of_several_classes(loss):
    rng = np.random.default_rng(2)
    for y in (0.0, 1.0, 2.0):
        one, f = np.array([y]), rng.standard_normal((1, 3)) * 2
        u = loss.gradient(one, f)
        best = minimize(
            lambda g, one=one, u=u: float(loss.value(one, g[None])[0] - u[0] @ g), f[0] + 0.1, method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000},
        )  # fmt: skip
        np.testing.assert_allclose(loss.conjugate(one, u)[0], -best.fun, rtol=1e-5, atol=1e-6)
    assert loss.conjugate(np.array([0.0]), np.array([[0.5, 0.5, 0.5]]))[0] == np.inf


@pytest.mark.parametrize("loss", [loss for loss in ONE if isinstance(loss, PiecewiseLinear)], ids=repr)
def test_breakpoints_have_the_middle_slope_and_a_bounded_dual(loss):
    y = targets(loss)
    at, low, high = loss.breakpoint(y)
    np.testing.assert_allclose(loss.gradient(y, at), (low + high) / 2)
    np.testing.assert_allclose(loss.value(y, at), 0.0)
    assert (loss.conjugate(y, high + 0.1) == np.inf).all()
    assert (loss.conjugate(y, low - 0.1) == np.inf).all()


@pytest.mark.parametrize("loss", [loss for loss in ONE if not loss.convex], ids=repr)
def test_losses_that_are_not_convex_have_no_conjugate(loss):
    with pytest.raises(TypeError, match="is not convex"):
        loss.conjugate(targets(loss), F)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_probabilities_and_links(loss):
    y = targets(loss)
    f = F if loss.targets != "classes" else np.random.default_rng(0).standard_normal((5, 3))
    p = loss.probabilities(f)
    if p is not None:  # the loss is −log of them
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
        codes = ((y + 1) / 2 if loss.targets == "signs" else y).astype(int)
        np.testing.assert_allclose(-np.log(p[np.arange(5), codes]), loss.value(y, f), rtol=1e-12)
    if loss.targets == "counts":  # the mean makes the gradient zero
        np.testing.assert_allclose(loss.gradient(loss.mean(f), f), 0.0, atol=1e-14)
    if loss.targets == "numbers" and not isinstance(loss, Scaled):
        np.testing.assert_array_equal(loss.mean(f), f)
    assert np.isfinite(loss.start(float(y.mean())))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if isinstance(loss, Scaled)], ids=repr)
def test_scales(loss):
    y = targets(loss)
    wide, narrow = loss.at(2.0), loss.at(1.0)
    at_wide, at_narrow = wide.value(2 * y, 2 * F) - wide.value(F, F)[0], narrow.value(y, F) - narrow.value(F, F)[0]
    np.testing.assert_allclose(at_wide, at_narrow, rtol=1e-12, atol=1e-12)
    assert np.isfinite(loss.joint(y, F, 0.5)).all()


def test_student_t_is_a_density():
    from gramian.objective.losses import StudentT

    loss = StudentT(3.0, 0.7)
    total = quad(lambda v: np.exp(-loss.value(np.array([v]), np.array([0.2]))[0]), -np.inf, np.inf)[0]
    np.testing.assert_allclose(total, 1.0, rtol=1e-8)
    y = np.array([1.0, -2.0])
    np.testing.assert_allclose(loss.weight(y, F[:2]) * (F[:2] - y), loss.gradient(y, F[:2]), rtol=1e-14)


def test_huge_predictions_stay_finite():
    for loss in LOSSES:
        y = targets(loss)
        f = np.full(5, 1e4) if loss.targets != "classes" else np.array([[1e4, -1e4, 0.0]] * 5)
        for sign in (1, -1):
            assert np.isfinite(loss.value(y, sign * f)).all(), loss
            assert np.isfinite(loss.gradient(y, sign * f)).all(), loss
    assert RootHinge().gradient(np.array([1.0]), np.array([2.0])) == 0.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda L: L.Power(0.5), "p is 0.5"),
        (lambda L: L.Huber(-1.0), "delta is -1"),
        (lambda L: L.Huber(1.0, 0.0), "scale is 0"),
        (lambda L: L.StudentT(0.0), "nu is 0"),
        (lambda L: L.StudentT(1.0, -2.0), "scale is -2"),
        (lambda L: L.Quantile(1.0), "q is 1"),
        (lambda L: L.Poisson().refuse(-1.0, 1.0), "y goes down to -1"),
    ],
)
def test_parameters_out_of_range_are_named(make, text):
    from gramian.objective import losses

    with pytest.raises(ValueError, match=text):
        make(losses)


class Given(Loss):
    """A loss that has nothing of its own: what the base derives is checked."""

    def __init__(self, inner):
        self.inner, self.smooth, self.targets = inner, inner.smooth, inner.targets

    def value(self, y, f):
        return self.inner.value(y, f)

    def gradient(self, y, f):
        return self.inner.gradient(y, f)

    def curvature(self, y, f):
        return self.inner.curvature(y, f)


@pytest.mark.parametrize("given", [False, True], ids=["own", "derived"])
@pytest.mark.parametrize("loss", [loss for loss in ONE if loss.convex], ids=repr)
def test_envelope_is_the_least_sum(loss, given):
    y, judged = targets(loss), Given(loss) if given else loss
    for step in (1e-3, 0.3, 20.0):
        value, slope, bend = judged.envelope(y, F, step)
        for i in range(len(y)):

            def total(x, i=i, step=step):
                return float(loss.value(y[i : i + 1], np.array([x]))[0] + (x - F[i]) ** 2 / (2 * step))

            x = F[i] - step * slope[i]
            np.testing.assert_allclose(value[i], total(x), rtol=1e-9, atol=1e-12)
            for away in (1e-6, 1e-3, 0.1, 3.0):
                assert value[i] <= min(total(x - away), total(x + away)) + 1e-12 * (1 + abs(value[i]))
        h = 1e-6
        ends = judged.envelope(y, F + h, step), judged.envelope(y, F - h, step)
        np.testing.assert_allclose(slope, (ends[0][0] - ends[1][0]) / (2 * h), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(bend, (ends[0][1] - ends[1][1]) / (2 * h), rtol=1e-4, atol=1e-4)
        low, high = loss.slopes(y)
        assert ((slope >= low) & (slope <= high)).all()
        assert np.isfinite(loss.conjugate(y, np.clip(slope, low, high))).all()


@pytest.mark.parametrize("loss", [loss for loss in SEVERAL if loss.convex], ids=repr)
def test_envelope_of_several_classes_is_the_least_sum(loss):
    y, f = targets(loss), np.random.default_rng(2).standard_normal((5, 3)) * 2
    rng, h = np.random.default_rng(3), 1e-6
    for step in (0.05, 1.0, 30.0):
        value, slope, bend = loss.envelope(y, f, step)
        x = f - step * slope
        np.testing.assert_allclose(value, loss.value(y, x) + ((x - f) ** 2).sum(axis=1) / (2 * step), rtol=1e-9)
        assert np.isfinite(loss.conjugate(y, slope)).all()
        for size in (1e-4, 0.1, 2.0):
            z = x + size * rng.standard_normal(x.shape)
            assert (loss.value(y, z) + ((z - f) ** 2).sum(axis=1) / (2 * step) >= value - 1e-10).all()
        for j in range(3):
            ahead, behind = loss.envelope(y, f + h * np.eye(3)[j], step), loss.envelope(y, f - h * np.eye(3)[j], step)
            np.testing.assert_allclose(slope[:, j], (ahead[0] - behind[0]) / (2 * h), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(bend[:, :, j], (ahead[1] - behind[1]) / (2 * h), rtol=1e-4, atol=1e-4)


def test_envelope_of_a_power_near_the_median():
    """At p near 1 the residual of the proximal point is far below rounding, and its slope is still exact."""
    loss = gm.losses.Power(1.02)
    _, slope, _ = loss.envelope(np.array([5.0]), np.array([5.3]), 1.0)
    np.testing.assert_allclose(slope, 0.3, rtol=1e-12)

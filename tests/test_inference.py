"""Standard errors and intervals of M-estimators in small samples, and fits that leave no noise."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.stats import t as student

import gramian as gm
from gramian.objective.problem import Problem
from gramian.solvers.smooth.perfect_fit import exact_share

L = gm.losses


def small_table(seed=0, n=18, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    return X, X @ [1.0, -0.3, 2.0] + rng.standard_t(3, n)


@pytest.mark.parametrize(
    "loss", [gm.losses.Huber(), gm.losses.StudentT(), gm.losses.StudentT(2.0, scale=0.7)], ids=repr
)
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_small_sample_sandwich_is_its_definition(loss, alpha):
    """HC3 with curvatures as weights, the scale corrected for degrees of freedom, Student's t."""
    X, y = small_table()
    model = gm.Regressor(loss, "l2", alpha, tol=1e-11).fit(X, y)
    n, Z = len(y), np.column_stack([np.ones(len(y)), X])
    r = y - model.predict(X)
    S = np.diag([0.0, *[2.0 * alpha * n] * 3])

    def parts(scale):
        if isinstance(loss, gm.losses.Huber):
            psi, curved = 2.0 * np.clip(r / scale, -1.35, 1.35), 2.0 * (np.abs(r / scale) <= 1.35) / scale
            return psi, curved, np.minimum(np.abs(r / scale), 1.35) ** 2
        bottom = loss.nu * scale**2 + r**2
        curved = (loss.nu + 1) * (loss.nu * scale**2 - r**2) / bottom**2
        return (loss.nu + 1) * r / bottom, curved, (loss.nu + 1) * r**2 / bottom

    scale = model.scale_
    if loss.scale is None:
        H = Z.T @ (parts(scale)[1][:, None] * Z)
        df = np.trace(np.linalg.solve(H + S, H))
        scale = brentq(lambda s: parts(s)[2].sum() - (n - df), scale, 100 * scale, xtol=1e-12)
    psi, curved, _ = parts(scale)
    inverse = np.linalg.inv(Z.T @ (curved[:, None] * Z) + S)
    leverage = np.clip(curved * np.einsum("ij,jk,ik->i", Z, inverse, Z), 0, 0.999)
    meat = Z.T @ ((psi / (1 - leverage))[:, None] ** 2 * Z)
    error = np.sqrt(np.diag(inverse @ meat @ inverse))
    summary = model.summary()
    np.testing.assert_allclose(summary.coefficients["error"], error, rtol=2e-3)
    freedom = summary.facts["df"]
    assert freedom == pytest.approx(n - leverage.sum(), abs=1e-2)
    half = summary.coefficients["high"] - summary.coefficients["estimate"]
    np.testing.assert_allclose(half, student.ppf(0.975, freedom) * summary.coefficients["error"], rtol=1e-9)
    ratio = np.abs(summary.coefficients["estimate"]) / summary.coefficients["error"]
    np.testing.assert_allclose(summary.coefficients["p"], 2 * student.sf(ratio, freedom), rtol=1e-7)


@pytest.mark.parametrize("loss", [gm.losses.Huber(), gm.losses.StudentT(), gm.losses.Squared()], ids=repr)
def test_errors_of_weights_are_those_of_repetition(loss):
    X, y = small_table(1, n=25)
    w = np.random.default_rng(2).integers(0, 4, 25)
    a = gm.Regressor(loss, "l2", 1e-3, tol=1e-11).fit(X, y, sample_weight=w).summary()
    b = gm.Regressor(loss, "l2", 1e-3, tol=1e-11).fit(np.repeat(X, w, axis=0), np.repeat(y, w)).summary()
    for name in ("error", "low", "high"):
        np.testing.assert_allclose(a.coefficients[name], b.coefficients[name], rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("nu", [1.0, 2.0, 4.0])
def test_an_unbounded_likelihood_has_no_optimum(nu, unit):
    """More rows are fitted exactly than nu · (n − m): the likelihood grows without bound as the scale goes to 0."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    y = X @ [1.0, 2.0] + 3.0
    exact = int(np.floor(60 * nu / (nu + 1))) + 4
    y[exact:] += 1.0 + rng.standard_exponential(60 - exact)
    with pytest.warns(gm.ConvergenceWarning, match="likelihood is unbounded") as caught:
        model = gm.Regressor(gm.losses.StudentT(nu), None, 0.0).fit(X, unit * y)
    assert len(caught) == 1
    assert not model.certificate_.holds
    assert model.certificate_.claim == "no optimum exists"
    np.testing.assert_allclose(model.coef_, [unit, 2 * unit], rtol=1e-6)
    for method, options in (("summary", ()), ("predict", (X, 0.9)), ("predict_distribution", (X,))):
        with pytest.raises(ValueError, match=r"unbounded as the scale goes to 0.* Give the scale"):
            getattr(model, method)(*options)
    given = gm.Regressor(gm.losses.StudentT(nu, scale=0.1 * unit), None, 0.0).fit(X, unit * y)
    assert given.certificate_.holds
    assert "error" in given.summary().coefficients


def test_fewer_exact_rows_leave_an_optimum():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 2))
    y = X @ [1.0, 2.0] + 3.0
    y[40:] += 1.0 + rng.standard_exponential(20)  # 40 < 4 · 20
    model = gm.Regressor(gm.losses.StudentT(4.0), None, 0.0).fit(X, y)
    assert model.certificate_.holds
    assert model.scale_ > 1e-3
    assert "error" in model.summary().coefficients


def test_one_far_row_is_no_perfect_fit():
    X, y = small_table(5, n=40)
    plain = gm.Regressor(gm.losses.StudentT(), None, 0.0).fit(X[1:], y[1:])
    y[0] = 1e11
    model = gm.Regressor(gm.losses.StudentT(), None, 0.0).fit(X, y)
    assert model.certificate_.holds
    assert model.scale_ == pytest.approx(plain.scale_, rel=0.5)


@pytest.mark.parametrize("penalty", [gm.penalties.L1(), gm.penalties.GroupL1((0,) * 40)], ids=repr)
def test_a_stationary_point_of_an_unbounded_likelihood_is_no_optimum(penalty):
    """As many independent rows as columns can be fitted exactly, wherever the fit ends."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    with pytest.warns(gm.ConvergenceWarning, match="likelihood is unbounded"):
        model = gm.Regressor(gm.losses.StudentT(4.0), penalty, 1.0).fit(X, y)
    assert model.scale_ > 0.1
    assert model.certificate_.claim == "no optimum exists"
    given = gm.Regressor(gm.losses.StudentT(4.0, scale=0.5), penalty, 1.0).fit(X, y)
    assert given.certificate_.claim == "stationary point"


@pytest.mark.parametrize("sparse", [False, True])
def test_the_share_of_rows_that_can_be_fitted_exactly(sparse):
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    X[10:20], y[10:20] = X[0], y[0]  # eleven of one row
    X[20:30] = X[1]  # eleven of one row with targets that differ
    y[30:37] = 5.0

    def share(w=None, intercept=True, y=y):
        rows = gm.scan(csr_array(X) if sparse else X, y, sample_weight=w)
        return exact_share(Problem(rows, gm.losses.StudentT(), gm.penalties.L2(), 1.0, intercept=intercept), 0.28)

    assert share() == pytest.approx((11 + 3) / 40)
    assert share(intercept=False) == pytest.approx((11 + 2) / 40)
    w = np.where(np.arange(40) >= 30, 100.0, 1.0)
    assert share(w) == pytest.approx(700 / 1030)
    assert share(w, intercept=False) == pytest.approx(300 / 1030)
    assert share(w, intercept=False, y=y - 5.0) == pytest.approx(700 / 1030)


@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-10, 1e-8])
@pytest.mark.parametrize("outliers", [0, 1, 3, 10])
def test_huber_with_its_scale_on_perfect_fits(noise, outliers):
    """The objective is linear towards a perfect fit at the scale 0, where no curvature shows the way."""
    rng = np.random.default_rng(outliers)
    X = rng.standard_normal((40, 3))
    y = X @ [1.0, 2.0, 3.0] + 4.0 + noise * rng.standard_normal(40)
    y[:outliers] += 1.0 + rng.standard_exponential(outliers)
    model = gm.Regressor(gm.losses.Huber(), None, 0.0).fit(X, y)
    assert model.certificate_.claim == "global optimum"
    assert model.n_iter_ < 100
    assert "estimated scale is nothing" in model.certificate_.note
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], rtol=1e-7)
    off = np.abs(y - model.predict(X))
    assert model.objective_ == pytest.approx(2 * 1.35 * off.mean(), rel=1e-7, abs=1e-8 * np.ptp(y))
    with pytest.raises(ValueError, match="Give the scale"):
        model.summary()

"""MCP and SCAD: closed forms, brute force, other libraries' parametrisation, and honest certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import gramian as gm
from gramian.objective.problem import Problem
from gramian.solvers.solve import fit_problem

PENALTIES = [gm.penalties.MCP(), gm.penalties.SCAD(), gm.penalties.MCP(1.4), gm.penalties.SCAD(2.1)]


def firm(z, lam, gamma):
    """The literature's MCP estimate (Zhang 2010) of one standardised coefficient: min ½ (z − w)² + p_λ,γ(w)."""
    soft = np.sign(z) * np.maximum(np.abs(z) - lam, 0.0)
    return np.where(np.abs(z) <= gamma * lam, soft / (1.0 - 1.0 / gamma), z)


def clipped(z, lam, a):
    """The literature's SCAD estimate (Fan and Li 2001)."""
    soft = np.sign(z) * np.maximum(np.abs(z) - lam, 0.0)
    middle = ((a - 1.0) * z - np.sign(z) * a * lam) / (a - 2.0)
    return np.select([np.abs(z) <= 2.0 * lam, np.abs(z) <= a * lam], [soft, middle], z)


def table(seed=0, n=60, d=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, :3] @ np.array([3.0, -2.0, 0.5])[:d] + rng.standard_normal(n)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_path_of_an_orthogonal_design_is_the_closed_form_of_the_literature(penalty):
    rng = np.random.default_rng(0)
    n, d = 64, 6
    X = np.sqrt(n) * np.linalg.qr(rng.standard_normal((n, d)))[0]  # XᵀX / n = I
    y = X @ np.array([4.0, -2.0, 1.0, 0.5, -0.2, 0.0]) + 0.1 * rng.standard_normal(n)
    z = X.T @ y / n
    expected = firm if isinstance(penalty, gm.penalties.MCP) else clipped
    shape = penalty.gamma if isinstance(penalty, gm.penalties.MCP) else penalty.a
    for alpha in np.geomspace(9.0, 0.01, 25):
        model = gm.Regressor("squared", penalty, alpha, fit_intercept=False, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(model.coef_, expected(z, alpha / 2.0, shape), atol=1e-8)
        np.testing.assert_allclose(
            model.objective_,
            np.mean((y - X @ model.coef_) ** 2) + alpha * penalty.at(alpha).value(model.coef_),
            rtol=1e-12,
        )


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_fit_is_a_local_minimum_and_no_worse_than_the_lasso(penalty, seed):
    X, y = table(seed, n=25, d=2)
    alpha = 0.6
    model = gm.Regressor("squared", penalty, alpha).fit(X, y)
    lasso = gm.Regressor("squared", "l1", alpha).fit(X, y)

    def objective(w):
        r = y - X @ w
        return np.mean((r - r.mean()) ** 2) + alpha * penalty.at(alpha).value(np.asarray(w))

    np.testing.assert_allclose(objective(model.coef_), model.objective_, rtol=1e-12)
    assert objective(model.coef_) <= objective(lasso.coef_)
    rng = np.random.default_rng(seed)
    for size in (1e-2, 1e-4):
        for step in rng.standard_normal((100, 2)):
            assert objective(model.coef_ + size * step) >= model.objective_ - 1e-12
    starts = [*rng.normal(0.0, 3.0, (12, 2)), np.zeros(2), lasso.coef_]
    ends = [minimize(objective, w, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}) for w in starts]
    # The curvature 2 of the loss is larger than that of these penalties here: the stationary point is the minimum.
    assert model.objective_ <= min(end.fun for end in ends) + 1e-8


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_objective_never_increases_and_the_claim_is_a_stationary_point(penalty):
    X, y = table(5)
    for loss, target in (("squared", y), ("huber", y), ("poisson", np.round(np.exp(0.2 * y)))):
        model = gm.Regressor(loss, penalty, 0.3).fit(X, target)
        values = [value for _, value, _ in model.history_]
        assert (np.diff(values) <= 1e-12 * abs(values[0])).all()
        assert model.certificate_.claim == "stationary point"
        assert "local linear approximation" in str(model.solver_)
    labels = np.digitize(y, [-2.0, 2.0])
    for loss, target in (("logistic", y > 0), ("softmax", labels), ("hinge", y > 0)):
        model = gm.Classifier(loss, penalty, 0.1).fit(X, target)
        assert model.certificate_.claim == "stationary point"
        assert (np.abs(model.coef_) == 0.0).any()


def test_certificate_is_recomputed_for_the_point_returned():
    X, y = table(6)
    with pytest.warns(gm.ConvergenceWarning, match="KKT residual"):
        model = gm.Regressor("squared", "mcp", 0.3, max_iter=1, tol=1e-14).fit(X, y)
    assert model.certificate_.claim == "not converged"
    w, alpha = model.coef_, 0.3
    r = y - X @ w
    gradient = -2.0 * (X - X.mean(axis=0)).T @ (r - r.mean()) / len(y)
    slope = alpha * np.maximum(1.0 - np.abs(w) / (3.0 * alpha / 2.0), 0.0)
    left = np.where(w == 0.0, np.maximum(np.abs(gradient) - slope, 0.0), np.abs(gradient + slope * np.sign(w)))
    assert model.certificate_.value > 0.0
    assert left.max() > 0.0


def test_the_scale_may_be_given():
    """The literature's penalty of a likelihood: λ = alpha, and its γ, with a scale of alpha."""
    X, y = table(7)
    fixed = gm.Classifier("logistic", gm.penalties.MCP(3.0, scale=0.05), 0.05).fit(X, y > 0)
    wide = gm.Classifier("logistic", gm.penalties.MCP(6.0), 0.05).fit(X, y > 0)
    np.testing.assert_allclose(fixed.coef_, wide.coef_, atol=1e-8)


def test_units_of_the_target_change_nothing():
    X, y = table(8)
    one = gm.Regressor("squared", "scad", 0.4).fit(X, y)
    other = gm.Regressor("squared", "scad", 400.0).fit(X, 1000.0 * y)
    np.testing.assert_allclose(other.coef_, 1000.0 * one.coef_, rtol=1e-7)


def test_alpha_auto_sparse_wide_and_weighted():
    X, y = table(9, n=80, d=12)
    model = gm.Regressor("squared", "mcp", alphas=8, cv=3).fit(X, y)
    assert model.certificate_.claim == "stationary point"
    assert model.path_.coefs.shape[1:] == (12,)
    assert (model.coef_[[0, 1]] != 0.0).all()
    assert (model.coef_ == 0.0).sum() >= 5
    again = gm.Regressor("squared", "mcp", model.alpha_).fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-7)
    wide = sp.random_array((40, 2500), density=0.02, rng=np.random.default_rng(0), format="csr")
    target = wide[:, :3].sum(axis=1) + 0.1 * y[:40]
    found = gm.Regressor("squared", "scad", 0.05).fit(wide, target)
    dense = gm.Regressor("squared", "scad", 0.05).fit(wide.toarray(), target)
    assert found.certificate_.claim == "stationary point"
    np.testing.assert_allclose(found.coef_, dense.coef_, atol=1e-6)
    w = np.random.default_rng(1).integers(0, 3, 80)
    weighted = gm.Regressor("squared", "mcp", 0.3).fit(X, y, sample_weight=w)
    repeated = gm.Regressor("squared", "mcp", 0.3).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_without_alpha_there_is_no_penalty():
    X, y = table(10)
    model = gm.Regressor("squared", "mcp", 0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, gm.LinearRegression().fit(X, y).coef_, rtol=1e-8)
    assert model.certificate_.claim == "global optimum"


def test_classes_that_free_coefficients_separate_are_reported():
    X = np.column_stack([np.linspace(-1.0, 1.0, 40), np.random.default_rng(0).standard_normal(40)])
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly"):
        model = gm.Classifier("logistic", "mcp", 0.01).fit(X, X[:, 0] > 0)
    assert model.separated_
    assert model.certificate_.claim == "no optimum exists"
    assert np.isfinite(model.coef_).all()


def test_gradient_descent_reaches_a_stationary_point_too():
    X, y = table(11)
    problem = Problem(gm.scan(X, y), gm.losses.Squared(), gm.penalties.MCP(), 0.3)
    found = fit_problem(problem, solver=gm.solvers.GradientDescent("line_search", tol=1e-9))
    assert found.certificate.claim == "stationary point"
    np.testing.assert_allclose(found.coef, fit_problem(problem).coef, atol=1e-6)


def test_parameters_are_paths_and_kernels_keep_their_norm():
    model = gm.Regressor(penalty="mcp").set_params(penalty__gamma=2.0)
    assert model.penalty == gm.penalties.MCP(2.0)
    with pytest.raises(ValueError, match="With kernel= the penalty is the norm"):
        gm.Regressor(penalty="scad", kernel="rbf").fit(*table())

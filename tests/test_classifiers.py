"""Logistic regression and the general classifier: optima, errors, probabilities, weights, costs, scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression as Sister
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.objective.losses import Logistic, Softmax
from gramian.rows.labels import CodedRows
from gramian.solvers.solve import RIDGE_OF_SEPARATED


def problem(seed, n=300, d=4, k=2, noise=1.0):
    """Rows and classes 0 … k − 1 that overlap, every class with a few rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + rng.uniform(-1, 1, d)
    f = X @ rng.standard_normal((d, k)) + noise * rng.gumbel(size=(n, k))
    y = f.argmax(axis=1)
    y[: 2 * k] = np.tile(np.arange(k), 2)
    return X, y


def objective(model, X, y, alpha=0.0, l1=0.0, l2=1.0, w=None):
    """Mean −log-likelihood and penalty at the model's coefficients, written out."""
    w = np.ones(len(y)) if w is None else w
    f = X @ model.coef_.T + model.intercept_
    codes = np.searchsorted(model.classes_, y)
    if f.shape[1] == 1:
        loss = np.logaddexp(0.0, -np.where(codes == 1, 1.0, -1.0) * f[:, 0])
    else:
        loss = logsumexp(f, axis=1) - f[np.arange(len(f)), codes]
    return w @ loss / w.sum() + alpha * (l1 * np.abs(model.coef_).sum() + l2 * (model.coef_**2).sum())


def sister(C, l1_ratio=0.0, **more):
    solver = "saga" if l1_ratio else "lbfgs"
    model = Sister(C=C, solver=solver, tol=1e-10 if l1_ratio == 0 else 1e-8, max_iter=20_000, **more)
    if model.penalty == "deprecated":  # scikit-learn 1.8
        return model.set_params(l1_ratio=l1_ratio)
    return model.set_params(penalty="elasticnet", l1_ratio=l1_ratio) if l1_ratio else model


# optima


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_l2_is_scikit_learns(k, alpha):
    X, y = problem(k, k=k)
    ours = gm.LogisticRegression(alpha=alpha).fit(X, y)
    theirs = sister(1.0 / (2 * len(y) * alpha)).fit(X, y)
    assert ours.certificate_.holds
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape
    best = objective(ours, X, y, alpha)
    assert ours.objective_ == pytest.approx(best, rel=1e-12)
    assert best <= objective(theirs, X, y, alpha) * (1 + 1e-12)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_l1_and_elastic_nets_are_scikit_learns(k, ratio):
    X, y = problem(10 + k, n=150, d=6, k=k)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[:, 4:] = np.random.default_rng(1).standard_normal((len(y), 2))
    alpha, n = 0.05, len(y)
    ours = gm.LogisticRegression(alpha=alpha, penalty=gm.penalties.ElasticNet(ratio)).fit(X, y)
    l1, l2 = alpha * ratio, 2 * alpha * (1 - ratio)  # theirs: (1 / nC) (r |w| + (1 − r) / 2 |w|²)
    theirs = sister(1.0 / (n * (l1 + l2)), l1 / (l1 + l2)).fit(X, y)
    mine, other = (objective(m, X, y, alpha, ratio, 1 - ratio) for m in (ours, theirs))
    assert ours.certificate_.holds
    assert mine <= other + 1e-10
    assert mine == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert (ours.coef_ == 0).any()
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) < 1e-7)


def test_l1_ends_of_the_elastic_net_are_the_named_penalties():
    X, y = problem(3, n=120)
    for name, ratio in (("l1", 1.0), ("l2", 0.0)):
        one = gm.LogisticRegression(alpha=0.02, penalty=name).fit(X, y)
        two = gm.LogisticRegression(alpha=0.02, penalty=gm.penalties.ElasticNet(ratio)).fit(X, y)
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_a_strong_l1_leaves_the_shares_of_the_classes(k):
    """N-26: above the largest slope of the loss at zero every coefficient is exactly zero, just below one is not."""
    X, y = problem(20 + k, k=k)
    own = np.eye(k)[y]
    slopes = np.abs((own - own.mean(axis=0)).T @ X) / len(y)
    top = slopes.max() if k > 2 else slopes[1].max()
    above = gm.LogisticRegression(alpha=top * 1.000001, penalty="l1").fit(X, y)
    assert (above.coef_ == 0).all()
    np.testing.assert_allclose(above.predict_proba(X[:1])[0], np.bincount(y) / len(y), atol=1e-7)
    below = gm.LogisticRegression(alpha=top * 0.999, penalty="l1").fit(X, y)
    assert 1 <= np.count_nonzero(below.coef_) <= 2


@pytest.mark.parametrize(
    "penalty",
    [
        gm.penalties.Tikhonov(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [0.3, 0.0, 0.0]])),
        gm.penalties.NonNegative(),
    ],
)
def test_penalties_against_a_slow_minimiser(penalty):
    X, y = problem(4, n=100, d=3)
    ours = gm.LogisticRegression(alpha=0.1, penalty=penalty).fit(X, y)
    signs = 2.0 * y - 1.0

    def value(t):
        inside = np.maximum(t[:3], 0.0) if isinstance(penalty, gm.penalties.NonNegative) else t[:3]
        return np.logaddexp(0.0, -signs * (X @ inside + t[3])).mean() + 0.1 * penalty.value(inside)

    bounds = [(0 if isinstance(penalty, gm.penalties.NonNegative) else None, None)] * 3 + [(None, None)]
    slow = minimize(value, np.zeros(4), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    mine = value(np.append(ours.coef_[0], ours.intercept_))
    assert mine <= slow.fun + 1e-10
    assert mine == pytest.approx(slow.fun, abs=1e-7)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_at_the_answer_is_zero(loss, intercept):
    """N-25, recomputed."""
    X, y = problem(5)
    alpha = 0.03
    model = gm.Classifier(loss, alpha=alpha, fit_intercept=intercept).fit(X, y)
    signs = 2.0 * y - 1.0
    m = signs * (X @ model.coef_[0] + model.intercept_[0])
    slope = -signs * (expit(-m) if loss == "logistic" else 2.0 * np.maximum(1.0 - m, 0.0))
    np.testing.assert_allclose(X.T @ slope / len(y) + 2 * alpha * model.coef_[0], 0.0, atol=1e-7)
    if intercept:
        assert abs(slope.mean()) < 1e-7
    else:
        assert model.intercept_[0] == 0.0


# inference


def test_unpenalised_is_statsmodels():
    X, y = problem(6, n=400, d=3)
    model = gm.LogisticRegression(penalty=None).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14)
    table, facts = model.summary().coefficients, model.summary().facts
    assert model.alpha_ == 0.0
    assert list(table["name"]) == ["intercept", "x0", "x1", "x2"]
    np.testing.assert_allclose(table["estimate"], theirs.params, rtol=1e-7)
    np.testing.assert_allclose(table["error"], theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(table["p"], theirs.pvalues, rtol=1e-5)
    np.testing.assert_allclose(np.column_stack([table["low"], table["high"]]), theirs.conf_int(), rtol=1e-6)
    assert facts["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-10)
    assert facts["n"] == 400


def test_weights_are_counts_for_errors_and_likelihood():
    X, y = problem(7, n=200, d=3)
    w = np.random.default_rng(7).integers(0, 4, 200).astype(float)
    model = gm.LogisticRegression(penalty=None).fit(X, y, sample_weight=w)
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial(), freq_weights=w).fit(tol=1e-14)
    table = model.summary().coefficients
    np.testing.assert_allclose(table["estimate"], theirs.params, rtol=1e-6)
    np.testing.assert_allclose(table["error"], theirs.bse, rtol=1e-5)
    assert model.summary().facts["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-9)


def test_multinomial_is_statsmodels():
    """Theirs has the first class for its reference; ours sum to zero: one linear map leads from one to the other."""
    X, y = problem(8, n=500, d=2, k=3)
    model = gm.LogisticRegression(penalty=None).fit(X, y)
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, maxiter=100)
    ours = np.column_stack([model.intercept_, model.coef_])
    np.testing.assert_allclose((ours[1:] - ours[0]).T, theirs.params, rtol=1e-5)
    np.testing.assert_allclose(ours.sum(axis=0), 0.0, atol=1e-9)
    assert model.summary().facts["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-9)
    center = np.kron(np.vstack([np.zeros(2), np.eye(2)]) - 1.0 / 3.0 * np.ones((3, 2)), np.eye(3))
    errors = np.sqrt(np.diagonal(center @ theirs.cov_params() @ center.T))
    table = model.summary().coefficients
    np.testing.assert_allclose(table["error"], errors, rtol=1e-4)
    assert list(table["class"]) == [str(c) for c in np.repeat([0, 1, 2], 3)]


def test_squared_hinge_has_sandwich_errors():
    X, y = problem(9, n=400, d=2)
    model = gm.Classifier("squared_hinge", alpha=0.01).fit(X, y)
    signs = 2.0 * y - 1.0
    Z = np.column_stack([np.ones(len(y)), X])
    slack = np.maximum(1.0 - signs * (Z @ np.append(model.intercept_, model.coef_)), 0.0)
    H = 2.0 * (Z[slack > 0].T @ Z[slack > 0]) / len(y) + 2 * 0.01 * np.diag([0.0, 1.0, 1.0])
    leverage = 2.0 * (slack > 0) * ((Z @ np.linalg.inv(H)) * Z).sum(axis=1) / len(y)
    J = (Z * ((2.0 * slack / (1.0 - leverage)) ** 2)[:, None]).T @ Z / len(y)
    C = np.linalg.solve(H, np.linalg.solve(H, J).T) / len(y)
    np.testing.assert_allclose(model.summary().coefficients["error"], np.sqrt(np.diagonal(C)), rtol=1e-6)


def test_no_errors_where_theory_has_none():
    X, y = problem(9, n=100, d=2)
    summary = gm.LogisticRegression(alpha=0.01, penalty="l1").fit(X, y).summary()
    assert "error" not in summary.coefficients
    assert any("Standard errors are not given" in note for note in summary.notes)


def test_summary_of_reductions_names_the_problems():
    X, y = problem(9, n=150, d=2, k=3)
    names = np.array(["ash", "elm", "oak"])[y]
    said = {
        mc: list(
            dict.fromkeys(gm.LogisticRegression(alpha=0.1, multiclass=mc).fit(X, names).summary().coefficients["class"])
        )
        for mc in ("joint", "ovr", "ovo", "code")
    }
    assert said["joint"] == said["ovr"] == ["ash", "elm", "oak"]
    assert said["ovo"] == ["ash / elm", "ash / oak", "elm / oak"]
    assert said["code"] == ["bit 0", "bit 1", "bit 2"]
    assert "log_likelihood" not in gm.LogisticRegression(alpha=0.1, multiclass="ovr").fit(X, names).summary().facts
    assert "elm" in str(gm.LogisticRegression(alpha=0.1).fit(X, names).summary())


# hard cases


def test_columns_that_depend_on_others():
    X, y = problem(11, n=200, d=3)
    wide = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(200, 3.0), X[:, 2]])
    small = gm.LogisticRegression(penalty=None).fit(X, y)
    large = gm.LogisticRegression(penalty=None).fit(wide, y)
    assert large.certificate_.holds
    assert large.certificate_.rank == 4  # three columns and the intercept
    np.testing.assert_allclose(large.decision_function(wide), small.decision_function(X), atol=1e-6)
    assert np.isfinite(large.coef_).all()


@pytest.mark.parametrize("k", [2, 3])
def test_separable_classes_are_reported_and_finite(k):
    """N-18."""
    rng = np.random.default_rng(12)
    y = np.arange(60) % k
    X = rng.standard_normal((60, 3)) + 30 * np.eye(k, 3)[y]
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly"):
        model = gm.LogisticRegression(penalty=None).fit(X, y)
    assert model.separated_
    assert np.isfinite(model.coef_).all()
    assert "separated" in model.certificate_.note
    assert model.certificate_.claim == "no optimum exists"
    assert not model.certificate_.holds
    assert model.score(X, y) == 1.0
    if k == 2:  # the ridge that was added, in standard units: powers of two next above the deviations
        scale = 2.0 ** np.frexp(X.std(axis=0))[1]
        f = model.decision_function(X)
        signs = 2.0 * y - 1.0
        slope = -signs * expit(-signs * f)
        np.testing.assert_allclose(
            X.T @ slope / 60 + 2 * RIDGE_OF_SEPARATED * model.coef_[0] * scale**2, 0.0, atol=1e-6
        )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("matrix", [[[1.0, -1.0, 0.5]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
def test_separable_classes_where_the_penalty_is_zero(k, matrix):
    """A singular Tikhonov matrix leaves directions in which the coefficients grow at no cost."""
    rng = np.random.default_rng(14)
    y = np.arange(60) % k
    X = rng.standard_normal((60, 3))
    X[:, 2] += 30.0 * y
    if k == 3:  # three classes on one line are not separated by one direction
        X[:, 1:] = rng.standard_normal((60, 2)) + 30.0 * np.eye(3, 2)[y]
        matrix = [[1.0, 0.0, 0.0]]
    penalty = gm.penalties.Tikhonov(np.array(matrix))
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly.* at no cost"):
        model = gm.LogisticRegression(penalty=penalty, alpha=0.5).fit(X, y)
    assert model.certificate_.claim == "no optimum exists"
    assert model.score(X, y) == 1.0
    whole = gm.LogisticRegression(penalty=gm.penalties.Tikhonov(np.eye(3)), alpha=0.5).fit(X, y)
    assert whole.certificate_.claim == "global optimum"


def test_a_singular_penalty_that_stops_the_separating_direction_leaves_an_optimum():
    rng = np.random.default_rng(15)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 3))
    X[:, 0] += 30.0 * y
    penalty = gm.penalties.Tikhonov(np.array([[1.0, 0.0, 0.0]]))
    model = gm.LogisticRegression(penalty=penalty, alpha=0.5).fit(X, y)
    assert model.certificate_.claim == "global optimum"


def test_a_column_that_separates_some_rows_is_named():
    """N-19: one dummy column that is 1 for one class alone."""
    rng = np.random.default_rng(13)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {"size": rng.standard_normal(200) + 0.3 * y, "dummy": ((rng.random(200) < 0.2) & (y == 1)) * 1.0}
    )
    with pytest.warns(gm.ConvergenceWarning, match="by column 'dummy'"):
        model = gm.LogisticRegression(penalty=None).fit(frame, y)
    assert model.separated_
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
def test_alpha_zero_is_no_penalty(penalty):
    X, y = problem(13, n=100)
    model = gm.LogisticRegression(alpha=0, penalty=penalty).fit(X, y)
    np.testing.assert_allclose(model.coef_, gm.LogisticRegression(penalty=None).fit(X, y).coef_, rtol=1e-5)
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly"):
        assert (
            gm.LogisticRegression(alpha=0, penalty=penalty).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).separated_
        )


def test_a_penalty_needs_no_word_about_separation():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = gm.LogisticRegression(alpha=1e-6).fit(X, [0, 0, 1, 1])
    assert not model.separated_
    assert model.certificate_.holds


def test_one_row_in_ten_thousand():
    rng = np.random.default_rng(14)
    n = 50_000
    X = rng.standard_normal((n, 3))
    y = np.zeros(n, dtype=int)
    y[:5] = 1
    X[:5, 0] += 2.0
    model = gm.LogisticRegression(penalty=None).fit(X, y)
    assert model.certificate_.holds
    p = model.predict_proba(X)[:, 1]
    assert p.sum() == pytest.approx(5.0, rel=1e-6)  # the likelihood equation of the intercept
    np.testing.assert_allclose((p - y) @ X / n, 0.0, atol=1e-10)
    balanced = gm.LogisticRegression(alpha=0.01, class_weight="balanced").fit(X, y)
    assert balanced.predict(X[:5]).sum() >= 3


def test_units_do_not_matter_without_a_penalty():
    X, y = problem(15, n=200, d=3)
    units = np.array([1e-8, 1.0, 1e8])
    one = gm.LogisticRegression(penalty=None).fit(X, y)
    two = gm.LogisticRegression(penalty=None).fit(X * units, y)
    np.testing.assert_allclose(two.coef_ * units, one.coef_, rtol=1e-6)
    np.testing.assert_allclose(two.predict_proba(X * units), one.predict_proba(X), atol=1e-9)
    three = gm.LogisticRegression(alpha=0.01, penalty="l2").fit(X * 1e6, y)
    four = gm.LogisticRegression(alpha=0.01 * 1e12, penalty="l2").fit(X * 1e12, y)
    assert three.certificate_.holds
    np.testing.assert_allclose(three.coef_ * 1e6, four.coef_ * 1e12, rtol=1e-5)


def test_far_from_the_origin():
    X, y = problem(16, n=200, d=3)
    one, two = (gm.LogisticRegression(penalty=None).fit(X + shift, y) for shift in (0.0, 1e6))
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-5)


@pytest.mark.parametrize("k", [2, 3])
def test_large_logits_stay_finite(k):
    """N-48."""
    X, y = problem(17, k=k)
    model = gm.LogisticRegression(alpha=0.01).fit(X, y)
    far = np.vstack([X * 1e4, -X * 1e4])
    p = model.predict_proba(far)
    assert np.abs(model.decision_function(far)).max() > 1e4
    assert np.isfinite(p).all()
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    f = 1e4 * np.array([-1.0, 1.0, 1.0, -1.0])
    assert np.isfinite(Logistic().value(np.array([1.0, 1.0, -1.0, -1.0]), f)).all()
    assert np.isfinite(
        Softmax().value(np.array([0.0, 1.0]), 1e4 * np.array([[1.0, -1.0, 0.0], [1.0, -1.0, 0.0]]))
    ).all()


def test_small_losses_of_several_classes_keep_their_digits():
    """−log p_y is as small as the other classes' shares, whose sum it is."""
    f = np.array([[40.0, 0.0, -1.0]])
    exact = np.log1p(np.exp(-40.0) + np.exp(-41.0))
    assert Softmax().value(np.array([0.0]), f)[0] == pytest.approx(exact, rel=1e-12)
    assert Softmax().gradient(np.array([0.0]), f)[0, 0] == pytest.approx(-exact, rel=1e-12)


def test_a_weak_penalty_of_separated_classes_is_certified():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.1], [1.1, 0.0], [0.0, 1.1]])
    for y in ([0, 1, 2] * 2, [0, 1, 0] * 2):
        model = gm.LogisticRegression(alpha=1e-13).fit(X, y)
        assert model.certificate_.holds
        assert model.n_iter_ < 60


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_no_penalty_and_separable_classes_reach_a_loss_of_zero(loss):
    """The optimum is zero: rounding there is no failure, and takes no thousand steps."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.standard_normal((20, 2))
        y = (X[:, 0] > 0).astype(int)
        model = gm.Classifier(loss, None).fit(X, y)
        assert model.objective_ < 1e-12
        assert model.certificate_.holds
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize(("loss", "alpha"), [("squared_hinge", 1e-3), ("logistic", 1e-3), ("logistic", 1e-8)])
def test_a_weak_l1_ends_in_time(loss, alpha):
    rng = np.random.default_rng(1)
    model = gm.Classifier(loss, "l1", alpha).fit(rng.standard_normal((6, 8)), [0, 1] * 3)
    assert model.certificate_.holds
    assert model.n_iter_ < 100


def test_more_columns_than_rows():
    X, y = problem(18, n=20, d=50, k=3)
    ours = gm.LogisticRegression(alpha=0.01).fit(X, y)
    assert ours.certificate_.holds
    assert objective(ours, X, y, 0.01) <= objective(sister(1 / 0.4).fit(X, y), X, y, 0.01) + 1e-10


def test_no_common_column_is_no_matter():
    """Rows that are all equal leave the shares of the classes."""
    for k in (2, 3):
        y = np.repeat(np.arange(k), np.arange(1, k + 1))
        X = np.ones((len(y), 2))
        for model in (gm.LogisticRegression(alpha=0.1), gm.LogisticRegression(penalty=None)):
            np.testing.assert_allclose(model.fit(X, y).predict_proba(X[:1])[0], np.bincount(y) / len(y), atol=1e-7)


def slow(model):
    """Joint and concave hinges take many inner fits: smaller tables do for them."""
    return getattr(model, "loss", None) == "root_hinge" or (isinstance(model, gm.SVC) and model.multiclass == "joint")


# probabilities and decisions

KINDS = [
    gm.LogisticRegression(alpha=0.01),
    gm.LogisticRegression(alpha=0.01, multiclass="ovr"),
    gm.LogisticRegression(alpha=0.01, multiclass="ovo"),
    gm.Classifier("squared_hinge", alpha=0.01, multiclass="code"),
    gm.Classifier("root_hinge", alpha=0.1),
    gm.SVC(alpha=0.01),
    gm.SVC(alpha=0.01, multiclass="joint"),
    gm.SVC(alpha=0.01, multiclass="ovo"),
    gm.SVC(alpha=0.05, penalty="l1"),
]


@pytest.mark.parametrize("model", KINDS, ids=repr)
@pytest.mark.parametrize("k", [2, 4])
def test_probabilities_agree_with_decisions(model, k):
    """N-47."""
    X, y = problem(21, n=40 if slow(model) else 120, d=3, k=k)
    model = clone(model).fit(X, y)
    many = np.vstack([X, 100 * X, 1e-3 * X, np.zeros((1, 3))])
    p = model.predict_proba(many)
    assert p.shape == (len(many), k)
    assert p.min() >= 0
    assert p.max() <= 1
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(many))
    f = model.decision_function(many)
    chosen = (f > 0).astype(int) if k == 2 else f.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[chosen], model.predict(many))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(many), np.log(p))


@pytest.mark.parametrize("model", KINDS, ids=repr)
def test_costs_are_minimised(model):
    X, y = problem(22, n=45 if slow(model) else 120, d=3, k=3)
    rng = np.random.default_rng(0)
    cost = rng.uniform(0.5, 5.0, (3, 3)) * (1 - np.eye(3))
    fitted = clone(model).set_params(cost=cost).fit(X, y)
    p = fitted.predict_proba(X)
    expected = [min(range(3), key=lambda j: sum(row[i] * cost[i][j] for i in range(3))) for row in p]
    np.testing.assert_array_equal(fitted.predict(X), expected)
    plain = clone(model).fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), p)
    assert (plain.predict(X) != expected).any()


def test_costs_of_two_classes_move_the_threshold():
    X, y = problem(23)
    model = gm.LogisticRegression(alpha=0.01, cost=[[0.0, 1.0], [9.0, 0.0]]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X)[:, 1] > 0.1).astype(int))


@pytest.mark.parametrize(
    ("cost", "kind", "said"),
    [
        ([[0.0, 1.0]], ValueError, r"cost has shape \(1, 2\); with 2 classes it needs shape \(2, 2\)"),
        ([[0.0, np.nan], [1.0, 0.0]], ValueError, "cost contains NaN or infinity"),
        ("high", (TypeError, ValueError), "cost is 'high'"),
    ],
)
def test_bad_costs_are_refused_at_fit(cost, kind, said):
    X, y = problem(23, n=30)
    with pytest.raises(kind, match=said):
        gm.LogisticRegression(alpha=0.1, cost=cost).fit(X, y)


# weights

MODELS = [
    gm.LogisticRegression(alpha=0.02),
    gm.LogisticRegression(alpha=0.02, multiclass="ovr"),
    gm.LogisticRegression(penalty=None),
    gm.LogisticRegression(alpha=0.02, penalty="l1"),
    gm.LogisticRegression(alpha=0.02, penalty="elastic_net", multiclass="ovo"),
    gm.Classifier("squared_hinge", alpha=0.02),
    gm.Classifier("squared_hinge", alpha=0.02, multiclass="code"),
    gm.SVC(alpha=0.02),
    gm.SVC(alpha=0.02, multiclass="joint"),
    gm.SVC(alpha=0.05, penalty="l1"),
]


def near(one, two, X, atol, probabilities=True):
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=atol)
    if probabilities:
        np.testing.assert_allclose(two.predict_proba(X), one.predict_proba(X), atol=max(atol, 1e-6))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_repetitions(model, k):
    """N-41, on what is unique: the predictions. Probabilities that come from refits depend on the folds of rows."""
    n = 30 if slow(model) else 80
    X, y = problem(24, n=n, d=3, k=k)
    w = np.random.default_rng(k).integers(0, 4, n)
    w[:k] = 1
    weighted = clone(model).fit(X, y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    removed = clone(model).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    joint_hinge = isinstance(model, gm.SVC) and model.multiclass == "joint"
    own = isinstance(model, gm.LogisticRegression) and (k == 2 or model.multiclass == "auto")
    by_refits = joint_hinge or (not own and model.penalty in ("l1", "elastic_net"))
    atol = 1e-4 if joint_hinge else 1e-6 if isinstance(model, gm.SVC) else 1e-7  # a gap of 1e-8, not a gradient
    near(weighted, repeated, X, atol, not by_refits)
    near(weighted, removed, X, atol, not by_refits)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_constant_factor_of_all_weights_is_no_matter(model):
    n = 30 if slow(model) else 60
    X, y = problem(25, n=n, d=3, k=3)
    one, two = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=np.full(n, 0.25))
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[5], MODELS[7]], ids=repr)
def test_class_weights_are_sample_weights(model):
    X, y = problem(26, n=90, d=3, k=3)
    names = np.array(["a", "b", "c"])[y]
    by_dict = clone(model).set_params(class_weight={"a": 3.0, "c": 0.5}).fit(X, names)
    by_row = clone(model).fit(X, names, sample_weight=np.array([3.0, 1.0, 0.5])[y])
    near(by_dict, by_row, X, 1e-7)
    w = np.random.default_rng(0).uniform(0.2, 2.0, 90)
    totals = np.bincount(y, w)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, names, sample_weight=w)
    by_row = clone(model).fit(X, names, sample_weight=w * (w.sum() / (3 * totals))[y])
    near(balanced, by_row, X, 1e-7)


def test_balanced_weights_are_scikit_learns():
    X, y = problem(27, n=200, d=3)
    y[40:] = np.where(np.arange(160) % 4, 0, y[40:])
    ours = gm.LogisticRegression(alpha=0.01, class_weight="balanced").fit(X, y)
    theirs = sister(1 / (2 * 200 * 0.01), class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ("even", ValueError, "class_weight is 'even'"),
        ([1.0, 2.0], TypeError, r"class_weight is \[1.0, 2.0\]"),
        ({"x": 1.0}, ValueError, "names 'x', which is not a class; the classes are"),
        ({0: -1.0}, ValueError, "class_weight of 0 is -1.0; it must be a number above 0"),
        ({0: np.nan}, ValueError, "class_weight of 0 is nan"),
        ({0: "two"}, (TypeError, ValueError), "class_weight of 0 is 'two'"),
    ],
)
def test_bad_class_weights_are_refused(given, kind, said):
    X, y = problem(27, n=30)
    with pytest.raises(kind, match=said):
        gm.LogisticRegression(alpha=0.1, class_weight=given).fit(X, y)


# homes and types of data


@pytest.mark.parametrize("model", [*MODELS, gm.Perceptron(), gm.Perceptron(average=True)], ids=repr)
def test_sparse_is_dense(model):
    X, y = problem(28, n=30 if slow(model) else 80, d=5, k=3)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0.0, X)
    if isinstance(
        model, gm.Perceptron
    ):  # its rows are centred where that keeps no zeros: only what they decide is alike
        rng = np.random.default_rng(1)
        y = np.arange(80) % 3
        X = rng.standard_normal((80, 5)) * (rng.random((80, 5)) < 0.5) + 10 * np.eye(3, 5)[y]
        dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
        assert dense.score(X, y) == sparse.score(X, y) == sparse.score(sp.csc_array(X), y) == 1.0
        return
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csc_array(X), y)
    loose = 1e-3 if model.multiclass == "joint" and isinstance(model, gm.SVC) else 1e-6
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=loose)
    np.testing.assert_allclose(dense.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-10)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-7)


def test_frames_bring_names_and_order():
    X, y = problem(29, n=60, d=3)
    names = ["a", "b", "c"]
    plain = gm.LogisticRegression(alpha=0.01).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = gm.LogisticRegression(alpha=0.01).fit(frame, y)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
        assert list(model.feature_names_in_) == names
        np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), rtol=1e-9)
        assert list(model.summary().coefficients["name"]) == ["intercept", *names]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a", "c"]])


def test_rows_bring_their_target():
    X, y = problem(30, n=60, d=3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    one = gm.LogisticRegression(alpha=0.01).fit(X, y, sample_weight=w)
    two = gm.LogisticRegression(alpha=0.01).fit(gm.scan(X, y, sample_weight=w))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(two.predict(gm.scan(X)), one.predict(X))
    with pytest.raises(ValueError, match="Rows bring their own target"):
        gm.LogisticRegression().fit(gm.scan(X, y), y)
    with pytest.raises(ValueError, match="Rows bring their own target"):
        gm.LogisticRegression().fit(gm.scan(X, y), sample_weight=w)
    with pytest.raises(ValueError, match="have no target"):
        gm.LogisticRegression().fit(gm.scan(X))
    with pytest.raises(ValueError, match="requires y to be passed"):
        gm.LogisticRegression().fit(X)
    with pytest.raises(ValueError, match="needs the rows and their classes: Moments have neither"):
        gm.LogisticRegression().fit(gm.moments(X, y))


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[3], MODELS[7], MODELS[8]], ids=repr)
def test_rows_that_are_not_in_memory(model):
    n = 30 if slow(model) else 70
    X, y = problem(31, n=n, d=3, k=3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, n)
    inside = clone(model).fit(X, y, sample_weight=w)
    outside = clone(model).fit(CodedRows(gm.scan(X, y, sample_weight=w), lambda y: y))
    np.testing.assert_allclose(outside.decision_function(X), inside.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(outside.predict_proba(X), inside.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("model", [*MODELS[:2], MODELS[3], MODELS[7], MODELS[8], gm.Perceptron()], ids=repr)
def test_threads_make_no_difference(model):
    """N-37."""
    X, y = problem(32, n=40 if slow(model) else 3000, d=3, k=3)
    found = []
    for count in (1, 2, 4):
        with gm.threads(count), warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            fitted = clone(model).set_params(**({"max_iter": 5} if isinstance(model, gm.Perceptron) else {})).fit(X, y)
            found.append((fitted.coef_, fitted.intercept_, fitted.predict_proba(X)))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_single_precision_and_integers():
    X, y = problem(33, n=100, d=3)
    narrow = X.astype(np.float32)
    one, two = (gm.LogisticRegression(alpha=0.01).fit(A, y) for A in (narrow, narrow.astype(np.float64)))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7)
    np.testing.assert_allclose(one.predict_proba(narrow), two.predict_proba(narrow.astype(np.float64)), atol=1e-9)
    whole = np.round(X * 3).astype(np.int8)
    one, two = (gm.LogisticRegression(alpha=0.01).fit(A, y) for A in (whole, whole.astype(np.float64)))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)


def test_input_is_left_alone_and_order_of_memory_is_no_matter():
    X, y = problem(34, n=60, d=3)
    kept = X.copy()
    X.setflags(write=False)
    one = gm.LogisticRegression(alpha=0.01).fit(X, y)
    two = gm.LogisticRegression(alpha=0.01).fit(np.asfortranarray(X), y)
    three = gm.LogisticRegression(alpha=0.01).fit(np.repeat(X, 2, axis=1)[:, ::2], y)
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-9)
    np.testing.assert_allclose(three.coef_, one.coef_, rtol=1e-9)


def test_numbers_that_are_not_finite_are_named():
    X, y = problem(35, n=30, d=3)
    bad = X.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        gm.LogisticRegression(alpha=0.1).fit(bad, y)
    model = gm.LogisticRegression(alpha=0.1).fit(X, y)
    for ask in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="NaN"):
            ask(bad)


# parameters


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"penalty": "l3"}, "penalty is 'l3'; it must be None, one of"),
        ({"alphas": [1.0, -1.0]}, "alphas holds -1.0"),
        ({"rule": "worst"}, "rule is 'worst'"),
        ({"multiclass": "all"}, "multiclass is 'all'; it must be one of 'auto', 'ovr', 'ovo', 'code', 'joint'"),
        ({"code": "morse"}, "code is 'morse'; it must be one of 'auto', 'exhaustive', 'dense', 'sparse'"),
        ({"fit_intercept": "yes"}, "fit_intercept is 'yes'"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"solver": "magic"}, "solver is 'magic'; it must be \"auto\", one of"),
    ],
)
def test_bad_parameters_are_named(given, said):
    X, y = problem(36, n=20)
    with pytest.raises((ValueError, TypeError), match=said):
        gm.LogisticRegression(**({"alpha": 0.1} | given)).fit(X, y)


def test_losses_for_numbers_are_refused():
    X, y = problem(36, n=20)
    with pytest.raises(ValueError, match="The loss Squared is for numbers"):
        gm.Classifier("squared", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="loss is 'cubic'; it must be one of"):
        gm.Classifier("cubic", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="loss is 3"):
        gm.Classifier(3, alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="The loss Logistic is for signs"):
        gm.Regressor("logistic").fit(X, y)


@pytest.mark.parametrize(
    "solver", ["newton", "newton-cg", "proximal", gm.solvers.GradientDescent("line_search")], ids=str
)
def test_every_solver_finds_the_same_optimum(solver):
    X, y = problem(37, n=100, d=3)
    best = gm.LogisticRegression(alpha=0.05).fit(X, y)
    found = gm.LogisticRegression(alpha=0.05, solver=solver, tol=1e-6, max_iter=5000).fit(X, y)
    assert found.certificate_.holds
    np.testing.assert_allclose(found.coef_, best.coef_, atol=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_tolerance_is_reached_or_reported(model):
    """A certificate that holds by a tolerance nobody gave has to say so."""
    X, y = problem(37, n=30, d=2, k=3)
    fitted = clone(model).set_params(tol=1e-9).fit(X, y)
    assert fitted.certificate_.tolerance == 1e-9 or "tol" in fitted.certificate_.note


def test_too_few_iterations_are_reported():
    """N-22."""
    X, y = problem(38)
    with pytest.warns(gm.ConvergenceWarning, match="The gradient is .* and its tolerance 1e-08, after 1 steps"):
        model = gm.LogisticRegression(alpha=1e-4, max_iter=1).fit(X, y)
    assert not model.certificate_.holds
    assert model.n_iter_ == 1


def test_callbacks_see_the_iterations_and_may_end_them():
    X, y = problem(39)
    seen = []
    model = gm.LogisticRegression(alpha=1e-3, callbacks=[lambda i, state: seen.append((i, state.value))]).fit(X, y)
    assert [i for i, _ in seen] == list(range(1, model.n_iter_ + 1))
    assert [v for _, v, _ in model.history_][1:] == [v for _, v in seen]
    assert all(b <= a for a, b in zip(model.history_[:-1], model.history_[1:], strict=True) for a, b in [(a[1], b[1])])
    with pytest.warns(gm.ConvergenceWarning):
        short = gm.LogisticRegression(alpha=1e-3, callbacks=[lambda i, state: True]).fit(X, y)
    assert short.n_iter_ == 1


def test_refitting_forgets():
    X, y = problem(40, n=60, d=3, k=3)
    model = gm.LogisticRegression(alphas=[0.1, 0.01], multiclass="ovr").fit(X, y)
    assert model.scores_ is not None
    assert model.code_.shape == (3, 3)
    model.set_params(alpha=0.1, multiclass="joint").fit(X, y)
    assert not hasattr(model, "scores_")
    assert not hasattr(model, "code_")


def test_parts_are_parameters():
    model = gm.Classifier("logistic", gm.penalties.ElasticNet(0.3), 0.1)
    assert model.get_params()["penalty__l1_ratio"] == 0.3
    model.set_params(penalty__l1_ratio=0.7, alpha=0.2)
    assert model.penalty == gm.penalties.ElasticNet(0.7)
    assert clone(model).penalty == gm.penalties.ElasticNet(0.7)
    with pytest.raises(ValueError, match="Invalid parameter 'ratio' for ElasticNet, which has l1_ratio"):
        model.set_params(penalty__ratio=0.1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(nothing__ratio=0.1)
    with pytest.raises(ValueError, match=r"l1_ratio is 2\.0"):
        model.set_params(penalty__l1_ratio=2.0)


def test_pickle_and_clone():
    X, y = problem(41, n=60, d=3, k=3)
    for model in (gm.LogisticRegression(alpha=0.1), gm.SVC(alpha=0.1), gm.Perceptron()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            fitted = model.fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


# scikit-learn


def test_searches_over_alpha_and_over_parts():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), gm.LogisticRegression(penalty=gm.penalties.ElasticNet()))
    grid = {"logisticregression__alpha": [0.3, 0.001], "logisticregression__penalty__l1_ratio": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["logisticregression__alpha"] == 0.001
    best = search.best_estimator_[-1]
    assert best.penalty.l1_ratio == search.best_params_["logisticregression__penalty__l1_ratio"]
    assert search.score(X, y) > -0.2


def test_calibration_and_votes_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    calibrated = CalibratedClassifierCV(gm.SVC(alpha=0.01), cv=3).fit(X, names)
    assert calibrated.score(X, names) > 0.9
    votes = VotingClassifier(
        [("one", gm.LogisticRegression(alpha=0.001)), ("two", gm.Classifier("squared_hinge", alpha=0.01))],
        voting="soft",
    ).fit(X, names)
    parts = [m.predict_proba(X) for m in votes.estimators_]
    np.testing.assert_allclose(votes.predict_proba(X), np.mean(parts, axis=0))
    assert votes.score(X, names) > 0.9

"""Lasso and elastic net: exact minima against slow references, on Gram matrices and wide tables; paths, scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.models.linear import penalised
from gramian.solvers.sparse import working_set
from oracles import elastic_net


def problem(seed, n=100, d=8, t=1, rho=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rho * rng.standard_normal((n, 1)) + rng.standard_normal(d) * 3
    W = rng.standard_normal((d, t)) * (rng.random((d, 1)) < 0.5)
    Y = X @ W + rng.standard_normal((n, t))
    return X, Y[:, 0] if t == 1 else Y


def gap(X, y, coef, offset, alpha, l1_ratio=1.0, w=None):
    """Relative duality gap from the rows, by its definition."""
    w = np.ones(len(y)) / len(y) if w is None else w / w.sum()
    Z, target = X - w @ X, y - w @ y
    l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
    r = target - Z @ coef
    primal = w @ r**2 + l1 * np.abs(coef).sum() + l2 * coef @ coef
    correlations = 2 * (Z.T @ (w * r) - l2 * coef)
    shrink = min(1.0, l1 / max(np.abs(correlations).max(), 1e-300))
    square = w @ r**2 + l2 * coef @ coef
    dual = 2 * shrink * (w @ (r * target)) - shrink**2 * square
    assert offset == pytest.approx((w @ y) - (w @ X) @ coef, rel=1e-9, abs=1e-9)
    return (primal - dual) / (w @ target**2)


@pytest.fixture(params=[False, True], ids=["gram", "rows"])
def wide(request, monkeypatch):
    """Both roads on the same problems: the Gram matrix, and working sets on the rows."""
    if request.param:
        monkeypatch.setattr(penalised, "is_wide", lambda problem: True)
    return request.param


SHAPES = [(60, 8), (30, 30), (20, 50), (5, 40), (200, 3), (12, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.7, 0.05])
def test_exact_minimum(shape, l1_ratio, wide):
    X, y = problem(0, *shape)
    top = 2 * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y) / l1_ratio
    for share in (0.5, 0.1, 0.01):
        model = gm.ElasticNet(share * top, l1_ratio=l1_ratio).fit(X, y)
        assert gap(X, y, model.coef_, model.intercept_, share * top, l1_ratio) < 1e-10
        assert model.certificate_.holds
        assert model.certificate_.value < 1e-10
        assert model.certificate_.through == ("rows" if wide else "moments")
        if shape[0] > shape[1] or l1_ratio < 1:
            coef, offset = elastic_net(X, y, share * top, l1_ratio)
            np.testing.assert_allclose(model.coef_, coef, atol=1e-7 * np.abs(coef).max() + 1e-12)
            np.testing.assert_allclose(model.intercept_, offset, rtol=1e-6, atol=1e-8)


def test_scikit_learns_alpha_is_half_of_ours(wide):
    X, y = problem(1)
    theirs = Lasso(alpha=0.05, tol=1e-14, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(gm.Lasso(0.1).fit(X, y).coef_, theirs.coef_, atol=1e-8)
    a, s = 0.1, 0.3
    theirs = ElasticNet(alpha=a, l1_ratio=s, tol=1e-14, max_iter=100_000).fit(X, y)
    ours = gm.ElasticNet(a * (1 + s), l1_ratio=2 * s / (1 + s)).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


@pytest.mark.parametrize("kind", ["duplicate", "combination", "opposite", "constant"])
def test_dependent_columns(kind, wide):
    X, y = problem(2, 50, 10)
    X[:, 7] = {
        "duplicate": X[:, 0],
        "combination": X[:, 0] + X[:, 1] - X[:, 2],
        "opposite": -X[:, 1],
        "constant": np.full(50, 2.5),
    }[kind]
    model = gm.Lasso(0.001, alphas=30).fit(X, y)
    assert gap(X, y, model.coef_, model.intercept_, 0.001) < 1e-9
    for alpha, coef, offset in zip(model.path_.alphas, model.path_.coefs, model.path_.intercepts, strict=True):
        assert gap(X, y, coef, offset, alpha) < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_random_paths_are_optimal_everywhere(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 60))
    X, y = problem(seed, n, d, rho=float(rng.choice([0, 1, 10])))
    if d > 4:
        X[:, 1], X[:, 2] = X[:, 0], np.round(X[:, 2])
    model = gm.Lasso(1e-4, alphas=40).fit(X, y)
    for alpha, coef, offset in zip(model.path_.alphas, model.path_.coefs, model.path_.intercepts, strict=True):
        assert gap(X, y, coef, offset, alpha) < 1e-8


def test_the_path_starts_at_zero(wide):
    """At and above the largest alpha every coefficient is exactly zero; just below it one is not."""
    X, y = problem(3)
    top = 2 * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    for alpha in (top * (1 + 1e-12), 2 * top):
        model = gm.Lasso(alpha).fit(X, y)
        assert not model.coef_.any()
        assert model.intercept_ == pytest.approx(y.mean())
    assert (gm.Lasso(top * 0.9999).fit(X, y).coef_ != 0).sum() == 1
    path = gm.Lasso(top / 100).fit(X, y).path_
    assert path.alphas[0] == pytest.approx(top)
    assert not path.coefs[0].any()
    assert (np.diff(path.alphas) < 0).all()


def test_zero_alpha_is_least_squares():
    X, y = problem(4)
    np.testing.assert_allclose(gm.Lasso(0.0).fit(X, y).coef_, gm.LinearRegression().fit(X, y).coef_, rtol=1e-8)


def test_no_l1_is_ridge():
    X, y = problem(5)
    a, b = gm.ElasticNet(0.3, l1_ratio=0.0).fit(X, y), gm.Ridge(0.3).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    chosen = gm.ElasticNet(l1_ratio=0.0, cv=KFold(5)).fit(X, y)
    assert chosen.certificate_.holds


def test_weights_factors_and_no_intercept(wide):
    X, y = problem(6, 70, 6)
    w = np.random.default_rng(0).integers(0, 4, 70)
    factors = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 1.0])
    for options in ({}, {"fit_intercept": False}, {"penalty_factors": factors}):
        model = gm.ElasticNet(0.1, l1_ratio=0.8, **options).fit(X, y, sample_weight=w)
        coef, offset = elastic_net(
            X, y, 0.1, 0.8, w, options.get("penalty_factors"), options.get("fit_intercept", True)
        )
        np.testing.assert_allclose(model.coef_, coef, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, offset, atol=1e-7)
        repeated = gm.ElasticNet(0.1, l1_ratio=0.8, **options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(model.coef_, repeated.coef_, rtol=1e-8, atol=1e-11)
    free = gm.Lasso(1e6, penalty_factors=factors).fit(X, y)
    np.testing.assert_allclose(free.coef_[1], gm.LinearRegression().fit(X[:, [1]], y).coef_[0], rtol=1e-8)
    assert (free.coef_ != 0).sum() == 1


def test_standardize(wide):
    X, y = problem(7)
    X *= [1, 10, 100, 0.1, 1, 1e3, 1, 1]
    theirs = make_pipeline(StandardScaler(), Lasso(alpha=0.05, tol=1e-14, max_iter=100_000)).fit(X, y)
    np.testing.assert_allclose(gm.Lasso(0.1, standardize=True).fit(X, y).predict(X), theirs.predict(X), rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_units(scale):
    X, y = problem(8)
    a, b = gm.Lasso(0.1).fit(X, y), gm.Lasso(0.1 * scale).fit(X * scale, y)
    np.testing.assert_allclose(b.coef_ * scale, a.coef_, rtol=1e-9, atol=1e-14)
    c = gm.Lasso(0.1 * scale).fit(X, y * scale)
    np.testing.assert_allclose(c.coef_, a.coef_ * scale, rtol=1e-9, atol=1e-14 * scale)
    mixed = gm.Lasso(0.1, standardize=True).fit(X * [1, scale, 1, 1, 1 / scale, 1, 1, 1], y)
    plain = gm.Lasso(0.1, standardize=True).fit(X, y)
    np.testing.assert_allclose(mixed.predict(X * [1, scale, 1, 1, 1 / scale, 1, 1, 1]), plain.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    "cv", [KFold(4), gm.selection.KFold(5), ShuffleSplit(3, test_size=0.3, random_state=0)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_equal_separate_fits(wide, cv, weighted):
    X, y = problem(9, 60, 7)
    w = np.random.default_rng(0).integers(1, 4, 60).astype(float) if weighted else None
    alphas = np.geomspace(1, 1e-2, 6)
    model = gm.Lasso(alphas=alphas, cv=cv).fit(X, y, sample_weight=w)
    for k, (train, test) in enumerate(cv.split(X)):
        for a, alpha in enumerate(alphas):
            theirs = Lasso(alpha=alpha / 2, tol=1e-14, max_iter=100_000)
            theirs.fit(X[train], y[train], sample_weight=None if w is None else w[train])
            squares = (y[test] - theirs.predict(X[test])) ** 2
            expected = np.average(squares, weights=None if w is None else w[test])
            assert model.scores_.folds[a, k] == pytest.approx(expected, rel=1e-8)


def test_leave_one_out(wide):
    X, y = problem(10, 15, 4)
    alphas = np.geomspace(1, 1e-2, 4)
    model = gm.Lasso(alphas=alphas, cv="loo").fit(X, y)
    assert model.scores_.folds.shape == (4, 15)
    for i in range(15):
        keep = np.arange(15) != i
        theirs = gm.Lasso(alphas[2], alphas=2).fit(X[keep], y[keep])
        assert model.scores_.folds[2, i] == pytest.approx((y[i] - theirs.predict(X[[i]])[0]) ** 2, rel=1e-7)


def test_choice_and_refinement():
    X, y = problem(11, 200, 20)
    model = gm.Lasso(cv=KFold(5)).fit(X, y)
    assert len(model.scores_.alphas) > 100
    np.testing.assert_array_equal(model.path_.alphas, model.scores_.alphas)
    np.testing.assert_array_equal(model.path_.coefs[model.scores_.chosen], model.coef_)
    calm = gm.Lasso(cv=KFold(5), rule="one_se").fit(X, y)
    assert calm.alpha_ >= model.alpha_
    assert (calm.coef_ != 0).sum() <= (model.coef_ != 0).sum()
    assert "not zero" in str(model.summary())
    assert len(model.history_) == len(model.path_.alphas)
    assert max(g for _, _, g in model.history_) < 1e-9
    assert model.n_iter_ >= 1


def test_noise_chooses_the_strongest_penalty():
    X, _ = problem(12, 80, 5)
    y = np.random.default_rng(3).standard_normal(80)
    model = gm.Lasso(cv=KFold(5)).fit(X, y)
    assert model.scores_.alphas[0] >= model.alpha_
    if model.scores_.best == 0:
        assert "largest alpha" in str(model.scores_)


def test_constant_target():
    X, _ = problem(13)
    model = gm.Lasso().fit(X, np.full(len(X), 4.0))
    assert not model.coef_.any()
    assert model.intercept_ == 4.0
    assert model.certificate_.holds


def test_several_targets():
    X, Y = problem(14, t=3)
    model = gm.Lasso(0.1).fit(X, Y)
    assert model.path_.coefs.shape[1:] == (3, 8)
    chosen = gm.Lasso(alphas=np.geomspace(1, 0.01, 5), cv=KFold(4)).fit(X, Y)
    each = [gm.Lasso(alphas=np.geomspace(1, 0.01, 5), cv=KFold(4)).fit(X, Y[:, j]).scores_.folds for j in range(3)]
    np.testing.assert_allclose(chosen.scores_.folds, np.mean(each, axis=0), rtol=1e-9)


def test_a_really_wide_table():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((60, 3000))
    y = X[:, :5] @ [3.0, -2, 1, 1, 2] + 0.5 * rng.standard_normal(60)
    model = gm.Lasso(cv=KFold(4)).fit(X, y)
    assert model.solver_.name == "working sets on the rows"
    assert set(np.argsort(-np.abs(model.coef_))[:2]) == {0, 1}
    assert max(g for _, _, g in model.history_) < 1e-9
    S = sp.random(60, 3000, 0.05, format="csr", random_state=0)
    z = S[:, :5] @ np.ones(5) + 0.1 * rng.standard_normal(60)
    a, b = gm.Lasso(0.01).fit(S, z), gm.Lasso(0.01).fit(S.toarray(), z)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)
    assert a.summary().facts["r2"] == pytest.approx(b.summary().facts["r2"], rel=1e-8)


def test_the_working_set_lets_go_of_columns(monkeypatch):
    monkeypatch.setattr(working_set, "MOST_COLUMNS", 40)
    rng = np.random.default_rng(16)
    X = rng.standard_normal((50, 1200))
    y = X[:, :30] @ rng.standard_normal(30) + rng.standard_normal(50)
    model = gm.Lasso(0.05).fit(X, y)
    for alpha, coef, offset in zip(model.path_.alphas, model.path_.coefs, model.path_.intercepts, strict=True):
        assert gap(X, y, coef, offset, alpha) < 1e-9


def test_coordinate_descent_takes_over(monkeypatch):
    """With no rounds allowed to the active set, the slow and sure method answers."""
    X, y = problem(17, 60, 6)
    reference = gm.Lasso(0.05).fit(X, y)
    model = gm.Lasso(0.05, max_iter=1).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    monkeypatch.setattr(penalised, "is_wide", lambda problem: True)
    wide = gm.Lasso(0.05, max_iter=1).fit(X, y)
    np.testing.assert_allclose(wide.coef_, reference.coef_, atol=1e-9)


def test_a_gap_beyond_its_tolerance_is_reported():
    X, y = problem(18)
    with pytest.warns(gm.ConvergenceWarning, match="relative duality gap is .*tolerance 1e-300"):
        model = gm.Lasso(0.05, tol=1e-300).fit(X, y)
    assert not model.certificate_.holds


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"l1_ratio": 1.5}, ValueError, "l1_ratio is 1.5; it must be a number of at least 0 and at most 1"),
        ({"l1_ratio": np.nan}, ValueError, "l1_ratio is nan"),
        ({"max_iter": 0}, ValueError, "max_iter is 0"),
        ({"max_iter": 2.5}, TypeError, "max_iter is 2.5"),
        ({"tol": 0.0}, ValueError, "tol is 0.0; it must be a number above 0"),
        ({"alpha": -1}, ValueError, "alpha is -1"),
        ({"penalty_factors": [np.inf] * 8}, ValueError, "penalty_factors"),
    ],
)
def test_bad_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        gm.ElasticNet(**options).fit(*problem(19))


def test_triangles_are_refused():
    with pytest.raises(ValueError, match="not from a Triangle"):
        gm.Lasso(0.1).fit(gm.triangle(*problem(20)))


@pytest.mark.parametrize("solver", ["gram", "rows"])
@pytest.mark.parametrize("seed", range(6))
def test_an_elastic_net_may_use_more_columns_than_rows(solver, seed):
    X, y = problem(seed, 12, 40, rho=10.0)
    X[:, 1], X[:, 3] = X[:, 0], X[:, 4] - X[:, 5]
    model = gm.ElasticNet(1e-3, l1_ratio=0.05, solver=solver).fit(X, y)
    assert (model.coef_ != 0).sum() > 12
    assert max(g for _, _, g in model.history_) < 1e-9
    assert gap(X, y, model.coef_, model.intercept_, 1e-3, 0.05) < 1e-9


def test_solvers_by_name():
    X, y = problem(21)
    a, b = gm.Lasso(0.1, solver="gram").fit(X, y), gm.Lasso(0.1, solver="rows").fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-10)
    assert (a.certificate_.through, b.certificate_.through) == ("moments", "rows")
    with pytest.raises(ValueError, match="needs the rows themselves"):
        gm.Lasso(0.1, solver="rows").fit(gm.moments(X, y))
    with pytest.raises(ValueError, match="solver is 'lars'; it must be one of 'auto', 'gram', 'rows'"):
        gm.Lasso(solver="lars").fit(X, y)


def test_columns_too_large_to_square():
    X = np.random.default_rng(0).standard_normal((10, 1100))
    X[:, 7] *= 1e170
    with pytest.raises(ValueError, match="Column 7 is of size 1e170: its square"):
        gm.Lasso(0.1).fit(X, X[:, 0])
    X[3, 5] = np.nan
    with pytest.raises(ValueError, match="column 5"):
        gm.Lasso(0.1).fit(X, X[:, 0])

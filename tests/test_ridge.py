"""Ridge: closed form in any units, Tikhonov, shared-work cross-validation equal to separate fits, inference."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from exact import ExactLeastSquares, linear_solve, rational
from oracles import ridge


def problem(seed, n=90, d=6, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5) + rng.standard_normal(d) * 4
    Y = X @ rng.standard_normal((d, t)) + 2 * rng.standard_normal((n, t)) + 3
    return X, Y[:, 0] if t == 1 else Y


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 0.5, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_closed_form(alpha, intercept):
    X, y = problem(0)
    w = np.random.default_rng(1).integers(0, 4, len(y))
    for weight in (None, w):
        coef, offset = ridge(X, y, alpha, weight, intercept=intercept)
        model = gm.Ridge(alpha, fit_intercept=intercept).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-9)
        np.testing.assert_allclose(model.intercept_, offset, rtol=1e-8, atol=1e-10)
        assert model.certificate_.holds
        assert model.alpha_ == alpha


def test_scikit_learns_alpha_is_n_times_ours():
    X, y = problem(1)
    a, b = gm.Ridge(0.3).fit(X, y), Ridge(alpha=0.3 * len(y)).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)


def test_alphas_without_end():
    X, y = problem(20)
    strong = gm.Ridge(1e290).fit(X, y)
    np.testing.assert_allclose(strong.coef_ * 1e290, gm.Ridge(1e200).fit(X, y).coef_ * 1e200, rtol=1e-9)
    np.testing.assert_allclose(gm.Ridge(1e-300).fit(X, y).coef_, gm.LinearRegression().fit(X, y).coef_, rtol=1e-9)


def test_zero_alpha_is_least_squares():
    X, y = problem(2)
    np.testing.assert_array_equal(gm.Ridge(0.0).fit(X, y).coef_, gm.LinearRegression().fit(X, y).coef_)


@pytest.mark.parametrize("shape", [(20, 20), (2, 20), (3, 20)])
def test_tikhonov(shape):
    X, y = problem(3, d=20)
    matrix = np.random.default_rng(0).standard_normal(shape)
    if shape[0] < 20:
        matrix = np.diff(np.eye(20), axis=0)  # smooth neighbours: singular, the constant vector is free
    coef, _ = ridge(X, y, 0.7, P=matrix.T @ matrix)
    model = gm.Ridge(0.7, matrix=matrix).fit(X, y)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8)
    chosen = gm.Ridge(matrix=matrix, cv=KFold(4)).fit(X, y)
    coef, _ = ridge(X, y, chosen.alpha_, P=matrix.T @ matrix)
    np.testing.assert_allclose(chosen.coef_, coef, rtol=1e-8)
    at = int(np.flatnonzero(chosen.path_.alphas == chosen.alpha_)[0])
    np.testing.assert_allclose(chosen.path_.coefs[at], coef, rtol=1e-6)


def test_penalty_factors():
    X, y = problem(4)
    factors = np.array([1.0, 0.0, 2.0, 5.0, 1.0, 0.3])
    model = gm.Ridge(0.4, penalty_factors=factors).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge(X, y, 0.4, P=np.diag(factors))[0], rtol=1e-9)
    strong = gm.Ridge(1e9, penalty_factors=factors).fit(X, y)
    alone = gm.LinearRegression().fit(X[:, [1]], y)
    np.testing.assert_allclose(strong.coef_[1], alone.coef_[0], rtol=1e-6)


def test_standardize():
    X, y = problem(5)
    X *= [1, 10, 100, 0.1, 1, 1e4]
    model = gm.Ridge(0.2, standardize=True).fit(X, y)
    theirs = make_pipeline(StandardScaler(), Ridge(alpha=0.2 * len(y))).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e8, 1e-100, 1e100])
def test_units(scale):
    """All columns and alpha in other units: the same predictions."""
    X, y = problem(6)
    a, b = gm.Ridge(0.3).fit(X, y), gm.Ridge(0.3 * scale**2).fit(X * scale, y)
    np.testing.assert_allclose(b.predict(X * scale), a.predict(X), rtol=1e-9)
    c = gm.Ridge(cv=KFold(4)).fit(X * scale, y)
    d = gm.Ridge(cv=KFold(4)).fit(X, y)
    assert c.alpha_ == pytest.approx(d.alpha_ * scale**2, rel=1e-6)


def test_columns_of_very_different_units():
    X, y = problem(7)
    scale = np.array([1e-8, 1.0, 1e8, 1.0, 1e-3, 1.0])
    model = gm.Ridge(1e-4).fit(X * scale, y)
    np.testing.assert_allclose(model.coef_, ridge(X * scale, y, 1e-4)[0], rtol=1e-7)


SPLITTERS = {
    "kfold": KFold(5),
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "own": gm.selection.KFold(6, random_state=2),
    "monte carlo": ShuffleSplit(5, test_size=0.3, random_state=0),
    "many monte carlo": ShuffleSplit(12, test_size=0.2, random_state=1),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "time": TimeSeriesSplit(4),
    "hold-out": ShuffleSplit(1, test_size=0.25, random_state=0),
    "pairs": [(np.arange(50), np.arange(50, 90)), (np.arange(40, 90), np.arange(30))],
    "groups": list(GroupKFold(3).split(np.zeros((90, 1)), groups=np.arange(90) // 10)),
}


def pairs(cv, X):
    return list(cv.split(X)) if hasattr(cv, "split") else cv


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_equal_separate_fits(name, weighted):
    X, y = problem(8)
    cv = SPLITTERS[name]
    w = np.random.default_rng(5).integers(1, 4, len(y)).astype(float) if weighted else None
    alphas = np.geomspace(10, 1e-4, 12)
    model = gm.Ridge(alphas=alphas, cv=cv).fit(X, y, sample_weight=w)
    expected = np.empty((12, len(pairs(cv, X))))
    for k, (train, test) in enumerate(pairs(cv, X)):
        for a, alpha in enumerate(alphas):
            wt = np.ones(len(train)) if w is None else w[train]
            theirs = Ridge(alpha=alpha * wt.sum(), solver="cholesky").fit(X[train], y[train], sample_weight=wt)
            squares = (y[test] - theirs.predict(X[test])) ** 2
            expected[a, k] = np.average(squares, weights=None if w is None else w[test])
    np.testing.assert_allclose(model.scores_.folds, expected, rtol=1e-8)
    np.testing.assert_allclose(model.scores_.mean, expected.mean(axis=1), rtol=1e-8)
    if expected.shape[1] > 1:
        np.testing.assert_allclose(
            model.scores_.se, expected.std(axis=1, ddof=1) / np.sqrt(expected.shape[1]), rtol=1e-7
        )
    assert model.scores_.best == int(np.argmin(expected.mean(axis=1)))
    assert model.alpha_ == alphas[model.scores_.chosen]


def test_scores_with_standardisation_learned_in_each_fold():
    X, y = problem(9)
    X *= [1, 10, 100, 0.1, 1, 1e4]
    cv, alphas = KFold(5), np.geomspace(1, 1e-4, 5)
    model = gm.Ridge(alphas=alphas, cv=cv, standardize=True).fit(X, y)
    for k, (train, test) in enumerate(cv.split(X)):
        for a, alpha in enumerate(alphas):
            theirs = make_pipeline(StandardScaler(), Ridge(alpha=alpha * len(train))).fit(X[train], y[train])
            assert model.scores_.folds[a, k] == pytest.approx(
                ((y[test] - theirs.predict(X[test])) ** 2).mean(), rel=1e-8
            )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
def test_leave_one_out_equals_n_refits(intercept, weighted, shape):
    X, y = problem(10, *shape)
    n = len(y)
    w = np.random.default_rng(5).integers(1, 4, n).astype(float) if weighted else None
    alphas = np.geomspace(10, 1e-3, 6)
    model = gm.Ridge(alphas=alphas, cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w)
    expected = np.empty((6, n))
    for i in range(n):
        keep = np.arange(n) != i
        wt = None if w is None else w[keep]
        for a, alpha in enumerate(alphas):
            coef, offset = ridge(X[keep], y[keep], alpha, wt, intercept=intercept)
            expected[a, i] = (y[i] - X[i] @ coef - offset) ** 2
    np.testing.assert_allclose(model.scores_.folds, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.scores_.mean, np.average(expected, axis=1, weights=w), rtol=1e-7)
    same = gm.Ridge(alphas=alphas, cv=LeaveOneOut(), fit_intercept=intercept).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(same.scores_.folds, model.scores_.folds)


def test_the_grid_is_widened_and_tightened():
    X, y = problem(11)
    model = gm.Ridge(cv=KFold(5)).fit(X, y)
    scores = model.scores_
    assert (np.diff(scores.alphas) < 0).all()
    assert len(scores.alphas) > 50
    steps = -np.diff(np.log(scores.alphas))
    near = slice(max(scores.best - 2, 0), scores.best + 2)
    assert steps[near].max() < 0.3 * steps.max()
    fine = gm.Ridge(alphas=np.geomspace(scores.alphas[0], scores.alphas[-1], 2000), cv=KFold(5)).fit(X, y)
    assert scores.mean[scores.best] <= fine.scores_.mean.min() * (1 + 1e-5)


def test_the_boundary_is_reported():
    X, y = problem(12)
    model = gm.Ridge(alphas=[1e3, 1e2, 1e1], cv=4).fit(X, y)
    assert model.scores_.at_boundary
    assert "smallest alpha of the grid" in str(model.summary())
    noise = gm.Ridge(cv=4).fit(X, np.random.default_rng(0).standard_normal(len(y)))
    assert noise.scores_.at_boundary == (noise.scores_.best in (0, len(noise.scores_.alphas) - 1))
    assert not gm.Ridge(alphas=[1.0], cv=4).fit(X, y).scores_.at_boundary


def test_one_standard_error():
    X, y = problem(11, n=60)
    best, calm = (gm.Ridge(cv=KFold(5), rule=rule).fit(X, y) for rule in ("best", "one_se"))
    assert calm.alpha_ > best.alpha_
    s = calm.scores_
    assert s.mean[s.chosen] <= s.mean[s.best] + s.se[s.best]
    assert s.chosen == 0 or s.mean[s.chosen - 1] > s.mean[s.best] + s.se[s.best]
    assert "one_se" in str(s)


@pytest.mark.parametrize("shape", [(10, 25), (30, 31), (25, 400)])
def test_more_columns_than_rows(shape):
    X, y = problem(14, *shape)
    for factors in (None, np.linspace(0.5, 2, shape[1])):
        model = gm.Ridge(0.3, penalty_factors=factors).fit(X, y)
        coef, offset = ridge(X, y, 0.3, P=None if factors is None else np.diag(factors))
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, offset, rtol=1e-8)
        assert model.predict(X, interval=0.9).low.shape == y.shape
    cv, alphas = KFold(5), np.geomspace(10, 0.01, 4)
    model = gm.Ridge(alphas=alphas, cv=cv).fit(X, y)
    for k, (train, test) in enumerate(cv.split(X)):
        theirs = Ridge(alpha=alphas[1] * len(train), solver="svd").fit(X[train], y[train])
        assert model.scores_.folds[1, k] == pytest.approx(((y[test] - theirs.predict(X[test])) ** 2).mean(), rel=1e-8)
    assert model.path_.coefs.shape == (4, shape[1])


def test_wide_tables_of_unlike_columns():
    """Certified in the columns given, not in the rotated ones; a constant column is what the intercept stands for."""
    X, y = problem(22, 9, 20)
    X = X * 10.0 ** np.linspace(-3, 3, 20)
    X[:, 0] = 7.3
    for intercept in (True, False):
        model = gm.Ridge(0.01, fit_intercept=intercept).fit(X, y)
        coef, _ = ridge(X, y, 0.01, intercept=intercept)
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-7, atol=1e-12)
        assert model.certificate_.value < 1e-10
        assert (model.coef_[0] == 0) == intercept


def test_wide_sparse_equals_wide_dense():
    import scipy.sparse as sp

    X = sp.random(15, 60, 0.3, format="csr", random_state=0)
    y = np.random.default_rng(0).standard_normal(15)
    a, b = gm.Ridge(0.1).fit(X, y), gm.Ridge(0.1).fit(X.toarray(), y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8, atol=1e-12)


def test_inference_against_the_formula():
    X, y = problem(15)
    n, alpha = len(y), 0.2
    model = gm.Ridge(alpha).fit(X, y)
    Z = X - X.mean(axis=0)
    M = np.linalg.inv(Z.T @ Z + n * alpha * np.eye(6))
    H = Z @ M @ Z.T + 1.0 / n
    r = y - model.predict(X)
    df = n - np.trace(2 * H - H @ H.T)
    sigma2 = (r @ r) / df
    errors = np.sqrt(np.diag(sigma2 * M @ Z.T @ Z @ M))
    summary = model.summary()
    np.testing.assert_allclose(summary.coefficients["error"][1:], errors, rtol=1e-9)
    assert summary.facts["df"] == pytest.approx(df, rel=1e-10)
    assert summary.facts["sigma"] == pytest.approx(np.sqrt(sigma2), rel=1e-10)
    assert summary.facts["alpha"] == alpha


def test_a_grid_with_a_number_gives_the_path():
    X, y = problem(16, t=2)
    model = gm.Ridge(0.1, alphas=[1.0, 0.1, 0.01]).fit(X, y)
    assert model.path_.coefs.shape == (3, 2, 6)
    np.testing.assert_allclose(model.path_.coefs[1], model.coef_, rtol=1e-9)
    assert not hasattr(model, "scores_")
    again = model.set_params(alphas=20).fit(X, y)
    assert not hasattr(again, "path_")
    from_sums = gm.Ridge(0.1, alphas=[1.0, 0.1]).fit(gm.moments(X, y))
    np.testing.assert_allclose(from_sums.coef_, model.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, "alpha is -1.0; it must be a number of at least 0"),
        ({"alpha": np.nan}, ValueError, "alpha is nan"),
        ({"alpha": "best"}, ValueError, "alpha is 'best'"),
        ({"alpha": True}, TypeError, "alpha is True"),
        ({"alpha": None}, TypeError, "alpha is None"),
        ({"alphas": 1}, ValueError, "alphas is 1"),
        ({"alphas": []}, ValueError, "alphas"),
        ({"alphas": [1.0, -2.0]}, ValueError, "alphas holds -2.0"),
        ({"cv": 1}, ValueError, "cv is 1"),
        ({"cv": "many"}, ValueError, "cv is 'many'"),
        ({"cv": 3.5}, TypeError, "cv is 3.5"),
        ({"cv": []}, ValueError, "no splits"),
        ({"cv": [([0, 1], [1, 2])]}, ValueError, "row 1 in both"),
        ({"cv": [([], [1, 2])]}, ValueError, "no training rows"),
        ({"cv": gm.selection.KFold(200)}, ValueError, "200 folds with 90 rows"),
        ({"cv": 200}, ValueError, "200 folds with 90 rows"),
        ({"rule": "median"}, ValueError, "rule is 'median'"),
        ({"matrix": np.eye(3)}, ValueError, "matrix has shape"),
        ({"matrix": np.full((6, 6), np.nan)}, ValueError, "matrix contains NaN"),
        ({"matrix": np.eye(6), "standardize": True}, ValueError, "whole penalty"),
        ({"penalty_factors": [1.0]}, ValueError, "penalty_factors has shape"),
        ({"penalty_factors": [-1.0] * 6}, ValueError, r"penalty_factors\[0\] is -1.0"),
        ({"standardize": 1}, TypeError, "standardize is 1"),
    ],
)
def test_bad_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        gm.Ridge(**options).fit(*problem(17))


def test_few_rows():
    with pytest.raises(ValueError, match="1 sample"):
        gm.Ridge().fit([[1.0, 2.0]], [1.0])
    assert gm.Ridge().fit([[1.0], [2.0]], [1.0, 3.0]).scores_.folds.shape[1] == 2
    with pytest.raises(ValueError, match="no row with a positive weight"):
        gm.Ridge(cv=KFold(2)).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2, 3, 4], sample_weight=[1, 1, 0, 0])


def test_own_folds_refuse_bad_numbers():
    with pytest.raises(ValueError, match="at least 2"):
        gm.selection.KFold(1)
    folds = gm.selection.KFold(3)
    assert folds.get_n_splits() == 3
    assert repr(folds) == "KFold(3, random_state=0)"


def test_targets_too_large_for_squares():
    X, y = problem(18)
    with pytest.raises(ValueError, match="beyond the range of float64"):
        gm.Ridge(cv=4).fit(X, y * 1e200)
    assert gm.Ridge(0.1).fit(X, y * 1e200).certificate_.holds


def test_dependent_and_constant_columns():
    X, y = problem(19)
    wide = np.c_[X, X[:, 0], np.full(len(y), 5.0)]
    model = gm.Ridge(cv=KFold(4)).fit(wide, y)
    assert model.coef_[-1] == 0.0
    assert model.coef_[0] == pytest.approx(model.coef_[-2], rel=1e-6)
    assert model.certificate_.holds


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(24, 3), (6, 9)])
def test_leave_one_out_of_columns_far_from_zero(n, d, intercept, offset):
    """Against the solution of each training part in rational numbers."""
    rng = np.random.default_rng(n)
    X, y = offset + rng.standard_normal((n, d)), rng.standard_normal(n)
    w = rng.integers(1, 4, n).astype(float)
    scores = gm.Ridge("auto", alphas=[1.0, 1e-2], cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w).scores_
    expected = np.empty((2, n))
    for i in range(n):
        keep = np.arange(n) != i
        exact = ExactLeastSquares(X[keep], y[keep], w[keep], intercept)
        for a, alpha in enumerate(rational(scores.alphas)):
            A = [
                [g + (alpha * exact.weight if j == k else 0) for k, g in enumerate(row)]
                for j, row in enumerate(exact.G)
            ]
            coef = linear_solve(A, exact.b)
            off = [x - m for x, m in zip(rational(X[i]), exact.mean, strict=True)]
            expected[a, i] = float(
                (rational(y[i])[0] - exact.y_mean - sum(c * z for c, z in zip(coef, off, strict=True))) ** 2
            )
    np.testing.assert_allclose(scores.mean, expected @ w / w.sum(), rtol=1e-8 if offset == 1e6 else 1e-10)

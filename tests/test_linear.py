"""LinearRegression against statsmodels, scikit-learn and brute force, on problems of every shape."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import gramian as gm
from gramian.solvers.least_squares.closed_form import REFINABLE
from oracles import least_squares


def problem(seed, n=80, d=5, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 3 + rng.standard_normal(d) * 5
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t))
    return X, Y[:, 0] if t == 1 else Y


@pytest.mark.parametrize("intercept", [True, False])
def test_inference_against_statsmodels(intercept):
    X, y = problem(0)
    model = gm.LinearRegression(fit_intercept=intercept).fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X) if intercept else X).fit()
    ours = model.summary()
    np.testing.assert_allclose(ours.coefficients["estimate"], theirs.params, rtol=1e-10)
    np.testing.assert_allclose(ours.coefficients["error"], theirs.bse, rtol=1e-10)
    np.testing.assert_allclose(ours.coefficients["p"], theirs.pvalues, rtol=1e-8, atol=1e-300)
    interval = theirs.conf_int()
    np.testing.assert_allclose(ours.coefficients["low"], interval[:, 0], rtol=1e-9)
    np.testing.assert_allclose(ours.coefficients["high"], interval[:, 1], rtol=1e-9)
    assert ours.facts["r2"] == pytest.approx(theirs.rsquared, rel=1e-10)
    assert ours.facts["df"] == theirs.df_resid
    assert ours.facts["sigma"] ** 2 == pytest.approx(theirs.mse_resid, rel=1e-10)
    assert ours.facts["log_likelihood"] == pytest.approx(theirs.llf, rel=1e-10)
    assert ours.facts["condition"] == pytest.approx(theirs.condition_number, rel=1e-8)
    assert model.noise_variance_ == pytest.approx((theirs.resid**2).mean(), rel=1e-10)
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(X, y), rel=1e-10)
    new = X[:7] + 1
    frame = theirs.get_prediction(sm.add_constant(new, has_constant="add") if intercept else new).summary_frame(0.1)
    for of, names in [("observation", ("obs_ci_lower", "obs_ci_upper")), ("mean", ("mean_ci_lower", "mean_ci_upper"))]:
        found = model.predict(new, interval=0.9, interval_of=of)
        np.testing.assert_allclose(found.low, frame[names[0]], rtol=1e-9)
        np.testing.assert_allclose(found.high, frame[names[1]], rtol=1e-9)


def test_weights_against_statsmodels():
    X, y = problem(1)
    w = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    w *= len(y) / w.sum()
    theirs = sm.WLS(y, sm.add_constant(X), weights=w).fit()
    ours = gm.LinearRegression().fit(X, y, sample_weight=w).summary()
    np.testing.assert_allclose(ours.coefficients["estimate"], theirs.params, rtol=1e-10)
    np.testing.assert_allclose(ours.coefficients["error"], theirs.bse, rtol=1e-9)


def test_weights_are_counts():
    X, y = problem(2)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    a = gm.LinearRegression().fit(X, y, sample_weight=w)
    b = gm.LinearRegression().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for key in ("estimate", "error", "low", "high"):
        np.testing.assert_allclose(a.summary().coefficients[key], b.summary().coefficients[key], rtol=1e-10)
    for key in ("r2", "sigma", "df", "n", "log_likelihood"):
        assert a.summary().facts[key] == pytest.approx(b.summary().facts[key], rel=1e-10)
    np.testing.assert_allclose(a.predict(X, interval=0.95).low, b.predict(X, interval=0.95).low, rtol=1e-10)


@pytest.mark.parametrize("shape", [(50, 5), (5, 5), (6, 5), (5, 50), (1, 3), (2, 1), (1, 1), (40, 39), (200, 1)])
@pytest.mark.parametrize("intercept", [True, False])
def test_shapes_against_the_pseudo_inverse(shape, intercept):
    X, y = problem(3, *shape)
    model = gm.LinearRegression(fit_intercept=intercept).fit(X, y)
    xm, ym = (X.mean(axis=0), y.mean()) if intercept else (np.zeros(shape[1]), 0.0)
    coef = np.linalg.pinv(X - xm, rcond=1e-12) @ (y - ym)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, ym - xm @ coef if intercept else 0.0, atol=1e-9)
    assert model.certificate_.holds
    assert model.certificate_.rank == min(shape[1], shape[0] - intercept)
    assert str(model.summary())


@pytest.mark.parametrize("kind", ["duplicate", "combination", "constant", "zero", "all constant"])
@pytest.mark.parametrize("shape", [(60, 6), (20_000, 6), (4, 6)])
def test_dependent_columns(kind, shape):
    X, y = problem(4, *shape)
    if kind == "duplicate":
        X[:, 3] = X[:, 1]
    elif kind == "combination":
        X[:, 5] = X[:, 0] - 2 * X[:, 2]
    elif kind == "constant":
        X[:, 2] = 0.1
    elif kind == "zero":
        X[:, 2] = 0.0
    else:
        X[:] = X[0]
    model = gm.LinearRegression().fit(X, y)
    centred = X - X.mean(axis=0) if kind != "all constant" else np.zeros_like(X)
    if kind == "constant":
        centred[:, 2] = 0.0
    shortest = np.linalg.pinv(centred, rcond=1e-11) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, shortest, rtol=1e-7, atol=1e-9)
    reduced = np.delete(X, {"duplicate": 3, "combination": 5}.get(kind, 2), axis=1)
    np.testing.assert_allclose(
        model.predict(X), gm.LinearRegression().fit(reduced, y).predict(reduced), rtol=1e-7, atol=1e-8
    )
    assert model.certificate_.rank == np.linalg.matrix_rank(centred, tol=1e-9 * max(np.abs(centred).max(), 1))
    assert model.certificate_.note
    assert model.certificate_.holds


def test_dependence_among_columns_far_from_zero():
    """What 2a − b is rounded by, far from zero, is no direction of its own."""
    rng = np.random.default_rng(16)
    X = rng.standard_normal((40, 5))
    X[:, 3] += 1000.0
    X[:, 4] = 2 * X[:, 0] - X[:, 3]
    y = X[:, 0] + rng.standard_normal(40)
    model = gm.LinearRegression().fit(X, y)
    assert model.certificate_.rank == 4
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict(X), gm.LinearRegression().fit(X[:, :4], y).predict(X[:, :4]), rtol=1e-7)


@pytest.mark.parametrize("power", [-150, -30, 30, 150])
def test_scales_from_1e_minus_150_to_1e150(power):
    X, y = problem(5)
    scale = 10.0 ** np.array([0, power, 0, -power, power / 2])
    a, b = gm.LinearRegression().fit(X, y), gm.LinearRegression().fit(X * scale, y)
    np.testing.assert_allclose(b.coef_ * scale, a.coef_, rtol=1e-9)
    np.testing.assert_allclose(b.predict(X * scale), a.predict(X), rtol=1e-9)
    c = gm.LinearRegression().fit(X, y * 10.0**power)
    np.testing.assert_allclose(c.coef_, a.coef_ * 10.0**power, rtol=1e-9)


@pytest.mark.parametrize("power", [-290, -200, 200, 300])
def test_columns_whose_squares_do_not_fit(power):
    X, y = problem(6)
    scale = 10.0 ** np.array([0, power, 0, 0, 0])
    a, b = gm.LinearRegression().fit(X, y), gm.LinearRegression().fit(X * scale, y)
    np.testing.assert_allclose(b.predict(X * scale), a.predict(X), rtol=1e-9)
    assert b.certificate_.holds
    assert b.certificate_.rank == 5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(-300, 300), min_size=4, max_size=4))
def test_powers_of_two_change_nothing(seed, exponents):
    X, y = problem(seed, 30, 4)
    X[:, 3] = X[:, 2] + (seed % 3) * 1e-7 * X[:, 3]
    scale = np.ldexp(1.0, exponents)
    a, b = gm.LinearRegression().fit(X, y), gm.LinearRegression().fit(X * scale, y)
    if a.certificate_.rank == 4:
        np.testing.assert_array_equal(b.coef_ * scale, a.coef_)
    np.testing.assert_allclose(b.predict(X * scale), a.predict(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("exponent", [2, 3, 4, 5, 7, 9])
@pytest.mark.parametrize("n", [200, 120_000])
def test_nearly_dependent_columns_keep_their_digits(exponent, n):
    """Two columns that differ by 10^-exponent: the answer is known to about 16 − exponent digits, by any road."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 3))
    X[:, 2] = X[:, 1] + 10.0**-exponent * X[:, 2]
    X += 10
    noise = 10.0**-exponent  # so that the condition number enters once, not squared
    y = X @ [1.0, 2.0, -1.0] + noise * rng.standard_normal(n)
    coef = least_squares(X, y)
    model = gm.LinearRegression().fit(X, y)
    wrong = np.abs(model.coef_ - coef).max() / np.abs(coef).max()
    assert wrong < 10.0 ** (exponent - 13.5)
    assert model.certificate_.holds
    if n == 120_000 and 4 <= exponent < np.log10(REFINABLE):
        assert model.solver_.name == "Cholesky, refined"
    if exponent > 7:
        assert model.certificate_.through == "triangle"


def test_tiny_residuals_keep_their_digits():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30_000, 3)) + 100
    noise = 1e-6 * rng.standard_normal(30_000)
    y = X @ [1.0, 2.0, 3.0] + noise
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    ours = gm.LinearRegression().fit(X, y).summary()
    assert ours.facts["sigma"] == pytest.approx(np.sqrt(theirs.mse_resid), rel=1e-6)


def test_constant_target():
    X, _ = problem(9)
    model = gm.LinearRegression().fit(X, np.full(len(X), 7.0))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == 7.0
    assert model.summary().facts["r2"] == 1.0
    assert model.score(X, np.full(len(X), 7.0)) == 1.0


def test_float32_rows_keep_float64_sums():
    rng = np.random.default_rng(10)
    X = (rng.standard_normal((200_000, 4)) + 50).astype(np.float32)
    y = (X @ [1, 2, 3, 4] + rng.standard_normal(200_000)).astype(np.float32)
    a, b = gm.LinearRegression().fit(X, y), gm.LinearRegression().fit(X.astype(float), y.astype(float))
    assert a.noise_variance_ == pytest.approx(b.noise_variance_, rel=1e-10)


def test_float32_dependence_is_seen_at_its_precision():
    X = np.random.default_rng(11).standard_normal((100, 3)).astype(np.float32)
    X[:, 2] = X[:, 0] + X[:, 1]
    model = gm.LinearRegression().fit(X, np.arange(100.0))
    assert model.certificate_.rank == 2
    assert np.abs(model.coef_).max() < 1e3


def test_no_freedom_left():
    X, y = problem(12, 4, 3)
    model = gm.LinearRegression().fit(X, y)
    assert "No degrees of freedom" in str(model.summary())
    assert "error" not in model.summary().coefficients
    with pytest.raises(ValueError, match="none are left for a prediction interval"):
        model.predict(X, interval=0.95)


def test_bad_calls():
    X, y = problem(13)
    model = gm.LinearRegression().fit(X, y)
    for bad in (1.5, 0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="interval"):
            model.predict(X, interval=bad)
    with pytest.raises(TypeError, match="interval"):
        model.predict(X, interval="wide")
    with pytest.raises(ValueError, match="'observation', 'mean'"):
        model.predict(X, interval=0.9, interval_of="all")
    with pytest.raises(TypeError, match="fit_intercept is 'yes'"):
        gm.LinearRegression(fit_intercept="yes").fit(X, y)
    with pytest.raises(ValueError, match="needs their target"):
        model.log_likelihood(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(gm.scan(X[:, :2]))


def test_frame_columns_are_matched_by_name():
    X, y = problem(14)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = gm.LinearRegression().fit(frame, y)
    assert list(model.summary().coefficients["name"]) == ["intercept", *"abcde"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="found 'b' where 'a' was"):
        model.predict(gm.scan(frame[list("bacde")]))


def test_several_targets_share_one_pass():
    X, Y = problem(15, t=3)
    model, theirs = gm.LinearRegression().fit(X, Y), LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-10)
    assert model.noise_variance_.shape == (3,)
    assert model.predict(X, interval=0.9).low.shape == (80, 3)
    assert len(model.summary().coefficients["target"]) == 18
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(X, Y))


def test_several_fits_at_once_equal_serial_ones():
    from concurrent.futures import ThreadPoolExecutor

    problems = [problem(seed, 20_000, 30) for seed in range(6)]
    serial = [gm.LinearRegression().fit(*p).coef_ for p in problems]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: gm.LinearRegression().fit(*p).coef_, problems * 2))
    for a, b in zip(serial * 2, together, strict=True):
        np.testing.assert_array_equal(a, b)


def test_blas_threads_are_given_back():
    from threadpoolctl import threadpool_info

    def counts():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = counts()
    gm.LinearRegression().fit(*problem(16))
    assert counts() == before


@pytest.mark.parametrize("make", [gm.LinearRegression, lambda **o: gm.Ridge(0.1, **o), lambda **o: gm.Ridge(cv=4, **o)])
@pytest.mark.parametrize("shape", [(80, 5), (4, 9)])
def test_solvers_by_name(make, shape):
    X, y = problem(17, *shape)
    reference = make().fit(X, y)
    assert reference.solver_.reason
    qr = make(solver="qr").fit(X, y)
    np.testing.assert_allclose(qr.coef_, reference.coef_, rtol=1e-7, atol=1e-9)
    if shape[0] > shape[1]:
        cholesky = make(solver="cholesky").fit(X, y)
        assert cholesky.certificate_.through == "moments"
        assert qr.certificate_.through == "triangle"
        np.testing.assert_allclose(cholesky.coef_, reference.coef_, rtol=1e-9)


def test_solvers_that_cannot_be_had():
    X, y = problem(18)
    with pytest.raises(ValueError, match="needs a triangular factor"):
        gm.LinearRegression(solver="qr").fit(gm.moments(X, y))
    with pytest.raises(ValueError, match="needs cross-products"):
        gm.LinearRegression(solver="cholesky").fit(gm.triangle(X, y))
    with pytest.raises(ValueError, match="solver is 'sag'; it must be one of 'auto', 'cholesky', 'qr'"):
        gm.LinearRegression(solver="sag").fit(X, y)

"""NIST StRD linear regression through the plain public estimator: correct digits of the worst number."""

import numpy as np
import pytest

import gramian as gm
from gramian.rows import base
from oracles import NIST, digits, nist

LEAST = {
    "Norris": 11.5,
    "NoInt1": 11.5,
    "NoInt2": 11.5,
    "Longley": 10.0,
    "Pontius": 11.5,
    "Wampler1": 9.0,
    "Wampler2": 9.0,
    "Wampler3": 9.0,
    "Wampler4": 7.5,
    "Wampler5": 5.5,
    "Filip": 7.0,
}


def coefficients(model):
    return np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_


def check(name, model):
    _, _, beta, errors, _ = nist(name)
    assert digits(coefficients(model), beta) >= LEAST[name]
    summary = model.summary()
    np.testing.assert_array_equal(summary.coefficients["estimate"], coefficients(model))
    if errors.any():
        assert digits(summary.coefficients["error"], errors) >= LEAST[name]
        assert digits(summary.facts["sigma"], float(NIST[name]["residual_sd"])) >= min(LEAST[name], 10.0)
    assert digits(summary.facts["r2"], float(NIST[name]["r2"])) >= 10.0
    assert model.certificate_.holds


@pytest.mark.parametrize("name", NIST)
def test_in_memory(name):
    X, y, _, _, intercept = nist(name)
    check(name, gm.LinearRegression(fit_intercept=intercept).fit(X, y))


@pytest.mark.parametrize("name", NIST)
@pytest.mark.parametrize("size", [3, 8])
def test_rows_cut_into_many_blocks(name, size, monkeypatch):
    monkeypatch.setattr(base, "block_rows", lambda width: size)
    X, y, _, _, intercept = nist(name)
    check(name, gm.LinearRegression(fit_intercept=intercept).fit(gm.scan(X, y)))


@pytest.mark.parametrize("name", NIST)
@pytest.mark.parametrize("size", [1, 5, 7, 13])
def test_merged_triangles(name, size):
    X, y, _, _, intercept = nist(name)
    total = sum(gm.triangle(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size))
    check(name, gm.LinearRegression(fit_intercept=intercept).fit(total))


@pytest.mark.parametrize("name", NIST)
def test_columns_in_other_units(name):
    """Powers of two change nothing but the units: coefficients to the bit, predictions to the bit."""
    X, y, _, _, intercept = nist(name)
    scale = 2.0 ** np.arange(-20, -20 + 13 * X.shape[1], 13)
    a = gm.LinearRegression(fit_intercept=intercept).fit(X, y)
    b = gm.LinearRegression(fit_intercept=intercept).fit(X * scale, y)
    np.testing.assert_array_equal(b.coef_ * scale, a.coef_)
    np.testing.assert_array_equal(b.predict(X * scale), a.predict(X))


def test_moments_alone_that_cannot_carry_the_digits_say_so():
    X, y, beta, _, _ = nist("Filip")
    with pytest.warns(gm.ConvergenceWarning, match="moments in float64 cannot carry the digits"):
        model = gm.LinearRegression().fit(gm.moments(X, y))
    assert not model.certificate_.holds
    assert "gm.triangle" in model.certificate_.note
    assert digits(coefficients(model), beta) < 1


def test_filip_reports_its_condition_number():
    X, y, _, _, _ = nist("Filip")
    model = gm.LinearRegression().fit(X, y)
    assert model.certificate_.through == "triangle"
    assert model.certificate_.rank == 10
    assert model.certificate_.condition == pytest.approx(1.77e15, rel=0.05)
    assert "1.8e+15" in str(model.certificate_)


def test_longley_needs_no_triangle():
    X, y, _, _, _ = nist("Longley")
    model = gm.LinearRegression().fit(X, y)
    assert model.certificate_.through == "moments"
    assert model.certificate_.condition == pytest.approx(4.859257e9, rel=1e-4)

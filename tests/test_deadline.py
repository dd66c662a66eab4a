"""time=: every estimator that has it ends at the best so far, says so, and claims nothing."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm

TIMED = sorted(
    name
    for name in gm.__all__
    if hasattr(getattr(gm, name), "get_params") and "time" in inspect.signature(getattr(gm, name)).parameters
)


def table(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    f = X @ rng.standard_normal(6) + 0.5 * rng.standard_normal(300)
    return X, (f > 0).astype(int) if hasattr(model, "predict_proba") or "multiclass" in model.get_params() else f


def test_there_are_some():
    assert {"Classifier", "LogisticRegression", "Regressor", "SVC"} <= set(TIMED)


@pytest.mark.parametrize("name", TIMED)
def test_no_time_leaves_an_honest_certificate(name):
    model = getattr(gm, name)(time=1e-9)
    X, y = table(model)
    with pytest.warns(gm.ConvergenceWarning):
        model.set_params(alpha=1e-3).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not model.certificate_.holds


@pytest.mark.parametrize("name", TIMED)
def test_a_search_ends_with_the_alphas_it_has_come_to(name):
    model = getattr(gm, name)(time=1e-9)
    X, y = table(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any("ended by time" in str(one.message) for one in caught if one.category is gm.ConvergenceWarning)
    assert len(model.scores_.alphas) == len(model.scores_.mean) < 10
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("name", TIMED)
def test_time_enough_changes_nothing(name):
    one = getattr(gm, name)(alphas=[0.1, 0.01])
    X, y = table(one)
    two = clone(one).set_params(time=1e6).fit(X, y)
    one.fit(X, y)
    assert two.alpha_ == one.alpha_
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("time", [0, -1.0, np.nan, "1"])
def test_times_that_are_none(time):
    with pytest.raises((ValueError, TypeError), match="time is"):
        gm.LogisticRegression(time=time).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def test_kernel_machines_refuse_it():
    with pytest.raises(ValueError, match="time= is for linear machines"):
        gm.SVC(kernel="rbf", time=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])

"""Total least squares against a brute-force minimiser of orthogonal distances and the textbook SVD."""

import numpy as np
import pytest
from scipy.optimize import minimize

import gramian as gm


def problem(seed, n=80, d=3, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 2 + 5
    Y = X @ rng.standard_normal((d, t)) + 1
    X, Y = X + 0.3 * rng.standard_normal((n, d)), Y + 0.3 * rng.standard_normal((n, t))
    return X, Y[:, 0] if t == 1 else Y


@pytest.mark.parametrize("intercept", [True, False])
def test_nearest_plane(intercept):
    X, y = problem(0)
    w = np.random.default_rng(1).integers(0, 3, len(y))
    for weight in (np.ones(len(y)), w):

        def distance(p, weight=weight):
            offset = p[0] if intercept else 0.0
            return (weight * (y - offset - X @ p[1:]) ** 2).sum() / (1 + p[1:] @ p[1:])

        model = gm.TotalLeastSquares(fit_intercept=intercept).fit(X, y, sample_weight=weight)
        start = np.append(model.intercept_, model.coef_)
        best = minimize(distance, start + 0.05, method="BFGS", options={"gtol": 1e-10})
        np.testing.assert_allclose(start[not intercept :], best.x[not intercept :], rtol=1e-4, atol=1e-5)
        assert distance(start) <= best.fun * (1 + 1e-9)
        assert model.objective_ == pytest.approx(distance(start) / weight.sum(), rel=1e-9)


def test_textbook_svd_and_several_targets():
    X, Y = problem(1, t=2)
    Z = np.c_[X, Y] - np.c_[X, Y].mean(axis=0)
    V = np.linalg.svd(Z)[2].T
    expected = -V[:3, 3:] @ np.linalg.inv(V[3:, 3:])
    for data in ((X, Y), (gm.scan(X, Y),), (gm.moments(X, Y),), (gm.triangle(X, Y),)):
        model = gm.TotalLeastSquares().fit(*data)
        np.testing.assert_allclose(model.coef_, expected.T, rtol=1e-7)
    assert "jointly" in model.certificate_.note


def test_least_squares_stands_beside_it():
    X, y = problem(2)
    summary = gm.TotalLeastSquares().fit(X, y).summary()
    plain = gm.LinearRegression().fit(X, y)
    np.testing.assert_allclose(summary.coefficients["least_squares"][1:], plain.coef_)
    assert "least squares" in str(summary)


def test_errors_in_the_features_do_not_shrink_the_slope():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20_000)
    X, y = (x + 0.5 * rng.standard_normal(20_000))[:, None], 2 * x + 0.5 * rng.standard_normal(20_000)
    assert gm.TotalLeastSquares().fit(X, y).coef_[0] == pytest.approx(2.0, abs=0.05)
    assert gm.LinearRegression().fit(X, y).coef_[0] < 1.7


def test_exact_data_and_common_units():
    X, _ = problem(4)
    y = X @ [1.0, -2.0, 3.0] + 4
    for scale in (1.0, 1e-150, 1e150):
        model = gm.TotalLeastSquares().fit(X * scale, y * scale)
        np.testing.assert_allclose(model.coef_, [1, -2, 3], rtol=1e-9)


def test_no_solution_is_reported():
    with pytest.raises(ValueError, match="parallel to the target's axis"):
        gm.TotalLeastSquares().fit([[1e-9], [-1e-9], [1e-9], [-1e-9]], [1.0, 1.0, -1.0, -1.0])
    twice = np.c_[[1.0, 2, 3, 4], [1.0, 2, 3, 4]]
    assert gm.TotalLeastSquares().fit(twice, [1.0, 2.0, 3.0, 2.0]).certificate_.rank == 1
    with pytest.raises(ValueError, match="1 sample"):
        gm.TotalLeastSquares().fit([[1.0]], [1.0])

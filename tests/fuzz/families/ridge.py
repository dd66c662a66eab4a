"""Ridge and least squares against the exact minimum of their objective, in rational numbers."""

from fractions import Fraction

import numpy as np

import gramian as gm
from exact import ExactLeastSquares, rational
from fuzz.verdict import Verdict

SLACK = 4  # times the certificate's tolerance, of the objective without coefficients


def draw(seed):
    """A small table of any offset and scale, its targets and weights, and a model."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 7))
    intercept = bool(rng.random() < 0.7)
    # without an intercept, columns at 1e13 and beyond are dependent to within the rounding of their values
    offsets = [0.0, 1.0, 1e4, 1e7, 1e10] + [1e13, 1e15] * intercept
    X = rng.standard_normal((n, d)) + rng.choice(offsets) * rng.standard_normal(d)
    y = X @ rng.standard_normal(d) if rng.random() < 0.3 else rng.standard_normal(n) + rng.choice([0.0, 1e7])
    X = X * 10.0 ** (rng.uniform(-8, 8, d) if rng.random() < 0.5 else np.zeros(d))
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 2.0, 0.1, 1e7 / 3])
    if d > 1 and rng.random() < 0.2:
        X[:, 0] = X[:, -1] * rng.choice([1.0, -1.0, 4.0])
    w = 10.0 ** (rng.choice([3.0, 6.0]) * rng.uniform(-1, 1, n)) if rng.random() < 0.5 else np.ones(n)
    if rng.random() < 0.3:
        w[1:] *= rng.random(n - 1) < 0.7
    if rng.random() < 0.3:
        return X, y, w, gm.LinearRegression(fit_intercept=intercept)
    alpha = float(rng.choice([1e-14, 1e-8, 1e-4, 1e-2, 1.0, 1e4]))
    return X, y, w, gm.Ridge(alpha, standardize=bool(rng.random() < 0.4), fit_intercept=intercept)


def minimum(A, b, constant):
    """The least value of xᵀAx − 2bᵀx + constant for a semi-definite A, by elimination."""
    A, b, waiting = [list(row) for row in A], list(b), list(range(len(b)))
    while waiting:
        i = max(waiting, key=lambda k: A[k][k])
        if A[i][i] == 0:
            break
        waiting.remove(i)
        constant -= b[i] ** 2 / A[i][i]
        for k in waiting:
            factor = A[k][i] / A[i][i]
            b[k] -= factor * b[i]
            for m in waiting:
                A[k][m] -= factor * A[i][m]
    return constant


def excess(X, y, w, model):
    """The objective at the fit less its minimum, relative to the objective without coefficients."""
    exact = ExactLeastSquares(X, y, w, model.fit_intercept)
    d, W = range(exact.d), exact.weight
    a = Fraction(getattr(model, "alpha", 0.0)) * W
    pull = [a * exact.G[j][j] / W if getattr(model, "standardize", False) else a for j in d]
    A = [[exact.G[i][j] + (pull[i] if i == j else 0) for j in d] for i in d]
    c, b = rational(model.coef_), Fraction(float(model.intercept_))
    shift = exact.y_mean - b - sum(m * v for m, v in zip(exact.mean, c, strict=True))
    value = exact.yy + W * shift**2 + sum(c[i] * (sum(A[i][j] * c[j] for j in d) - 2 * exact.b[i]) for i in d)
    rounding = W * (Fraction(float(np.abs(y).max())) / 10**8) ** 2
    return float((value - minimum(A, exact.b, exact.yy)) / max(exact.yy, rounding, Fraction(1, 10**300)))


def ridge(seed):
    """The exact objective of a certified fit is the exact minimum, within the certificate's tolerance."""
    X, y, w, model = draw(seed)
    told = f"{model!r}, {X.shape}, {int((w > 0).sum())} rows of positive weight"
    certificate = model.fit(X, y, sample_weight=w).certificate_
    if not certificate.holds:
        return Verdict("uncertified", told)
    above = excess(X, y, w, model)
    if above <= SLACK * certificate.tolerance:
        return Verdict("right", told)
    return Verdict("wrong", f"{above:.2g} above, certified by {certificate}: {model.solver_.name}: {told}")


FAMILIES = {"ridge": ridge}

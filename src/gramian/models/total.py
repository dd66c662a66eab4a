"""Total least squares: errors in all variables."""

from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from gramian.models.base import LinearModel
from gramian.models.parameters import flag
from gramian.models.summary import Summary
from gramian.rows import Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, Solver
from gramian.solvers.quadratic import solve
from gramian.statistics import Moments, Triangle
from gramian.statistics.qr import block_triangle

Floats = NDArray[np.float64]


class TotalLeastSquares(LinearModel):
    """The hyperplane nearest to the points, orthogonally: errors in the features as well as in the target.

    Minimises the sum of squared orthogonal distances Σ w (y − b − cᵀx)² / (1 + ‖c‖²). With several targets, the
    smallest ‖[ΔX, ΔY]‖ (Frobenius) that makes the system solvable. Least squares, which blames the target alone, stands beside it in
    `summary()`.

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit b.

    Attributes
    ----------
    coef_, intercept_, certificate_, solver_
    objective_ : float
        Mean squared orthogonal distance.

    Notes
    -----
    One pass for the triangular factor of [X, y], O(n d²), and its singular vectors, O(d³). The answer depends on the units
    of every column: give them in units of equal error.

    Examples
    --------
    >>> import gramian as gm
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.8, 3.1]
    >>> gm.TotalLeastSquares().fit(x, y).coef_.round(3)
    array([0.998])
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "TotalLeastSquares":
        """Fit to (X, y), `Rows`, `Moments` or a `Triangle`."""
        intercept = flag("fit_intercept", self.fit_intercept)
        data = self._source(X, y, sample_weight)
        with single_threaded_blas():
            root, exponents, mean, weight, through = _root(data, intercept)
            d = data.d
            top = int(exponents.max()) if exponents.size else 0
            with np.errstate(under="ignore"):
                scaled = np.ldexp(root, (exponents - top)[None, :])
            s, Vt = sla.svd(scaled, full_matrices=False, check_finite=False)[1:]
        coef = self._solve(s, Vt, d)
        self._set_coefficients(coef, mean[d:] - mean[:d] @ coef, data.one_target)
        small = np.zeros(d + data.t if not isinstance(data, Rows) else d + len(data.target_names))
        t = len(small) - d
        last = Vt[d:]
        residual = scaled.T @ (scaled @ last.T) - last.T * s[d:] ** 2
        value = float(np.abs(residual).max(initial=0.0) / max(s[0] ** 2, np.finfo(float).tiny))
        rank = int((s > 1e-14 * max(s[0], np.finfo(float).tiny)).sum())
        self.objective_ = float(np.ldexp((s[d:] ** 2).sum() / weight, 2 * top))
        self.certificate_ = Certificate(
            kind="eigen-residual",
            value=value,
            tolerance=1e-10,
            holds=value <= 1e-10,
            rank=min(rank, d),
            condition=float(s[0] / s[d - 1]) if s[d - 1] > 0 else np.inf,
            through=through,
            note="" if t == 1 else f"{t} targets are fitted jointly.",
        )
        self.solver_ = Solver("SVD", "the smallest singular vectors of the factor of [X, y] are the answer")
        plain = solve(data, intercept=intercept)
        self._least_squares = (plain.coef, plain.intercept)
        return self

    def _solve(self, s: Floats, Vt: Floats, d: int) -> Floats:
        V = Vt.T
        below, corner = V[:d, d:], V[d:, d:]
        gap = s[d - 1] - s[d] if len(s) > d else s[d - 1]
        if gap <= 1e-12 * s[0] or np.linalg.cond(corner) > 1e12:
            raise ValueError(
                "Total least squares has no unique answer here: the smallest singular values of [X, y] coincide, or the "
                "target is not in the nearest plane. Use Ridge, drop dependent columns, or bring all columns to units of equal error."
            )
        return -below @ np.linalg.inv(corner)

    def _summary(self) -> Summary:
        coefs, intercepts = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        plain, offsets = self._least_squares
        names, total, ordinary = [], [], []
        for target in range(len(coefs)):
            if self.fit_intercept:
                names.append("intercept")
                total.append(float(intercepts[target]))
                ordinary.append(float(offsets[target]))
            names += self._feature_names()
            total += list(coefs[target])
            ordinary += list(plain[:, target])
        columns = {
            "name": np.array(names, dtype=object),
            "estimate": np.array(total),
            "least_squares": np.array(ordinary),
        }
        facts = {"objective": self.objective_, "condition": self.certificate_.condition}
        return Summary(type(self).__name__, columns, facts, [self.certificate_.note] if self.certificate_.note else [])


def _root(data: Any, intercept: bool) -> tuple[Floats, NDArray[np.int64], Floats, float, str]:
    """A square root of the cross-products of [X, y], the exponents of its columns, the means, the weight, the road."""
    if isinstance(data, Moments):
        sums = data if intercept else data.second_moments()
        values, vectors = np.linalg.eigh(sums.scaled)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        mean = data.mean if intercept else np.zeros_like(data.mean)
        return root, sums.exponents, mean, data.weight, "moments"
    triangle = data if isinstance(data, Triangle) else data.sum(block_triangle(data))
    root = (triangle.centred() if intercept else triangle.about_zero()).astype(np.float64)
    mean = triangle.mean if intercept else np.zeros_like(triangle.mean)
    return root, triangle.exponents, mean, triangle.weight, "triangle"

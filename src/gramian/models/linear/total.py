"""Total least squares: errors in all variables."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np

from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints
from gramian._core.validation import flag
from gramian.models.base.linear_model import LinearModel
from gramian.rows import single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.closed_form import TOLERANCE, solve
from gramian.statistics import Moments, Triangle
from gramian.statistics.qr import block_triangle


@estimator
class TotalLeastSquares(LinearModel):
    """The hyperplane nearest to the points, orthogonally: errors in the features as well as in the target.

    Minimises the sum of squared orthogonal distances Σ w (y − b − cᵀx)² / (1 + ‖c‖²). With several targets, the
    smallest ‖[ΔX, ΔY]‖ (Frobenius) that makes the system solvable. Least squares, which blames the target alone,
    stands beside it in `summary()`.

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit b.

    Attributes
    ----------
    coef_, intercept_, certificate_, solver_
    representation_ : Columns
        What the rows look like to the model.
    objective_ : float
        Mean squared orthogonal distance.

    Notes
    -----
    One pass for the triangular factor of [X, y], O(n d²), and its singular vectors, O(d³). The answer depends on the
    units of every column: give them in units of equal error.

    Examples
    --------
    >>> import gramian as gm
    >>> x, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.2, 1.8, 3.1]
    >>> gm.TotalLeastSquares().fit(x, y).coef_.round(3)
    array([0.999])
    """

    _: KW_ONLY
    fit_intercept: bool = True
    _least_squares: Any = field(init=False)

    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "TotalLeastSquares":
        """Fit to (X, y), `Rows`, `Moments` or a `Triangle`."""
        intercept = flag("fit_intercept", self.fit_intercept)
        forget_fit(self)
        data = self._source(X, y, sample_weight)
        d, t = data.d, len(data.target_names)
        if data.n <= 1:
            raise ValueError(f"A plane cannot be fitted to n_samples = {data.n}: 1 sample. Give at least 2 rows.")
        with np.errstate(under="ignore"):
            root, exponents, mean, weight, through = _root(data, intercept)
            top = int(exponents.max())
            scaled = np.ldexp(root, (exponents - top)[None, :])
            # Directions in which the features do not vary have no say: the plane is sought in the others.
            size, directions = np.linalg.svd(scaled[:, :d])[1:]
            rank = int((size > 1e-13 * size[0]).sum()) if size[0] > 0 else 0
            basis = directions[:rank].T
            scaled = np.column_stack([scaled[:, :d] @ basis, scaled[:, d:]])
            s, Vt = np.linalg.svd(scaled)[1:]
            coef = basis @ _hyperplane(s, Vt, rank)
        self._set_coefficients(coef, mean[d:] - mean[:d] @ coef, data.one_target)
        last = Vt[rank:].T
        residual = scaled.T @ (scaled @ last) - last * s[rank:] ** 2
        value = float(np.abs(residual).max() / max(float(s[0]) ** 2, float(np.finfo(float).tiny)))
        notes = [] if t == 1 else [f"The {t} targets are fitted jointly."]
        if rank < d:
            notes.append(f"The features vary in only {rank} of {d} directions: the coefficients are the shortest.")
        with np.errstate(over="ignore"):
            self.objective_ = float(np.ldexp((s[rank:] ** 2).sum() / weight, 2 * top))
        if not np.isfinite(self.objective_):
            raise ValueError(
                f"The columns are of size 1e{top * np.log10(2.0):.0f}, and their squared distances to a plane beyond "
                "the range of float64: divide all columns by one number first."
            )
        gradient = _gradient(root, exponents, coef)
        if gradient > TOLERANCE:
            notes.append(
                f"The columns differ too much in size for float64: the gradient is {gradient:.2g} of its terms. Bring "
                "all columns to units of equal error."
            )
        certificate = Certificate(
            kind="eigen-residual",
            value=value,
            tolerance=1e-10,
            holds=value <= 1e-10 and gradient <= TOLERANCE,
            rank=rank,
            condition=float(size[0] / size[rank - 1]) if rank else 1.0,
            through=through,
            note=" ".join(notes),
        )
        solver = SolverInfo("SVD", "the smallest singular vectors of the factor of [X, y] are the answer")
        self._set_certificate(certificate, solver)
        plain = solve(data, intercept=intercept)
        self._least_squares = (plain.coef, plain.intercept)
        return self

    def _summary(self) -> Summary:
        plain, offsets = self._least_squares
        ordinary = np.vstack([offsets, plain]) if self.fit_intercept else plain
        columns = self._coefficient_table() | {"least_squares": ordinary.T.reshape(-1)}
        facts = {"objective": self.objective_, "condition": self.certificate_.condition}
        return Summary(type(self).__name__, columns, facts, [self.certificate_.note] if self.certificate_.note else [])


def _gradient(root: Floats, exponents: Ints, coef: Floats) -> float:
    """The largest entry of the objective's gradient relative to its terms, column by column; of one target."""
    d, t = coef.shape
    if t > 1:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        x, y = exponents[:d], int(exponents[d])
        A, c = root[:, :d], coef[:, 0]
        r = root[:, d] - A @ np.ldexp(c, x - y)
        pull = float(r @ r) / (1.0 + float(c @ c)) * np.ldexp(c, y - x)
        terms = np.linalg.norm(A, axis=0) * float(np.linalg.norm(root[:, d])) + np.abs(pull)
        return float(np.max(np.abs(A.T @ r + pull) / np.where(terms > 0, terms, 1.0), initial=0.0))


def _hyperplane(s: Floats, Vt: Floats, d: int) -> Floats:
    """Coefficients (d, t) of the plane whose normals are the last singular vectors; the shortest if not unique."""
    # All directions as small as the (d + 1)-th belong to the plane's normals.
    first = int((s > s[d] + 1e-12 * s[0]).sum())
    normals = Vt[first:].T
    below, corner = normals[:d], normals[d:]
    if np.linalg.norm(corner, 2) < 1e-12 or np.linalg.matrix_rank(corner, tol=1e-12) < len(corner):
        raise ValueError(
            "Total least squares has no answer here: the plane nearest to the points is parallel to the target's axis. "
            "Use LinearRegression or Ridge, or bring all columns to units of equal error."
        )
    return -below @ np.linalg.pinv(corner)


def _root(data: Any, intercept: bool) -> tuple[Floats, Ints, Floats, float, str]:
    """A square root of the cross-products of [X, y], the exponents of its columns, means, weight and method."""
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

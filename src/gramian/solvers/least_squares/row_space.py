"""More columns than rows: least squares and ridge in the row space of the centred columns.

Ridge depends on the rows only through inner products, so it is solved for the n coordinates of the rows in their own
space (`project_to_row_space`) and mapped back (`lift`). The minimum-norm least-squares solution comes from the singular
vectors of the rows. Both are certified in the columns given, about their means.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.rows import MemoryRows, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.closed_form import TOLERANCE, QuadraticPenalty, solve
from gramian.solvers.least_squares.factor import EPS
from gramian.solvers.least_squares.rounding import intercept_share, neglected_share, with_rounding
from gramian.solvers.solution import Solution, SquaredLossSums

MOST_COVARIANCE_CELLS = 20_000_000  # numbers of a covariance factor worth keeping
MOST_PRIMAL_COLUMNS = 1000  # up to which a badly scaled problem is solved again for all columns
ROUNDING = 16.0 * float(np.finfo(np.longdouble).eps)  # singular value, relative to the largest, of dependent rows
MOST_EXPONENT = 400  # binary, of numbers whose products and sums of squares are far from the ends of float64
FAR = 10.0  # deviations between the mean of a sparse column and zero: fewer than one in a hundred is zero


@dataclass(frozen=True, eq=False)
class Design:
    """The columns about their weighted means, `X − offset`; rows of weight zero are zero.

    Dense columns are centred beforehand, and so are sparse ones far from zero, which are stored nearly dense anyway.

    Attributes
    ----------
    X : array or CSR matrix (n, d)
    offset : array (d,)
        What is still to be subtracted: zero but for sparse columns near zero.
    mean : array (d,)
        The weighted means of the columns given; zero without an intercept.
    weight : array (n,)
    """

    X: Any
    offset: Floats
    mean: Floats
    weight: Floats

    def times(self, coef: Floats) -> Floats:
        return np.asarray(self.X @ coef) - self.offset @ coef

    def transposed_times(self, r: Floats) -> Floats:
        return np.asarray(self.X.T @ r) - np.outer(self.offset, r.sum(axis=0))

    def norms(self) -> Floats:
        """√(Σ w z²) of every column, without over- or underflow."""
        top = np.abs(self.X).max(axis=0)
        top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).reshape(-1)
        unit = np.where(top > 0, top, 1.0)
        if sp.issparse(self.X):
            scaled = self.X @ sp.diags_array(1.0 / unit)
            squares = np.asarray(scaled.multiply(scaled).T @ self.weight)
            squares -= self.weight.sum() * (self.offset / unit) ** 2
        else:
            squares = self.weight @ (self.X / unit) ** 2
        return unit * np.sqrt(np.maximum(squares, 0.0))


def design_of(rows: Rows, *, intercept: bool) -> Design:
    """The columns of rows in memory, centred where there is an intercept; refuses numbers that are not finite."""
    block = rows.collect()
    w = block.weights
    X: Any = block.X.astype(np.float64) if sp.issparse(block.X) else np.array(block.X, dtype=np.float64)
    if not np.isfinite(X.sum()):
        rows.refuse_nonfinite()
    if (w == 0).any():
        X = sp.diags_array((w > 0).astype(np.float64)).tocsr() @ X if sp.issparse(X) else np.where(w[:, None] > 0, X, 0)
    nothing = np.zeros(rows.d)
    if not intercept:
        return Design(X, nothing, nothing, w)
    if not sp.issparse(X):
        mean = _centre(X, w)
        return Design(X, nothing, mean, w)
    offset = np.asarray(X.T @ w) / w.sum()
    mean = offset.copy()
    square = np.asarray(X.multiply(X).T @ w) / w.sum()
    far = np.flatnonzero(square - offset**2 < offset**2 / FAR**2)
    if far.size:
        dense = X[:, far].toarray()
        mean[far] = _centre(dense, w)
        offset[far] = 0.0
        near = np.setdiff1d(np.arange(rows.d), far)
        order = np.argsort(np.concatenate([near, far]), kind="stable")
        X = sp.hstack([X[:, near], sp.csr_array(dense)], format="csr")[:, order]
    return Design(X, offset, mean, w)


def _centre(X: Floats, w: Floats) -> Floats:
    """Subtract the weighted means in place, about the heaviest row first so that no digits cancel; the means."""
    first = X[int(np.argmax(w))].copy()
    X -= first
    rest = w @ X / w.sum()
    X -= rest
    X[w == 0] = 0.0
    return first + rest


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows in the at most n coordinates of their own space, and the map of coefficients back to the columns.

    Attributes
    ----------
    rows : Rows
        The rows with at most n columns.
    design : Design
    basis : array (d, r)
    """

    rows: Rows
    design: Design
    basis: Floats
    root: Floats | None

    def lift(self, coefs: Floats) -> Floats:
        """Coefficients (…, r, t) as coefficients (…, d, t) of the columns given."""
        found = self.basis @ coefs
        return found if self.root is None else found * self.root[:, None]

    def intercepts(self, coefs: Floats, intercepts: Floats) -> Floats:
        """Intercepts (A, t) for coefficients (A, d, t) of the columns given."""
        shift = self.design.mean - self.design.offset
        return intercepts - np.einsum("d,adt->at", shift, coefs) if shift.any() else intercepts


def project_to_row_space(rows: Rows, factors: Floats | None = None, *, intercept: bool) -> RowSpace:
    """The rows in their own space; with `factors` the penalty Σ f_j w_j² becomes the plain one there."""
    design = design_of(rows, intercept=intercept)
    X = design.X
    root = None if factors is None else 1.0 / np.sqrt(factors)
    with single_threaded_blas():
        if sp.issparse(X):
            projected, basis = _by_kernel(X if root is None else X @ sp.diags_array(root))
        else:
            basis, R = np.linalg.qr((X if root is None else X * root).T)
            projected = np.ascontiguousarray(R.T)
    block = rows.collect()
    small = MemoryRows(projected, block.y, block.weight, target_names=rows.target_names, one_target=rows.one_target)
    small.precision = rows.precision
    return RowSpace(small, design, basis, root)


def _by_kernel(X: sp.csr_array) -> tuple[Floats, Floats]:
    """Columns U√λ of XXᵀ = UλUᵀ and the map XᵀU/√λ: for sparse rows, whose inner products are cheap."""
    values, U = np.linalg.eigh((X @ X.T).toarray())
    good = values > len(values) * EPS * max(values[-1], 0.0)
    root = np.sqrt(values[good])
    return U[:, good] * root, np.asarray(X.T @ (U[:, good] / root))


def extreme_column(rows: Rows) -> int | None:
    """A column so large or small that its products with others leave float64, if there is one."""
    block = rows.collect()
    X = block.X if block.weight is None else block.X[block.weight > 0]
    top = np.abs(X).max(axis=0)
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).reshape(-1)
    extreme = np.flatnonzero(np.abs(np.where(top > 0, np.frexp(top)[1], 0)) > MOST_EXPONENT)
    return int(extreme[0]) if extreme.size else None


class _Gradient:
    """The gradient of the objective at any coefficients, relative to the size of its terms.

    Columns and targets are divided by powers of two, so that numbers of any size have squares.
    """

    def __init__(self, design: Design, y: Floats, pull: Floats, precision: float) -> None:
        self.design, self.pull = design, pull
        self.norms = design.norms()
        # What rounding of the column itself leaves is not variation: half a unit in the last place of a value, per row.
        self.constant = self.norms <= 2 * precision * np.abs(design.mean) * np.sqrt(design.weight.sum())
        self.x = np.where(self.norms > 0, np.frexp(self.norms)[1], 0).astype(np.int64)
        total = np.abs(y).max(axis=0, initial=0.0)
        self.y_exponent = np.where(total > 0, np.frexp(total)[1], 0).astype(np.int64)
        self.y = np.ldexp(y, -self.y_exponent)
        unit = np.ldexp(self.norms, -self.x)
        self.size = unit[:, None] * np.sqrt(design.weight @ self.y**2)[None, :]

    def at(self, coef: Floats) -> tuple[Floats, float, float]:
        """Xᵀr in the given units, the largest relative entry of the gradient, and what rounding of `coef` makes it."""
        scaled = np.ldexp(coef, -self.y_exponent)
        r = (self.y - self.design.times(scaled)) * self.design.weight[:, None]
        correlations = self.design.transposed_times(r)
        correlations[self.constant] = 0.0
        inner = np.ldexp(correlations, -self.x[:, None])
        pull = np.ldexp(self.pull * scaled, -self.x[:, None])
        terms = self.size + np.abs(pull)
        terms = np.where(terms > 0, terms, 1.0)
        reach = self.norms @ np.abs(scaled)
        rounding = np.max(EPS * np.ldexp(self.norms, -self.x)[:, None] * reach / terms, initial=0.0)
        value = float(np.max(np.abs(inner - pull) / terms, initial=0.0))
        with np.errstate(over="ignore"):
            return np.ldexp(correlations, self.y_exponent), value, 4.0 * float(rounding)

    def certified(self, certificate: Certificate, coef: Floats, mean: Floats | None) -> Certificate:
        """The certificate, as far as columns taken as constant and the rounding of an intercept allow."""
        left = np.flatnonzero(self.constant)
        squares = np.ldexp(self.norms[left], -self.x[left]) ** 2
        l2 = np.ldexp(np.broadcast_to(self.pull[:, 0], len(self.norms))[left], -2 * self.x[left])
        shift = 0.0
        if mean is not None:
            scaled = np.append(mean[: len(coef)], np.ldexp(mean[len(coef) :], -self.y_exponent))
            weight = self.design.weight
            shift = intercept_share(scaled, np.ldexp(coef, -self.y_exponent), float(weight.sum()), weight @ self.y**2)
        return with_rounding(certificate, neglected_share(squares, np.zeros(len(left)), l2, 1.0), shift)

    def residual(self, coef: Floats) -> Floats:
        """Σ w r² of each target."""
        r = self.y - self.design.times(np.ldexp(coef, -self.y_exponent))
        with np.errstate(over="ignore"):
            return np.ldexp(self.design.weight @ r**2, 2 * self.y_exponent)


def lift(
    solution: Solution, space: RowSpace, rows: Rows, alpha: float, factors: Floats | None, intercept: bool
) -> Solution:
    """A ridge solution in the row space as one for the columns given, certified there."""
    block = rows.collect()
    assert block.y is not None
    design = space.design
    d, t = rows.d, block.y.shape[1]
    y = np.array(block.y, dtype=np.float64)
    mean = np.concatenate([design.mean, _centre(y, design.weight) if intercept else np.zeros(t)])
    pull = alpha * design.weight.sum() * (np.ones(d) if factors is None else factors)[:, None]
    gradient = _Gradient(design, y, pull, rows.precision)
    best, coef, tolerance = np.inf, np.zeros((d, t)), TOLERANCE
    name, reason = "projection on the row space", "fewer rows than columns: solved in the space of the n rows"
    with single_threaded_blas(), np.errstate(under="ignore"):
        for source in ("row space", "columns"):
            if source == "columns":
                if best <= tolerance or d > MOST_PRIMAL_COLUMNS:
                    break
                again = solve(rows, intercept=intercept, alpha=alpha, penalty=QuadraticPenalty(diagonal=factors))
                trial = again.coef
            else:
                trial = space.lift(solution.coef)
                trial[gradient.constant] = 0.0
            # At the minimum pull · coef = Xᵀr: column by column more accurate than a rotation, unless alpha is tiny.
            for each in (trial, gradient.at(trial)[0] / pull) if alpha > 0 else (trial,):
                _, value, rounding = gradient.at(each)
                if value < best:
                    best, coef, tolerance = value, each, max(TOLERANCE, rounding)
                    if source == "columns":
                        solution, name, reason = again, again.solver.name, again.solver.reason
        residual = gradient.residual(coef)
    with np.errstate(over="ignore"):
        objective = float((residual + (pull * coef**2).sum(axis=0)).sum() / design.weight.sum())
    certificate = replace(solution.certificate, value=best, tolerance=tolerance, holds=best <= tolerance)
    certificate = gradient.certified(certificate, coef, mean if intercept else None)
    covariance, exponents = solution.squares.covariance_factor, solution.squares.x
    if name.startswith("projection"):
        name = f"{name}, {solution.solver.name}"
        exponents = np.zeros(d, dtype=np.int64)
        if covariance is not None:
            small = d * covariance.shape[1] <= MOST_COVARIANCE_CELLS
            covariance = space.lift(np.ldexp(covariance, -solution.squares.x[:, None])) if small else None
    return replace(
        solution,
        coef=coef,
        intercept=mean[d:] - mean[:d] @ coef if intercept else np.zeros(t),
        value=objective,
        certificate=certificate,
        sums=replace(solution.squares, residual=residual, covariance_factor=covariance, x=exponents, mean=mean),
        solver=SolverInfo(name, reason),
    )


def minimum_norm(rows: Rows, *, intercept: bool) -> Solution:
    """The least-squares solution of minimum norm, for fewer rows than columns: it usually interpolates."""
    design = design_of(rows, intercept=intercept)
    if sp.issparse(design.X):
        design = replace(design, X=design.X.toarray() - design.offset, offset=np.zeros(rows.d))
    block = rows.collect()
    assert block.y is not None
    d, t = rows.d, block.y.shape[1]
    w = design.weight
    y = np.array(block.y, dtype=np.float64)
    mean = np.concatenate([design.mean, _centre(y, w) if intercept else np.zeros(t)])
    top = int(np.frexp(np.abs(design.X).max(initial=0.0))[1])
    root = np.sqrt(w)[:, None]
    Z = np.ldexp(design.X, -top) * root  # in a common unit, in which no square overflows
    gradient = _Gradient(design, y, np.zeros((d, 1)), rows.precision)
    with single_threaded_blas(), np.errstate(under="ignore"):
        Q, R = np.linalg.qr(Z.T)
        U, s, Vt = np.linalg.svd(R)
        real = s > max(d, rows.n) * max(EPS, rows.precision) * s[0] if s.size and s[0] > 0 else s > np.inf
        rank = int(real.sum())
        coef = np.ldexp(Q @ (U[:, real] @ ((Vt[real] @ (y * root)) / s[real, None])), -top)
        certified = partial(_with_null_space, gradient, bool(real.all()), mean if intercept else None)
        _, value, rounding = gradient.at(coef)
        if value > TOLERANCE and d <= MOST_PRIMAL_COLUMNS:
            again = solve(rows, intercept=intercept)
            _, other, rounding = gradient.at(again.coef)
            if other < value:
                tolerance = max(TOLERANCE, rounding)
                certificate = replace(again.certificate, value=other, tolerance=tolerance, holds=other <= tolerance)
                return replace(again, certificate=certified(certificate, again.coef))
        residual, total = gradient.residual(coef), gradient.residual(np.zeros((d, t)))
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    tolerance = max(TOLERANCE, rounding)
    certificate = Certificate(
        kind="gradient",
        value=value,
        tolerance=tolerance,
        holds=value <= tolerance,
        rank=rank,
        condition=condition,
        through="svd",
        digits=int(np.clip(-np.log10(max(condition * EPS, 1e-16)), 0, 15)),
        note=f"{rows.n} rows cannot tell {d} columns apart: of all solutions this is the shortest in the given units.",
        convex=True,
    )
    return Solution(
        coef=coef,
        intercept=mean[d:] - mean[:d] @ coef if intercept else np.zeros(t),
        value=float((residual / w.sum()).sum()),
        sums=SquaredLossSums(
            residual, total, float(w.sum()), float(rank + intercept), x=np.zeros(d, dtype=np.int64), mean=mean
        ),
        certificate=certified(certificate, coef),
        solver=SolverInfo(
            "SVD", "fewer rows than columns: the shortest solution, from the singular vectors of the rows"
        ),
    )


def _with_null_space(
    gradient: _Gradient, full: bool, mean: Floats | None, certificate: Certificate, coef: Floats
) -> Certificate:
    """The certificate of a minimum-norm solution, whose residual is zero, or orthogonal to rows that are dependent.

    Directions of the rows with singular values of the size of rounding were left out. With columns of one scale, in
    extended precision, they are told from exact linear dependences; where they are none, the residual could be smaller.
    """
    certificate = gradient.certified(certificate, coef, mean)
    weight, r = gradient.design.weight, gradient.y - gradient.design.times(np.ldexp(coef, -gradient.y_exponent))
    total = weight @ gradient.y**2
    share = float(np.max(weight @ r**2 / np.where(total > 0, total, 1.0), initial=0.0))
    if full or share <= certificate.tolerance:
        return certificate
    root = np.sqrt(weight.astype(np.longdouble))[:, None]
    rows = np.ldexp(gradient.design.X, -gradient.x).astype(np.longdouble) * root
    s, Vt = np.linalg.svd(np.linalg.qr(rows.T.astype(np.float64))[1])[1:]
    kept = s > max(rows.shape) * EPS * s[0]
    U, null = Vt.T[:, kept], Vt.T[:, ~kept].astype(np.longdouble)
    n_free = int((root > 0).sum()) - (mean is not None)  # rank that independent rows would have
    if mean is not None:  # centred rows are dependent by √w
        unit = root[:, 0] / np.sqrt((root * root).sum())
        rows, null = rows - np.outer(unit, unit @ rows), null - np.outer(unit, unit @ null)
    for _ in range(2):
        null = null - U @ ((U.T @ (rows @ (rows.T @ null))) / s[kept, None] ** 2)
    size = np.linalg.norm((rows.T @ null).astype(np.float64), axis=0).max(initial=0.0)
    dependent = int(kept.sum()) < n_free and size <= ROUNDING * s[0]
    return certificate if dependent else with_rounding(certificate, 0.0, 0.0, share)

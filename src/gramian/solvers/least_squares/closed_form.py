"""Squared loss without a penalty or with a quadratic one: from rows, moments or a triangle to certified coefficients.

    minimise   (1/W) Σ w (y − b − xᵀc)² + alpha · cᵀPc

The cheapest method that is accurate at the condition number is taken: one pass for cross-products and a Cholesky
factor; a second, cheap pass that refines the solution by its true residuals where columns are nearly dependent or
residuals tiny; a pass for the triangular factor where squaring the data would lose too much.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Bools, Floats
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.factor import (
    EPS,
    GRAM_BLIND,
    MOMENTS_CARRY,
    Factor,
    Quadratic,
    factor_of_quadratic,
    factor_of_triangle,
    quadratic,
)
from gramian.solvers.least_squares.rounding import intercept_share, neglected_share, with_rounding
from gramian.solvers.solution import Solution, SquaredLossSums
from gramian.statistics import Moments, Triangle
from gramian.statistics.products import block_moments
from gramian.statistics.qr import EXTENDED_WORK, block_triangle
from gramian.warnings import ConvergenceWarning, warn_user

REFINABLE = 1e6  # condition number up to which refinement on a Cholesky factor converges at once
CLEAR_RESIDUAL = 1e-3  # share of yᵀy below which a residual computed by subtraction has lost three digits
TOLERANCE = 1e-8
METHODS = ("auto", "cholesky", "qr")
LARGEST = 1e152


@dataclass(frozen=True, eq=False)
class QuadraticPenalty:
    """P of a quadratic penalty: a diagonal or a matrix, in the given units.

    With `standardize` it is of the coefficients of the columns divided by their standard deviations, about zero where
    there is no intercept; a matrix does not couple constant columns then.
    """

    diagonal: Floats | None = None
    matrix: Floats | None = None
    standardize: bool = False

    def root(self, q: "Quadratic | Factor", deviations: Floats, alpha: float, *, whole: bool = False) -> Floats:
        """Γ with ΓᵀΓ = alpha · W · P, for the columns divided by 2**x; what is beyond the float range is cut there.

        Constant columns are left out, their coefficients at the minimum of the penalty given the others (`fill`);
        `whole` keeps them.
        """
        strength = np.sqrt(alpha) * np.sqrt(q.weight)
        with np.errstate(over="ignore"):
            if self.matrix is not None:
                matrix = self.matrix
                if self.standardize:
                    root = strength * np.where(q.constant, 0.0, matrix * deviations)
                elif q.constant.any() and not whole:
                    still = matrix[:, q.constant]
                    matrix = matrix - still @ (np.linalg.pinv(still) @ matrix)
                if not self.standardize:
                    root = np.ldexp(strength * matrix, -q.x[None, :])
            else:
                size = np.ones(q.d) if self.diagonal is None else np.sqrt(self.diagonal)
                measure = deviations if self.standardize else np.ldexp(1.0, -np.clip(q.x, -1000, 1000))
                root = np.diag(strength * size * measure)
        if not whole or self.matrix is None:
            root[:, q.constant] = 0.0
        return np.clip(root, -LARGEST, LARGEST)

    def neglected_share(self, q: "Quadratic", alpha: float) -> float:
        """What the columns taken as constant could lower the objective by, relative to it without coefficients."""
        left = np.flatnonzero(q.neglected)
        squares, strength = q.neglected[left], alpha * q.weight
        if not left.size:
            return 0.0
        if self.matrix is not None:
            l2 = np.zeros(len(left))
        else:
            size = np.ones(len(left)) if self.diagonal is None else self.diagonal[left]
            with np.errstate(over="ignore"):
                l2 = strength * size * (squares / q.weight if self.standardize else np.ldexp(1.0, -2 * q.x[left]))
        return neglected_share(squares, np.zeros(len(left)), l2, 1.0)

    def fill(self, constant: Bools, coef: Floats) -> Floats:
        """Coefficients (…, d, t) with those of constant columns where a matrix is least, given the others, or 0."""
        if self.matrix is None or self.standardize or not constant.any():
            return coef
        found = coef.copy()
        follow = np.linalg.pinv(self.matrix[:, constant]) @ self.matrix[:, ~constant]
        found[..., constant, :] = -(follow @ coef[..., ~constant, :])
        return found

    def gram(self, q: "Quadratic", alpha: float) -> Floats:
        """alpha · W · P for the columns divided by 2**x."""
        root = self.root(q, np.sqrt(np.diagonal(q.G) / q.weight), alpha)
        return np.diag(np.diagonal(root) ** 2) if self.matrix is None else root.T @ root


class OutOfRange(ValueError):
    """Columns or targets whose squares are beyond the range of float64, which other solvers may still fit."""


def solve(
    data: "Rows | Moments | Triangle",
    *,
    intercept: bool,
    alpha: float = 0.0,
    penalty: QuadraticPenalty | None = None,
    moments: Moments | None = None,
    method: str = "auto",
) -> Solution:
    """Certified coefficients from data in any form.

    `moments`, where a pass over the same rows was made already, are used again. `method` is one of `METHODS`: "auto"
    takes the cheapest method that is accurate at this condition number, the others are taken in any case.
    """
    penalty = penalty or QuadraticPenalty()
    with single_threaded_blas(), np.errstate(under="ignore"):
        if isinstance(data, Triangle):
            if method == "cholesky":
                raise ValueError('solver="cholesky" needs cross-products: fit from the rows or from gm.moments.')
            return _through_triangle(data, intercept, alpha, penalty, "a triangle was given")
        if isinstance(data, Moments):
            if method == "qr":
                raise ValueError('solver="qr" needs a triangular factor: fit from the rows or from gm.triangle.')
            return _through_moments(data, None, intercept, alpha, penalty)
        if method == "qr":
            origin = None if moments is None else moments.mean
            return _through_triangle(data.sum(block_triangle(data, origin)), intercept, alpha, penalty, "asked for")
        sums = moments if moments is not None else data.sum(block_moments(data))
        return _through_moments(sums, None if method == "cholesky" else data, intercept, alpha, penalty)


def _through_moments(
    moments: Moments, rows: Rows | None, intercept: bool, alpha: float, penalty: QuadraticPenalty
) -> Solution:
    q = quadratic(moments, intercept=intercept)
    plain = factor_of_quadratic(q)
    factor = plain if alpha == 0 else _penalised_gram(q, alpha, penalty)
    condition = factor.scaled_condition if factor.rank == int((~factor.constant).sum()) else np.inf
    clear = bool((np.diagonal(factor.rest) >= CLEAR_RESIDUAL * np.diagonal(q.yy)).all())
    if rows is not None and not (condition <= MOMENTS_CARRY and clear):
        small = rows.n * (rows.d + len(rows.target_names) + 1) ** 2 <= EXTENDED_WORK
        wide = bool((np.abs(np.concatenate([q.x, q.y])) > 400).any())
        if small or wide or condition > REFINABLE:
            reason = (
                "the columns are nearly dependent: squaring them would lose digits"
                if condition > MOMENTS_CARRY
                else "the residuals are tiny: subtracting squares would lose digits"
            )
            origin = np.asarray(moments.mean)
            triangle = rows.sum(block_triangle(rows, origin))
            return _through_triangle(triangle, intercept, alpha, penalty, reason)
        return _refined(rows, q, plain, factor, alpha, penalty)
    coef = factor.solve()
    solver = SolverInfo("Cholesky", "one pass for cross-products, then a d × d system: cheaper than iterating")
    if not np.isfinite(condition):
        solver = SolverInfo("eigenvectors", "the columns are dependent: the shortest of all solutions")
    return _solution(q, plain, factor, coef, alpha, penalty, "moments", solver, alone=rows is None)


def _through_triangle(
    triangle: Triangle, intercept: bool, alpha: float, penalty: QuadraticPenalty, reason: str
) -> Solution:
    plain = factor_of_triangle(triangle, intercept=intercept)
    factor = plain if alpha == 0 else _penalised_factor(plain, alpha, penalty)
    full = factor.rank == int((~factor.constant).sum())
    solver = SolverInfo("QR" if full else "SVD", reason)
    q = Quadratic(
        G=plain.R.T @ plain.R,
        B=plain.R.T @ plain.C,
        yy=plain.rest + plain.C.T @ plain.C,
        x=plain.x,
        y=plain.y,
        constant=plain.constant,
        neglected=plain.neglected,
        mean=plain.mean,
        weight=plain.weight,
        noise=plain.tolerance,
        intercept=intercept,
    )
    return _solution(q, plain, factor, factor.solve(), alpha, penalty, "triangle", solver)


def _penalised_gram(q: Quadratic, alpha: float, penalty: QuadraticPenalty) -> Factor:
    """The factor of G + alpha·W·P."""
    P = penalty.gram(q, alpha)
    # A unit diagonal again: the penalty may be far larger than the columns.
    lift = np.frexp(np.sqrt(np.maximum(np.diagonal(q.G + P), EPS)))[1].astype(np.int64)
    G = np.ldexp(np.ldexp(q.G + P, -lift[:, None]), -lift[None, :])
    return factor_of_quadratic(replace(q, G=G, B=np.ldexp(q.B, -lift[:, None]), x=q.x + lift))


def _penalised_factor(plain: Factor, alpha: float, penalty: QuadraticPenalty) -> Factor:
    """The factor of the rows with √(alpha·W) Γ stacked under them: nothing is squared."""
    deviations = np.linalg.norm(plain.R, axis=0) / np.sqrt(plain.weight)
    root = penalty.root(plain, deviations, alpha)
    stacked = np.vstack([plain.R, root])
    lift = np.frexp(np.maximum(np.linalg.norm(stacked, axis=0), EPS))[1].astype(np.int64)
    targets = np.vstack([plain.C, np.zeros((len(root), plain.C.shape[1]))])
    Q, R = np.linalg.qr(np.ldexp(stacked, -lift[None, :]))
    C = Q.T @ targets
    left = targets - Q @ C
    return replace(plain, R=R, C=C, rest=plain.rest + left.T @ left, x=plain.x + lift, extended=None)


def _refined(
    rows: Rows, q: Quadratic, plain: Factor, factor: Factor, alpha: float, penalty: QuadraticPenalty
) -> Solution:
    """Solution on a Cholesky factor, corrected twice by the gradient of its true residuals."""
    coef = factor.solve()
    P = penalty.gram(q, alpha) if alpha else None
    F = factor.inverse()
    sums = np.zeros((q.d + 2, len(q.y)))
    for _ in range(2):
        sums = rows.sum(residual_sums(coef, q.mean, intercept=q.intercept))
        gradient = np.ldexp(sums[: q.d], -q.x[:, None] - q.y[None, :])
        if P is not None:
            gradient -= P @ np.ldexp(coef, q.x[:, None] - q.y[None, :])
        gradient = np.ldexp(gradient, (q.x - factor.x)[:, None])
        coef = coef + factor.in_given_units(F @ (F.T @ gradient))
    residual = rows.sum(residual_sums(coef, q.mean, intercept=q.intercept))[-1]
    solver = SolverInfo(
        "Cholesky, refined", "nearly dependent columns or tiny residuals: two cheap passes restore the digits"
    )
    return _solution(q, plain, factor, coef, alpha, penalty, "moments", solver, residual=residual)


def confirmed(certificate: Certificate, *coefficients: Any) -> Certificate:
    """The certificate of the coefficients returned; warns if it does not hold, as where one of them is not finite."""
    if not all(np.isfinite(part).all() for part in coefficients):
        note = "A coefficient is beyond the range of float64: divide the columns and the target by their sizes."
        certificate = replace(certificate, value=np.nan, holds=False, note=note)
    if not certificate.holds:
        reason = f"The {certificate.kind} is {certificate.value:.2g} and its tolerance {certificate.tolerance:.2g}."
        remedy = (
            "Round-off limits the accuracy at this condition number: bring the columns to similar scales, drop columns "
            "that nearly depend on others, or raise alpha."
        )
        if certificate.condition is None and not certificate.value <= certificate.tolerance:
            remedy = (
                "The solver ended before it met its tolerance: raise alpha, or bring the columns to similar scales."
            )
        text = certificate.note if certificate.value <= certificate.tolerance else f"{reason} {certificate.note}"
        more = "" if "range of float64" in text or "gm.triangle" in text else f" {remedy}"
        warn_user(f"The coefficients are not certified. {text.strip()}{more}", ConvergenceWarning)
    return certificate


def residual_sums(coef: Floats, mean: Floats, *, intercept: bool) -> Callable[[Block], Floats]:
    """What a pass adds up to correct a solution: Xᵀr, Σr and Σr² of the centred residuals, as rows of one array."""
    d = len(coef)
    mean = np.asarray(mean, dtype=np.float64)

    def of_block(block: Block) -> Floats:
        X = block.X.toarray() if sp.issparse(block.X) else block.X
        Z = X - mean[:d]
        assert block.y is not None
        r = (block.y - mean[d:]) - Z @ coef
        weighted = r if block.weight is None else r * block.weight[:, None]
        if intercept:
            return np.vstack([Z.T @ weighted, weighted.sum(axis=0), (weighted * r).sum(axis=0)])
        return np.vstack([Z.T @ weighted, np.zeros(len(mean) - d), (weighted * r).sum(axis=0)])

    return of_block


def _solution(
    q: Quadratic,
    plain: Factor,
    factor: Factor,
    coef: Floats,
    alpha: float,
    penalty: QuadraticPenalty,
    through: str,
    solver: SolverInfo,
    *,
    residual: Floats | None = None,
    alone: bool = False,
) -> Solution:
    d = q.d
    mean = factor.mean
    coef = penalty.fill(q.constant, coef) if alpha else coef
    intercept = np.asarray(mean[d:] - mean[:d] @ coef, dtype=np.float64) if q.intercept else np.zeros(len(q.y))
    F = np.ldexp(factor.inverse(), (plain.x - factor.x)[:, None])  # FFᵀ = (G + λP)⁻¹ for the columns of q
    if alpha == 0:
        spread = F
        df = float(factor.rank)
    else:
        K = plain.R @ F
        hat = K.T @ K
        df = float(2.0 * np.trace(hat) - (hat**2).sum())
        spread = np.ldexp(penalty.fill(q.constant, np.ldexp(F @ K.T, -q.x[:, None])), q.x[:, None])
    with np.errstate(over="ignore"):
        if residual is None:
            residual = np.ldexp(np.diagonal(plain.residual(coef)), 2 * q.y)
        total = np.ldexp(np.diagonal(q.yy), 2 * q.y)
        value = float(residual.sum()) / q.weight
        if alpha:
            root = penalty.root(q, np.sqrt(np.diagonal(q.G) / q.weight), alpha, whole=True)
            shrunk = root @ np.ldexp(coef, q.x[:, None] - q.y[None, :])
            value += float(np.ldexp((shrunk**2).sum(axis=0), 2 * q.y).sum()) / q.weight
    return Solution(
        coef=coef,
        intercept=intercept,
        value=value,
        sums=SquaredLossSums(
            residual=np.asarray(residual, dtype=np.float64),
            total=total,
            weight=q.weight,
            df=df + q.intercept,
            covariance_factor=spread,
            x=q.x,
            mean=np.asarray(mean, dtype=np.float64),
        ),
        certificate=_certificate(q, plain, factor, coef, alpha, penalty, through, alone),
        solver=solver,
    )


def _certificate(
    q: Quadratic,
    plain: Factor,
    factor: Factor,
    coef: Floats,
    alpha: float,
    penalty: QuadraticPenalty,
    through: str,
    alone: bool,
) -> Certificate:
    z = np.ldexp(coef, q.x[:, None] - q.y[None, :])
    gradient = plain.R.T @ (plain.C - plain.R @ z)
    size = np.sqrt(np.diagonal(q.G))[:, None] * np.sqrt(np.diagonal(q.yy))[None, :]
    gradient[q.constant] = 0.0
    if alpha:
        root = penalty.root(q, np.sqrt(np.diagonal(q.G) / q.weight), alpha, whole=True)
        shrunk = root @ z
        gradient = gradient - root.T @ shrunk
        size = size + (
            np.abs(root.T @ shrunk) if penalty.matrix is None else np.abs(root).T @ (np.abs(root) @ np.abs(z))
        )
    value = float(np.max(np.abs(gradient) / np.where(size > 0, size, 1.0), initial=0.0))
    varying = int((~factor.constant).sum())
    deficient = factor.rank < varying
    # Directions that are only rounding are left out, with what gradient they have.
    tolerance = max(TOLERANCE, 10 * factor.tolerance) if deficient and through == "triangle" else TOLERANCE
    if through == "triangle":  # coefficients are rounded, and the gradient of their rounding is nothing
        rounding = EPS * (np.abs(plain.R).T @ (np.abs(plain.R) @ np.abs(z))) / np.where(size > 0, size, 1.0)
        tolerance = max(tolerance, 4.0 * float(rounding.max(initial=0.0)))
    condition = plain.condition()
    loss = factor.scaled_condition * EPS * (factor.scaled_condition if through == "moments" and alone else 1.0)
    digits = int(np.clip(-np.log10(max(loss, 1e-16)), 0, 15))
    notes = []
    if plain.constant.any():
        told = "are 0" if penalty.matrix is None or not alpha else "follow from the penalty"
        notes.append(f"{int(plain.constant.sum())} of {q.d} columns are constant: their coefficients {told}.")
    if deficient:
        notes.append(
            f"Only {factor.rank} of {varying} varying columns are independent: of all solutions this is the shortest "
            "in the given units."
        )
    carried = True
    if alone and (deficient or factor.scaled_condition > GRAM_BLIND / 10):
        carried = False
        notes.append(
            f"The columns are so nearly dependent (rank {factor.rank} of {varying}, scaled condition number "
            f"{factor.scaled_condition:.2g}) that moments in float64 cannot carry the digits of the coefficients. "
            "Fit from the rows, or from gm.triangle of them."
        )
    elif digits < 6 and not deficient:
        notes.append(f"About {digits} digits of the coefficients are sure: the condition number is {condition:.2g}.")
    certificate = Certificate(
        kind="gradient",
        value=value,
        tolerance=tolerance,
        holds=value <= tolerance and carried,
        rank=factor.rank,
        condition=condition,
        through=through,
        digits=digits,
        note=" ".join(notes),
        convex=True,
    )
    shift = intercept_share(
        np.append(factor.mean[: q.d], np.ldexp(factor.mean[q.d :].astype(np.float64), -q.y)),
        np.ldexp(coef, -q.y[None, :]),
        q.weight,
        np.diagonal(q.yy),
    )
    return with_rounding(certificate, penalty.neglected_share(q, alpha), shift if q.intercept else 0.0)

"""Conics and quadrics by algebraic least squares: initial values of geometric fits of ellipses and ellipsoids."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.structures.loop.rounding import principal_axes

EllipsoidState = tuple[Floats, Floats, Floats]  # centre, semi-axes, directions in columns
MAX_AXIS, MIN_AXIS = 1e3, 1e-6  # semi-axes, in root mean squares of the rows about their mean
AXIS_RATIOS, N_ANGLES = (1.0, 0.5, 0.2, 0.1, 0.04, 0.01), 12  # shapes and directions of initial ellipses for short arcs
MIN_RELATIVE_VARIANCE = 1e-12  # along a direction, in units of the largest: below, rows do not vary along it
GRAM_RANK = 8e-16  # eigenvalue of sums of products, in units of the largest and times their number, that is rounding
MAX_NEWTON_STEPS, MIN_STEP, MAX_RESIDUAL = 60, 1e-4, 1e-9  # of the largest determinant
RANK = 1e-13  # singular value, in units of the largest, below which it is zero


def quadrics(T: Floats, weight: Floats) -> Floats:
    """Sums of products of the monomials of degree two, one and nought."""
    i, j = np.triu_indices(T.shape[1])
    F = np.column_stack([T[:, i] * T[:, j], T, np.ones(len(T))])
    return (weight[:, None] * F).T @ F


def algebraic(G: Floats, directions: Floats, size: Floats) -> list[EllipsoidState]:
    """The quadric tᵀAt + bᵀt = 1 of least squares for t = directionsᵀz / size; empty where it is no ellipsoid."""
    d = len(size)
    i, j = np.triu_indices(d)
    coefficients: Any = np.linalg.lstsq(G[:-1, :-1], G[:-1, -1], rcond=GRAM_RANK * len(G))[0]
    A = np.zeros((d, d))
    A[i, j] = coefficients[: len(i)]
    return ellipsoid(0.5 * (A + A.T), coefficients[len(i) :], -1.0, directions, size)


def ellipsoid(A: Floats, b: Floats, c: float, directions: Floats, size: Floats) -> list[EllipsoidState]:
    """The state of tᵀAt + bᵀt + c = 0 for t = directionsᵀz / size; empty where it is no ellipsoid."""
    A, b = A / np.outer(size, size), b / size
    values, vectors = principal_axes(A)
    if values.min() <= 0:
        return []
    center = -0.5 * vectors @ ((vectors.T @ b) / values)
    level = center @ A @ center - c
    if not level > 0:
        return []
    axes = np.sqrt(level / values)
    if not (axes.max() < MAX_AXIS and axes.min() > MIN_AXIS):
        return []
    return [(directions @ center, axes, np.ascontiguousarray(directions @ vectors))]


def ellipses_of_all_shapes(G: Floats, directions: Floats, size: Floats) -> list[EllipsoidState]:
    """Ellipses of every direction and axis ratio, from circles to near-parabolas, each placed by least squares.

    Short arcs have several minima, some of them at the largest axis allowed.
    """
    ellipses = []
    scaling = np.array([size[0] ** 2, size[0] * size[1], size[1] ** 2, size[0], size[1], 1.0])
    G = G * np.outer(scaling, scaling)
    for ratio in AXIS_RATIOS:
        for angle in np.pi * np.arange(N_ANGLES if ratio < 1 else 1) / N_ANGLES:
            across, along = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
            A = np.outer(across, across) + ratio**2 * np.outer(along, along)
            known = np.array([A[0, 0], 2.0 * A[0, 1], A[1, 1]])
            rest: Any = np.linalg.lstsq(G[3:, 3:], -G[3:, :3] @ known, rcond=GRAM_RANK * len(G))[0]
            ellipses += ellipsoid(A, rest[:2], float(rest[2]), directions, np.ones(2))
    return ellipses


def roundest_through(X: Floats) -> list[EllipsoidState]:
    """The roundest ellipsoid through fewer distinct rows than it has parameters.

    In whitened coordinates t it is tᵀAt + bᵀt + c = 0 of largest det A for its trace, which is unique; through d + 1
    rows it is Steiner's, of least volume. It depends on the rows alone, not on their weights. Orthogonal to the flat
    of the rows, which do not determine it there, its axes are of mean size. Empty where no ellipsoid passes through
    the rows.
    """
    mean = X.mean(axis=0)
    values, directions = principal_axes((X - mean).T @ (X - mean) / len(X))
    varying = values > MIN_RELATIVE_VARIANCE * values[-1]
    r = int(varying.sum())
    size = np.sqrt(np.where(varying, values, values[varying].mean()))
    T = ((X - mean) @ directions / size)[:, varying]
    L = np.column_stack([T, np.ones(len(T))])
    Q, _ = sl.qr(L)
    C = np.einsum("nk,ni,nj->kij", Q[:, r + 1 :], T, T)  # ⟨C, A⟩ = 0: tᵀAt is linear in t at the rows
    quadratic = _largest_determinant(np.concatenate([C, np.eye(r)[None]]), np.append(np.zeros(len(C)), r))
    if quadratic is None:
        return []
    A, b = np.eye(len(values)), np.zeros(len(values))
    A[np.ix_(varying, varying)] = quadratic
    linear: Any = sl.lstsq(L, -np.einsum("ni,ij,nj->n", T, quadratic, T))[0]
    b[varying] = linear[:-1]
    ellipsoids = ellipsoid(A, b, float(linear[-1]), directions, size)
    return [(mean + center, axes, rotation) for center, axes, rotation in ellipsoids]


def _largest_determinant(C: Floats, right: Floats) -> Floats | None:
    """The positive definite A of largest determinant with ⟨C_k, A⟩ = right_k; None if there is none.

    Infeasible-start Newton method from the identity with backtracking on the residual of constraints and gradient
    (Boyd and Vandenberghe, Convex Optimization, 10.3).
    """
    A, dual = np.eye(C.shape[1]), np.zeros(len(C))

    def residual(A: Floats, dual: Floats) -> float:
        stationary = np.tensordot(dual, C, 1) - np.linalg.inv(A)
        return float(np.sqrt((stationary**2).sum() + ((np.einsum("kij,ij->k", C, A) - right) ** 2).sum()))

    before = residual(A, dual)
    for _ in range(MAX_NEWTON_STEPS):
        M = A @ C @ A
        violation = 2.0 * np.einsum("kij,ij->k", C, A) - right
        new: Any = sl.lstsq(np.einsum("kij,lij->kl", C, M), violation, cond=RANK)[0]
        direction, step = A - np.tensordot(new, M, 1), 1.0
        while step > MIN_STEP:
            trial, multipliers = A + step * direction, dual + step * (new - dual)
            if np.linalg.eigvalsh(trial)[0] > 0 and residual(trial, multipliers) <= (1.0 - 0.1 * step) * before:
                break
            step *= 0.5
        if step <= MIN_STEP:
            break
        A, dual = 0.5 * (trial + trial.T), multipliers
        before = residual(A, dual)
    return A if before <= MAX_RESIDUAL * len(A) else None

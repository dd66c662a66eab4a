"""Conics and quadrics of algebraic least squares, from which geometric fits of ellipses and ellipsoids start."""

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian.structures.loop.rounding import principal_axes

Floats = NDArray[np.float64]
State = tuple[Floats, Floats, Floats]  # centre, semi-axes, directions in columns
LARGEST, SMALLEST = 1e3, 1e-6  # semi-axes, in root mean squares of the rows about their mean
RATIOS, ANGLES = (1.0, 0.5, 0.2, 0.1, 0.04, 0.01), 12  # shapes and directions of short arcs to start from
FLAT = 1e-12  # variance along a direction, in units of the largest, below which rows do not vary along it
GRAM_RANK = 8e-16  # eigenvalue of sums of products, in units of the largest and times their number, that is rounding
NEWTON_STEPS, LEAST_SHARE, SOLVED = 60, 1e-4, 1e-9  # of a programme in A: its steps, the least share, the residual
RANK = 1e-13  # singular value, in units of the largest, below which it is zero


def quadrics(T: Floats, weight: Floats) -> Floats:
    """Sums of products of the monomials of degree two, one and nought."""
    i, j = np.triu_indices(T.shape[1])
    F = np.column_stack([T[:, i] * T[:, j], T, np.ones(len(T))])
    return (weight[:, None] * F).T @ F


def algebraic(G: Floats, turn: Floats, size: Floats) -> list[State]:
    """The quadric tᵀAt + bᵀt = 1 of least squares, where it is an ellipsoid; its rows t are turned and in sizes."""
    d = len(size)
    i, j = np.triu_indices(d)
    found: Any = np.linalg.lstsq(G[:-1, :-1], G[:-1, -1], rcond=GRAM_RANK * len(G))[0]
    A = np.zeros((d, d))
    A[i, j] = found[: len(i)]
    return ellipsoid(0.5 * (A + A.T), found[len(i) :], -1.0, turn, size)


def ellipsoid(A: Floats, b: Floats, c: float, turn: Floats, size: Floats) -> list[State]:
    """The state of tᵀAt + bᵀt + c = 0 for rows t = turnᵀz / size, if it is an ellipsoid."""
    A, b = A / np.outer(size, size), b / size
    values, vectors = principal_axes(A)
    if values.min() <= 0:
        return []
    center = -0.5 * vectors @ ((vectors.T @ b) / values)
    level = center @ A @ center - c
    if not level > 0:
        return []
    axes = np.sqrt(level / values)
    if not (axes.max() < LARGEST and axes.min() > SMALLEST):
        return []
    return [(turn @ center, axes, np.ascontiguousarray(turn @ vectors))]


def outlined(G: Floats, turn: Floats, size: Floats) -> list[State]:
    """Ellipses of every direction and shape, from circles to what is nearly a parabola, each placed by least squares.

    Short arcs have several minima, and some only where an axis is as long as may be.
    """
    found = []
    scaling = np.array([size[0] ** 2, size[0] * size[1], size[1] ** 2, size[0], size[1], 1.0])
    G = G * np.outer(scaling, scaling)
    for ratio in RATIOS:
        for angle in np.pi * np.arange(ANGLES if ratio < 1 else 1) / ANGLES:
            across, along = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
            A = np.outer(across, across) + ratio**2 * np.outer(along, along)
            known = np.array([A[0, 0], 2.0 * A[0, 1], A[1, 1]])
            rest: Any = np.linalg.lstsq(G[3:, 3:], -G[3:, :3] @ known, rcond=GRAM_RANK * len(G))[0]
            found += ellipsoid(A, rest[:2], float(rest[2]), turn, np.ones(2))
    return found


def through_few(X: Floats) -> list[State]:
    """The roundest ellipsoid through fewer distinct rows than it has parameters.

    In coordinates t in which the scatter of the rows is round, tᵀAt + bᵀt + c = 0 of largest det A for its trace, which
    is one ellipsoid; through d + 1 rows it is Steiner's, of least volume. It depends on the rows alone, not on their
    weights. Across the flat of the rows, which leave it free there, its axes are of mean size. Empty where no ellipsoid
    passes through them.
    """
    mean = X.mean(axis=0)
    values, turn = principal_axes((X - mean).T @ (X - mean) / len(X))
    along = values > FLAT * values[-1]
    r = int(along.sum())
    size = np.sqrt(np.where(along, values, values[along].mean()))
    T = ((X - mean) @ turn / size)[:, along]
    L = np.column_stack([T, np.ones(len(T))])
    Q, _ = sl.qr(L)
    C = np.einsum("nk,ni,nj->kij", Q[:, r + 1 :], T, T)  # ⟨C, A⟩ = 0: tᵀAt is linear in t at the rows
    solved = _roundest(np.concatenate([C, np.eye(r)[None]]), np.append(np.zeros(len(C)), r))
    if solved is None:
        return []
    A, b = np.eye(len(values)), np.zeros(len(values))
    A[np.ix_(along, along)] = solved
    linear: Any = sl.lstsq(L, -np.einsum("ni,ij,nj->n", T, solved, T))[0]
    b[along] = linear[:-1]
    found = ellipsoid(A, b, float(linear[-1]), turn, size)
    return [(mean + center, axes, directions) for center, axes, directions in found]


def _roundest(C: Floats, right: Floats) -> Floats | None:
    """The positive definite A of largest determinant with ⟨C_k, A⟩ = right_k; None if there is none.

    Newton's method from the identity, which does not meet the equations yet: steps are shortened until the residuals
    of equations and gradient shrink together (Boyd and Vandenberghe, Convex Optimization, 10.3).
    """
    A, dual = np.eye(C.shape[1]), np.zeros(len(C))

    def residual(A: Floats, dual: Floats) -> float:
        stationary = np.tensordot(dual, C, 1) - np.linalg.inv(A)
        return float(np.sqrt((stationary**2).sum() + ((np.einsum("kij,ij->k", C, A) - right) ** 2).sum()))

    before = residual(A, dual)
    for _ in range(NEWTON_STEPS):
        M = A @ C @ A
        unmet = 2.0 * np.einsum("kij,ij->k", C, A) - right
        new: Any = sl.lstsq(np.einsum("kij,lij->kl", C, M), unmet, cond=RANK)[0]
        change, share = A - np.tensordot(new, M, 1), 1.0
        while share > LEAST_SHARE:
            there, multipliers = A + share * change, dual + share * (new - dual)
            if np.linalg.eigvalsh(there)[0] > 0 and residual(there, multipliers) <= (1.0 - 0.1 * share) * before:
                break
            share *= 0.5
        if share <= LEAST_SHARE:
            break
        A, dual = 0.5 * (there + there.T), multipliers
        before = residual(A, dual)
    return A if before <= SOLVED * len(A) else None

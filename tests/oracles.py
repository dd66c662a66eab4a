"""Slow, plain references that the tests compare with."""

import json
from pathlib import Path

import numpy as np

NIST = json.loads((Path(__file__).parent / "data" / "nist_strd_linear.json").read_text())


def nist(name):
    """Features, target, certified coefficients, certified standard errors and whether there is an intercept."""
    entry = NIST[name]
    y = np.array([float(v) for v in entry["y"]])
    x = np.array(entry["x"], dtype=float)
    if entry["model"].startswith("polynomial"):
        X = np.column_stack([x**power for power in range(1, int(entry["model"].split()[-1]) + 1)])
    else:
        X = x.reshape(len(y), -1)
    beta, errors = (np.array(entry[key], dtype=float) for key in ("beta", "se"))
    return X, y, beta, errors, "no intercept" not in entry["model"]


def digits(found, certified):
    """Correct decimal digits of the worst number (the log relative error of NIST's tests)."""
    wrong = np.abs(np.asarray(found) - certified) / np.abs(certified)
    return float(np.min(-np.log10(np.maximum(wrong, 1e-16))))


def ridge(X, y, alpha, weight=None, P=None, intercept=True):
    """Coefficients and intercept of ridge by its normal equations in extended precision."""
    X, y = X.astype(np.longdouble), y.astype(np.longdouble)
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    W = w.sum()
    xm, ym = ((w @ X) / W, (w @ y) / W) if intercept else (np.zeros(X.shape[1]), 0.0)
    Z = X - xm
    P = (np.eye(X.shape[1]) if P is None else P).astype(np.longdouble)
    A = (Z * w[:, None]).T @ Z + alpha * W * P
    b = (Z * w[:, None]).T @ (y - ym)
    size = np.sqrt(np.diagonal(A))
    coef = gauss(A / size[:, None] / size, b / size) / size
    return coef.astype(float), float(ym - xm @ coef)


def least_squares(X, y):
    """Coefficients with an intercept by Gram–Schmidt, twice, in extended precision: nothing is squared."""
    Q = np.column_stack([np.ones(len(y)), X, y]).astype(np.longdouble)
    p = Q.shape[1]
    R = np.eye(p, dtype=np.longdouble)
    for j in range(p):
        for _ in range(2):
            for i in range(j):
                share = Q[:, i] @ Q[:, j]
                Q[:, j] -= share * Q[:, i]
                R[i, j] = share + (R[i, j] if _ else 0)
        if j < p - 1:
            R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
            Q[:, j] /= R[j, j]
    coef = np.zeros(p - 1, dtype=np.longdouble)
    for k in range(p - 2, -1, -1):
        coef[k] = (R[k, -1] - R[k, k + 1 : -1] @ coef[k + 1 :]) / R[k, k]
    return coef[1:].astype(float)


def gauss(A, b):
    """Gaussian elimination with pivoting, in the precision of A."""
    A, b = A.copy(), b.copy()
    n = len(b)
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, p]], b[[k, p]] = A[[p, k]], b[[p, k]]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros_like(b)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


def elastic_net(X, y, alpha, l1_ratio=1.0, weight=None, factors=None, intercept=True, epochs=200_000):
    """Coordinate descent in plain Python until nothing moves: for small problems."""
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    w = w / w.sum()
    f = np.ones(X.shape[1]) if factors is None else np.asarray(factors, dtype=float)
    xm, ym = (w @ X, w @ y) if intercept else (np.zeros(X.shape[1]), 0.0)
    Z, r = X - xm, y - ym
    c = np.zeros(X.shape[1])
    square = w @ Z**2
    for _ in range(epochs):
        moved = 0.0
        for j in range(X.shape[1]):
            if square[j] == 0:
                continue
            pull = (w * r) @ Z[:, j] + square[j] * c[j]
            new = (
                np.sign(pull)
                * max(abs(pull) - alpha * l1_ratio * f[j] / 2, 0)
                / (square[j] + alpha * (1 - l1_ratio) * f[j])
            )
            r -= (new - c[j]) * Z[:, j]
            moved = max(moved, abs(new - c[j]) * np.sqrt(square[j]))
            c[j] = new
        if moved < 1e-14 * np.sqrt(w @ (y - ym) ** 2):
            break
    return c, ym - xm @ c

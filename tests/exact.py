"""Least squares in exact rational arithmetic: an oracle for data of any offset, scale and weights."""

import itertools
import math
from fractions import Fraction

import numpy as np


def rational(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def root(q):
    """The square root of a rational, to 15 digits, whatever its size."""
    if q <= 0:
        return Fraction(0)
    half = (q.numerator.bit_length() - q.denominator.bit_length()) // 2
    return Fraction(math.sqrt(float(q / Fraction(4) ** half))) * Fraction(2) ** half


def linear_solve(A, b):
    """Gaussian elimination; None if A is singular."""
    n = len(A)
    M = [[*row, b[i]] for i, row in enumerate(A)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(M[i][k]))
        if M[pivot][k] == 0:
            return None
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(k + 1, n):
            if M[i][k] != 0:
                factor = M[i][k] / M[k][k]
                M[i] = [a - factor * c for a, c in zip(M[i], M[k], strict=True)]
    x = [Fraction(0)] * n
    for k in range(n - 1, -1, -1):
        x[k] = (M[k][n] - sum(M[k][j] * x[j] for j in range(k + 1, n))) / M[k][k]
    return x


class ExactLeastSquares:
    """Σ w (y − b − cᵀx)² with its exact sums about the weighted means."""

    def __init__(self, X, y, w, intercept):
        self.d = X.shape[1]
        rows = [rational(row) for row in X]
        y, w = rational(y), rational(w)
        self.weight = sum(w)

        def mean(values):
            return sum(a * b for a, b in zip(w, values, strict=True)) / self.weight if intercept else Fraction(0)

        self.mean = [mean([row[j] for row in rows]) for j in range(self.d)]
        self.y_mean = mean(y)
        self.Z = [[row[j] - self.mean[j] for j in range(self.d)] for row in rows]
        self.y, self.w = [value - self.y_mean for value in y], w
        self.G = [
            [self._inner([z[a] for z in self.Z], [z[b] for z in self.Z]) for b in range(self.d)] for a in range(self.d)
        ]
        self.b = [self._inner([z[a] for z in self.Z], self.y) for a in range(self.d)]
        self.yy = self._inner(self.y, self.y)

    def _inner(self, u, v):
        return sum(w * a * b for w, a, b in zip(self.w, u, v, strict=True))

    def system(self, alpha, P):
        a = Fraction(float(alpha)) * self.weight
        return [[self.G[i][j] + a * Fraction(float(P[i][j])) for j in range(self.d)] for i in range(self.d)]

    def ridge(self, alpha, P):
        """The minimiser, or None where it is not unique."""
        return linear_solve(self.system(alpha, P), self.b)

    def minimum_norm(self):
        """The shortest interpolating coefficients; None where the rows' differences are dependent."""
        Z, y = (
            [z for z, w in zip(self.Z, self.w, strict=True) if w],
            [v for v, w in zip(self.y, self.w, strict=True) if w],
        )
        if any(self.mean) or self.y_mean:
            Z, y = [[a - b for a, b in zip(z, Z[0], strict=True)] for z in Z[1:]], [v - y[0] for v in y[1:]]
        K = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in Z] for u in Z]
        v = linear_solve(K, y)
        return None if v is None else [sum(v[i] * Z[i][j] for i in range(len(Z))) for j in range(self.d)]

    def gradient(self, coef, alpha, P):
        """The largest entry of the gradient at the coefficients, relative to the size of its terms."""
        c, a, worst = rational(coef), Fraction(float(alpha)) * self.weight, 0.0
        for i in range(self.d):
            pull = a * sum(Fraction(float(P[i][j])) * c[j] for j in range(self.d))
            g = self.b[i] - sum(self.G[i][j] * c[j] for j in range(self.d)) - pull
            size = a * sum(abs(Fraction(float(P[i][j])) * c[j]) for j in range(self.d))
            terms = root(self.G[i][i]) * root(self.yy) + size
            worst = max(worst, float(abs(g) / terms)) if terms else worst
        return worst

    def elastic_net(self, coef, alpha, ratio):
        """The objective at the coefficients less its minimum, relative to the objective without coefficients.

        The minimum comes from the signs of the coefficients, or from all signs there are, whichever satisfy the
        conditions of optimality exactly.
        """
        c, a, W = rational(coef), Fraction(float(alpha)), self.weight
        l1, l2 = a * Fraction(float(ratio)) / 2, a * (1 - Fraction(float(ratio)))

        def objective(c):
            Gc = [sum(self.G[i][j] * c[j] for j in range(self.d)) for i in range(self.d)]
            square = self.yy + sum(v * (u - 2 * b) for u, v, b in zip(Gc, c, self.b, strict=True))
            return square / W + l2 * sum(v * v for v in c) + 2 * l1 * sum(abs(v) for v in c)

        def optimum(signs):
            active = [j for j in range(self.d) if signs[j]]
            A = [[self.G[i][j] / W + (l2 if i == j else 0) for j in active] for i in active]
            z = linear_solve(A, [self.b[j] / W - l1 * signs[j] for j in active]) if active else []
            if z is None or any(v * signs[j] < 0 for v, j in zip(z, active, strict=True)):
                return None
            full = [Fraction(0)] * self.d
            for v, j in zip(z, active, strict=True):
                full[j] = v
            for i in set(range(self.d)) - set(active):
                if abs(self.b[i] - sum(self.G[i][j] * full[j] for j in active)) / W > l1:
                    return None
            return full

        for signs in ([int(np.sign(v)) for v in coef], *itertools.product((0, 1, -1), repeat=self.d)):
            best = optimum(signs)
            if best is not None:
                return float((objective(c) - objective(best)) * W / self.yy)
        raise AssertionError("no signs satisfy the conditions of optimality")

    def condition(self, alpha, P):
        """Condition number of the penalised Gram matrix in units of its diagonal, and its units relative to y."""
        A = self.system(alpha, P)
        unit = [root(A[i][i]) or Fraction(1) for i in range(self.d)]
        C = [[float(A[i][j] / unit[i] / unit[j]) for j in range(self.d)] for i in range(self.d)]
        return float(np.linalg.cond(np.array(C))), np.array([float(u / root(self.yy)) for u in unit])

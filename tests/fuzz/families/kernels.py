"""Whether a matrix is judged positive semi-definite rightly, against elimination in rational numbers."""

from fractions import Fraction

import numpy as np

from gramian.kernels import Bilinear, Precomputed, feature_map


def case(seed):
    """None if `validity` holds for the matrix of this seed; else what is false."""
    M = matrix(np.random.default_rng(seed))
    truth = is_semidefinite(M)
    for name, known in (("Bilinear", Bilinear(M).validity()), ("Precomputed", Precomputed().validity(M))):
        where = f"{name} of {M.tolist()}: {known.rule}"
        shown = known.counterexample
        if known.valid is None:
            continue
        if known.valid is not truth:
            return f"{where}, and it is{'' if truth else ' not'} semi-definite"
        if known.valid is False:
            if shown is None or known.witness != shown:
                return f"{where}, without a counter-example"
            if not _shows(name, M, shown):
                return f"{where}, and the counter-example does not show it"
    try:
        F = feature_map(M)
    except ValueError:
        return f"feature_map refuses {M.tolist()}" if truth else None
    if np.abs(F @ F.T - M).max() > 1e-8 * np.abs(M).max() + 1e-300:
        return f"feature_map of {M.tolist()} has other products"
    return None


def matrix(rng):
    """A symmetric matrix, or nearly so: definite, singular, with one tiny negative direction, in units far apart."""
    n = int(rng.integers(1, 9))
    A = rng.standard_normal((n, n))
    kind = int(rng.integers(7))
    if kind == 0:
        M = A @ A.T
    elif kind == 1:
        A = rng.integers(-3, 4, (n, int(rng.integers(1, n + 1)))).astype(float)
        M = A @ A.T
    elif kind == 2:
        Q, values = np.linalg.qr(A)[0], 10.0 ** rng.uniform(-3, 3, n)
        values[0] = -(10.0 ** rng.uniform(-30, 0))
        M = (Q * values) @ Q.T
        M = (M + M.T) / 2
    elif kind == 3:
        M = np.diag(rng.choice([0.0, 1.0, -1e-16, 1e-300, 1e200, -1e180, 5e-324], n))
    elif kind == 4:
        M = rng.integers(-2, 3, (n, n)).astype(float)
        M = M + M.T + np.diag(rng.integers(0, 9, n))
    elif kind == 5:
        M = np.outer(A[0], A[0])
    else:
        M = A @ A.T
        M[0, -1] = np.nextafter(M[0, -1], np.inf)
    if kind != 3 and rng.random() < 0.7:
        unit = 2.0 ** rng.integers(-300, 300, n) if rng.random() < 0.5 else 10.0 ** rng.uniform(-100, 100, n)
        M = M * unit[:, None] * unit
        if kind != 6:
            M = np.triu(M) + np.triu(M, 1).T
    return M


def is_semidefinite(M):
    """Symmetric elimination in rational numbers."""
    A = [[Fraction(float(x)) for x in row] for row in M]
    if (M != M.T).any():
        return False
    waiting = list(range(len(A)))
    while waiting:
        if any(A[k][k] < 0 for k in waiting):
            return False
        i = max(waiting, key=lambda k: A[k][k])
        if A[i][i] == 0:
            return not any(A[k][m] for k in waiting for m in waiting)
        waiting.remove(i)
        for k in waiting:
            factor = A[k][i] / A[i][i]
            for m in waiting:
                A[k][m] -= factor * A[i][m]
    return True


def _shows(name, M, shown):
    """Whether the counter-example holds in exact arithmetic."""
    if shown.pair is not None:
        x, z = (np.eye(len(M))[p] if name == "Precomputed" else p for p in shown.pair)
        return _form(M, x, z) != _form(M, z, x)
    if name == "Bilinear":
        return shown.eigenvalue < 0 and _form(M, shown.points[0], shown.points[0]) < 0
    v = np.zeros(len(M))
    v[shown.points] = shown.vector
    return shown.eigenvalue < 0 and _form(M, v, v) < 0


def _form(M, x, z):
    x, z = ([Fraction(float(value)) for value in v] for v in (x, z))
    n = range(len(M))
    return sum(Fraction(float(M[i, j])) * x[i] * z[j] for i in n for j in n if x[i] and z[j])

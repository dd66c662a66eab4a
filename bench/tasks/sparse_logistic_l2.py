"""Logistic regression with an L2 penalty on text, 200,000 × 100,000 sparse (100 words a row, Zipf frequencies, tf-idf).

The objective is mean log(1 + exp(−y f)) + alpha ‖w‖² with alpha = 2.5e-6 (scikit-learn's C = 1 at full size), intercept
unpenalised. Every row is brought to excess ≤ 1e-7: objective over the minimum, which Newton's method with conjugate
gradients in NumPy finds; gradient is its largest entry.
"""

import numpy as np

from bench.reference import classifier, liblinear, logistic, smooth
from bench.task import scaled

ALPHA = 2.5e-6


def data(scale):
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(10)
    n, d = scaled(200_000, scale, 2000), scaled(100_000, scale, 1000)
    lengths = np.maximum(5, 115 * np.exp(0.5 * rng.standard_normal(n) - 0.125)).astype(np.int64)
    starts = np.append(0, np.cumsum(lengths))
    shares = np.cumsum(1 / (np.arange(d) + 10.0))  # Zipf, without a word that is in every row
    words = np.searchsorted(shares / shares[-1], rng.random(starts[-1]))
    X = csr_matrix((np.ones(starts[-1]), np.minimum(words, d - 1).astype(np.int32), starts), shape=(n, d))
    X.sum_duplicates()
    X.indptr = X.indptr.astype(np.int32)
    rows_with = np.bincount(X.indices, minlength=d)
    X.data = (1 + np.log(X.data)) * (1 + np.log(n / np.maximum(1, rows_with)))[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    w = np.zeros(d)
    telling = rng.choice(d // 5, d * 3 // 100, replace=False)
    w[telling] = rng.standard_normal(len(telling))
    signal = X @ w
    logits = 3 * (signal - signal.mean()) / signal.std() + 0.2
    return {"X": X, "y": np.where(rng.random(n) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)}


def C(data):
    return 1 / (2 * len(data["y"]) * ALPHA)


def ours(data, **options):
    import gramian as gm

    model = gm.LogisticRegression(alpha=ALPHA, penalty=gm.penalties.L2(), **options)
    return classifier(model.fit(data["X"], data["y"]))


def gramian(data):
    """tol=1e-4"""
    return ours(data, tol=1e-4)


def gramian_default(data):
    """its own tol"""
    return ours(data)


def sklearn(data, **options):
    from sklearn.linear_model import LogisticRegression

    return classifier(LogisticRegression(C=C(data), **options).fit(data["X"], data["y"]))


def sklearn_lbfgs(data):
    """tol=3e-7, max_iter=1000"""
    return sklearn(data, solver="lbfgs", tol=3e-7, max_iter=1000)


def sklearn_newton_cg(data):
    """tol=5e-7"""
    return sklearn(data, solver="newton-cg", tol=5e-7)


def sklearn_liblinear(data):
    """tol=5e-5, penalises the intercept (which matters little here)"""
    return sklearn(data, solver="liblinear", tol=5e-5)


def sklearn_saga(data):
    """tol=1e-5, stopped after 200 passes (max_iter)"""
    return sklearn(data, solver="saga", tol=1e-5, max_iter=200, random_state=0)


def liblinear_official(data):
    """liblinear-official (built from source), -s 0 -e 1e-4 -R (intercept unpenalised), conversion of X included"""
    return liblinear(data["X"], data["y"], 0, C(data), "-e 1e-4 -R")


def quality(data, result):
    return smooth(logistic, data["X"], data["y"], ALPHA, result)


peers = {
    "gramian": gramian,
    "gramian_default": gramian_default,
    "sklearn_liblinear": sklearn_liblinear,
    "sklearn_lbfgs": sklearn_lbfgs,
    "sklearn_newton_cg": sklearn_newton_cg,
    "sklearn_saga": sklearn_saga,
    "liblinear": liblinear_official,
}
targets = [(row, 1) for row in peers if not row.startswith("gramian")]
judge = {"excess": (1, 1e-7)}

"""Logistic regression, 100,000 × 50, alpha chosen among 20 by five folds, then fitted on all rows.

All rows choose from the same 20 alphas by the log loss over KFold(5) (scikit-learn's C = 1/(2·m·alpha) for m training
rows). cv_loss: loss of the chosen alpha, recomputed by Newton's method in NumPy; cv_error: how far the loss the row
reports is from that (relative); excess: objective of the fit on all rows over its minimum, at the alpha of that fit
(LogisticRegressionCV keeps C for it, so its alpha is smaller by 4/5). Every row is brought to cv_error ≤ 1e-6 and
excess ≤ 1e-6.
"""

import numpy as np
from sklearn.model_selection import KFold

from bench.reference import classifier, cv_log_loss, logistic, smooth
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(9)
    n, d = scaled(100_000, scale, 1000), 50
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    X += 0.3 * rng.standard_normal(d)
    logits = X @ (0.04 * rng.standard_normal(d)) - 0.3
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    return {"X": X, "y": y, "alphas": np.logspace(1, -5, 20)}


def gramian(data):
    """cv=KFold(5)"""
    import gramian as gm

    model = gm.LogisticRegression(alpha="auto", alphas=data["alphas"], cv=KFold(5)).fit(data["X"], data["y"])
    scores = model.scores_
    return classifier(model, alpha=model.alpha_, fit_alpha=model.alpha_, reported=scores.mean[scores.chosen])


def sklearn(data, **options):
    from sklearn.linear_model import LogisticRegressionCV

    n, m = len(data["y"]), len(data["y"]) * 4 // 5
    model = LogisticRegressionCV(
        Cs=1 / (2 * m * data["alphas"]),
        l1_ratios=(0,),
        cv=KFold(5),
        scoring="neg_log_loss",
        max_iter=1000,
        use_legacy_attributes=False,
        **options,
    ).fit(data["X"], data["y"])
    reported = -np.asarray(model.scores_).reshape(5, -1).mean(0).max()
    return classifier(model, alpha=1 / (2 * m * model.C_), fit_alpha=1 / (2 * n * model.C_), reported=reported)


def sklearn_lbfgs(data):
    """LogisticRegressionCV, tol=1e-4 (its defaults)"""
    return sklearn(data)


def sklearn_lbfgs_jobs(data):
    """the same, n_jobs=-1"""
    return sklearn(data, n_jobs=-1)


def sklearn_newton_cholesky(data):
    """LogisticRegressionCV, solver=newton-cholesky, tol=1e-4"""
    return sklearn(data, solver="newton-cholesky")


def sklearnex_gridsearch(data):
    """GridSearchCV over oneDAL's L-BFGS, tol=1e-4, then one fit on all rows"""
    from sklearn.model_selection import GridSearchCV
    from sklearnex.linear_model import LogisticRegression

    n, m, alphas = len(data["y"]), len(data["y"]) * 4 // 5, data["alphas"]
    search = GridSearchCV(
        LogisticRegression(max_iter=1000), {"C": 1 / (2 * m * alphas)}, cv=KFold(5), scoring="neg_log_loss", refit=False
    ).fit(data["X"], data["y"])
    alpha = alphas[search.best_index_]
    model = LogisticRegression(C=1 / (2 * n * alpha), max_iter=1000).fit(data["X"], data["y"])
    return classifier(model, alpha=alpha, fit_alpha=alpha, reported=-search.best_score_)


def glum(data):
    """GeneralizedLinearRegressorCV, family=binomial, gradient_tol=1e-4"""
    from glum import GeneralizedLinearRegressorCV

    model = GeneralizedLinearRegressorCV(
        family="binomial", alphas=2 * data["alphas"], l1_ratio=0, cv=KFold(5), gradient_tol=1e-4, max_iter=1000
    ).fit(data["X"], (data["y"] > 0).astype(float))
    return classifier(model, alpha=model.alpha_ / 2, fit_alpha=model.alpha_ / 2)


def quality(data, result):
    X, y, alpha = data["X"], data["y"], result["alpha"]
    loss = cv_log_loss(X, y, alpha)
    figures = {"alpha": alpha, "cv_loss": loss, "excess": smooth(logistic, X, y, result["fit_alpha"], result)["excess"]}
    return figures | ({"cv_error": abs(result["reported"] / loss - 1)} if "reported" in result else {})


peers = {
    "gramian": gramian,
    "sklearn_lbfgs": sklearn_lbfgs,
    "sklearn_lbfgs_jobs": sklearn_lbfgs_jobs,
    "sklearn_newton_cholesky": sklearn_newton_cholesky,
    "sklearnex_gridsearch": sklearnex_gridsearch,
    "glum": glum,
}
targets = [("sklearn_lbfgs", 10)]
judge = {"cv_loss": (1 + 1e-5, 0), "cv_error": (1, 1e-6), "excess": (1, 1e-6)}

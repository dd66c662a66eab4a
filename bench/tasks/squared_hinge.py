"""Linear support vector machine with the squared hinge loss, 200,000 × 100, a tenth of the labels flipped.

The data are those of linear_svm. The objective is mean max(0, 1 − y f)² + alpha ‖w‖² with alpha = 2.5e-6
(scikit-learn's C = 1 at full size), intercept unpenalised. Every row is brought to excess ≤ 1e-9 (objective over the
minimum, which Newton's method in NumPy finds) and gradient ≤ 1e-6 (largest entry).
"""

from bench.reference import classifier, liblinear, smooth, squared_hinge
from bench.tasks.linear_svm import ALPHA, C, data

__all__ = ["data", "judge", "peers", "quality", "targets"]


def gramian(data):
    import gramian as gm

    model = gm.Classifier(gm.losses.SquaredHinge(), gm.penalties.L2(), alpha=ALPHA)
    return classifier(model.fit(data["X"], data["y"]))


def sklearn_LinearSVC(data):
    """dual=False (trust region), tol=1e-5, penalises the intercept (which matters little here)"""
    from sklearn.svm import LinearSVC

    return classifier(LinearSVC(C=C(data), dual=False, tol=1e-5).fit(data["X"], data["y"]))


def liblinear_official(data):
    """liblinear-official (built from source), -s 2 -e 1e-5 -R (intercept unpenalised), conversion of X included"""
    return liblinear(data["X"], data["y"], 2, C(data), "-e 1e-5 -R")


def quality(data, result):
    return smooth(squared_hinge, data["X"], data["y"], ALPHA, result)


peers = {"gramian": gramian, "sklearn_LinearSVC": sklearn_LinearSVC, "liblinear": liblinear_official}
targets = [("sklearn_LinearSVC", 1.5), ("liblinear", 1.5)]
judge = {"excess": (1, 1e-9), "gradient": (1, 1e-6)}

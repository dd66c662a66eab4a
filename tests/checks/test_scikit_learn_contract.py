"""scikit-learn's contract, in one place: every public estimator with its defaults, and configurations beside these.

A public estimator is found by itself (`checks/members.py`). A configuration is listed in `CONFIGURATIONS` where it
takes another way through the code than the defaults do. What an estimator cannot pass stands in `EXPECTED_FAILURES`
with its reason, and is meant to stay short. Warnings are errors in the rooms of `WITHOUT_WARNINGS`.
"""

import warnings

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from checks.members import estimators
from gramian.kernels import RBF
from gramian.selection import BestSubset, GreedySelector

CONFIGURATIONS = [
    # classes one against the rest, and a loss whose probabilities are calibrated
    gm.LogisticRegression(alpha=0.1, multiclass="ovr"),
    gm.Classifier("squared_hinge", alpha=0.1),
    # kernels: closed form, SMO, landmarks, dual perceptron, search by distances of a kernel
    gm.Ridge(0.01, kernel=RBF(1.0)),
    gm.SVC(0.01, kernel=RBF(1.0)),
    gm.LogisticRegression(0.01, kernel=RBF(1.0)),
    gm.Perceptron(kernel=RBF(1.0)),
    gm.KNeighborsClassifier(8, kernel=RBF(30.0)),  # a shorter one has all rows of the checks at one distance
    # neighbours that count by their distance
    gm.KNeighborsRegressor(2, weights="distance"),
    # other covariances
    gm.GaussianDiscriminant("diagonal"),
    gm.GaussianDiscriminant("full", shrinkage="auto"),
    # a classifier, and a prior that is no ridge
    gm.MAP("bernoulli"),
    gm.MAP("gaussian", "laplace"),
    # each way to balance, around estimators of scikit-learn
    gm.Balanced(GaussianNB(), "cost"),
    gm.Balanced(KNeighborsClassifier(), "upsample"),
    gm.Balanced(LogisticRegression(), prior="training"),
    gm.TunedThreshold(GaussianNB(), cv=3),
    # selection by refits, backwards, and without cross-validation
    GreedySelector(LinearRegression()),
    GreedySelector(gm.Ridge(alpha=0.1), direction="backward"),
    BestSubset(1),
    # features
    gm.FunctionFeatures(["1", "x", "tanh"]),
    gm.PolynomialFeatures((2, 3), interaction_only=True),
    gm.RadialBasisFeatures(1),
    gm.StandardScaler(with_mean=False),
]
OF_THE_CLASS = {  # checks that see the class and not its parameters: made once, with the defaults
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
}

WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
CLUSTERING = ("check_clustering", "check_clustering(readonly_memmap=True)")
ORDER = "the perceptron meets rows one by one: what it finds depends on their order, which weights do not have"
FOLDS = "probabilities are calibrated on folds of rows, which repeated rows fall into otherwise"
ROUND = "the check has three round clusters, which are no lines, planes, circles or ellipses"
THRESHOLD = "a threshold decides otherwise than the largest probability: that is what it is for"
EXPECTED_FAILURES = {  # by class, and of those with a kernel
    "Perceptron": dict.fromkeys(WEIGHTS, ORDER),
    "Perceptron, kernel": dict.fromkeys(WEIGHTS, ORDER),
    "SVC, kernel": dict.fromkeys(WEIGHTS, FOLDS),
    "TunedThreshold": {"check_classifiers_train": THRESHOLD},
    **{name: dict.fromkeys(CLUSTERING, ROUND) for name in ("KCircles", "KEllipses", "KLines", "KPlanes")},
}
# Rooms whose estimators warn of nothing in these checks. Elsewhere some checks fit exactly, or classes that overlap.
WITHOUT_WARNINGS = ("features", "models.meta", "models.neighbors", "selection")


def kind(estimator):
    name = type(estimator).__name__
    return name if getattr(estimator, "kernel", None) is None else f"{name}, kernel"


def checks():
    """Arguments of `parametrize`: all checks of the defaults, and those of the configurations that see parameters."""

    def of(members):
        marked = parametrize_with_checks(members, expected_failed_checks=lambda e: EXPECTED_FAILURES.get(kind(e), {}))
        return marked.args[1], marked.kwargs["ids"]

    defaults, ids = of(estimators())
    configured, _ = of(CONFIGURATIONS)
    return [*defaults, *(case for case in configured if name(case) not in OF_THE_CLASS)], ids


def name(case):
    """The name of the check of (estimator, check), with marks or without."""
    check = getattr(case, "values", case)[1]
    return getattr(check, "func", check).__name__


CASES, IDS = checks()


@pytest.mark.parametrize(("estimator", "check"), CASES, ids=IDS)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        if not type(estimator).__module__.startswith(tuple(f"gramian.{room}." for room in WITHOUT_WARNINGS)):
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            warnings.simplefilter("ignore", gm.PrecisionWarning)
        check(estimator)


def test_every_configuration_is_another_one():
    texts = [
        (repr(estimator), type(getattr(estimator, "estimator", None)))  # LinearRegression has two homes
        for estimator in (*estimators(), *CONFIGURATIONS)
    ]
    assert len(set(texts)) == len(texts)
    assert set(EXPECTED_FAILURES) <= {kind(estimator) for estimator in (*estimators(), *CONFIGURATIONS)}

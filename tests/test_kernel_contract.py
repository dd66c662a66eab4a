"""scikit-learn's contract of models with a kernel; without one they are checked with all other estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.kernels import RBF

FOLDS = "probabilities are calibrated on folds of rows, which repeated rows fall into otherwise"
ORDER = "the perceptron meets rows one by one: what it finds depends on their order, which weights do not have"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
EXPECTED = {"SVC": dict.fromkeys(WEIGHTS, FOLDS), "Perceptron": dict.fromkeys(WEIGHTS, ORDER)}
MODELS = [
    gm.Ridge(0.01, kernel=RBF(1.0)),
    gm.SVC(0.01, kernel=RBF(1.0)),
    gm.LogisticRegression(0.01, kernel=RBF(1.0)),
    gm.Perceptron(kernel=RBF(1.0)),
    gm.KNeighborsClassifier(8, kernel=RBF(30.0)),  # a shorter one has all rows of the checks at one distance
]


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=lambda e: EXPECTED.get(type(e).__name__, {}))
def test_scikit_learn_contract(estimator, check):
    check(estimator)

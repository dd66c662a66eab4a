"""What rows of weight zero hold has no say: in no fit, no search and no kernel, of any estimator that takes weights."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer

from checks.members import estimators
from gramian.kernels import Polynomial

ANSWERS = ("decision_function", "predict", "transform", "labels_")


def variants():
    """Every estimator with weights as it is made, with its alpha searched or fixed, and with kernels of any reach."""
    for estimator in estimators():
        if "sample_weight" not in inspect.signature(estimator.fit).parameters:
            continue
        own = estimator.get_params(deep=False)
        if "random_state" in own:
            estimator.set_params(random_state=0)
        yield estimator
        alphas = [{"alpha": alpha} for alpha in ("auto", 0.01)] if "alpha" in own else [{}]
        kernels = ("rbf", "linear", Polynomial(2)) if "kernel" in own else ()
        if is_clusterer(estimator):  # weightless rows have a label too, and so must be within range
            kernels = kernels[:1]
        for alpha in alphas:
            yield clone(estimator).set_params(**alpha)
            yield from (clone(estimator).set_params(kernel=kernel, **alpha) for kernel in kernels)


def name(estimator):
    own = estimator.get_params(deep=False)
    return "-".join([type(estimator).__name__, *(f"{own[k]}" for k in ("alpha", "kernel") if k in own)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", list({name(one): one for one in variants()}.values()), ids=name)
@pytest.mark.parametrize("classes", [2, 3])
def test_values_of_weightless_rows_do_not_matter(estimator, classes):
    if classes == 3 and not is_classifier(estimator):
        pytest.skip("no classes: the same as with two")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ rng.standard_normal(4) + 0.3 * rng.standard_normal(60)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    weight = np.where(np.arange(60) % 5 < 2, 0.0, 1.0)  # so many that they would move an origin among the rows

    def fitted(size):
        table = np.where(weight[:, None] > 0, X, size)
        target = labels if is_classifier(estimator) else np.where(weight > 0, y, size)
        return clone(estimator).fit(table, target, sample_weight=weight)

    usual, absurd = fitted(3.0), fitted(1e150)
    answer = next(one for one in ANSWERS if hasattr(usual, one))
    found = [
        getattr(model, answer)[weight > 0] if answer == "labels_" else getattr(model, answer)(X[weight > 0])
        for model in (usual, absurd)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", estimators(), ids=lambda one: type(one).__name__)
def test_answers_of_rows_do_not_depend_on_other_rows(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) + 4.0 * (np.arange(60) % 3)[:, None]
    model = clone(estimator).set_params(**({"random_state": 0} if "random_state" in estimator.get_params() else {}))
    model.fit(X, (X[:, 0] > 4.0).astype(int) if is_classifier(estimator) else X @ rng.standard_normal(4))
    answers = [one for one in ("predict", "predict_proba", "score_samples", "transform") if hasattr(model, one)]
    for answer in answers:
        alone = np.asarray(getattr(model, answer)(X))
        for size in (1e17, 1e100):
            beside = np.asarray(getattr(model, answer)(np.vstack([X, np.full((80, 4), size)])))[:60]
            np.testing.assert_allclose(beside, alone, rtol=1e-7, atol=1e-8)

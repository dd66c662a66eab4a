"""Every estimator with a kernel has a representation, which prediction goes through and which a refit replaces."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import gramian as gm
from checks.members import estimators, table
from gramian._core.fitted.forgetting import private_attributes
from gramian.kernels import RBF
from gramian.kernels.representation import Columns, KernelMatrix, KernelRepresentation, Landmarks
from gramian.models.base.linear_model import LinearModel

pytestmark = pytest.mark.filterwarnings("ignore::gramian.ConvergenceWarning")  # perceptrons of classes that overlap

# Random features have no points; a spectral cut may be of a matrix of affinities that is not kept.
WITHOUT = (gm.RandomFourier, gm.SpectralClustering)
ALL = [e for e in estimators() if "kernel" in inspect.signature(type(e)).parameters and not isinstance(e, WITHOUT)]
LINEAR = [e for e in estimators() if isinstance(e, LinearModel) and "kernel" not in e.get_params(deep=False)]
BY_LANDMARKS = (  # exact up to 2000 rows: a linear model on a factor of the whole matrix
    gm.Classifier, gm.KNeighborsClassifier, gm.KNeighborsRegressor, gm.LogisticRegression, gm.Nystroem, gm.Regressor,
)  # fmt: skip
SHORT = {"random_state": 0, "alpha": 0.1, "n_clusters": 3, "n_components": 2, "n_neighbors": 3}
# Private attributes of fits, by what they are for. The list only shrinks.
PRIVATE = {
    "_training_rows",  # the fingerprint of a leak
    "_coef", "_loss", "_decide", "_calibration",  # predictions
    "_solution", "_facts", "_covariances", "_weight", "_mean_loss", "_perfect",  # inference and summary
    "_search", "_space", "_ballot", "_numbers", "_one_target", "_exponent", "_factors",  # neighbours
    "_principal", "_squares", "_deviations", "_ddof", "_total",  # principal components
    "_points", "_leaf", "_leaf_weight", "_left_out", "_nodes",  # trees of clusters
    "_rule", "_missing", "_state", "_loop_variance", "_scores", "_row_weight", "_known",  # clusters
    "_read", "_posteriors", "_least_squares",  # most probable models, total least squares
}  # fmt: skip


def ids(estimator):
    return type(estimator).__name__


def made(estimator, **parameters):
    """A short fit, and the data."""
    X, y = table(3, n=40, d=3)
    y = np.digitize(y, np.quantile(y, [0.3, 0.7])) if is_classifier(estimator) else y
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(**{k: v for k, v in SHORT.items() if k in known} | parameters), X, y


def state(value):
    """Fitted attributes in a form that compares."""
    return {name: pickle.dumps(part) for name, part in vars(value).items() if name[-1] == "_"}


@pytest.mark.parametrize("estimator", ALL, ids=ids)
def test_the_representation_is_of_the_declared_type(estimator):
    model, X, y = made(estimator, kernel="rbf")
    exact = Landmarks if isinstance(estimator, BY_LANDMARKS) else KernelMatrix
    model.fit(X, y)
    assert type(model.representation_) is exact
    assert model.representation_.kernel == model.kernel_
    np.testing.assert_array_equal(model.representation_.vectors, X[model.representation_.index])
    if "rank" in model.get_params():
        model = clone(model).set_params(rank=7).fit(X, y)
        assert type(model.representation_) is Landmarks
        assert len(model.representation_.index) == 7
    if inspect.signature(type(estimator)).parameters["kernel"].default is None:
        model = clone(model).set_params(kernel=None, **({"rank": None} if "rank" in model.get_params() else {}))
        assert model.fit(X, y).representation_ == Columns(3)
        assert not hasattr(model, "kernel_")


@pytest.mark.parametrize("estimator", LINEAR, ids=ids)
def test_linear_models_are_of_columns(estimator):
    model, X, y = made(estimator)
    assert model.fit(X, y).representation_ == Columns(3)


@pytest.mark.parametrize("estimator", ALL, ids=ids)
def test_predictions_go_through_the_representation(estimator):
    model, X, y = made(estimator, kernel=RBF(1.3))
    ranks = [{}, {"rank": 12}] if "rank" in model.get_params() else [{}]
    Z = X[:9] + 0.1
    for rank in ranks:
        model = clone(model).set_params(**rank).fit(X, y)
        representation = model.representation_
        assert isinstance(representation, KernelRepresentation)
        points = representation.read(model, Z)
        F = representation.features(points)
        np.testing.assert_allclose(representation.rows_of(points).collect().X, F, rtol=1e-12, atol=1e-12)
        if not hasattr(model, "_coef"):  # neighbours, clusters, components and features are no functions of this kind
            continue
        B = representation.dual(np.atleast_2d(model._coef).T)
        f = RBF(1.3)(Z, X[representation.index]) @ B + model.intercept_
        if is_classifier(model):
            np.testing.assert_allclose(model._predictions(model._rows(Z)), f, rtol=1e-6, atol=1e-7)
        else:
            own = model.predict(Z) if is_regressor(model) else model.decision_function(Z)
            np.testing.assert_allclose(own.reshape(len(Z), -1), f, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("estimator", ALL, ids=ids)
def test_a_refit_replaces_every_fitted_attribute(estimator):
    known = estimator.get_params(deep=False)
    ways = [{"kernel": "linear"}, {"kernel": RBF(metric="learned")}]
    ways += [{"kernel": "rbf", "rank": 6}] if "rank" in known else []
    ways += [{"kernel": None}] if known["kernel"] is None else []
    first, X, y = made(estimator, kernel="rbf")
    for parameters in ways:
        if isinstance(parameters["kernel"], RBF) and not (is_classifier(estimator) or is_regressor(estimator)):
            continue
        fresh = made(estimator, **parameters)[0].fit(X, y)
        again = clone(first).fit(X, y).set_params(**parameters).fit(X, y)
        assert set(vars(again)) == set(vars(fresh))
        one, other = state(again), state(fresh)
        assert {name for name in one if one[name] != other[name]} <= {"dual_solution_"}  # what it caches


@pytest.mark.parametrize("estimator", [*ALL, *LINEAR], ids=ids)
def test_private_attributes_are_declared(estimator):
    known = estimator.get_params(deep=False)
    ways = [{}, *({"kernel": kernel} for kernel in ("rbf", "linear") if "kernel" in known)]
    ways += [{"kernel": "rbf", "rank": 6}] if "rank" in known else []
    for parameters in ways:
        model, X, y = made(estimator, **parameters)
        private = {name for name in vars(model.fit(X, y)) if name[0] == "_"}
        assert private <= PRIVATE
        assert private <= private_attributes(type(model))

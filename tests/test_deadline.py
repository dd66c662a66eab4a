"""time=: every iterative estimator has it, ends at the best so far, says so, and claims nothing."""

import inspect
import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm
from gramian._core import deadline


def parameters_of(name):
    return inspect.signature(getattr(gm, name)).parameters


ESTIMATORS = sorted(name for name in gm.__all__ if hasattr(getattr(gm, name), "get_params"))
TIMED = [name for name in ESTIMATORS if "time" in parameters_of(name)]
DIRECT = ["KNeighborsClassifier", "KNeighborsRegressor", "Ridge"]  # only a search among kernels takes long
ITERATIVE = [name for name in TIMED if name not in DIRECT]
CHOOSING = [name for name in ITERATIVE if "alphas" in parameters_of(name)]
LEARNED = ("coef_", "dual_coef_", "intercept_", "centers_", "weights_", "embedding_", "labels_")


def table(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    f = X @ rng.standard_normal(6) + 0.5 * rng.standard_normal(300)
    return X, (f > 0).astype(int) if hasattr(model, "predict_proba") or "multiclass" in model.get_params() else f


def plain(name, **more):
    """The estimator without a search."""
    known = {"alpha": 1e-3, "n_clusters": 3, "method": "smacof", "perplexity": 10.0, "random_state": 0}
    known = {key: value for key, value in known.items() if key in parameters_of(name)}
    return getattr(gm, name)(**known | more)


def learned(model):
    return [np.asarray(getattr(model, each)) for each in LEARNED if hasattr(model, each)]


def fitted(model, rows=300):
    """The model with its warnings of convergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*(part[:rows] for part in table(model)))
    return model, [str(one.message) for one in caught if one.category is gm.ConvergenceWarning]


def test_every_iterative_estimator_has_it():
    assert {name for name in ESTIMATORS if "max_iter" in parameters_of(name)} <= set(TIMED)


@pytest.mark.parametrize("name", ITERATIVE)
def test_no_time_leaves_an_honest_certificate(name):
    model, said = fitted(plain(name, time=1e-9))
    assert sum("ended by time=1e-09" in one for one in said) == 1
    assert not model.certificate_.holds
    assert "Ended by time=1e-09" in model.certificate_.note
    if hasattr(model, "summary"):
        assert "Ended by time=1e-09" in str(model.summary())
    assert learned(model)
    assert all(np.isfinite(each).all() for each in learned(model))
    X, _ = table(model)
    for answer in ("predict", "predict_proba", "decision_function", "score_samples"):
        if hasattr(model, answer):
            found = np.asarray(getattr(model, answer)(X))
            assert len(found) == len(X)
            assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_fit_ends_wherever_the_time_is_over(name, monkeypatch):
    for looks in (1, 2, 5, 10, 20, 50, 200):
        monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
        model, said = fitted(plain(name, time=float(looks)))
        assert all(np.isfinite(each).all() for each in learned(model))
        ended = "Ended by time=" in model.certificate_.note
        assert ended == any("ended by time=" in one for one in said)
        if not ended:
            break


@pytest.mark.parametrize("name", CHOOSING)
def test_a_search_ends_with_the_alphas_it_has_come_to(name):
    model, said = fitted(getattr(gm, name)(time=1e-9))
    assert any("ended by time" in one for one in said)
    assert len(model.scores_.alphas) == len(model.scores_.mean) < 10
    assert f"The choice of alpha ended with {len(model.scores_.alphas)} alphas" in model.certificate_.note
    assert all(np.isfinite(each).all() for each in learned(model))


@pytest.mark.parametrize("name", TIMED)
def test_time_enough_changes_nothing(name):
    one = plain(name)
    if name in CHOOSING:
        one.set_params(alpha="auto", alphas=[0.1, 0.01])
    two, _ = fitted(clone(one).set_params(time=1e6))
    one, _ = fitted(one)
    assert getattr(two, "alpha_", 0.0) == getattr(one, "alpha_", 0.0)
    for first, second in zip(learned(one), learned(two), strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", TIMED)
def test_times_that_are_none(name):
    for time in (0, -1.0, np.nan, np.inf, "1", True):
        model = plain(name, time=time)
        with pytest.raises((ValueError, TypeError), match="time is"):
            model.fit(*table(model))


@pytest.mark.parametrize("name", [*DIRECT, "LogisticRegression", "SVC"])
@pytest.mark.parametrize("kernel", ["auto", gm.kernels.RBF(metric="learned")], ids=["auto", "learned"])
def test_a_search_among_kernels_ends_with_those_tried(name, kernel, monkeypatch):
    counts = []
    for looks in (1, 8, 10**9):
        monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
        more = {"alphas": 3, "cv": 3} if name == "LogisticRegression" else {}
        model, said = fitted(plain(name, kernel=kernel, time=float(looks), **more), rows=60)
        X, _ = table(model)
        assert np.isfinite(np.asarray(model.predict(X[:5]))).all()
        ended = "Ended by time=" in model.certificate_.note
        assert ended == any("ended by time=" in one for one in said) == (looks < 10**9)
        if kernel == "auto" and ended:
            assert f"The choice of the kernel ended with {len(model.kernel_losses_)} tried." in model.certificate_.note
        counts.append(len(model.kernel_losses_))
    assert 1 <= counts[0] <= counts[1] <= counts[2]
    assert counts[0] < counts[2]


def test_a_search_among_subsets_ends_with_the_best_so_far(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 24))
    X[:, 12:] = X[:, :12] + 0.3 * rng.standard_normal((60, 12))
    y = X.sum(axis=1) + 10.0 * rng.standard_normal(60)
    whole = gm.selection.BestSubset(12).fit(X, y)
    monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
    with pytest.warns(gm.ConvergenceWarning, match="ended by time"):
        some = gm.selection.BestSubset(12, time=1.0).fit(X, y)
    assert whole.certificate_.holds
    assert not some.certificate_.holds
    assert (some.path_.supports.sum(axis=1) == np.arange(13)).all()
    assert (some.path_.rss >= whole.path_.rss * (1 - 1e-9)).all()


@pytest.mark.parametrize("name", ["Perceptron", "SVC"])
def test_kernel_machines_end_too(name):
    model, said = fitted(plain(name, kernel="rbf", time=1e-9))
    X, _ = table(model)
    assert len(said) == 1
    assert "ended by time=1e-09" in said[0]
    assert not model.certificate_.holds
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_hard_margin_ends_at_a_softer_one():
    with pytest.warns(gm.ConvergenceWarning, match="ended by time"):
        model = gm.SVC(alpha=0, time=1e-9).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert not model.certificate_.holds


@pytest.mark.parametrize("solver", ["gram", "rows"])
@pytest.mark.parametrize("columns", [6, 400])
def test_a_path_ends_at_the_alpha_it_has_come_to(solver, columns, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, columns))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(60)
    whole = gm.Lasso(alpha=1e-3, solver=solver).fit(X, y)
    monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
    with pytest.warns(gm.ConvergenceWarning, match="ended by time"):
        some = gm.Lasso(alpha=1e-3, solver=solver, time=40.0).fit(X, y)
    count = len(some.path_.alphas) - 1
    assert 0 < count < len(whole.path_.alphas) - 1
    np.testing.assert_allclose(some.path_.coefs[:count], whole.path_.coefs[:count], atol=1e-9)
    assert some.path_.alphas[-1] == some.alpha_ == 1e-3
    assert whole.history_[0][1] > some.history_[-1][1] > whole.history_[-1][1]
    assert some.certificate_.value > whole.certificate_.value


def test_likelihoods_whose_scale_is_sought_end_too():
    for likelihood in ("gaussian", "laplace", "student_t", "poisson"):
        model = gm.MAP(likelihood, "laplace", time=1e-9)
        X, y = table(model)
        with pytest.warns(gm.ConvergenceWarning, match="ended by time"):
            model.fit(X, np.round(np.abs(y)) if likelihood == "poisson" else y)
        assert not model.certificate_.holds
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("looks", [1, 3, 10, 30])
def test_a_kernel_machine_is_no_worse_than_none(looks, monkeypatch):
    y = table(gm.SVR())[1]
    monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
    model, said = fitted(gm.SVR(alpha=1e-9, epsilon=0.0, time=float(looks)))
    assert len(said) == 1
    assert model.objective_ <= np.abs(y - np.median(y)).mean() * (1 + 1e-4)


CLUSTERS = [name for name in TIMED if {"n_clusters", "max_iter"} <= set(parameters_of(name))]


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_end_at_their_lowest_objective(name, monkeypatch):
    passes = []
    for looks in (1, 2, 4, 8, 100_000):
        monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
        more = {"rule": "plain"} if "rule" in parameters_of(name) else {}  # rivals are driven away at a cost
        model, _ = fitted(plain(name, n_init=1, time=float(looks), **more))
        values = [value for _, value, _ in model.history_]
        assert values[-1] == model.objective_ <= min(values) + 1e-9 * abs(values[0])
        passes.append(model.n_iter_)
    assert passes[0] == 1 < passes[-1]


@pytest.mark.parametrize(
    "criterion", ["bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette", "stability"]
)
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_the_choice_of_a_number_of_clusters_ends(criterion, kernel, monkeypatch):
    if criterion == "bic" and kernel:
        pytest.skip("a feature space has no BIC")
    for looks in (1, 10, 50, 300, 1000):
        monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
        given = {"criterion": criterion, "kernel": kernel, "random_state": 0, "max_clusters": 5}
        model, said = fitted(gm.KMeans("auto", time=float(looks), **given))
        ended = "Ended by time=" in model.certificate_.note
        assert ended == any("ended by time=" in one for one in said)
        assert not ended or f"among 1 to {len(model.choice_.n_clusters)}." in model.certificate_.note
        assert 1 <= model.n_clusters_ <= len(model.choice_.n_clusters) <= 5


@pytest.mark.parametrize("name", ["KMeans", "KLines", "GaussianMixture"])
def test_no_start_begins_after_the_time_is_over(name, monkeypatch):
    from gramian.structures.loop.alternation import Loop
    from gramian.structures.loop.means import MeansLoop

    starts = []
    for kind in (Loop, MeansLoop):
        seeds = kind.initial_structures
        monkeypatch.setattr(kind, "initial_structures", lambda *given, seeds=seeds: starts.append(1) or seeds(*given))
    fitted(plain(name, n_init=10, time=1e-9))
    assert len(starts) == 1


def test_maps_end_lower_than_they_began(monkeypatch):
    for looks in (3, 10, 40):
        monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
        model, said = fitted(plain("MDS", init="random", time=float(looks)))
        assert "ended by time" in said[0]
        assert model.history_[-1][1] < model.history_[0][1]
        np.testing.assert_allclose(model.stress_, model.history_[-1][1])


def test_half_of_the_time_of_a_map_of_neighbours_is_for_its_outline(monkeypatch):
    from gramian.spectral.embedding.tsne_gradient import Forces

    seen, gradient = [], Forces.gradient
    monkeypatch.setattr(Forces, "gradient", lambda self, Y, much: seen.append(much) or gradient(self, Y, much))
    monkeypatch.setattr(deadline, "monotonic", itertools.count().__next__)
    model, _ = fitted(plain("TSNE", time=100.0))
    assert 0.3 < np.mean(np.array(seen) == 12.0) < 0.7
    assert seen == sorted(seen, reverse=True)
    assert model.n_iter_ == len(seen) < 100


def test_engines_of_maps_that_can_be_ended(monkeypatch):
    from gramian.spectral.embedding import tsne

    with pytest.raises(ValueError, match="cannot be ended"):
        plain("TSNE", engine="sklearn", time=1.0).fit(table(gm.TSNE())[0])
    monkeypatch.setattr(tsne, "MAX_EXACT_ROWS", 10)
    assert fitted(plain("TSNE", time=1e-9))[0].engine_ == "exact"


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_eigenvectors_of_a_large_graph_end(cut):
    X = np.random.default_rng(0).standard_normal((1200, 3))
    with pytest.warns(gm.ConvergenceWarning, match="ended by time=1e-09") as caught:
        model = gm.SpectralClustering(4, cut=cut, neighbors=10, time=1e-9).fit(X)
    assert len(caught) == 1
    assert model.certificate_.value > model.certificate_.tolerance
    assert np.isfinite(model.embedding_).all()
    assert len(model.predict(X[:5] + 0.01)) == 5

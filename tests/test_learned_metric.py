"""Kernels with a metric, and metrics learned from a target, against numerical gradients and by what must not matter."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import gramian as gm
from gramian.kernels import RBF, Laplacian, Linear
from gramian.kernels.points import Vectors
from gramian.models.kernel import learned_metric
from gramian.models.kernel.learned_metric import average_gradients, rounds

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Z = RNG.standard_normal((7, 4))
ROOT = RNG.standard_normal((2, 4))
M = ROOT.T @ ROOT  # of rank 2
BOTH = pytest.mark.parametrize("kind", [RBF, Laplacian])


def by_definition(kind, h, X, Z):
    D = cdist(X @ ROOT.T, Z @ ROOT.T)
    return np.exp(-(D**2) / (2 * h**2)) if kind is RBF else np.exp(-D / h)


def ridge_function(n=500, d=20, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.uniform(-1, 1, (n + 1000, d))
    f = np.sin(3 * X @ u)
    return X[:n], f[:n] + noise * rng.standard_normal(n), X[n:], f[n:], u


# the kernels


@BOTH
def test_a_metric_is_a_distance(kind):
    k = kind(1.7, metric=M)
    for a, b in ((X, Z), (X + 1e7, Z + 1e7)):
        assert_allclose(k(a, b), by_definition(kind, 1.7, X, Z), rtol=1e-9 if a is X else 1e-6)
    assert_array_equal(k(X).diagonal(), 1.0)
    for coat in (sp.csr_array(X), pd.DataFrame(X), X.tolist()):
        assert_allclose(k(coat, Z), k(X, Z), rtol=1e-10)
    assert kind(1.7, metric=3.0 * M) != k == kind(1.7, metric=M.copy())
    assert hash(k) == hash(clone(k))
    assert pickle.loads(pickle.dumps(k)) == k
    assert np.linalg.eigvalsh(k(X))[0] > -1e-13


def test_the_identity_is_the_plain_gaussian_kernel_and_not_the_plain_laplacian():
    assert_allclose(RBF(2.0, metric=np.eye(4))(X, Z), RBF(2.0)(X, Z), rtol=1e-12)
    assert_allclose(Laplacian(2.0, metric=np.eye(4))(X, Z), gm.kernels.Matern(2.0, nu=0.5)(X, Z), rtol=1e-12)
    assert abs(Laplacian(2.0)(X, Z) - Laplacian(2.0, metric=np.eye(4))(X, Z)).max() > 0.1
    assert_allclose(RBF(1.0, metric=np.diag([4.0, 1, 1, 1]))(X, Z), RBF((0.5, 1.0, 1.0, 1.0))(X, Z), rtol=1e-11)


@BOTH
def test_units_of_columns_far_apart_keep_the_digits(kind):
    units = np.array([1e-9, 1.0, 1e12, 1e3])
    there = kind(1.3, metric=M / units[:, None] / units)
    assert_allclose(there(X * units, Z * units), kind(1.3, metric=M)(X, Z), rtol=1e-8)


def test_auto_is_the_median_distance_of_the_metric():
    D = cdist(X @ ROOT.T, X @ ROOT.T)[np.triu_indices(30, 1)]
    for kind in (RBF, Laplacian):
        assert kind("auto", metric=M).fitted(X).length_scale == pytest.approx(np.median(D), rel=1e-9)


@BOTH
def test_proof_and_text(kind):
    k = kind(1.0, metric=[[2.0, 1.0], [1.0, 2.0]])
    assert repr(k) == f"{kind.__name__}(length_scale=1.0, metric=[[2.0, 1.0], [1.0, 2.0]])"
    assert k.validity().valid
    assert "positive semi-definite" in str(k.validity())
    assert repr(kind(1.0, metric=np.eye(30))) == f"{kind.__name__}(length_scale=1.0, metric=<30 × 30>)"
    assert repr(kind(1.0)) == f"{kind.__name__}(length_scale=1.0)"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("euclidean", "None, 'learned' or a matrix"),
        ([1.0, 2.0], r"shape \(2,\)"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        ([[np.nan]], "finite"),
        ([[1.0, 0.5], [0.0, 1.0]], r"M\[0, 1\] is 0.5 and M\[1, 0\] is 0"),
        ([[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue"),
        ([[-1.0]], "negative eigenvalue"),
    ],
)
def test_what_is_no_metric_is_refused(metric, words):
    with pytest.raises(ValueError, match=words):
        RBF(metric=metric)


def test_a_metric_has_all_scales_and_its_own_columns():
    with pytest.raises(ValueError, match="one number beside a metric"):
        RBF((1.0, 2.0), metric=np.eye(2))
    with pytest.raises(ValueError, match="2 × 2, and X has 4 columns"):
        RBF(metric=np.eye(2))(X)
    with pytest.raises(ValueError, match="no gradient"):
        Laplacian().slope(Vectors(X), Vectors(X))


def test_nothing_is_a_metric_too():
    assert_array_equal(RBF(metric=np.zeros((4, 4)))(X), 1.0)


@BOTH
def test_random_waves_of_a_metric(kind):
    waves = gm.RandomFourier(kind(1.5, metric=M), n_components=20000, random_state=0).fit(X)
    assert waves.frequencies_.shape == (4, 10000)
    F = waves.transform(X)
    assert abs(F @ F.T - kind(1.5, metric=M)(X)).max() < 0.06
    one = RBF(1.0, metric=[[4.0]])
    assert_allclose(one.features(X[:, :1], 60) @ one.features(X[:, :1], 60).T, one(X[:, :1]), atol=1e-8)


def test_support_vectors_stay_rows_of_the_table():
    label = np.where(X[:, 0] > 0, 1, -1)
    k = RBF(1.0, metric=M)
    machine = gm.SVC(alpha=1e-2, kernel=k).fit(X, label)
    assert_array_equal(machine.support_vectors_, X[machine.support_])
    given = gm.SVC(alpha=1e-2, kernel=gm.kernels.Precomputed()).fit(k(X), label)
    assert_allclose(machine.decision_function(Z), given.decision_function(k(Z, X)), atol=1e-4)


# gradients


@BOTH
@pytest.mark.parametrize("targets", [1, 3])
def test_average_gradients_are_the_numerical_ones(kind, targets):
    rng = np.random.default_rng(targets)
    G = rng.standard_normal((4, 4))
    k = kind(1.4, metric=G @ G.T)
    beta, weight = rng.standard_normal((30, targets)), rng.integers(1, 4, 30).astype(float)
    expected = np.zeros((4, 4))
    step = 1e-6
    for i in range(30):
        others = np.arange(30) != i if kind is Laplacian else np.ones(30, dtype=bool)  # the kink at the row itself
        sides = [(k((X[i] + s * step * np.eye(4)), X[others]) @ beta[others]) for s in (1, -1)]
        slope = (sides[0] - sides[1]) / (2 * step)
        expected += weight[i] * slope @ slope.T / weight.sum()
    assert_allclose(
        average_gradients(k, Vectors(X), beta, weight), expected, rtol=1e-6, atol=1e-7 * abs(expected).max()
    )


def test_panels_do_not_matter(monkeypatch):
    k, beta = RBF(1.0, metric=M), RNG.standard_normal((30, 2))
    whole = average_gradients(k, Vectors(X), beta, np.ones(30))
    monkeypatch.setattr(learned_metric, "PANEL", 7)
    assert_allclose(average_gradients(k, Vectors(X), beta, np.ones(30)), whole, rtol=1e-10, atol=1e-12)


# learning


@BOTH
def test_a_few_directions_are_found(kind):
    X, y, far, f, u = ridge_function()
    plain = gm.Ridge(kernel=RBF("auto") if kind is RBF else kind("auto").fitted(X)).fit(X, y)
    model = gm.Ridge(kernel=kind(metric="learned")).fit(X, y)
    error, plain_error = (np.mean((m.predict(far) - f) ** 2) for m in (model, plain))
    assert error < plain_error / 20
    assert model.certificate_.holds
    learned = model.kernel_.metric
    values, axes = np.linalg.eigh(learned)
    assert abs(axes[:, -1] @ u) > 0.99
    assert values[-1] > 0.95 * values.sum()
    assert_allclose(model.metric_weights_, np.diag(learned) * X.var(axis=0) / (np.diag(learned) @ X.var(axis=0)))
    losses = np.array(list(model.kernel_losses_.values()))
    assert len(losses) == learned_metric.ROUNDS + 1
    assert losses.min() < losses[0] / 5
    kept = gm.Ridge(alpha=model.alpha_, kernel=model.kernel_).fit(X, y)  # it is a kernel like others
    assert_array_equal(kept.predict(far), model.predict(far))


def test_units_do_not_matter():
    X, y, far, _, _ = ridge_function(200, 6)
    rng = np.random.default_rng(1)
    units, shift = 10.0 ** rng.integers(-6, 7, 6), rng.standard_normal(6)
    model = gm.Ridge(kernel=RBF(metric="learned")).fit(X, y)
    other = gm.Ridge(kernel=RBF(metric="learned")).fit((X + shift) * units, 1e6 * y - 1e6)
    assert_allclose(other.predict((far + shift) * units) / 1e6 + 1, model.predict(far), atol=1e-7)
    assert_allclose(other.metric_weights_, model.metric_weights_, atol=1e-7)
    scaled = gm.Ridge(kernel=RBF(50.0, metric="learned")).fit(X, y)  # M has the scale, whatever the length scale
    assert_allclose(scaled.predict(far), model.predict(far), atol=1e-7)
    auto = gm.Ridge(kernel=RBF("auto", metric="learned")).fit(X, y)
    assert auto.kernel_ == model.kernel_


@BOTH
def test_weights_are_repetition(kind, monkeypatch):
    """At one scale and alpha: their choice leaves a row out with all its weight, and of repeated rows only one."""
    monkeypatch.setattr(learned_metric, "NEAR", np.array([1.0]))
    monkeypatch.setattr(learned_metric, "SCALES", np.array([0.5]))
    monkeypatch.setattr(learned_metric, "ALPHAS", np.array([1e-3]))
    X, y, *_ = ridge_function(60, 4)
    count = np.random.default_rng(2).integers(1, 4, 60)
    k = kind(1.0, metric="learned")
    Y = (y - y.mean())[:, None]
    one = rounds(k, Vectors(X), Y, count.astype(float), 2)
    rows = np.repeat(np.arange(60), count)
    many = rounds(k, Vectors(X[rows]), Y[rows], np.ones(len(rows)), 2)
    for a, b in zip(one, many, strict=True):
        assert_allclose(a.kernel.metric, b.kernel.metric, rtol=1e-6, atol=1e-8 * abs(a.kernel.metric).max())
    X, y = np.vstack([X, 1e3 * X[:5]]), np.append(y, [1e9] * 5)
    weight = np.append(np.ones(60), np.zeros(5))
    model = gm.Ridge(alpha=1e-3, kernel=k).fit(X, y, sample_weight=weight)
    assert np.abs(model.predict(X[:60])).max() < 5


def test_several_targets_each_in_its_own_units():
    X, y, far, f, u = ridge_function(300, 8)
    second = X[:, 0] ** 2
    model = gm.Ridge(kernel=RBF(metric="learned")).fit(X, np.column_stack([y, 1e6 * second]))
    found = model.predict(far)
    assert 1 - np.mean((found[:, 0] - f) ** 2) / f.var() > 0.95
    assert 1 - np.mean((found[:, 1] / 1e6 - far[:, 0] ** 2) ** 2) / np.var(far[:, 0] ** 2) > 0.95
    axes = np.linalg.eigh(model.kernel_.metric)[1]
    for direction in (u, np.eye(8)[0]):
        assert np.linalg.norm(axes[:, -2:].T @ direction) > 0.97


@pytest.mark.parametrize(
    "make",
    [
        lambda k: gm.SVC(alpha=1e-3, kernel=k),
        lambda k: gm.LogisticRegression(alpha=1e-3, kernel=k),
        lambda k: gm.KNeighborsClassifier(kernel=k),
    ],
)
def test_classifiers_learn_it_from_their_classes(make):
    X, _, far, f, _ = ridge_function(400, 10, noise=0)
    names = np.array(["low", "mid", "high"], dtype=object)
    label = names[np.digitize(np.arcsin(np.clip(np.sin(3 * X @ ridge_function(400, 10)[4]), -1, 1)), [-0.5, 0.5])]
    truth = names[np.digitize(np.arcsin(np.clip(f, -1, 1)), [-0.5, 0.5])]
    model, plain = make(RBF(metric="learned")).fit(X, label), make(RBF("auto").fitted(X)).fit(X, label)
    assert 1 - model.score(far, truth) < 0.5 * (1 - plain.score(far, truth))


def test_other_regressors_and_ranks_learn_it():
    X, y, far, f, _ = ridge_function(300, 10)
    for model in (
        gm.SVR(alpha=1e-3, kernel=RBF(metric="learned")),
        gm.Ridge(rank=80, kernel=RBF(metric="learned")),
        gm.Regressor(loss=gm.losses.Huber(), alpha=1e-4, kernel=Laplacian(metric="learned")),
        gm.Ridge(kernel=RBF(metric="learned"), cv=GroupKFold(5).split(X, groups=np.arange(300) % 10)),
    ):
        model.set_params(cv=list(model.cv)) if hasattr(model.cv, "send") else None
        assert model.fit(X, y).score(far, f) > 0.9
        assert "metric learned in" in str(model.summary())


def test_the_summary_names_the_columns():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.uniform(-1, 1, (200, 5)), columns=["age", "height", "weight", "pulse", "size"])
    y = np.sin(4 * table["pulse"]) + 0.05 * rng.standard_normal(200)
    model = gm.Ridge(kernel=RBF(metric="learned")).fit(table, y)
    text = str(model.summary())
    assert "most of it: pulse 0.9" in text or "most of it: pulse 1" in text
    assert table.columns[model.metric_weights_.argmax()] == "pulse"
    model.set_params(kernel=RBF(1.0)).fit(table, y)
    assert not hasattr(model, "metric_weights_")
    assert "metric" not in str(model.summary())


def test_many_rows_are_a_sample(monkeypatch):
    X, y, far, f, _ = ridge_function(400, 5)
    monkeypatch.setattr(learned_metric, "MOST_ROWS", 150)
    monkeypatch.setattr(learned_metric, "SEARCHED", 80)
    model = gm.Ridge(alpha=1e-4, kernel=RBF(metric="learned")).fit(sp.csr_array(X), y)
    assert model.score(far, f) > 0.95
    again = gm.Ridge(alpha=1e-4, kernel=RBF(metric="learned")).fit(gm.scan(X, y))
    assert_allclose(again.predict(far), model.predict(far), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_few_rows_and_constant_ones(n):
    y = np.arange(n, dtype=float)
    assert np.isfinite(gm.Ridge(alpha=0.1, kernel=RBF(metric="learned")).fit(X[:n], y).predict(X)).all()
    flat = gm.Ridge(alpha=0.1, kernel=Laplacian(metric="learned")).fit(np.column_stack([X[:n], np.ones(n)]), 0 * y + 3)
    assert_allclose(flat.predict(np.column_stack([X, np.ones(30)])), 3.0)


def test_what_cannot_learn_it_says_what_can():
    y = X[:, 0]
    waiting = RBF(metric="learned")
    assert "learned from a target" in waiting.waits_for()
    attempts = [
        lambda: waiting(X),
        lambda: waiting.fitted(X),
        lambda: waiting.block(Vectors(X), Vectors(X)),
        lambda: waiting.features(X[:, :1], 3),
        lambda: gm.OneClassSVM(kernel=waiting).fit(X),
        lambda: gm.Nystroem(kernel=waiting).fit(X),
        lambda: gm.RandomFourier(kernel=waiting).fit(X),
        lambda: gm.Ridge(kernel=waiting + Linear()).fit(X, y),
        lambda: gm.Ridge(kernel=RBF("auto", metric="learned").on([0, 1])).fit(X, y),
    ]
    for attempt in attempts:
        with pytest.raises(ValueError, match=r"learned from a target.*gm\.Ridge\(kernel=RBF\(.*kernel_"):
            attempt()
    with pytest.raises(ValueError, match="learned from a target"):
        waiting(X, Z)
    with pytest.raises(ValueError, match="y contains NaN"):
        gm.Ridge(kernel=waiting).fit(X, np.where(y > 2, y, np.nan))
    with pytest.raises(ValueError, match=r"text|numbers|label"):
        gm.Ridge(kernel=waiting).fit(X, ["a"] * 15 + ["b"] * 15)
    inside = gm.Ridge(kernel=waiting).fit(X, y).kernel_ + Linear()
    assert gm.Ridge(alpha=0.1, kernel=inside).fit(X, y).score(X, y) > 0.9


@BOTH
def test_its_scale_and_alpha_are_chosen_by_rows_left_out_whole(kind, monkeypatch):
    X, y, *_ = ridge_function(25, 3)
    weight = np.random.default_rng(5).uniform(0.2, 4.0, 25)
    Y, metric, scales, alphas = (
        (y - y.mean())[:, None],
        np.eye(3),
        np.array([0.5, 1.0, 2.0]),
        np.array([1.0, 1e-2, 1e-4]),
    )
    monkeypatch.setattr(learned_metric, "ALPHAS", alphas)
    found = learned_metric._fitted(kind(1.0, metric="learned"), metric, Vectors(X), Y, weight, scales)
    losses = {}
    for scale in scales:
        k = kind(1.0, metric=metric / scale**2)
        for alpha in alphas:
            total = 0.0
            for i in range(25):
                rest = np.arange(25) != i
                one = gm.Ridge(alpha=alpha, kernel=k).fit(X[rest], Y[rest, 0], sample_weight=weight[rest])
                total += weight[i] * float((one.predict(X[[i]])[0] - Y[i, 0]) ** 2)
            losses[scale, alpha] = total
    scale, alpha = min(losses, key=losses.get)
    model = gm.Ridge(alpha=alpha, kernel=kind(1.0, metric=metric / scale**2)).fit(X, Y[:, 0], sample_weight=weight)
    assert found.scale == scale
    assert_allclose(found.predict(Vectors(X))[:, 0], model.predict(X), atol=1e-9)

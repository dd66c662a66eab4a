"""The perceptron: its steps one by one, its bound on mistakes, the pocket, averages, several classes, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import gramian as gm


def separable(seed, n=60, d=3, gap=0.3, k=2):
    """Classes with empty space between them: each row is at least `gap` deeper in its own than in any other."""
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, d)), np.linalg.qr(rng.standard_normal((max(d, k), k)))[0][:d].T
    W[0] = -W[1] if k == 2 else W[0]
    y = (X @ W.T).argmax(axis=1)
    y[:k] = np.arange(k)
    X[:k] = W
    return X + gap * W[y] * 2, y


def overlapping(seed, n=80, d=2, k=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, d)) + rng.standard_normal((k, d))[y], y


def standard(X, w=None, intercept=True, center=True):
    """Rows as the algorithm sees them: centred, over the power of two next above their deviation, with a 1."""
    w = np.ones(len(X)) if w is None else w
    mean = w @ X / w.sum()
    deviation = np.sqrt(w @ (X - mean) ** 2 / w.sum())
    reach = deviation if center and intercept else np.hypot(deviation, mean)
    Z = (X - (mean if intercept and center else 0.0)) / 2.0 ** np.frexp(np.where(reach > 0, reach, 1.0))[1]
    return np.column_stack([Z, np.ones(len(X))]) if intercept else Z


def plain(Z, y, k, sweeps, seed=0, w=None):
    """Sweeps over the rows, one Python step at a time: the points at each end, the running sum, and the mistakes."""
    w = np.ones(len(Z), dtype=int) if w is None else w
    theta = np.zeros((1 if k == 2 else k, Z.shape[1]))
    total, mistakes, ends = theta * 0.0, 0, []
    for sweep in range(sweeps):
        before = mistakes
        for i in np.random.default_rng((seed, sweep)).permutation(len(Z)):
            for _ in range(int(w[i])):
                if k == 2:
                    side = 1.0 if y[i] == 1 else -1.0
                    if side * (theta[0] @ Z[i]) <= 0:
                        mistakes += 1
                        theta[0] += side * Z[i]
                else:
                    f = theta @ Z[i]
                    f[y[i]], own = -np.inf, f[y[i]]
                    if own <= f.max():
                        mistakes += 1
                        theta[y[i]] += Z[i]
                        theta[f.argmax()] -= Z[i]
                total += theta
        ends.append((theta.copy(), total.copy(), mistakes))
        if mistakes == before:
            break
    return ends


def quiet(model, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        return model.fit(*data, **more)


# step by step


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", [True, False])
def test_mistakes_and_coefficients_are_those_of_a_plain_loop(seed, intercept):
    X, y = separable(seed)
    model = gm.Perceptron(random_state=seed, fit_intercept=intercept).fit(X, y)
    Z = standard(X, intercept=intercept)
    ends = plain(Z, y, 2, 1000, seed)
    theta, _, mistakes = ends[-1]
    assert model.n_mistakes_ == mistakes
    np.testing.assert_allclose(model.decision_function(X), Z @ theta[0], rtol=1e-9, atol=1e-9)
    assert len(ends) - 1 <= model.n_iter_ <= len(ends)


def test_weights_meet_a_row_again():
    X, y = separable(5)
    w = np.random.default_rng(5).integers(0, 4, len(y))
    model = gm.Perceptron().fit(X, y, sample_weight=w)
    Z, counted = standard(X, w), w > 0
    assert not counted.all()
    theta, _, mistakes = plain(Z[counted], y[counted], 2, 1000, 0, w[counted])[-1]
    assert model.n_mistakes_ == mistakes
    np.testing.assert_allclose(model.decision_function(X), Z @ theta[0], rtol=1e-9, atol=1e-9)
    assert model.score(X, y, sample_weight=w) == 1.0
    without = gm.Perceptron().fit(X[counted], y[counted], sample_weight=w[counted])
    assert without.n_mistakes_ == mistakes
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_at_once_are_a_plain_loop_too(seed):
    X, y = separable(10 + seed, n=60, d=4, k=3)
    model = gm.Perceptron(multiclass="joint", random_state=seed).fit(X, y)
    Z = standard(X)
    theta, _, mistakes = plain(Z, y, 3, 1000, seed)[-1]
    assert model.n_mistakes_ == mistakes
    f, g = model.decision_function(X), Z @ theta.T
    np.testing.assert_allclose(f - f.mean(axis=1, keepdims=True), g - g.mean(axis=1, keepdims=True), atol=1e-8)
    assert model.score(X, y) == 1.0
    assert model.coef_.shape == (3, 4)


# the bound


def widest(Z, y):
    """γ: the margin of the best unit vector through the origin, by a hard margin with weights as slack prices."""
    from sklearn.svm import SVC

    # reflecting one class makes it a problem with one class: its margin is that of the pair Z, −Z
    V = Z * (2 * y - 1)[:, None]
    fitted = SVC(kernel="linear", C=1e10, tol=1e-12).fit(np.concatenate([V, -V]), np.repeat([1, 0], len(V)))
    return 1.0 / np.linalg.norm(fitted.coef_)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [0.1, 0.5])
def test_mistakes_are_within_their_bound(seed, gap):
    X, y = separable(20 + seed, d=2 + seed % 3, gap=gap)
    model = gm.Perceptron(random_state=seed, max_iter=100_000).fit(X, y)
    Z = standard(X)
    bound = (np.linalg.norm(Z, axis=1).max() / widest(Z, y)) ** 2
    assert model.mistake_bound_ == pytest.approx(bound, rel=1e-4)
    assert 1 <= model.n_mistakes_ <= model.mistake_bound_ * (1 + 1e-9)
    assert model.score(X, y) == 1.0
    assert model.certificate_.holds
    assert model.certificate_.value == 0.0
    facts = model.summary().facts
    assert facts["mistakes"] == model.n_mistakes_
    assert facts["bound (R/γ)²"] == model.mistake_bound_
    assert "alpha" not in facts


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e12])
def test_units_are_no_matter(scale):
    X, y = separable(30)
    one = gm.Perceptron().fit(X, y)
    two = gm.Perceptron().fit(X * 2.0 ** np.round(np.log2(scale)), y)
    assert two.n_mistakes_ == one.n_mistakes_
    assert two.mistake_bound_ == pytest.approx(one.mistake_bound_, rel=1e-5)
    np.testing.assert_array_equal(two.predict(X * 2.0 ** np.round(np.log2(scale))), one.predict(X))


def test_more_columns_than_rows_have_a_bound():
    rng = np.random.default_rng(31)
    X, y = rng.standard_normal((10, 30)), np.arange(10) % 2
    model = gm.Perceptron().fit(X, y)
    Z = standard(X)
    assert model.mistake_bound_ == pytest.approx((np.linalg.norm(Z, axis=1).max() / widest(Z, y)) ** 2, rel=1e-3)
    assert model.n_mistakes_ <= model.mistake_bound_


def test_rows_without_weight_are_not_in_the_bound():
    X, y = separable(32)
    far = np.vstack([X, [[1e6, 0.0, 0.0]]])
    one = gm.Perceptron().fit(X, y)
    two = gm.Perceptron().fit(far, np.append(y, 0), sample_weight=np.append(np.ones(len(y)), 0.0))
    assert two.mistake_bound_ == pytest.approx(one.mistake_bound_, rel=1e-6)
    assert two.n_mistakes_ <= two.mistake_bound_


def test_unequal_weights_keep_to_their_bound_or_have_none():
    """Steps of unequal length may err more often than (R/γ)²: here 45 times. Then that bound must not be claimed."""
    X, y = np.array([[-1.0, -0.0787], [-1.0, 0.0787], [-0.3132, 0.1437]]), np.array([0, 1, 1])
    for seed in range(6):
        model = gm.Perceptron(class_weight={0: 0.01}, fit_intercept=False, random_state=seed).fit(X, y)
        assert model.score(X, y) == 1.0
        assert np.isnan(model.mistake_bound_) or model.n_mistakes_ <= model.mistake_bound_ * (1 + 1e-9)


# classes that overlap


@pytest.mark.parametrize("seed", range(3))
def test_the_pocket_keeps_the_fewest_mistakes(seed):
    X, y = overlapping(seed)
    with pytest.warns(gm.ConvergenceWarning, match="share of rows on the wrong side"):
        model = gm.Perceptron(max_iter=30).fit(X, y)
    Z, signs = standard(X), 2 * y - 1
    ends = plain(Z, y, 2, 30)
    wrong = [float((signs * (Z @ theta[0]) <= 0).mean()) for theta, _, _ in ends]
    assert model.certificate_.value == pytest.approx(min(wrong), abs=1e-12)
    assert 1 - model.score(X, y) == pytest.approx(min(wrong), abs=1e-12)
    assert not model.certificate_.holds
    assert model.mistake_bound_ == np.inf
    assert model.n_mistakes_ == ends[-1][2]


def test_averages_are_means_of_all_points():
    X, y = overlapping(7)
    model = quiet(gm.Perceptron(average=True, max_iter=5), X, y)
    Z, signs = standard(X), 2 * y - 1
    best, fewest = None, np.inf
    for _, total, _ in plain(Z, y, 2, 5):
        wrong = (signs * (Z @ total[0]) <= 0).mean()
        if wrong < fewest:
            best, fewest = total[0], wrong
    f, g = model.decision_function(X), Z @ best
    np.testing.assert_allclose(f / np.linalg.norm(f), g / np.linalg.norm(g), atol=1e-9)


def test_averages_help_where_classes_overlap():
    better = []
    for seed in range(6):
        X, y = overlapping(50 + seed, n=400, d=5)
        A, B = slice(0, 200), slice(200, 400)
        scores = [quiet(gm.Perceptron(average=a, max_iter=20), X[A], y[A]).score(X[B], y[B]) for a in (False, True)]
        better.append(scores[1] - scores[0])
    assert np.mean(better) > -0.005


def test_an_average_that_separates_is_certified():
    X, y = separable(8, gap=1.0)
    model = gm.Perceptron(average=True).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certificate_.holds


# several classes


@pytest.mark.parametrize("multiclass", ["auto", "ovr", "ovo", "code", "joint"])
def test_every_reduction_separates(multiclass):
    rng = np.random.default_rng(9)
    y = np.arange(60) % 4
    X = rng.uniform(-1, 1, (60, 4)) + 6 * np.eye(4)[y]
    names = np.array(["a", "b", "c", "d"])[y]
    model = gm.Perceptron(multiclass=multiclass).fit(X, names)
    assert model.score(X, names) == 1.0
    assert model.multiclass_ == ("ovr" if multiclass == "auto" else multiclass)
    assert np.isnan(model.mistake_bound_)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], names)


# homes, parameters


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("average", [False, True])
def test_sparse_rows_are_not_centred_but_met_in_the_same_order(k, average):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((60, 6)) * (rng.random((60, 6)) < 0.4)
    y = rng.integers(0, k, 60)
    model = quiet(
        gm.Perceptron(multiclass="joint" if k > 2 else "auto", max_iter=6, average=average), sp.csr_array(X), y
    )
    Z = standard(X, center=False)
    best, fewest = None, np.inf
    for theta, total, _ in plain(Z, y, k, 6):
        found = total if average else theta
        f = Z @ found.T
        margin = (2 * y - 1) * f[:, 0] if k == 2 else _lead(f, y)
        if (margin <= 0).mean() < fewest:
            best, fewest = f, (margin <= 0).mean()
    assert model.n_mistakes_ == plain(Z, y, k, 6)[-1][2]
    f = model.decision_function(X)
    best = best[:, 0] if k == 2 else best - best.mean(axis=1, keepdims=True)
    f = f if k == 2 else f - f.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(f / np.linalg.norm(f), best / np.linalg.norm(best), atol=1e-8)


def _lead(f, y):
    own, rest = f[np.arange(len(f)), y], f.copy()
    rest[np.arange(len(f)), y] = -np.inf
    return own - rest.max(axis=1)


def test_seeds_and_generators():
    X, y = overlapping(60)
    same = [quiet(gm.Perceptron(random_state=3, max_iter=5), X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*same)
    for make in (np.random.default_rng, np.random.RandomState):
        pair = [quiet(gm.Perceptron(random_state=make(4), max_iter=5), X, y).coef_ for _ in range(2)]
        np.testing.assert_array_equal(*pair)
    orders = {tuple(quiet(gm.Perceptron(random_state=s, max_iter=1), X, y).coef_[0]) for s in range(4)}
    assert len(orders) > 1


def test_frames_and_rows():
    X, y = separable(61)
    names = np.where(y == 1, "yes", "no")
    plain_fit = gm.Perceptron().fit(X, names)
    framed = gm.Perceptron().fit(pd.DataFrame(X, columns=["a", "b", "c"]), names)
    scanned = gm.Perceptron().fit(gm.scan(X, names))
    np.testing.assert_allclose(framed.coef_, plain_fit.coef_)
    np.testing.assert_array_equal(scanned.coef_, plain_fit.coef_)
    assert set(plain_fit.predict(X)) == {"no", "yes"}


def test_callbacks_end_the_sweeps():
    X, y = overlapping(62)
    model = quiet(gm.Perceptron(callbacks=[lambda i, state: i == 3]), X, y)
    assert model.n_iter_ == 3
    assert len(model.history_) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"average": 1}, "average is 1"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"fit_intercept": None}, "fit_intercept is"),
    ],
)
def test_bad_parameters_are_named(given, said):
    X, y = separable(63)
    with pytest.raises((TypeError, ValueError), match=said):
        gm.Perceptron(**given).fit(X, y)


def test_heavy_weights_end_in_time():
    """A sweep costs the table, not the sum of the weights."""
    X, y = overlapping(64, n=20)
    w = np.full(20, 1e9)
    model = quiet(gm.Perceptron(max_iter=3), X, y, sample_weight=w)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_units_overflow_nowhere(scale):
    X, y = separable(65, gap=1.0)
    model = gm.Perceptron().fit(X * scale, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X * scale, y) == 1.0


def test_the_loss_alone_has_no_coefficients_and_names_the_algorithm():
    X, y = overlapping(66)
    model = gm.Classifier("perceptron", alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, 0.0, atol=1e-9)
    assert model.certificate_.claim == "global optimum"
    assert "gm.Perceptron" in model.certificate_.note


def test_clone_keeps_parameters():
    model = gm.Perceptron(average=True, max_iter=7, random_state=1)
    assert clone(model).get_params() == model.get_params()

"""Bias, variance and noise: against definitions, closed forms and simulations in which everything is known."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gramian as gm
from gramian.selection.evaluation.noise import noise_rate, noise_variance
from gramian.selection.evaluation.sample import read

bias_variance = gm.selection.bias_variance


def adds_up(found):
    assert found.total == found.bias + found.variance + found.noise
    points = found.points
    np.testing.assert_allclose(points.loss, points.bias + points.variance + points.noise, atol=1e-12)
    return found


def problem(seed=0, n=60, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ np.arange(1.0, d + 1.0) + rng.standard_normal(n)


def test_ridge_has_its_closed_form():
    """f linear, X fixed: the hat matrix H gives bias² = ‖(H − I)f‖²/n and variance = σ² ‖H‖²/n."""
    rng = np.random.default_rng(1)
    n, sigma, alpha = 30, 0.7, 0.5
    X = rng.standard_normal((n, 3))
    f = X @ np.array([1.0, -2.0, 0.5])
    centre = np.eye(n) - 1.0 / n
    inner = centre @ X
    H = inner @ np.linalg.solve(inner.T @ inner + n * alpha * np.eye(3), inner.T) + 1.0 / n
    bias, variance = np.mean((H @ f - f) ** 2), sigma**2 * np.sum(H**2) / n
    draws = 300
    found = adds_up(
        bias_variance(
            gm.Ridge(alpha),
            X,
            f + sigma * rng.standard_normal(n),
            sets=lambda generator: (X, f + sigma * generator.standard_normal(n)),
            truth=lambda table: table @ np.array([1.0, -2.0, 0.5]),
            repeats=draws,
        )
    )
    # Of a variance from R draws, the relative error is at most √(2/R); the mean of R draws is off by √(variance/R).
    assert abs(found.variance / variance - 1) < 4 * np.sqrt(2 / draws)
    off = 4 * np.sqrt(variance / draws)
    assert abs(found.bias - bias) < 2 * np.sqrt(bias) * off + off**2
    assert (found.repeats, found.rows) == (draws, n)


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean target of its training rows, and remembers which they were."""

    def __init__(self, log=None):
        self.log = log

    def __sklearn_clone__(self):
        return Recorder(self.log)

    def fit(self, X, y):
        self.rows_, self.mean_ = X[:, 0].astype(int), np.mean(y)
        return self

    def predict(self, X):
        self.log.append((set(self.rows_), X[:, 0].astype(int), self.mean_))
        return np.full(len(X), self.mean_)


def test_disjoint_pairs_by_the_definition():
    n, log = 23, []
    y = np.random.default_rng(0).standard_normal(n)
    found = adds_up(bias_variance(Recorder(log), np.arange(n)[:, None], y, repeats=20, noise=0.0))
    assert len(log) == found.repeats == 20
    products, halves, losses = (np.zeros(n) for _ in range(3))
    for (rows_a, test, a), (rows_b, same, b) in zip(log[::2], log[1::2], strict=True):
        np.testing.assert_array_equal(test, same)
        assert not rows_a & rows_b
        assert not (rows_a | rows_b) & set(test)
        assert len(rows_a | rows_b | set(test)) == n
        products[test] += (y[test] - a) * (y[test] - b) / 2
        halves[test] += (a - b) ** 2 / 2 / 2
        losses[test] += ((y[test] - a) ** 2 + (y[test] - b) ** 2) / 2 / 2
    np.testing.assert_allclose(found.points.loss, losses, atol=1e-12)
    np.testing.assert_allclose(found.points.variance, halves, atol=1e-12)
    np.testing.assert_allclose(found.points.bias, products, atol=1e-12)
    np.testing.assert_allclose(found.total, losses.mean(), atol=1e-12)


def test_bootstrap_by_the_definition():
    n, log = 12, []
    y = np.random.default_rng(0).standard_normal(n)
    found = adds_up(bias_variance(Recorder(log), np.arange(n)[:, None], y, sets="bootstrap", repeats=40, noise=0.0))
    predictions = [[mean for rows, test, mean in log if i in test] for i in range(n)]
    assert all(not rows & set(test) for rows, test, _ in log)
    np.testing.assert_allclose(found.points.variance, [np.var(p, ddof=1) for p in predictions], atol=1e-12)
    losses = [np.mean((y[i] - np.array(p)) ** 2) for i, p in enumerate(predictions)]
    np.testing.assert_allclose(found.points.loss, losses, atol=1e-12)
    np.testing.assert_allclose(found.points.prediction, [np.mean(p) for p in predictions], atol=1e-12)


def test_disjoint_sets_have_no_bias_of_their_own():
    """Means over many data sets against fresh training sets of the same size."""
    n, m, sigma = 50, 20, 0.5
    model = KNeighborsRegressor(5)

    def draw(rng, size):
        x = rng.uniform(-1, 1, (size, 1))
        return x, np.sin(3 * x[:, 0]) + sigma * rng.standard_normal(size)

    rng = np.random.default_rng(0)
    grid = rng.uniform(-1, 1, (400, 1))
    fresh = np.array([model.fit(*draw(rng, m)).predict(grid) for _ in range(400)])
    variance = fresh.var(axis=0, ddof=1)
    truth = np.mean((fresh.mean(axis=0) - np.sin(3 * grid[:, 0])) ** 2 - variance / 400), variance.mean()
    found = [bias_variance(model, *draw(rng, n), repeats=10, noise=0.0) for _ in range(60)]
    for values, expected in (
        ([part.bias - sigma**2 for part in found], truth[0]),
        ([part.variance for part in found], truth[1]),
    ):
        assert abs(np.mean(values) - expected) < 4 * np.std(values, ddof=1) / np.sqrt(len(values)) + 0.003


def test_bootstraps_that_leave_no_row_out_are_no_trouble():
    found = adds_up(bias_variance(DummyRegressor(), np.eye(3), np.arange(3.0), sets="bootstrap", repeats=60, noise=0.0))
    assert (found.repeats, found.rows) == (60, 3)


@pytest.mark.parametrize("sets", ["disjoint", "bootstrap"])
@pytest.mark.parametrize("noise", ["auto", 0.3, 0.0])
def test_squared_parts_add_up(sets, noise):
    X, y = problem()
    found = adds_up(bias_variance(gm.Ridge(0.1), X, y, sets=sets, noise=noise, repeats=30))
    assert min(found.bias, found.variance, found.noise) >= 0
    np.testing.assert_allclose(found.points.loss.mean(), found.total, rtol=1e-12)
    if noise != "auto":
        assert found.noise == pytest.approx(noise)
        assert found.noise_source == "the number given"


def test_flexible_models_vary_and_stiff_ones_are_biased():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (300, 1))
    y = np.sin(3 * x[:, 0]) + 0.3 * rng.standard_normal(300)
    stiff = bias_variance(DummyRegressor(), x, y, repeats=20)
    flexible = bias_variance(DecisionTreeRegressor(random_state=0), x, y, repeats=20)
    assert stiff.bias > 10 * flexible.bias
    assert flexible.variance > 10 * stiff.variance
    assert stiff.noise == pytest.approx(0.09, rel=0.4)


def test_too_much_noise_is_lowered_with_a_note():
    X, y = problem()
    found = adds_up(bias_variance(gm.LinearRegression(), X, y, noise=100.0, repeats=10))
    assert found.bias == pytest.approx(0.0, abs=1e-12)
    assert found.noise < 100
    assert "lowered from 100" in found.notes[0]
    assert found.notes[0] in str(found)


def test_variance_beyond_the_loss_is_lowered_with_a_note():
    """Two models that are always off to opposite sides: their product of errors is below 0."""

    class Swing(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            Swing.sign = -getattr(Swing, "sign", 1.0)
            self.value_ = Swing.sign
            return self

        def predict(self, X):
            return np.full(len(X), self.value_)

    found = adds_up(bias_variance(Swing(), np.arange(20.0)[:, None], np.zeros(20), repeats=10))
    assert (found.bias, found.noise) == (0.0, 0.0)
    assert found.total == pytest.approx(1.0)
    assert "variance measured exceeded" in found.notes[0]


def test_truth_gives_noise_and_bias_row_by_row():
    X, y = problem()
    f = X @ np.array([1.0, 2.0, 3.0])
    found = adds_up(bias_variance(gm.LinearRegression(), X, y, truth=lambda X: X @ [1.0, 2.0, 3.0], repeats=20))
    np.testing.assert_allclose(found.points.noise, (y - f) ** 2)
    assert found.noise_source == "the truth given"
    assert found.bias < 0.5 * found.variance  # least squares has none but what 60 rows leave


def test_several_targets_are_averaged():
    X, y = problem()
    Y = np.column_stack([y, -2 * y])
    both = adds_up(bias_variance(LinearRegression(), X, Y, repeats=10, noise=0.0))
    one = bias_variance(LinearRegression(), X, y, repeats=10, noise=0.0)
    assert both.total == pytest.approx(one.total * 2.5)
    assert both.variance == pytest.approx(one.variance * 2.5)
    assert both.points.prediction.shape == (60, 2)
    assert noise_variance(read(X, Y, None, classifier=False)).value == pytest.approx(
        2.5 * noise_variance(read(X, y, None, classifier=False)).value
    )


# 0/1 loss


class Drawn(ClassifierMixin, BaseEstimator):
    """Predicts the classes that its training set, a table of predictions, holds."""

    def fit(self, X, y):
        self.classes_, self.answers_ = np.unique(y), y
        return self

    def predict(self, X):
        return self.answers_[X[:, 0].astype(int)]


def domingos(x, y, best, votes, classes):
    """Terms of P(f̂ ≠ y) = c₁N + B + c₂V from their definitions, at every x, averaged over the rows."""
    noise = bias = variance = total = rate = 0.0
    for i in range(len(votes)):
        rows = x == i
        share = rows.mean()
        star = best[i]
        P_t = np.array([np.mean(y[rows] == name) for name in classes])
        P_D = votes[i]
        s = list(classes).index(star)
        m = int(P_D.argmax())
        N = 1 - P_t[s]
        others = [j for j in range(len(classes)) if j != s]
        same = sum(P_D[j] * P_t[j] for j in others) / ((1 - P_D[s]) * N) if N > 0 and P_D[s] < 1 else 0.0
        c1 = P_D[s] - (1 - P_D[s]) * same
        B = float(m != s)
        V = 1 - P_D[m]
        c2 = 1.0 if m == s else -P_D[s] / V if V > 0 else 0.0
        noise, bias, variance = noise + share * c1 * N, bias + share * B, variance + share * c2 * V
        rate += share * N
        total += share * (1 - P_t @ P_D)
    np.testing.assert_allclose(noise + bias + variance, total)
    return noise, bias, variance, total, rate


@pytest.mark.parametrize("k", [2, 3, 4])
def test_zero_one_is_the_decomposition_of_domingos(k):
    """At 6 points: labels with known frequencies, and predictions of 12 models, both at random."""
    rng = np.random.default_rng(k)
    classes = np.array(["ant", "bee", "cat", "dog"])[:k]
    points, copies, models = 6, 20, 12
    y = np.concatenate([rng.choice(classes, copies, p=rng.dirichlet(np.ones(k))) for _ in range(points)])
    y[:k] = classes
    x = np.repeat(np.arange(points), copies)
    best = [max(classes, key=lambda name, i=i: np.mean(y[x == i] == name)) for i in range(points)]
    answers = rng.choice(classes, (models, points))
    answers[:, 0] = classes[0]
    sets = iter(answers)
    found = adds_up(
        bias_variance(
            Drawn(),
            x[:, None],
            y,
            sets=lambda generator: (np.arange(points)[:, None], next(sets)),
            repeats=models,
            truth=lambda X: np.array(best)[X[:, 0]],
        )
    )
    votes = np.array([[np.mean(answers[:, i] == name) for name in classes] for i in range(points)])
    expected = domingos(x, y, best, votes, classes)
    parts = found.noise, found.bias, found.variance, found.total, found.noise_rate
    np.testing.assert_allclose(parts, expected, atol=1e-12)
    assert found.variance == pytest.approx(found.variance_unbiased - found.variance_biased)
    assert found.variance_biased >= 0
    main = classes[votes.argmax(axis=1)]
    right = main == best
    np.testing.assert_allclose(found.variance_unbiased, np.mean((1 - votes.max(axis=1)) * right))
    np.testing.assert_array_equal(found.points.prediction, main[x])


@pytest.mark.parametrize("k", [2, 3])
def test_a_noise_rate_that_is_right_gives_what_the_truth_gives(k):
    """Labels flipped at exactly the rate p to all other classes alike, at every point."""
    rng = np.random.default_rng(7)
    points, flips = 5, 3
    copies = flips * (k - 1) * 5  # flips of each other class among them
    p = flips * (k - 1) / copies
    best = rng.integers(0, k, points)
    best[:k] = np.arange(k)
    x = np.repeat(np.arange(points), copies)
    y = best[x].copy()
    for i in range(points):
        rows = np.flatnonzero(x == i)
        for step in range(1, k):
            y[rows[(step - 1) * flips : step * flips]] = (best[i] + step) % k
    answers = rng.integers(0, k, (9, points))
    answers[:, :k] = np.arange(k)

    def run(**known):
        sets = iter(answers)
        draw = lambda generator: (np.arange(points)[:, None], next(sets))  # noqa: E731
        return adds_up(bias_variance(Drawn(), x[:, None], y, sets=draw, repeats=9, **known))

    a, b = run(truth=lambda X: best[X[:, 0]]), run(noise=p)
    for name in ("bias", "variance", "noise", "total", "noise_rate", "variance_unbiased", "variance_biased"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-12), name


def test_zero_one_on_real_models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (240, 2))
    clean = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    flip = rng.random(240) < 0.1
    y = np.where(flip, np.where(clean == "same", "other", "same"), clean)

    def truth(table):
        return np.where(table[:, 0] * table[:, 1] > 0, "same", "other")

    line = adds_up(bias_variance(LogisticRegression(), X, y, truth=truth, repeats=20))
    tree = adds_up(bias_variance(DecisionTreeClassifier(random_state=0), X, y, truth=truth, repeats=40))
    assert line.bias > 0.3 > 0.1 > tree.bias  # no line cuts an exclusive or
    assert line.noise_rate == tree.noise_rate == flip.mean()
    assert tree.noise > line.noise  # noise costs him who is right
    guessed = adds_up(bias_variance(DecisionTreeClassifier(random_state=0), X, y, repeats=40))
    assert guessed.total == pytest.approx(tree.total)
    assert 0 < guessed.noise_rate < 0.25
    assert "where wrong" in str(guessed)
    boot = adds_up(bias_variance(DecisionTreeClassifier(random_state=0), X, y, sets="bootstrap", repeats=40))
    assert boot.rows == 240
    assert boot.total < guessed.total  # more rows in each training set


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9 / 3])
@pytest.mark.parametrize("seed", range(3))
def test_all_noise_leaves_a_bias_of_exactly_zero(seed, unit):
    """Lowered to what is left of the loss, the noise leaves 0, and no rounding of either sign."""
    X, y = problem(seed)
    labels = np.where(y > 0, "a", "b")
    labels[::7] = labels[::-1][::7]
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    for found in (
        bias_variance(gm.Ridge(0.1), X, unit * y, noise=1e3 * unit**2, repeats=10),
        bias_variance(gm.Ridge(0.1), X, unit * y, noise=1e3 * unit**2, repeats=10, sample_weight=weight),
        bias_variance(DecisionTreeClassifier(max_depth=2), X, labels, noise=0.49, repeats=10, sample_weight=weight),
    ):
        assert adds_up(found).bias == 0.0
        assert "lowered" in found.notes[0]
        assert "e-" not in str(found).splitlines()[1]
        assert str(found).splitlines()[1].split()[1:] == ["0", "0.0%"]
    bias = found.points.bias
    assert abs(np.average(bias, weights=weight)) < 1e-12 * np.abs(bias).mean()


def test_parts_below_rounding_are_shown_as_zero():
    X, _ = problem()
    y = 1e5 * X[:, 0]
    found = bias_variance(gm.LinearRegression(), X, y, repeats=10, noise=1.0)
    shown = [line.split()[1] for line in str(found).splitlines()[1:5]]
    assert not any(text.startswith("-") for text in shown)


def test_a_noise_rate_too_high_is_lowered_with_a_note():
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    y = np.repeat(["a", "b"], 30)
    found = adds_up(bias_variance(DecisionTreeClassifier(), X, y, noise=0.2, repeats=10))
    assert (found.bias, found.noise_rate, found.total) == (0.0, 0.0, 0.0)
    assert "lowered from 0.2" in found.notes[0]
    assert "total" in str(found)


# Noise


def test_noise_of_a_linear_function_is_unbiased():
    values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((80, 3)) * [1.0, 1e-8, 1e9]
        y = X @ [3.0, 5e8, 7e-9] + 0.5 * rng.standard_normal(80)
        values.append(noise_variance(read(X, y, None, classifier=False)).value)
    assert abs(np.mean(values) - 0.25) < 4 * np.std(values, ddof=1) / np.sqrt(40)


def test_noise_from_rows_with_equal_features():
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(10.0), 4)
    y = 100 * rng.standard_normal(10)[x.astype(int)] + rng.standard_normal(40)
    found = noise_variance(read(x[:, None], y, None, classifier=False))
    groups = y.reshape(10, 4)
    assert found.value == pytest.approx(groups.var(axis=1, ddof=1).mean())
    assert "30 degrees of freedom" in found.source


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_noise_where_rows_are_few_is_from_the_nearest(kind):
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((8, 12)))
    y = rng.standard_normal(8)
    found = noise_variance(read(kind(X), y, None, classifier=False))
    Z = X / (X.max(axis=0) if kind is sp.csr_matrix else X.std(axis=0))
    gaps = ((Z[:, None] - Z[None]) ** 2).sum(axis=2) + np.diag(np.full(8, np.inf))
    assert found.value == pytest.approx(np.mean((y - y[gaps.argmin(axis=1)]) ** 2) / 2)
    assert "nearest" in found.source


def test_noise_of_many_rows_looks_at_some(monkeypatch):
    monkeypatch.setattr("gramian.selection.evaluation.noise.MOST_CENTRES", 60)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = X @ [1.0, 2.0] + rng.standard_normal(400)
    assert noise_variance(read(X, y, None, classifier=False)).value == pytest.approx(1.0, rel=0.6)


def test_constant_columns_and_equal_rows_are_no_trouble():
    X = np.ones((15, 2))
    y = np.arange(15.0)
    found = noise_variance(read(X, y, None, classifier=False))
    assert found.value == pytest.approx(y.var(ddof=1))
    assert noise_variance(read(X[:12], y[:12], None, classifier=False)).value == pytest.approx(y[:12].var(ddof=1))


@pytest.mark.parametrize("k", [2, 3])
def test_noise_rate_by_cover_and_hart(k):
    """Where the classes have the same chances everywhere, the bound is the rate itself."""
    rng = np.random.default_rng(0)
    n, p = 4000, 0.15
    y = (rng.random(n) < p) * rng.integers(1, k, n)
    found = noise_rate(read(rng.standard_normal((n, 2)), y, None, classifier=True))
    assert found.value == pytest.approx(p, abs=0.03)
    alike = noise_rate(read(np.arange(30.0)[:, None], rng.permutation(np.arange(30) % 3), None, classifier=True))
    assert alike.value <= 2 / 3


# Data of all kinds


def test_same_seed_same_numbers_for_any_threads():
    X, y = problem()
    first = bias_variance(gm.Ridge(0.1), X, y, repeats=10, random_state=5)
    with gm.threads(2):
        again = bias_variance(gm.Ridge(0.1), X, y, repeats=10, random_state=5)
    other = bias_variance(gm.Ridge(0.1), X, y, repeats=10, random_state=6)
    assert first.bias == again.bias
    np.testing.assert_array_equal(first.points.loss, again.points.loss)
    assert first.variance != other.variance
    loose = [bias_variance(DecisionTreeRegressor(splitter="random"), X, y, repeats=10).total for _ in range(2)]
    assert loose[0] == loose[1]


def test_kinds_of_tables_agree():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kinds = [
        (frame, pd.Series(y)),
        (pl.DataFrame(frame.to_dict("list")), pl.Series(y)),
        (pl.LazyFrame(frame.to_dict("list")), y),
        (sp.csr_matrix(X), y),
        (gm.scan(frame, y), None),
        (X.tolist(), y.tolist()),
    ]
    expected = bias_variance(gm.Ridge(0.1), X, y, repeats=10, noise=0.5)
    for table, target in kinds:
        found = bias_variance(gm.Ridge(0.1), table, target, repeats=10, noise=0.5)
        assert found.bias == pytest.approx(expected.bias, rel=1e-9)
        assert found.variance == pytest.approx(expected.variance, rel=1e-9)
    dense = bias_variance(gm.Ridge(0.1), X, y, repeats=10)
    assert bias_variance(gm.Ridge(0.1), frame, y, repeats=10).noise == pytest.approx(dense.noise)


def test_weights_count_and_weight_zero_is_no_row():
    X, y = problem()
    w = np.r_[np.zeros(5), np.full(55, 2.0)]
    found = adds_up(bias_variance(gm.Ridge(0.1), X, y, sample_weight=w, repeats=10))
    without = bias_variance(gm.Ridge(0.1), X[5:], y[5:], repeats=10)
    for name in ("bias", "variance", "noise", "total"):
        assert getattr(found, name) == pytest.approx(getattr(without, name), rel=1e-9)
    assert np.isnan(found.points.loss[:5]).all()
    uneven = bias_variance(Ridge(0.1), X, y, sample_weight=np.arange(1.0, 61.0), repeats=10, noise=0.0)
    w = np.arange(1.0, 61.0)
    assert uneven.total == pytest.approx(np.average(uneven.points.loss, weights=w))


def test_rare_classes():
    X = np.arange(24.0)[:, None]
    y = np.r_[np.zeros(12), np.ones(10), 2, 2]
    with pytest.raises(ValueError, match=r"Class 2.0 has 2 rows, and disjoint training sets need at least 5"):
        bias_variance(DummyClassifier(), X, y)
    assert bias_variance(DummyClassifier(), X, y, sets="bootstrap").total == pytest.approx(0.5)


X, Y = problem(n=20)
LABELS = np.arange(20) % 2
WRONG = [
    ({"model": 3}, TypeError, "model is 3"),
    ({"model": Ridge}, TypeError, "must be an estimator"),
    ({"loss": "hinge"}, ValueError, "loss is 'hinge'"),
    ({"loss": "zero_one"}, ValueError, "Ridge is not a classifier: use loss='squared'"),
    ({"model": DummyClassifier(), "y": LABELS, "loss": "squared"}, ValueError, "is a classifier: use loss='zero_one'"),
    ({"repeats": 1}, ValueError, "repeats is 1"),
    ({"repeats": 2.5}, ValueError, "repeats is 2.5"),
    ({"sets": "jackknife"}, ValueError, "sets is 'jackknife'"),
    ({"noise": -1.0}, ValueError, "noise is -1.0"),
    ({"noise": "much"}, ValueError, "noise is 'much'"),
    ({"noise": 0.1, "truth": lambda X: X[:, 0]}, ValueError, "either noise= or truth="),
    ({"truth": lambda X: X[:3, 0]}, ValueError, r"truth gives an array of shape \(3,\)"),
    ({"sets": lambda generator: 3}, TypeError, "must return a pair"),
    ({"X": X[:4], "y": Y[:4]}, ValueError, 'use sets="bootstrap"'),
    ({"sets": "bootstrap", "repeats": 2}, ValueError, "use more repeats"),
    ({"random_state": -1}, ValueError, "random_state is -1"),
    ({"model": DummyClassifier(), "y": LABELS, "noise": 0.5}, ValueError, "below 0.5"),
    ({"model": DummyClassifier(), "y": LABELS, "truth": lambda X: np.full(20, 7)}, ValueError, "truth gives 7"),
    (
        {"model": DummyClassifier(), "y": LABELS, "sets": lambda g: (X[:4], [7, 7, 8, 7])},
        ValueError,
        "The model gives 7, which is not a class of y",
    ),
    ({"model": DummyRegressor(), "X": np.array([["a"]] * 20)}, ValueError, "not all numbers"),
    ({"model": DummyRegressor(), "X": np.full((20, 1), np.nan)}, ValueError, "missing or infinite"),
]


@pytest.mark.parametrize(("change", "kind", "message"), WRONG)
def test_wrong_input_is_named(change, kind, message):
    given = {"model": Ridge(), "X": X, "y": Y, **change}
    with pytest.raises(kind, match=message):
        bias_variance(given.pop("model"), given.pop("X"), given.pop("y"), **given)

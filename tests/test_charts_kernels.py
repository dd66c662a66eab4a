"""Charts of kernel models show the numbers of the fits: parts, curves, errors without the row, metrics, regions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gramian as gm
from drawings import heading as head
from drawings import tables
from gramian.charts import chart, kinds
from gramian.kernels import ANOVA, RBF, Linear, Precomputed, Spectrum

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (80, 2))
NOISE = 0.1 * RNG.standard_normal(80)
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + NOISE
TABLE = pd.DataFrame(X, columns=["hours", "mass"])
LABEL = np.where(np.hypot(X[:, 0], X[:, 1]) < 2, "in", "out")
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def xy(table):
    return np.array([[row["x"], row["y"]] for row in table])


# parts


def test_curves_are_the_parts_and_dots_their_partial_residuals():
    weight = np.ones(80)
    weight[::9] = 0.0
    model = gm.Ridge(alpha=1e-4, kernel=ANOVA(RBF(1.0))).fit(TABLE, Y, sample_weight=weight)
    drawn = model.chart()
    found = [xy(table) for table in tables(drawn) if "x" in table[0]]
    assert len(found) == 4
    used = weight > 0
    parts = list(model.parts(TABLE).values())
    residual = (Y - model.predict(TABLE))[used]
    variance = [part[used].var() for part in parts]
    order = np.argsort(variance)[::-1]
    for place, j in enumerate(order):
        dots, curve = found[2 * place : 2 * place + 2]
        own = parts[j][used] - parts[j][used].mean()
        assert_allclose(dots, np.column_stack([X[used, j], own + residual]), atol=1e-9)
        grid = np.zeros((len(curve), 2))
        grid[:, j] = curve[:, 0]
        there = list(model.parts(pd.DataFrame(grid, columns=TABLE.columns)).values())[j]
        assert_allclose(curve[:, 1], there - parts[j][used].mean(), atol=1e-9)
        assert curve[0, 0] == X[used, j].min()
    finding, small = head(drawn)
    first, second = TABLE.columns[order]
    assert finding.startswith(
        f"{first} and {second} have the largest variances: {100 * max(variance) / sum(variance):.1f}"
    )
    assert "n 71" in small


def test_parts_without_a_column_are_dots_over_their_sum():
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.0) + 0.1 * Linear()).fit(X, Y)
    found = [xy(table) for table in tables(chart(model, "parts")) if "x" in table[0]]
    parts = np.column_stack(list(model.parts(X).values()))
    parts -= parts.mean(axis=0)
    shown = [table[:, 1] for table in found]
    for part in parts.T:
        assert min(abs(part - values).max() for values in shown) < 1e-9
    for table in found:
        assert_allclose(table[:, 0], parts.sum(axis=1), atol=1e-9)
    # with one column every summand is a curve
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.0) + 0.1 * Linear()).fit(X[:, :1], Y)
    assert len([t for t in tables(model.chart()) if "x" in t[0]]) == 4


def test_parts_of_many_columns_of_rows_and_of_words():
    Z = RNG.standard_normal((300, 10))
    many = gm.Ridge(alpha=1e-3, kernel=ANOVA(RBF(1.0))).fit(Z, Z[:, 3] ** 2)
    drawn = many.chart()
    assert "8 of 10 parts" in head(drawn)[1].replace("\u00a0", " ")
    assert head(drawn)[0].startswith("x3 has 9")
    assert sum(map(len, tables(drawn))) < 3000
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "ccdd"]
    text = gm.Ridge(alpha=1e-2, kernel=Spectrum(2) + Spectrum(1)).fit(words, np.arange(6.0))
    assert "Spectrum(" in head(text.chart())[0]
    frame = pd.DataFrame({"word": words, "size": np.arange(6.0)})
    mixed = gm.Ridge(alpha=1e-2, kernel=Spectrum(2).on("word") + RBF(1.0).on("size")).fit(frame, np.arange(6.0))
    found = mixed.chart().to_dict()
    names = " ".join(panel["title"]["text"] for panel in found["concat"])
    assert "size ·" in names
    assert "Spectrum(" in names
    twice = gm.Ridge(alpha=1e-2, kernel=RBF(1.0).on(0) + 2 * Linear().on(0) + Linear().on(1)).fit(X, np.c_[Y, Y])
    names = " ".join(panel["title"]["text"] for panel in twice.chart().to_dict()["concat"])
    assert "2.0 * Linear().on(0)" in names
    assert "x1 ·" in names
    assert "target 0 of 2" in head(twice.chart())[1]
    flat = gm.Ridge(alpha=1e-2, kernel=RBF(1.0).on(0) + Linear().on(1)).fit(X, 0 * Y)
    assert head(flat.chart())[0] == "Every part is constant"


def test_equal_summands_are_one_part_that_adds_up():
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.0) + RBF(1.0) + Linear()).fit(X, Y)
    assert_allclose(sum(model.parts(X).values()) + model.intercept_, model.predict(X), atol=1e-9)


# fit


def test_the_curve_and_its_interval():
    model = gm.Ridge(kernel=RBF(0.8)).fit(TABLE[["hours"]], Y - X[:, 1] / 2)
    assert kinds(model)[0] == "fit"
    area, dots, line = tables(model.chart())
    assert area == line
    grid = pd.DataFrame({"hours": [row["x"] for row in line]})
    expected = model.predict(grid, interval=0.95)
    for key, values in zip(("y", "low", "high"), expected, strict=True):
        assert_allclose([row[key] for row in line], values, atol=1e-9)
    assert_allclose(xy(dots), np.column_stack([X[:, 0], Y - X[:, 1] / 2]))
    exact = gm.Ridge(alpha=0.0, kernel=RBF(0.8)).fit(X[:9, :1], Y[:9])
    assert "predictions of the training rows" in head(exact.chart())[1]
    assert len(tables(exact.chart())) == 2  # no noise, no interval


def test_fit_shows_leave_one_out_predictions():
    model = gm.Ridge(alpha=1e-2, kernel=RBF(1.0)).fit(X[:25], Y[:25])
    dots = xy(tables(model.chart())[1])
    for i in range(25):
        others = np.arange(25) != i
        alone = gm.Ridge(alpha=1e-2, kernel=RBF(1.0)).fit(X[:25][others], Y[:25][others]).predict(X[i : i + 1])[0]
        assert_allclose(dots[i], [alone, Y[i]], rtol=1e-7)
    finding, small = head(model.chart())
    half = np.median(abs(dots[:, 0] - dots[:, 1]))
    assert finding == f"Median absolute error {half:.3g}"
    assert "leave-one-out predictions" in small
    given = model.chart("fit", X[25:], Y[25:])
    assert_allclose(xy(tables(given)[1])[:, 0], model.predict(X[25:]))
    K = RBF(1.0)(X[:25])
    known = gm.Ridge(alpha=1e-2, kernel=Precomputed()).fit(K, Y[:25])
    assert_allclose(xy(tables(known.chart())[1]), dots, rtol=1e-8)


def test_the_tube_of_support_vector_regression():
    model = gm.SVR(alpha=1e-3, kernel=RBF(0.7), epsilon=0.2).fit(X[:, :1], Y)
    assert kinds(model) == []
    line = tables(model.chart("fit", X[:, :1], Y, sample_weight=np.r_[0.0, np.ones(79)]))[-1]
    middle = model.predict([[row["x"]] for row in line])
    assert_allclose([row["high"] for row in line], middle + 0.2)
    with pytest.raises(ValueError, match="give X and y"):
        model.chart("fit")
    with pytest.raises(ValueError, match="give X and y"):
        gm.Ridge(alpha=1.0, kernel="rbf").fit(X, Y).chart("fit", X)
    assert kinds(gm.SVR(alpha=1e-3, kernel="rbf").fit(X, Y), data=True) == ["fit", "residuals"]


# metric, region, boundary


def test_the_bars_of_a_learned_metric():
    Z = RNG.uniform(-1, 1, (150, 25))
    model = gm.Ridge(alpha=1e-4, kernel=RBF(metric="learned")).fit(Z, np.sin(3 * Z[:, 7]))
    bars = tables(model.chart("metric"))[0]
    assert len(bars) == 20
    assert bars[0] == {"label": "x7", "share": pytest.approx(model.metric_weights_[7])}
    finding, small = head(model.chart("metric"))
    assert finding.startswith("x7 has")
    assert "of it in 1 direction" in small
    assert "20 largest of 25" in small
    assert len(model.chart().to_dict()["vconcat"]) == 2  # the fit above the metric
    flat = gm.Ridge(alpha=1e-4, kernel=RBF(metric="learned")).fit(Z, 0 * Z[:, 0])
    assert "of 25 columns have" in head(flat.chart("metric"))[0]


@THEMES
def test_the_region_of_one_class(theme):
    model = gm.OneClassSVM(0.1, kernel="rbf").fit(TABLE)
    drawn = model.chart(None, TABLE, theme=theme)
    dots = next(table for table in tables(drawn) if "class" in table[0])
    out = model.predict(TABLE) < 0
    assert sum(row["class"] == "outside" for row in dots) == out.sum()
    assert f"{100 * out.mean():.3g}" in head(drawn)[0]
    edge = next(table for table in tables(drawn) if "line" in table[0])
    names = {"x": "hours", "y": "mass"}
    f = model.decision_function(pd.DataFrame(edge)[["x", "y"]].rename(columns=names))
    assert abs(f).max() < 0.01 * abs(model.decision_function(TABLE)).max()
    alone = gm.OneClassSVM(0.1, kernel="rbf").fit(X)
    assert head(alone.chart())[0] == f"A region with {len(alone.support_)} support vectors"
    with pytest.raises(ValueError, match="leave y out"):
        alone.chart("region", X, Y)
    with pytest.raises(ValueError, match="nothing to draw"):
        gm.OneClassSVM(0.1, kernel="rbf").fit(np.c_[X, Y]).chart()


@THEMES
@pytest.mark.parametrize("make", [gm.SVC, gm.LogisticRegression], ids=["SVC", "LogisticRegression"])
def test_boundaries_of_kernel_classifiers(make, theme):
    model = make(alpha=1e-3, kernel="rbf").fit(X, LABEL)
    assert kinds(model) == ["boundary"]  # coefficients of features that have no names are not drawn
    for drawn in (model.chart(theme=theme), model.chart(None, X, LABEL, theme=theme)):
        lines = [table for table in tables(drawn) if "line" in table[0]]
        f = model.decision_function([[row["x"], row["y"]] for row in lines[-1]])
        assert abs(f).max() < 0.05
    high = make(alpha=1e-3, kernel="rbf").fit(np.c_[X, Y], LABEL)
    with pytest.raises(ValueError, match="no chart of the fit alone"):
        high.chart()


def test_a_rank_has_no_path_of_coefficients():
    model = gm.Ridge(kernel="rbf", rank=20).fit(X, Y)
    assert kinds(model) == ["scores"]
    assert "alpha" in head(model.chart())[0]
    assert str(model.summary()).count("rank 20") == 1
    assert kinds(gm.Ridge().fit(X, Y)) == ["path", "scores", "coefficients"]

"""Charts of predictions, of solvers and of evaluations: they show the numbers of `gm.metrics` and of the fits."""

import base64
import json
import re
import struct
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC
from sklearn.tree import DecisionTreeClassifier

import drawings
import gramian as gm
from drawings import png_size, walk
from gramian import metrics
from gramian.charts import Recorder, chart, kinds, save_html, save_png, trajectories
from gramian.charts.marks.contours import contours, finer, simplified
from gramian.charts.marks.points import sample, thinned, weighted_quantile
from gramian.charts.marks.text import NO_BREAK, number, percent, share
from gramian.charts.theme import THEMES
from gramian.models.discriminant.discriminant import GaussianDiscriminant
from gramian.models.meta.balanced import Balanced
from gramian.models.meta.threshold import TunedThreshold
from gramian.models.neighbors.estimators import KNeighborsClassifier, KNeighborsRegressor
from gramian.selection import bias_variance, compare, curves, evaluate

HOSTILE = ["</script><script>alert(1)</script>", "datum.value", "a name " + "that is long " * 10]


def records(drawn):
    """Every record of inline data in a chart, however deep, each once."""
    spec = drawn.to_dict(validate=False)
    tables = list(spec.get("datasets", {}).values())
    tables += [part["values"] for part in walk(spec) if isinstance(part.get("values"), list)]
    return [record for table in tables for record in table if isinstance(record, dict)]


def heading(drawn):
    return drawings.heading(drawn, validate=False)


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data.iloc[:, :8], np.array(["malignant", "benign"])[data.target]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data.iloc[:, :2], data.target_names[data.target]


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(2.5, 1, (60, 2))]), np.repeat(["no", "yes"], 60)


@pytest.fixture(scope="module")
def logistic(cancer):
    X, y = cancer
    return gm.LogisticRegression(alpha=1e-6).fit(X.iloc[::2], y[::2])


@pytest.fixture(scope="module")
def held(cancer):
    X, y = cancer
    return X.iloc[1::2], y[1::2]


@pytest.fixture(scope="module")
def outliers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.5 * rng.normal(size=300)
    y[:14] += 12.0 * rng.normal(size=14)
    return X, y


# every kind is drawn


@pytest.fixture(scope="module")
def drawn(cancer, iris, two, logistic, held, outliers):
    """A function of the theme for each chart."""
    X, y = two
    Xi, yi = iris
    svc = gm.SVC(alpha=0.01).fit(X, y)
    several = gm.LogisticRegression(alpha=0.01).fit(Xi, yi)
    gauss, near = GaussianDiscriminant().fit(Xi, yi), KNeighborsClassifier().fit(X, y)
    robust = gm.Regressor(loss=gm.losses.Huber(), alpha=1e-4).fit(*outliers)
    models = recorded({"Newton": "newton", "descent": gm.solvers.GradientDescent("line_search")}, X, y)
    evaluation = evaluate(gm.LogisticRegression(alpha=1e-4), *cancer)
    comparison = compare(gm.LogisticRegression(alpha=1e-4), gm.LogisticRegression(alpha=10.0), *cancer)
    diabetes = load_diabetes(return_X_y=True)
    learning = curves(gm.LinearRegression(), *diabetes, values=[40, 200])
    validation = curves(gm.Ridge(), *diabetes, over="alpha", values=[1e-5, 1e-3, 0.1])
    words = curves(gm.Regressor(alpha=1e-3), *diabetes, over="loss", values=["squared", "huber"])
    decomposition = bias_variance(gm.LinearRegression(), *diabetes, repeats=20)
    return {
        "boundary svc": lambda t: svc.chart(None, X, y, theme=t),
        "boundary alone": lambda t: svc.chart("boundary", theme=t),
        "boundary gauss": lambda t: gauss.chart(None, Xi, yi, theme=t),
        "boundary near": lambda t: near.chart(None, X, y, theme=t),
        "scores near": lambda t: near.chart(theme=t),
        **{kind: lambda t, kind=kind: logistic.chart(kind, *held, theme=t) for kind in OF_DATA},
        **{f"{kind} of 3": lambda t, kind=kind: several.chart(kind, Xi, yi, theme=t) for kind in OF_DATA},
        "coefficients": lambda t: logistic.chart(theme=t),
        "coefficients of 3": lambda t: several.chart(theme=t),
        "residuals": lambda t: robust.chart(None, *outliers, theme=t),
        "trajectories": lambda t: trajectories(models, theme=t),
        "paths": lambda t: trajectories(models, X, y, theme=t),
        "evaluation": lambda t: evaluation.chart(theme=t),
        "comparison": lambda t: comparison.chart(theme=t),
        "learning": lambda t: learning.chart(theme=t),
        "validation": lambda t: validation.chart(theme=t),
        "validation words": lambda t: words.chart(theme=t),
        "decomposition": lambda t: decomposition.chart(theme=t),
    }


OF_DATA = ("roc", "pr", "calibration", "confusion")
NAMES = [
    *("boundary svc", "boundary alone", "boundary gauss", "boundary near", "scores near"),
    *OF_DATA,
    *(f"{kind} of 3" for kind in OF_DATA),
    *("coefficients", "coefficients of 3", "residuals", "trajectories", "paths", "evaluation", "comparison"),
    *("learning", "validation", "validation words", "decomposition"),
]


def recorded(solvers, X, y, **more):
    found = {}
    for name, solver in solvers.items():
        model = gm.LogisticRegression(alpha=1e-3, solver=solver, callbacks=[Recorder()], **more)
        found[name] = model.fit(X, y)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_renders(drawn, tmp_path, name):
    assert set(drawn) == set(NAMES)
    light, dark = drawn[name]("light"), drawn[name]("dark").to_dict()
    size = png_size(save_png(light, tmp_path / "x.png", scale=1.0))
    assert min(size) > 150
    assert max(size) < 1200
    assert dark["config"]["background"] == THEMES["dark"].background
    text = json.dumps(dark)
    assert not [colour for colour in (*THEMES["light"].palette, THEMES["light"].ink) if colour in text]
    assert len(records(light)) < 5000
    title, small = heading(light)
    assert len(title) > 20
    assert small


# boundary


def picture(drawn):
    """Colours of the pixels of the regions (height, width, 3)."""
    url = next(record["url"] for record in records(drawn) if "url" in record)
    data = base64.b64decode(url.partition(",")[2])
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)
    return np.frombuffer(chunks[b"PLTE"], dtype=np.uint8).reshape(-1, 3)[lines[:, 1:]]


def domains(drawn):
    """Ends of the axes x and y."""
    found = {}
    for part in walk(drawn.to_dict()):
        for axis in ("x", "y"):
            if isinstance(part.get(axis), dict) and "domain" in part[axis].get("scale", {}):
                found[axis] = part[axis]["scale"]["domain"]
    return found["x"], found["y"]


def lines(drawn):
    """Polylines of a chart, by the style of their layer."""
    spec, found = drawn.to_dict(), {}
    for part in walk(spec):
        mark = part.get("mark")
        if isinstance(mark, dict) and mark.get("type") == "line" and "detail" in part.get("encoding", {}):
            data = part.get("data", spec.get("data", {}))
            table = data["values"] if "values" in data else spec["datasets"][data["name"]]
            found.setdefault("dashed" if "strokeDash" in mark else "solid", []).extend(table)
    return found


@pytest.mark.parametrize("name", ["logistic", "gauss", "neighbours", "tree", "cost", "tuned", "three"])
def test_regions_match_the_predictions(two, iris, name):
    X, y = iris if name == "three" else two
    model = {
        "logistic": gm.LogisticRegression(alpha=0.01),
        "gauss": GaussianDiscriminant(),
        "neighbours": KNeighborsClassifier(),
        "tree": DecisionTreeClassifier(max_depth=3),
        "cost": gm.LogisticRegression(alpha=0.01, cost=[[0.0, 1.0], [9.0, 0.0]]),
        "tuned": TunedThreshold(gm.LogisticRegression(alpha=0.01), ("recall", "fpr<=0.02")),
        "three": gm.LogisticRegression(alpha=0.001),
    }[name].fit(X, y)
    drawn = chart(model, "boundary", X, y)
    pixels = picture(drawn)
    (left, right), (bottom, top) = domains(drawn)
    height, width = pixels.shape[:2]
    rng = np.random.default_rng(2)
    rows, columns = rng.integers(0, height, 2000), rng.integers(0, width, 2000)
    where = np.column_stack([left + (right - left) * columns / (width - 1), top - (top - bottom) * rows / (height - 1)])
    frame = pd.DataFrame(where, columns=X.columns) if isinstance(X, pd.DataFrame) else where
    decided = np.searchsorted(model.classes_, model.predict(frame))
    colours = THEMES["light"]
    palette = np.array([[int(colours.of_class(j)[i : i + 2], 16) for i in (1, 3, 5)] for j in range(3)], dtype=float)
    away = 255.0 - pixels[rows, columns].astype(float)  # a tint lies between white and its colour
    shares = (255.0 - palette) @ away.T / np.linalg.norm(255.0 - palette, axis=1)[:, None]
    assert (shares.argmax(axis=0) == decided).mean() > 0.98


def test_lines_of_a_linear_model_are_straight_and_right(two):
    X, y = two
    model = gm.SVC(alpha=0.01).fit(X, y)
    found = lines(model.chart("boundary", X, y))
    for style, levels in (("solid", [0.0]), ("dashed", [-1.0, 1.0])):
        points = np.array([[record["x"], record["y"]] for record in found[style]])
        assert len(points) == 2 * len(levels)  # straight: two ends each
        f = model.decision_function(points)
        np.testing.assert_allclose(np.unique(f.round(6)), levels, atol=1e-6)
    shown = {(r["x"], r["y"]) for r in records(model.chart("boundary")) if set(r) == {"x", "y"}}
    assert shown == {(float(a), float(b)) for a, b in model.support_vectors_}
    title, small = heading(model.chart("boundary"))
    assert title == f"Margin of width {number(model.margin_)} with {len(model.support_)} support vectors"
    assert "dashed: margins" in small
    title, small = heading(model.chart("boundary", X, y))
    accuracy = percent(model.score(X, y)).replace(NO_BREAK, " ")
    assert title == f"Accuracy {accuracy} (120 rows)"
    assert f"accuracy {accuracy}" in small


def test_conic_boundaries_are_drawn_accurately():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 2))
    y = (np.hypot(*X.T) > 1.2).astype(int)
    model = GaussianDiscriminant().fit(X, y)
    points = np.array([[r["x"], r["y"]] for r in lines(model.chart())["solid"]])
    conic = model.boundary(0, 1)
    assert conic.kind == "ellipse"
    scale = np.ptp(model.decision_function(X))
    assert np.abs(model.decision_function(points)).max() < 0.002 * scale
    assert heading(model.chart())[0] == "The boundary is an ellipse"
    drawn = model.chart(None, X, y)
    assert "boundary: an ellipse" in heading(drawn)[1]
    assert "2,000 of 3,000 rows are shown, drawn at random" in heading(drawn)[1]
    shown = [r for r in records(drawn) if "predicted" in r]
    assert len(shown) == 2000
    known = {(float(a), float(b)): (str(t), str(p)) for (a, b), t, p in zip(X, y, model.predict(X), strict=True)}
    assert all(known[r["x"], r["y"]] == (r["class"], r["predicted"]) for r in shown)
    kinds_of = [GaussianDiscriminant(kind).fit(X, y) for kind in ("shared", "diagonal", "spherical")]
    for other in kinds_of:
        (left, right), _ = domains(other.chart("boundary"))
        assert -6 < left < -1.5
        assert 1.5 < right < 6


def test_boundary_takes_any_table(two):
    X, y = two
    names = ["a", "b"]
    model = gm.LogisticRegression(alpha=0.01).fit(X, y)
    want = picture(model.chart(None, X, y))
    for table in (X.tolist(), X.astype(np.float32), sp.csr_array(X), gm.scan(X, y), gm.scan(X)):
        target = None if isinstance(table, gm.Rows) else y
        np.testing.assert_array_equal(picture(model.chart(None, table, target)).shape, want.shape)
    named = gm.LogisticRegression(alpha=0.01).fit(pd.DataFrame(X, columns=names), y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), pl.LazyFrame(X, schema=names)):
        drawn = named.chart(None, frame, y)
        np.testing.assert_array_equal(picture(drawn), want)
        assert {"a", "b"} <= {part.get("title") for part in walk(drawn.to_dict()) if isinstance(part.get("title"), str)}
    pipeline = make_pipeline(StandardScaler(), TheirSVC()).fit(pd.DataFrame(X, columns=names), y)
    assert "120 rows" in heading(chart(pipeline, None, pd.DataFrame(X, columns=names), y))[0]
    assert not [r for r in records(model.chart("boundary", X)) if "predicted" in r]
    weight = np.r_[np.zeros(40), np.ones(80)]
    assert "(80 rows)" in heading(model.chart(None, X, y, sample_weight=weight))[0]


def test_boundary_of_many_classes_and_without_one(tmp_path):
    X, y = load_digits(return_X_y=True)
    plane = X[:, [20, 42]] + np.random.default_rng(0).normal(size=(len(X), 2))
    model = GaussianDiscriminant("diagonal").fit(plane, y)
    drawn = model.chart(None, plane, y)
    assert len([r for r in records(drawn) if set(r) == {"x", "y", "class"}]) == 10
    same = gm.LogisticRegression(alpha=1.0).fit([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [0, 1, 1])
    png_size(save_png(same.chart(None, [[0.0, 0.0]], [1]), tmp_path / "x.png", scale=1.0))
    far = gm.LogisticRegression(alpha=1e-12).fit([[1e9, 0.0], [2e9, 0.0], [3e9, 1e-9]], [0, 0, 1])
    png_size(save_png(far.chart(None, [[1e9, 0.0], [3e9, 1e-9]], [0, 1]), tmp_path / "x.png", scale=1.0))


# ROC, precision and recall


def curve_of(drawn, colour):
    """The points of the line of a colour."""
    spec = drawn.to_dict()
    for part in walk(spec):
        mark = part.get("mark")
        if isinstance(mark, dict) and mark.get("type") == "line" and mark.get("color") == colour:
            data = part["data"]
            table = data["values"] if "values" in data else spec["datasets"][data["name"]]
            return np.array([[r["x"], r["y"]] for r in sorted(table, key=lambda r: r["at"])])
    raise AssertionError("no such line")


def test_roc_is_the_metric(logistic, held):
    X, y = held
    drawn, scores = logistic.chart("roc", X, y), logistic.decision_function(X)
    value, low, high = metrics.roc_auc(y, scores, interval=0.95)
    title, small = heading(drawn)
    assert title == f"Class malignant scores above class benign in {100 * value:.3g} % of all pairs"
    assert f"AUC {share(value)} (95 % interval {share(low)} to {share(high)})" in small
    assert f"284 rows, {(y == 'malignant').sum()} of class malignant" in small
    points = curve_of(drawn, THEMES["light"].accent)
    curve = metrics.roc_curve(y, scores)
    known = set(zip(curve.fpr.round(12), curve.tpr.round(12), strict=True))
    assert {tuple(point) for point in points.round(12)} <= known
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(value, abs=1e-12)
    dot = next(r for r in records(drawn) if r.get("text") == "threshold 0.5")
    decided = logistic.predict(X) == "malignant"
    assert dot["x"] == pytest.approx(decided[y == "benign"].mean())
    assert dot["y"] == pytest.approx(decided[y == "malignant"].mean())
    assert logistic.chart(None, X, y).to_dict() == drawn.to_dict()


def test_pr_is_the_metric(logistic, held):
    X, y = held
    drawn, scores = logistic.chart("pr", X, y), logistic.decision_function(X)
    value, low, high = metrics.average_precision(y, scores, interval=0.95)
    title, small = heading(drawn)
    decided = logistic.predict(X)
    precision, recall = metrics.precision(y, decided), metrics.recall(y, decided)
    assert title == f"Precision {100 * precision:.3g} % and recall {100 * recall:.3g} % for class malignant"
    assert f"average precision {share(value)} (95 % interval {share(low)} to {share(high)})" in small
    points = curve_of(drawn, THEMES["light"].accent)
    steps = np.diff(points[:, 0], prepend=0.0)
    assert steps @ points[:, 1] == pytest.approx(value, abs=1e-12)
    prevalence = (y == "malignant").mean()
    level = next(r for r in records(drawn) if str(r.get("text", "")).startswith("prevalence"))
    assert level["y"] == pytest.approx(prevalence)
    dot = next(r for r in records(drawn) if r.get("text") == "threshold 0.5")
    assert (dot["x"], dot["y"]) == (pytest.approx(recall), pytest.approx(precision))


def test_the_threshold_chosen_is_marked():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 3))
    y = np.where(X @ [1.0, 1.0, 0.5] + rng.normal(size=3000) > 2.8, "rare", "usual")
    first, rest = slice(0, 1500), slice(1500, None)
    for positive in ("rare", "usual"):
        goal = ("precision", "recall>=0.8")
        model = TunedThreshold(gm.LogisticRegression(alpha=1e-4), goal, positive=positive).fit(X[first], y[first])
        for kind in ("roc", "pr"):
            drawn = chart(model, kind, X[rest], y[rest])
            dot = next(r for r in records(drawn) if r.get("text") == f"tuned threshold {number(model.threshold_)}")
            recall = metrics.recall(y[rest], model.predict(X[rest]), positive=positive)
            assert dot["y" if kind == "roc" else "x"] == pytest.approx(recall)
            assert f"class {positive}" in heading(drawn)[0].lower()
        score = model.predict_proba(X[rest])[:, model.classes_.tolist().index(positive)]
        auc = metrics.roc_auc(y[rest], score, positive=positive)
        assert f"AUC {share(auc)}" in heading(chart(model, "roc", X[rest], y[rest]))[1]
        assert "TunedThreshold of LogisticRegression" in heading(drawn)[1]
    costly = gm.LogisticRegression(alpha=1e-4, cost=[[0.0, 6.0], [2.0, 0.0]]).fit(X[first], y[first])
    words = {r.get("text") for r in records(costly.chart("roc", X[rest], y[rest]))}
    assert "threshold 0.75 by cost" in words
    useless, few = np.zeros((60, 1)), np.arange(60) % 10 == 0
    never = TunedThreshold(gm.LogisticRegression(alpha=1.0), "accuracy").fit(useless, few)
    assert np.isinf(never.threshold_)
    assert "tuned threshold" in {r.get("text") for r in records(chart(never, "roc", useless, few))}
    margins = RidgeClassifier().fit(X[first], y[first])  # decisions, no probabilities
    assert "threshold 0" in {r.get("text") for r in records(chart(margins, "roc", X[rest], y[rest]))}
    assert kinds(margins, data=True) == ["coefficients", "roc", "pr", "confusion"]
    assert kinds(model, data=True) == ["coefficients", "roc", "pr", "calibration", "confusion"]
    assert heading(chart(model, "coefficients"))[1].startswith("LogisticRegression")


def test_no_row_predicted_as_the_class():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 0, 1, 0, 0])
    model = gm.LogisticRegression(alpha=10.0).fit(X, y)
    assert not model.predict(X).any()
    assert heading(model.chart("pr", X, y))[0] == "No row is predicted as class 1"
    assert "true positive rate 0 %" in heading(model.chart("roc", X, y))[1]


def test_several_classes_one_vs_rest(iris, tmp_path):
    X, y = iris
    model = gm.LogisticRegression(alpha=0.01).fit(X, y)
    p = model.predict_proba(X)
    for kind, metric, word in (
        ("roc", metrics.roc_auc, "AUC"),
        ("pr", metrics.average_precision, "average precision"),
    ):
        areas = {name: metric(y == name, p[:, j]) for j, name in enumerate(model.classes_)}
        worst = min(areas, key=areas.get)
        title, small = heading(model.chart(kind, X, y))
        assert worst in title
        assert f"{word} {share(areas[worst])}" in title
        mean, low, high = metric(y, p, labels=model.classes_, interval=0.95)
        assert f"mean {word} {share(mean)} (95 % interval {share(low)} to {share(high)})" in small
        legend = {r["class"] for r in records(model.chart(kind, X, y)) if "class" in r}
        assert legend == {f"{name}\u2002{share(area)}" for name, area in areas.items()}
        part = y != "setosa"
        missing = heading(model.chart(kind, X[part], y[part]))[1]
        assert "1 of 3 classes have no rows here" in missing
    D, digits = load_digits(return_X_y=True)
    wide = KNeighborsClassifier(5).fit(D[:300], digits[:300])
    drawn = wide.chart("roc", D[300:], digits[300:])
    assert "the 7 hardest of 10 classes are shown" in heading(drawn)[1]
    assert len({r["class"] for r in records(drawn) if "class" in r}) == 7
    assert wide.chart(None, D[300:], digits[300:]).to_dict() == wide.chart("confusion", D[300:], digits[300:]).to_dict()
    tuned = TunedThreshold(gm.LogisticRegression(alpha=0.01)).fit(X, y)
    png_size(save_png(chart(tuned, "roc", X, y), tmp_path / "x.png", scale=1.0))


def test_calibration_is_the_metric(logistic, held):
    X, y = held
    p = logistic.predict_proba(X)[:, 1]
    found = metrics.calibration(y, p)
    drawn = logistic.chart("calibration", X, y)
    shown = [r for r in records(drawn) if "off" in r]
    unique = {r["x"]: r for r in shown}
    np.testing.assert_allclose(sorted(unique), found.predicted)
    for i, x in enumerate(sorted(unique)):
        want = (found.observed[i], found.low[i], found.high[i], found.count[i])
        np.testing.assert_allclose([unique[x][key] for key in ("y", "low", "high", "count")], want)
    assert f"expected calibration error {number(found.error)}" in heading(drawn)[1]
    bars = [r for r in records(drawn) if "end" in r]
    assert sum(r["rows"] for r in bars) == len(y)
    assert f"{number(100 * found.error, 2)} percentage points on average" in heading(drawn)[0]


def test_calibration_title_names_the_miscalibration():
    class Told:
        classes_ = np.array([0, 1])
        n_features_in_ = 1

        def __init__(self, wrong):
            self.wrong = wrong

        def predict_proba(self, X):
            p = np.clip(self.wrong(np.asarray(X)[:, 0]), 0.0, 1.0)
            return np.column_stack([1.0 - p, p])

        def predict(self, X):
            return (self.predict_proba(X)[:, 1] > 0.5).astype(int)

        def fit(self, X, y):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def __sklearn_tags__(self):
            return TheirLogistic().__sklearn_tags__()

    rng = np.random.default_rng(5)
    p = rng.uniform(size=20000)
    y = (rng.uniform(size=20000) < p).astype(int)
    for wrong, word in (
        (lambda p: p, "within sampling error"),
        (lambda p: p + 0.1, "too high"),
        (lambda p: p - 0.1, "too low"),
        (lambda p: 0.5 + 1.4 * (p - 0.5), "overconfident"),
        (lambda p: 0.5 + 0.5 * (p - 0.5), "underconfident"),
    ):
        title, small = heading(chart(Told(wrong), "calibration", p[:, None], y))
        assert word in title
        assert ("orange" in small) == ("sampling error" not in title)


def test_calibration_of_several_classes(iris):
    X, y = iris
    model = gm.LogisticRegression(alpha=0.01).fit(X, y)
    p = model.predict_proba(X)
    found = metrics.calibration(model.classes_[p.argmax(axis=1)] == y, p.max(axis=1), positive=True)
    shown = {r["x"]: r["y"] for r in records(model.chart("calibration", X, y)) if "off" in r}
    np.testing.assert_allclose(sorted(shown), found.predicted)
    np.testing.assert_allclose([shown[x] for x in sorted(shown)], found.observed)


# confusion


def test_confusion_is_the_metric(iris):
    X, y = iris
    model = gm.LogisticRegression(alpha=0.01).fit(X, y)
    drawn = model.chart("confusion", X, y)
    table = metrics.confusion(y, model.predict(X))
    cells = {(r["true"], r["predicted"]): r for r in records(drawn) if "true" in r}
    for i, true in enumerate(model.classes_):
        for j, predicted in enumerate(model.classes_):
            assert cells[true, predicted]["count"] == table[i, j]
            assert cells[true, predicted]["share"] == pytest.approx(table[i, j] / table[i].sum())
            assert cells[true, predicted]["text"] == str(table[i, j])
    value, low, high = metrics.accuracy(y, model.predict(X), interval=0.95)
    title, small = heading(drawn)
    assert title.startswith(f"Accuracy {100 * value:.3g} % (150 rows); ")
    wrong = table - np.diag(table.diagonal())
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    assert title.endswith(f"{wrong.max()} of class {model.classes_[i]} predicted as {model.classes_[j]}")
    shares = [percent(part).replace(NO_BREAK, " ") for part in (value, low, high)]
    assert "accuracy {} (95 % interval {} to {})".format(*shares) in small
    right = model.predict(X)
    assert heading(model.chart("confusion", X, right))[0] == "All 150 rows are classified correctly"


def test_confusion_of_very_many_classes(tmp_path):
    rng = np.random.default_rng(6)
    y = np.arange(1800) % 60
    X = y[:, None] + 0.8 * rng.normal(size=(1800, 1))
    model = KNeighborsClassifier(5).fit(X, y)
    drawn = model.chart("confusion", X, y)
    assert "the 40 of 60 classes with most errors" in heading(drawn)[1]
    assert len([r for r in records(drawn) if "true" in r]) == 1600
    assert max(png_size(save_png(drawn, tmp_path / "x.png", scale=1.0))) < 1000
    middle = y % 15
    save_png(KNeighborsClassifier(5).fit(X, middle).chart("confusion", X, middle), tmp_path / "x.png", scale=1.0)


# residuals


def test_residuals_are_the_models(outliers):
    X, y = outliers
    model = gm.LinearRegression().fit(X, y)
    drawn = model.chart(None, X, y)
    shown = [r for r in records(drawn) if "outlier" in r]
    np.testing.assert_allclose([r["x"] for r in shown], model.predict(X))
    np.testing.assert_allclose([r["y"] for r in shown], y - model.predict(X))
    residual = y - model.predict(X)
    off = np.abs(residual - np.median(residual))
    far = off > 3 * 1.4826 * np.median(off)
    assert [r["outlier"] for r in shown] == far.tolist()
    title, small = heading(drawn)
    half = number(np.median(np.abs(residual)))
    assert title == f"Median absolute error {half}; {far.sum()} of 300 rows are outliers"
    assert f"R² {number(metrics.r2(y, model.predict(X)))}" in small
    assert f"mean absolute error {number(metrics.mae(y, model.predict(X)))}" in small
    band = [r for r in records(drawn) if "middle" in r]
    assert all(r["low"] <= r["middle"] <= r["high"] for r in band)
    inside = np.interp(model.predict(X), [r["x"] for r in band], [r["high"] for r in band])
    assert 0.15 < (residual > inside).mean() < 0.35
    chart_of_none = gm.LinearRegression().fit(X, X[:, 0] * 0.0).chart("residuals", X, X[:, 0] * 0.0)
    assert heading(chart_of_none)[0] == "Every prediction is exact"


@pytest.mark.parametrize("loss", [gm.losses.Huber(), gm.losses.Huber(1.0, 0.5), gm.losses.StudentT(3.0)])
def test_outliers_of_robust_losses_are_marked(outliers, loss):
    X, y = outliers
    model = gm.Regressor(loss=loss, alpha=1e-4).fit(X, y)
    u = (y - model.predict(X)) / model.scale_
    if isinstance(loss, gm.losses.Huber):
        weight = np.minimum(1.0, loss.delta / np.maximum(np.abs(u), 1e-300))
    else:
        weight = loss.nu / (loss.nu + u**2)
    shown = [r for r in records(model.chart(None, X, y)) if "outlier" in r]
    np.testing.assert_allclose([r["weight"] for r in shown], weight, rtol=1e-9)
    assert [r["outlier"] for r in shown] == (weight < 0.5).tolist()
    small = heading(model.chart(None, X, y))[1]
    assert "their weight in the fit is below 0.5" in small
    assert f"scale {number(model.scale_)}" in small


def test_many_rows_and_several_targets(tmp_path):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9000, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=9000)
    y[:5] += 100.0
    model = gm.LinearRegression().fit(X, y)
    drawn = model.chart("residuals", X, y)
    assert len(records(drawn)) < 2100
    assert "2,000 of 9,000 rows are shown, drawn at random, all outliers among them" in heading(drawn)[1]
    assert sum(r["outlier"] for r in records(drawn) if "outlier" in r) >= 5
    heavy = X @ [1.0, 2.0] + rng.standard_t(1.2, size=9000)
    assert heading(model.chart("residuals", X, heavy))[1].endswith("are shown, drawn at random")
    Y = np.column_stack([y, -y, y**2, X[:, 0]])[:400]
    several = gm.LinearRegression().fit(X[:400], Y).chart(None, X[:400], Y)
    assert "the first 3 of 4 targets" in heading(several)[1]
    assert "for target 0" in heading(several)[0]
    png_size(save_png(several, tmp_path / "x.png", scale=1.0))
    near = KNeighborsRegressor(5).fit(X[:400], y[:400])
    assert "R²" in heading(near.chart("residuals", X[:400], y[:400]))[1]


# weights are counts


@pytest.mark.parametrize("kind", OF_DATA)
def test_weights_repeat_rows(logistic, held, kind):
    X, y = held
    weight = np.random.default_rng(8).integers(0, 4, len(y))
    index = np.repeat(np.arange(len(y)), weight)
    one = logistic.chart(kind, X, y, sample_weight=weight)
    other = logistic.chart(kind, X.iloc[index], y[index])
    assert heading(one) == heading(other)
    rows = gm.scan(X, y, sample_weight=weight)
    assert heading(logistic.chart(kind, rows)) == heading(one)
    if kind != "calibration":
        assert one.to_dict()["title"] == other.to_dict()["title"]


def test_weights_of_residuals(outliers):
    X, y = outliers
    weight = np.random.default_rng(9).integers(0, 4, len(y))
    model = gm.LinearRegression().fit(X, y, sample_weight=weight)
    one = heading(model.chart("residuals", X, y, sample_weight=weight))
    residual = np.repeat(y - model.predict(X), weight)
    half = np.quantile(np.abs(residual), 0.5, method="inverted_cdf")
    assert one[0].startswith(f"Median absolute error {number(half)}")
    assert f"n {weight.sum()}" in one[1]
    assert len([r for r in records(model.chart("residuals", gm.scan(X, y))) if "outlier" in r]) == len(y)
    shown = [r for r in records(model.chart("residuals", X, y, sample_weight=weight)) if "outlier" in r]
    assert len(shown) == (weight > 0).sum()


# solvers


def test_trajectories_are_the_histories(two):
    X, y = two
    solvers = {"Newton": "newton", "descent": gm.solvers.GradientDescent("line_search")}
    models = recorded(solvers, X, y)
    drawn = trajectories(models)
    best = min(value for model in models.values() for _, value, _ in model.history_)
    floor = 1e-16 * max(value - best for model in models.values() for _, value, _ in model.history_)
    for name, model in models.items():
        line = sorted((r["step"], r["gap"]) for r in records(drawn) if r.get("solver") == name and "gap" in r)
        want = [(float(i), max(value - best, floor)) for i, value, _ in model.history_]
        np.testing.assert_allclose(sorted(set(line)), want, rtol=1e-6, atol=1e-15)
    needed = next(
        i for i, v, _ in models["Newton"].history_ if v - best <= 1e-6 * (models["Newton"].history_[0][1] - best)
    )
    title, small = heading(drawn)
    assert title.startswith(f"Newton reduces the gap to a millionth in {needed} iterations, descent in")
    assert f"best objective {number(best, 6)}" in small
    assert "alpha 0.001" in small
    slow = recorded({"a": "newton", "b": "newton", "c": "newton"}, X, y)
    for name in ("a", "c"):
        slow[name].history_ = slow[name].history_[:2]
    assert heading(trajectories(slow))[0].endswith("2 others do not")
    slow.pop("c")
    assert heading(trajectories(slow))[0].endswith("; a does not")
    for model in slow.values():
        model.history_ = [(0, 1.0, 1.0), (1, 0.9, 1.0)]
    slow["a"].history_ = [(0, 1.0, 1.0), (1, 0.95, 1.0)]
    assert "b reduces the gap" in heading(trajectories(slow))[0]
    assert "reduces the gap" in heading(trajectories({"alone": models["Newton"]}))[0]


def test_long_histories_are_thinned(two, tmp_path):
    X, y = two
    model = gm.LogisticRegression(alpha=1e-3, solver="newton").fit(X, y)
    model.history_ = [(i, 1.0 + np.exp(-i / 1e4), 1.0) for i in range(50_000)]
    drawn = trajectories({str(i): model for i in range(9)})
    assert len(records(drawn)) < 5000
    assert len({r["solver"] for r in records(drawn) if "solver" in r}) == 9
    png_size(save_png(drawn, tmp_path / "x.png", scale=1.0))


PROBLEMS = {
    "two coefficients": ({"fit_intercept": False}, 2),
    "two and an intercept": ({}, 2),
    "one and an intercept": ({}, 1),
    "class weights": ({"class_weight": {"no": 1.0, "yes": 5.0}}, 2),
    "no penalty": ({"penalty": None, "fit_intercept": False}, 2),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_paths_end_at_the_coefficients(two, name):
    X, y = two
    more, d = PROBLEMS[name]
    X = X[:, :d] * [1.0, 30.0][:d]
    models = recorded({"Newton": "newton", "descent": gm.solvers.GradientDescent("line_search")}, X, y, **more)
    drawn = trajectories(models, X, y)
    for solver, model in models.items():
        path = sorted(
            (r for r in records(drawn) if r.get("solver") == solver and "at" in r), key=lambda record: record["at"]
        )
        end = model.coef_[0] if d == 2 else [model.coef_[0, 0], model.intercept_[0] + model.coef_[0, 0] * X.mean()]
        np.testing.assert_allclose([path[-1]["x"], path[-1]["y"]], end, rtol=1e-6)
        assert path[0]["x"] == 0.0  # the path begins where the solver does
    assert ("at the optimal intercept" in heading(drawn)[1]) == (d == 2 and "fit_intercept" not in more)


def test_contours_are_levels_of_the_objective(two):
    X, y = two
    models = recorded({"Newton": "newton"}, X, y, fit_intercept=False)
    drawn = trajectories(models, X, y)
    levels = {}
    for r in records(drawn):
        if "level" in r:
            levels.setdefault(r["level"], []).append((r["x"], r["y"]))
    assert len(levels) > 8
    sign = np.where(y == "yes", 1.0, -1.0)
    for level, points in levels.items():
        c = np.array(points)
        value = np.logaddexp(0.0, -sign[:, None] * (X @ c.T)).mean(axis=0) + 1e-3 * (c**2).sum(axis=1)
        np.testing.assert_allclose(value, level, rtol=0.05)


def test_paths_of_regressors(outliers):
    X, y = outliers
    for loss in (gm.losses.Squared(), gm.losses.Huber(1.35, 1.0), gm.losses.Huber(), gm.losses.StudentT()):
        model = gm.Regressor(loss=loss, alpha=1e-3, callbacks=[Recorder()]).fit(X[:, :2], y)
        drawn = trajectories({"auto": model}, X[:, :2], y)
        path = [r for r in records(drawn) if r.get("solver") == "auto" and "at" in r]
        last = max(path, key=lambda r: r["at"])
        np.testing.assert_allclose([last["x"], last["y"]], model.coef_, rtol=1e-5)


def test_recorder_limits_its_points():
    class State:
        def __init__(self, value):
            self.theta, self.value = np.full((1, 2), value), value

    recorder = Recorder(most=10)
    for i in range(1, 101):
        recorder(i, State(float(i)))
    assert len(recorder.iterations) <= 10
    gaps = set(np.diff(recorder.iterations))
    assert len(gaps) == 1
    assert recorder.values == [float(i) for i in recorder.iterations]
    assert [theta[0, 0] for theta in recorder.thetas] == recorder.values
    assert repr(recorder) == f"<Recorder: {len(recorder.iterations)} points>"
    recorder(1, State(7.0))  # another fit
    assert recorder.values == [7.0]
    for wrong in (1, True, 2.5):
        with pytest.raises(ValueError, match="it must be a whole number of at least 2"):
            Recorder(wrong)
    assert clone(gm.LogisticRegression(callbacks=[recorder])).callbacks[0].values == [7.0]


# evaluations


def test_evaluation_shows_its_scores(cancer):
    X, y = cancer
    found = evaluate(gm.LogisticRegression(alpha=1e-4), X, y, metrics=["accuracy", "log_loss", "roc_auc"])
    drawn = found.chart()
    spec = drawn.to_dict()
    assert len(spec["vconcat"]) == 3
    for score in found.scores.values():
        folds = sorted(r["value"] for r in records(drawn) if "fold" in r)
        assert set(score.folds) <= set(folds)
        mean = next(r for r in records(drawn) if r.get("value") == score.mean and "low" in r)
        assert (mean["low"], mean["high"]) == (score.low, score.high)
        assert any(r.get("value") == score.pooled.value for r in records(drawn))
    first = found.scores["accuracy"]
    title, small = heading(drawn)
    ends = f"95 % interval {number(first.low)} to {number(first.high)}"
    assert title == f"Cross-validated accuracy {number(first.mean, 4)} ({ends})"
    assert "5 outer folds" in small
    assert kinds(found) == ["evaluation"]
    assert kinds(found, data=True) == ["evaluation", "roc", "pr", "calibration", "confusion"]
    auc = metrics.roc_auc(y, found.probabilities, labels=found.classes)
    assert f"AUC {share(auc)}" in heading(found.chart("roc", y=y))[1]
    assert found.chart(y=y).to_dict() == found.chart("roc", y=y).to_dict()
    cells = [r for r in records(found.chart("confusion", y=y)) if "true" in r]
    np.testing.assert_array_equal(
        [r["count"] for r in cells], metrics.confusion(y, found.predictions).astype(float).reshape(-1)
    )
    assert "out of fold" in heading(found.chart("calibration", y=y))[1]


def test_evaluation_of_a_regressor_and_its_choices():
    X, y = load_diabetes(return_X_y=True)
    found = evaluate(gm.Ridge(), X, y, metrics="mse")
    alphas = [choice["alpha_"] for choice in found.choices]
    assert f"alpha_ {number(min(alphas))} to {number(max(alphas))}" in heading(found.chart())[1]
    shown = [r for r in records(found.chart(y=y)) if "outlier" in r]
    np.testing.assert_allclose([r["x"] for r in shown], found.predictions)
    weighted = found.chart("residuals", y=y, sample_weight=np.r_[np.zeros(42), np.ones(400)])
    assert len([r for r in records(weighted) if "outlier" in r]) == 400
    once = evaluate(gm.LinearRegression(), X, y, outer=[(np.arange(300), np.arange(300, 442))], metrics="mse")
    assert heading(once.chart())[0] == f"Cross-validated mse {number(once.scores['mse'].mean, 4)}"
    assert len([r for r in records(once.chart(y=y)) if "outlier" in r]) == 142
    many = evaluate(gm.LinearRegression(), X, y, metrics={f"m{i}": "mse" for i in range(14)})
    assert "the first 12 of 14 metrics" in heading(many.chart())[1]
    half = evaluate(
        gm.LogisticRegression(alpha=1e-3), X, y > 140, outer=[(np.arange(300), np.arange(300, 442))], metrics="accuracy"
    )
    assert kinds(half, data=True) == ["evaluation", "confusion"]
    assert half.chart(y=y > 140).to_dict() == half.chart("confusion", y=y > 140).to_dict()
    weight = np.r_[np.ones(300), np.zeros(100), np.ones(42)]
    assert "(42 rows)" in heading(half.chart("confusion", y=y > 140, sample_weight=weight))[0]


def test_comparison_shows_its_difference():
    X, y = load_diabetes(return_X_y=True)
    found = compare(gm.LinearRegression(), gm.Lasso(alpha=3.0), X, y)
    drawn = found.chart()
    folds = sorted(r["value"] for r in records(drawn) if "fold" in r)
    np.testing.assert_allclose(folds, np.sort(found.folds))
    mean = next(r for r in records(drawn) if "low" in r)
    assert (mean["value"], mean["low"], mean["high"]) == (found.difference, found.low, found.high)
    assert found.better == "a"
    a, b = number(found.a.mean, 4), number(found.b.mean, 4)
    assert heading(drawn)[0] == f"LinearRegression is better than Lasso: mse {a} against {b}"
    words = {r["text"] for r in records(drawn) if "text" in r}
    assert words == {"← LinearRegression better", "Lasso better →"}  # a smaller mse is better, and a − b is below 0
    turned = compare(gm.Lasso(alpha=3.0), gm.LinearRegression(), X, y, metric="r2")
    assert heading(turned.chart())[0].startswith("LinearRegression is better than Lasso: r2")
    assert "← LinearRegression better" in {r.get("text") for r in records(turned.chart())}
    same = compare(gm.Ridge(alpha=1e-5), gm.Ridge(alpha=2e-5), X, y)
    assert "No clear difference in mse between a (Ridge) and b (Ridge)" in heading(same.chart())[0]
    classes = compare(gm.LogisticRegression(alpha=1e-3), gm.LogisticRegression(alpha=50.0), X, y > 140)
    exact = classes.mcnemar
    assert f"only a (LogisticRegression) correct {exact.only_a:g}" in heading(classes.chart())[1]


def test_curves_show_their_means():
    X, y = load_diabetes(return_X_y=True)
    learning = curves(gm.LinearRegression(), X, y, values=[60, 300, 353])
    validation = curves(gm.Ridge(), X, y, over="alpha", values=[1e-6, 1e-4, 1e-2, 1.0])
    words = curves(gm.Regressor(alpha=1e-3), X, y, over="loss", values=["squared", "absolute"])
    for found in (learning, validation, words):
        drawn = found.chart()
        for name, part in (("training", found.train), ("validation", found.validation)):
            shown = [r for r in records(drawn) if r.get("on") == name and "score" in r][: len(found.values)]
            np.testing.assert_allclose([r["score"] for r in shown], part.mean)
            np.testing.assert_allclose([r["high"] - r["score"] for r in shown], part.se)
    assert heading(validation.chart())[0] == f"Best validation score at alpha {number(validation.best_value)}"
    assert next(r for r in records(validation.chart()) if r.get("text") == "best")["x"] == validation.best_value
    assert heading(words.chart())[0] == f"Best validation score at loss {words.best_value}"
    gap = number(learning.gap[-1])
    last = number(learning.validation.mean[-1], 4)
    assert heading(learning.chart())[0] == f"Validation mse {last} with 353 rows, {gap} worse than training"
    growing = curves(gm.LinearRegression(), X, y, values=[12, 40])
    assert heading(growing.chart())[0].endswith(", still improving")
    edge = curves(gm.Ridge(), X, y, over="alpha", values=[0.1, 1.0])
    assert heading(edge.chart())[0] == "Best validation score at alpha 0.1, the end of the grid"
    single = curves(gm.LinearRegression(), X, y, values=[100], cv=[(np.arange(200), np.arange(200, 442))])
    assert heading(single.chart())[0].endswith(" with 100 rows")
    stiff = curves(gm.Ridge(alpha=1e9), X, y, values=[200, 353])
    assert "than training" in heading(stiff.chart())[0]


def test_decomposition_adds_up():
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, (200, 1))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=200)
    for found in (
        bias_variance(gm.LinearRegression(), X, y, repeats=20),
        bias_variance(gm.LogisticRegression(alpha=1e-3), X, y > 0, repeats=20),
    ):
        bars = [r for r in records(found.chart()) if "edge" in r]
        want = [found.bias, found.variance, found.noise, found.total]
        np.testing.assert_allclose([r["value"] for r in bars], want)
        np.testing.assert_allclose([r["end"] - r["start"] for r in bars], want, atol=1e-12)
        assert bars[2]["end"] == pytest.approx(found.total)
        assert "The loss is mostly bias" in heading(found.chart())[0]
    assert "net variance" in heading(found.chart())[1]
    exact = bias_variance(gm.LinearRegression(), X, np.zeros(200), repeats=20, noise=0.0)
    assert heading(exact.chart())[0] == "The expected loss is zero"


# coefficients of classifiers


def test_coefficients_of_classifiers(logistic, iris, tmp_path):
    table = logistic.summary().coefficients
    shown = {r["name"]: r for r in records(logistic.chart()) if "label" in r}
    for name, estimate, low in zip(table["name"][1:], table["estimate"][1:], table["low"][1:], strict=True):
        assert shown[name]["estimate"] == estimate
        assert shown[name]["low"] == low
    assert "log-odds of malignant" in json.dumps(logistic.chart().to_dict())
    X, y = iris
    for model in (gm.LogisticRegression(alpha=0.01), gm.SVC(alpha=0.01), TheirLogistic()):
        drawn = chart(model.fit(X, y), "coefficients")
        text = json.dumps(drawn.to_dict())
        assert all(f"class {name}" in text for name in model.classes_)
        found = [r for r in records(drawn) if "label" in r]
        assert len(found) == 6
        place = {name: j for j, name in enumerate(X.columns)}
        by_name = sorted((place[r["name"]], r["estimate"]) for r in found)
        np.testing.assert_allclose([e for _, e in by_name], np.sort(model.coef_.T, axis=1).reshape(-1))
    pairs = gm.Classifier("logistic", alpha=0.01, multiclass="ovo").fit(X, y)
    assert "class setosa / versicolor" in json.dumps(pairs.chart().to_dict())
    D, digits = load_digits(return_X_y=True)
    many = gm.Classifier("squared_hinge", alpha=0.01).fit(D[:300, :20], digits[:300])
    assert "the first 3 of 10 classes" in heading(many.chart("coefficients"))[1]
    binary = gm.SVC(alpha=0.1).fit(X, y == "setosa")
    assert "decision value of True" in json.dumps(binary.chart("coefficients").to_dict())
    counts = gm.Regressor(loss="poisson", alpha=1e-3).fit(X, np.arange(150) % 7)
    assert "logarithm of the prediction" in json.dumps(counts.chart("coefficients").to_dict())


# names, errors, tools


def test_hostile_classes_and_columns_are_plain_text(tmp_path):
    rng = np.random.default_rng(11)
    X = pd.DataFrame(rng.normal(size=(90, 2)), columns=["<b>x</b>", "y['1']\n"])
    y = np.array(HOSTILE)[np.arange(90) % 3]
    model = gm.LogisticRegression(alpha=0.1).fit(X, y)
    for kind in ("boundary", *OF_DATA):
        page = save_html(model.chart(kind, X, y), tmp_path / "x.html").read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert page.count("<script") == page.count("</script>") == 2
    png_size(save_png(model.chart("confusion", X, y), tmp_path / "x.png", scale=1.0))


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], ["a", "b"], [0.0, 1.0], [3, 7]])
def test_any_labels(labels):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [0.5, 0.5], [2.5, 1.5]])
    y = np.array(labels)[[0, 0, 1, 1, 1, 0]]
    model = gm.LogisticRegression(alpha=0.1).fit(X, y)
    want = [[float(((y == a) & (model.predict(X) == b)).sum()) for b in labels] for a in labels]
    for target in (y, y.tolist(), pd.Series(y), pl.Series(y)):
        cells = [r["count"] for r in records(model.chart("confusion", X, target)) if "true" in r]
        assert cells == [*want[0], *want[1]]
    assert f"{100 * model.score(X, y):.3g} %" in heading(model.chart("boundary", X, y))[0]
    assert f"of class {model.classes_[1]}" in heading(model.chart("roc", X, y))[1]


def test_balanced_and_pipelines(cancer):
    X, y = cancer
    model = Balanced(gm.LogisticRegression(alpha=1e-4)).fit(X, y)
    assert f"AUC {share(metrics.roc_auc(y, model.decision_function(X)))}" in heading(chart(model, "roc", X, y))[1]
    pipeline = make_pipeline(StandardScaler(), TheirLogistic()).fit(X, y)
    assert kinds(pipeline, data=True) == ["roc", "pr", "calibration", "confusion"]
    assert (
        f"accuracy {percent(pipeline.score(X, y))}".replace(NO_BREAK, " ")
        in heading(chart(pipeline, "confusion", X, y))[1]
    )
    assert f"AUC {share(metrics.roc_auc(y, pipeline.decision_function(X)))}" in heading(chart(pipeline, None, X, y))[1]


def test_missing_data_is_refused(logistic, held, two, iris):
    X, y = held
    with pytest.raises(ValueError, match="The chart 'roc' is of predictions: give X and y, rows to predict"):
        logistic.chart("roc")
    with pytest.raises(ValueError, match="The chart 'confusion' is of predictions: give X, rows"):
        logistic.chart("confusion", y=y)
    with pytest.raises(ValueError, match="The chart 'pr' compares predictions with the truth: give y"):
        logistic.chart("pr", X)
    with pytest.raises(ValueError, match="The chart 'roc' compares predictions with the truth: give y"):
        logistic.chart(X=X)
    with pytest.raises(
        ValueError, match="The chart 'coefficients' is of the fit alone: leave X, y and sample_weight out"
    ):
        logistic.chart("coefficients", X, y)
    with pytest.raises(ValueError, match="is of the fit alone"):
        logistic.chart("coefficients", sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=re.escape("it has 'coefficients'. Given X and y it has also 'roc', 'pr'")):
        logistic.chart("boundary", X, y)  # eight features
    with pytest.raises(ValueError, match="no chart of the fit alone; given X and y it has 'roc', 'pr'"):
        GaussianDiscriminant().fit(X, y).chart()
    with pytest.raises(ValueError, match="This GaussianDiscriminant has no chart 'path'; given X and y it has 'roc'"):
        GaussianDiscriminant().fit(X, y).chart("path")
    with pytest.raises(ValueError, match="y and sample_weight are of the rows of X: give X too"):
        gm.SVC(alpha=0.1).fit(*two).chart("boundary", y=two[1])
    line = gm.LogisticRegression(alpha=0.1).fit(*two)
    with pytest.raises(
        ValueError, match="The chart 'boundary' is of rows, which LogisticRegression does not keep: give X"
    ):
        line.chart("boundary")
    with pytest.raises(ValueError, match="X has 3 columns; a boundary is drawn over two"):
        line.chart("boundary", np.ones((4, 3)))
    D, t = load_diabetes(return_X_y=True)
    selector = gm.selection.GreedySelector(gm.LinearRegression()).fit(D, t)
    with pytest.raises(ValueError, match="GreedySelector predicts nothing that X and y could be compared with"):
        selector.chart(X=D, y=t)
    with pytest.raises(ValueError, match="Rows bring their own target and weights: give them alone"):
        line.chart(None, gm.scan(*two), two[1])
    with pytest.raises(ValueError, match="compares predictions with the truth: give y"):
        line.chart("roc", gm.scan(two[0]))


def test_inconsistent_data_is_refused(logistic, held, outliers):
    X, y = held
    with pytest.raises(ValueError, match="y holds 'strange', which is not among the labels 'benign', 'malignant'"):
        logistic.chart("roc", X, np.where(np.arange(len(y)) == 3, "strange", y))
    with pytest.raises(ValueError, match="y has 10 rows and X 284"):
        logistic.chart("roc", X, y[:10])
    with pytest.raises(ValueError, match="roc_curve is undefined: y has only one class"):
        logistic.chart("roc", X[y == "malignant"], y[y == "malignant"])
    with pytest.raises(ValueError, match="sample_weight is negative at row 0"):
        logistic.chart("roc", X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="sample_weight is 0 everywhere"):
        logistic.chart("roc", X, y, sample_weight=np.zeros(len(y)))
    A, b = outliers
    model = gm.LinearRegression().fit(A, b)
    with pytest.raises(ValueError, match="y has 2 targets, and LinearRegression predicts 1"):
        model.chart("residuals", A, np.column_stack([b, b]))
    with pytest.raises(ValueError, match="y has 5 rows and X 300"):
        model.chart("residuals", A, b[:5])


def test_errors_of_results(cancer):
    X, y = cancer
    found = evaluate(gm.LogisticRegression(alpha=1e-3), X, y, metrics="accuracy")
    with pytest.raises(ValueError, match="Evaluation holds predictions already: give y for the chart 'confusion'"):
        found.chart("confusion", X, y)
    with pytest.raises(
        ValueError, match=re.escape("no chart 'roc'; it has 'evaluation'. Given y it has also 'confusion'.")
    ):
        found.chart("roc", y=y)
    with pytest.raises(ValueError, match="y has 10 rows and the evaluation 569"):
        found.chart("confusion", y=y[:10])
    with pytest.raises(ValueError, match="compares predictions with the truth: give y"):
        found.chart("confusion")
    D, t = load_diabetes(return_X_y=True)
    again = evaluate(gm.LinearRegression(), D, t, outer=RepeatedKFold(n_splits=3, n_repeats=2, random_state=0))
    with pytest.raises(ValueError, match="tests rows more than once, so that it keeps no predictions"):
        again.chart("residuals", y=t)
    assert "6 outer folds" in heading(again.chart())[1]
    numbers = evaluate(gm.LinearRegression(), D, t)
    with pytest.raises(ValueError, match="y has 10 rows and the evaluation 442"):
        numbers.chart("residuals", y=t[:10])
    with pytest.raises(ValueError, match="theme is 'pink'"):
        numbers.chart(theme="pink")


def test_errors_of_trajectories(two, iris, outliers):
    X, y = two
    models = recorded({"Newton": "newton"}, X, y)
    with pytest.raises(TypeError, match="models is list; it must be a dict from names to fitted models, not empty"):
        trajectories([models["Newton"]])
    with pytest.raises(TypeError, match="not empty"):
        trajectories({})
    with pytest.raises(ValueError, match="need both X and y"):
        trajectories(models, X)
    with pytest.raises(ValueError, match="theme is 'pink'"):
        trajectories(models, theme="pink")
    A, b = outliers
    with pytest.raises(ValueError, match="The model 'plain', a LinearRegression, has no history_"):
        trajectories({"plain": gm.LinearRegression().fit(A, b)})
    other = gm.LogisticRegression(alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"different problems: alpha is 0\.001 for 'Newton' and 1 for 'other'"):
        trajectories({**models, "other": other})
    silent = gm.LogisticRegression(alpha=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="The path of 'silent' was not recorded"):
        trajectories({**models, "silent": silent}, X, y)
    with pytest.raises(ValueError, match="give the data that the models were fitted to"):
        trajectories(models, X + 1.0, y[::-1])
    wide = gm.Regressor(alpha=0.1, callbacks=[Recorder()]).fit(A, b)
    with pytest.raises(ValueError, match="these models have 3 and an intercept"):
        trajectories({"wide": wide}, A, b)
    several = gm.LogisticRegression(alpha=0.1, callbacks=[Recorder()]).fit(*iris)
    with pytest.raises(ValueError, match="need one output: two classes, and not multiclass='joint'"):
        trajectories({"several": several}, *iris)


def test_contours_of_a_circle_and_a_saddle():
    x, y = np.linspace(-2, 2, 81), np.linspace(-1.5, 1.5, 61)
    Z = x[None, :] ** 2 + y[:, None] ** 2
    (ring,) = contours(x, y, Z, 1.0)
    np.testing.assert_array_equal(ring[0], ring[-1])
    np.testing.assert_allclose(np.hypot(*ring.T), 1.0, atol=1e-3)
    assert len(contours(x, y, Z, 3.0)) == 2  # cut by the window above and below
    unit = np.arange(2.0)
    saddle = contours(unit, unit, np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert {tuple(line.mean(axis=0)) for line in saddle} == {(0.25, 0.25), (0.75, 0.75)}
    high = contours(unit, unit, np.array([[3.0, -1.0], [-1.0, 3.0]]))  # its middle belongs to the high corners
    assert {tuple(line.mean(axis=0)) for line in high} == {(0.875, 0.125), (0.125, 0.875)}
    assert contours(x, y, Z, 100.0) == []
    rng = np.random.default_rng(12)
    noise = rng.normal(size=(30, 20))
    found = contours(np.arange(20.0), np.arange(30.0), noise)
    crossings = (np.diff(np.sign(noise), axis=1) != 0).sum() + (np.diff(np.sign(noise), axis=0) != 0).sum()
    points = np.vstack([line[:-1] if (line[0] == line[-1]).all() else line for line in found])
    assert len(points) == crossings  # every edge between two signs once
    assert len(np.unique(points, axis=0)) == crossings


def test_simplified_thinned_and_sample():
    rng = np.random.default_rng(13)
    line = np.column_stack([np.linspace(0, 10, 400), np.cumsum(rng.normal(size=400)) * 0.05])
    short = simplified(line, 0.1)
    assert len(short) < 200
    starts, ways = short[:-1], np.diff(short, axis=0)
    off = line[:, None] - starts
    along = np.clip((off * ways).sum(axis=2) / (ways**2).sum(axis=1), 0.0, 1.0)
    assert np.linalg.norm(off - along[:, :, None] * ways, axis=2).min(axis=1).max() < 0.15
    ring = np.column_stack([np.cos(np.linspace(0, 2 * np.pi, 100)), np.sin(np.linspace(0, 2 * np.pi, 100))])
    assert len(simplified(ring, 0.01)) > 10
    x = np.sort(rng.uniform(size=5000))
    y = np.sort(rng.uniform(size=5000))
    kept = thinned(x, y, 200)
    assert len(kept) <= 200
    assert {0, 4999} <= set(kept.tolist())
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() < 2.5 / 199
    assert len(thinned(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 10)) == 2
    assert len(sample(100, 10, np.arange(50))) == 10
    assert set(sample(100, 10, np.arange(50))) <= set(range(50))
    values, weight = rng.normal(size=50), rng.integers(1, 5, 50)
    parts = np.array([0.1, 0.25, 0.5, 0.9])
    want = np.quantile(np.repeat(values, weight), parts, method="inverted_cdf")
    np.testing.assert_array_equal(weighted_quantile(values, parts, weight.astype(float)), want)


def test_finer_keeps_linear_functions():
    a, b = np.meshgrid(np.arange(4.0), np.arange(3.0))
    Z = np.stack([2 * a - b, a + 3 * b], axis=2)
    fine = finer(Z, 21, 31)
    c, d = np.meshgrid(np.linspace(0, 3, 31), np.linspace(0, 2, 21))
    np.testing.assert_allclose(fine, np.stack([2 * c - d, c + 3 * d], axis=2), atol=1e-12)


def test_percentages_and_shares():
    assert share(0.99996) == "0.99996"
    assert share(0.9) == "0.9"
    assert percent(0.0) == f"0{NO_BREAK}%"

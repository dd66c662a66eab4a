"""Charts: every kind of every estimator renders, shows the model's own numbers, and survives any name."""

import itertools
import json
import re
import sys

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

import gramian as gm
from drawings import heading, png_size, walk
from gramian.charts import chart, kinds, save_html, save_png
from gramian.charts.marks.text import labels, number, tick_text, ticks
from gramian.charts.models.path import spread
from gramian.charts.theme import THEMES

HOSTILE = [
    "a.b.c",
    "x[0]['y']",
    "<b>bold</b> & \"quoted\" 'twice'",
    "🙂 emoji",
    "</script><script>alert(1)</script>",
    "back\\slash\nnew line",
    "a name " + "that is long " * 10,
    "a name " + "that is long " * 10 + "and differs only at its end",
    "datum.value",
    "",
]


@pytest.fixture(scope="module")
def data():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    return {
        "LinearRegression": gm.LinearRegression().fit(X, y),
        "TotalLeastSquares": gm.TotalLeastSquares().fit(X * 20.0, y / 77.0),
        "Ridge": gm.Ridge().fit(X, y),
        "Ridge alpha": gm.Ridge(alpha=0.1).fit(X, y),
        "Lasso": gm.Lasso().fit(X, y),
        "Lasso one_se": gm.Lasso(rule="one_se").fit(X, y),
        "Lasso alpha": gm.Lasso(alpha=1.0).fit(X, y),
        "ElasticNet": gm.ElasticNet().fit(X, y),
        "GreedySelector": gm.selection.GreedySelector(gm.LinearRegression()).fit(X, y),
        "BestSubset": gm.selection.BestSubset().fit(X, y),
        "BestSubset of 3": gm.selection.BestSubset(n_features=3).fit(X, y),
    }


HAS = {
    "LinearRegression": ["coefficients"],
    "TotalLeastSquares": ["coefficients"],
    "Ridge": ["path", "scores", "coefficients"],
    "Ridge alpha": ["coefficients"],
    "Lasso": ["path", "scores", "coefficients"],
    "Lasso one_se": ["path", "scores", "coefficients"],
    "Lasso alpha": ["path", "coefficients"],
    "ElasticNet": ["path", "scores", "coefficients"],
    "GreedySelector": ["selection"],
    "BestSubset": ["selection", "coefficients"],
    "BestSubset of 3": ["coefficients"],
}


def records(drawn):
    """Every record of inline data in a chart, however deep."""
    spec = drawn.to_dict()
    inline = [part["values"] for part in walk(spec) if isinstance(part.get("values"), list)]
    named = spec.get("datasets", {}).values()
    return [record for values in (*inline, *named) for record in values if isinstance(record, dict)]


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in HAS for kind in HAS[name]])
def test_every_kind_renders(models, tmp_path, name, kind):
    model = models[name]
    assert kinds(model) == HAS[name]
    light, dark = chart(model, kind), chart(model, kind, theme="dark").to_dict()
    size = png_size(save_png(light, tmp_path / "light.png", scale=1.0))
    assert min(size) > 200
    assert max(size) < 1200
    assert light.to_dict() != dark
    assert dark["config"]["background"] == THEMES["dark"].background
    text = json.dumps(dark)
    assert not [colour for colour in THEMES["light"].palette if colour in text]


@pytest.mark.parametrize(("name", "kind"), [("Ridge", "coefficients"), ("Lasso one_se", None), ("BestSubset", None)])
def test_dark_renders_in_the_same_place(models, tmp_path, name, kind):
    light = save_png(chart(models[name], kind), tmp_path / "light.png", scale=1.0)
    dark = save_png(chart(models[name], kind, theme="dark"), tmp_path / "dark.png", scale=1.0)
    assert png_size(light) == png_size(dark)
    assert light.read_bytes() != dark.read_bytes()


def test_default_kinds(models):
    assert isinstance(models["Lasso"].chart(), alt.VConcatChart)
    assert models["Lasso alpha"].chart().to_dict() == models["Lasso alpha"].chart("path").to_dict()
    assert models["Ridge alpha"].chart().to_dict() == models["Ridge alpha"].chart("coefficients").to_dict()
    both = models["Ridge"].chart().to_dict()["vconcat"]
    domains = {json.dumps(layer["encoding"]["x"]["scale"]) for part in both for layer in part["layer"] if _alpha(layer)}
    assert len(domains) == 1


def _alpha(layer):
    return layer.get("encoding", {}).get("x", {}).get("field") == "alpha"


def test_coefficients_are_the_summary(models):
    for name in ("LinearRegression", "Ridge"):
        table = models[name].summary().coefficients
        shown = [r for r in records(chart(models[name], "coefficients")) if "label" in r]
        assert len(shown) == 10
        sizes = [abs(r["estimate"]) for r in shown]
        assert sizes == sorted(sizes, reverse=True)
        for record in shown:
            j = list(table["name"]).index(record["name"])
            for key in ("estimate", "low", "high"):
                assert record[key] == table[key][j]
            assert record["kind"] == ("unclear" if table["low"][j] <= 0 <= table["high"][j] else "clear")


def test_total_least_squares_shows_both_estimates(models, data):
    X, y = data
    plain = gm.LinearRegression().fit(X * 20.0, y / 77.0)
    shown = {r["name"]: r for r in records(models["TotalLeastSquares"].chart()) if "label" in r}
    for name, total, ordinary in zip(X.columns, models["TotalLeastSquares"].coef_, plain.coef_, strict=True):
        assert shown[name]["estimate"] == total
        assert shown[name]["least_squares"] == pytest.approx(ordinary, rel=1e-9)


def test_path_and_scores_are_those_of_the_model(models):
    model = models["Lasso one_se"]
    lines = [r for r in records(chart(model, "path")) if "line" in r]
    path = model.path_
    for j, name in enumerate(model.feature_names_in_):
        mine = [r for r in lines if r["name"] == name]
        if not path.coefs[:, j].any():
            assert not mine
            continue
        np.testing.assert_allclose([r["alpha"] for r in mine], path.alphas)
        np.testing.assert_allclose([r["coefficient"] for r in mine], path.coefs[:, j], rtol=1e-5)
    band = [r for r in records(chart(model, "scores")) if "se" in r][: len(model.scores_.alphas)]
    np.testing.assert_allclose([r["loss"] for r in band], model.scores_.mean)
    np.testing.assert_allclose([r["high"] - r["low"] for r in band], 2 * model.scores_.se, rtol=1e-6)
    words = [r["text"] for r in records(chart(model, "scores")) if "text" in r]
    assert {"best", "chosen", "best + one standard error"} <= set(words)
    assert "'one_se'" in heading(chart(model, "scores"))[1]
    assert f"alpha {number(model.alpha_)}" in {r.get("text") for r in records(chart(model, "path"))}


def test_titles_say_the_finding(models):
    used = int((models["Lasso"].coef_ != 0).sum())
    assert heading(chart(models["Lasso"], "coefficients"))[0] == f"{used} of 10 coefficients are not zero"
    assert "bmi and s5 enter first" in heading(chart(models["Lasso alpha"], "path"))[0]
    assert heading(models["LinearRegression"].chart())[0] == "4 of 10 coefficients are clearly not zero"
    assert "bmi and s5 first" in heading(chart(models["GreedySelector"]))[0]
    assert "sex, bmi, bp, s3 and s5" in heading(chart(models["BestSubset"]))[0]
    assert "% of the norm without penalty" in heading(chart(models["Ridge"], "path"))[0]


def test_errors(models, monkeypatch):
    with pytest.raises(ValueError, match=r"This LinearRegression has no chart 'path'; it has 'coefficients'\."):
        models["LinearRegression"].chart("path")
    with pytest.raises(ValueError, match="it has 'path', 'scores', 'coefficients'"):
        models["Lasso"].chart("pie")
    with pytest.raises(ValueError, match="theme is 'pink'; it must be 'light' or 'dark'"):
        models["Lasso"].chart(theme="pink")
    with pytest.raises(NotFittedError):
        chart(gm.Lasso())
    with pytest.raises(ValueError, match="StandardScaler has nothing to draw"):
        chart(gm.StandardScaler().fit([[1.0], [2.0]]))
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match=re.escape('pip install "gramian[app]"')):
        models["Lasso"].chart()


def test_hostile_names_are_plain_text(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    y = X.to_numpy() @ np.linspace(1.0, 3.0, len(HOSTILE)) + rng.normal(size=80)
    model = gm.Lasso().fit(X, y)
    for kind in ("coefficients", "path"):
        drawn = chart(model, kind)
        svg = vl_convert.vegalite_to_svg(drawn.to_dict(), vl_version="_".join(alt.SCHEMA_VERSION.split(".")[:2]))
        assert "<b>" not in svg
        assert "&lt;/script&gt;&lt;script&gt;alert(1)" in svg
        if kind == "coefficients":
            shown = {r["label"]: r["estimate"] for r in records(drawn) if "label" in r}
            assert len(shown) == len(HOSTILE)
            assert {"a.b.c", "x[0]['y']", "datum.value", "(no name)", "back\\slash new line"} <= set(shown)
    page = save_html(model.chart(), tmp_path / "x.html", title="<i>&").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search(r"<(script|link)[^>]*\b(src|href)=", page)
    assert "<title>&lt;i&gt;&amp;</title>" in page


def test_many_features_and_rows(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 120))
    y = X[:, :60] @ rng.normal(size=60) + rng.normal(size=150)
    ridge, lasso = gm.Ridge().fit(X, y), gm.Lasso().fit(X, y)
    assert "the 40 largest of 120 are shown" in heading(chart(ridge, "coefficients"))[1]
    assert "the 60 largest of 120 lines are shown" in heading(chart(ridge, "path"))[1]
    shown = [r for r in records(chart(lasso, "coefficients")) if "label" in r]
    assert len(shown) == min(40, np.count_nonzero(lasso.coef_))
    assert len(records(chart(lasso, "path"))) > 5000  # beyond Altair's own limit
    png_size(save_png(chart(lasso, "path"), tmp_path / "x.png", scale=1.0))


def test_several_targets(data, tmp_path):
    X, y = data
    Y = np.column_stack([y, y**0.5, np.log(y), -y])
    for model in (gm.LinearRegression(), gm.Ridge(), gm.Lasso(), gm.TotalLeastSquares()):
        drawn = model.fit(X.to_numpy() * 20.0, Y / Y.std(axis=0)).chart()
        assert "the first 3 of 4 targets" in json.dumps(drawn.to_dict())
        if isinstance(model, gm.Ridge | gm.TotalLeastSquares):
            png_size(save_png(drawn, tmp_path / "x.png", scale=1.0))


@pytest.mark.parametrize(
    "alphas", [[0.0, 0.1, 10.0], [0.5], [0.5, 0.5000001], [1e-200, 1e200], np.geomspace(1e-30, 1.0, 40)]
)
def test_grids_of_any_range(data, tmp_path, alphas):
    X, y = data
    model = gm.Ridge(alphas=alphas).fit(X, y)
    png_size(save_png(model.chart(), tmp_path / "x.png", scale=1.0))
    png_size(save_png(model.chart("scores"), tmp_path / "x.png", scale=1.0))


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e9, 1e100])
def test_any_units_and_one_feature(scale, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 1)) * scale
    for model in (gm.LinearRegression(), gm.Lasso()):
        drawn = model.fit(x, x[:, 0] / scale + rng.normal(size=30)).chart()
        png_size(save_png(drawn, tmp_path / "x.png", scale=1.0))


def test_titles_of_zero_and_unclear_coefficients(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    empty = gm.Lasso(alpha=1e3).fit(X, y)
    assert heading(empty.chart())[0] == "Every coefficient is zero"
    path = gm.Lasso(alpha=1e3, alphas=[1e3, 1e4]).fit(X, y).chart("path")
    assert heading(path)[0].startswith("Every coefficient is zero")
    png_size(save_png(path, tmp_path / "x.png"))
    full = gm.LinearRegression().fit(X[:4], y[:4])  # no degrees of freedom, so no intervals
    assert heading(full.chart())[0] == "No coefficient is zero"


def test_spread_keeps_order_and_distance():
    rng = np.random.default_rng(4)
    for _ in range(200):
        wanted = np.sort(rng.normal(size=rng.integers(1, 8)))
        places = spread(wanted, 0.2, -3.0, 3.0)
        assert (np.diff(places) >= 0.2 - 1e-12).all()
        assert places[0] >= -3.0
        assert places[-1] <= 3.0 + 1e-12
    far = np.array([-2.0, 0.0, 2.0])
    np.testing.assert_array_equal(spread(far, 0.5, -3.0, 3.0), far)


def test_labels_numbers_and_ticks():
    assert labels(["a", "a", "a #2"]) == ["a", "a #2", "a #2 #2"]
    assert number(float("nan")) == "?"
    assert number(0) == "0"
    assert tick_text(1e-7) == "10⁻⁷"
    for low, high in itertools.pairwise(np.geomspace(1e-300, 1e300, 40)):
        found = ticks(low, high)
        assert 1 <= len(found) <= 12
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in found)


MACHADO = {  # simulated colour vision, for linear RGB (Machado, Oliveira and Fernandes 2009)
    "usual": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
def test_colours_are_readable_by_everyone(theme):
    colours = THEMES[theme]

    def contrast(colour):
        one, two = (float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (colour, colours.background))
        return max(one, two) / min(one, two)

    assert contrast(colours.ink) > 7
    assert contrast(colours.muted) > 4.5
    assert min(contrast(colour) for colour in colours.palette) > 3.5
    for matrix in MACHADO.values():
        seen = [lab(np.array(matrix) @ linear(colour)) for colour in colours.palette]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 12

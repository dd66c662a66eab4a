"""A chart from outside is one member: it is listed, drawn by default, and refused where it does not apply."""

import subprocess
import sys
from types import SimpleNamespace

import altair as alt
import numpy as np
import pytest

import gramian as gm
from gramian._core.fitted.charted import Drawn
from gramian.charts import chart, kinds, registry
from gramian.charts.declaration import ChartKind, fitted_with
from gramian.charts.theme import rows, title

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = X @ [1.0, 2.0, 3.0] + RNG.standard_normal(40)


def member(name, draw, **declaration):
    """What a chart module is to the registry: a declaration and a function."""
    return SimpleNamespace(CHART=ChartKind(name=name, **declaration), draw=draw)


def bars(values, heading):
    records = [{"at": at, "value": float(value)} for at, value in enumerate(values)]
    return alt.Chart(rows(records)).mark_bar().encode(x="at:O", y="value:Q").properties(title=title(heading))


@pytest.fixture
def register():
    before = dict(registry.chart_modules())
    yield registry.register
    registry.chart_modules().clear()
    registry.chart_modules().update(before)


def text(drawn):
    return " ".join(drawn.to_dict()["title"]["text"])


def test_a_chart_of_the_fit_is_one_member(register):
    register(
        member(
            "intercept",
            lambda model, theme: bars([model.intercept_], f"Intercept {model.intercept_:.3g} on {theme.background}"),
            of="fit",
            order=5,
            applies=fitted_with("intercept_"),
        )
    )
    model = gm.Ridge(alpha=1.0).fit(X, Y)
    assert kinds(model) == ["intercept", "coefficients"]
    assert kinds(model, data=True) == ["intercept", "coefficients", "residuals"]
    assert text(model.chart("intercept", theme="dark")) == f"Intercept {model.intercept_:.3g} on #14171c"
    assert model.chart().to_dict() == model.chart("intercept").to_dict()  # the first in order is the default
    with pytest.raises(ValueError, match="The chart 'intercept' is of the fit alone: leave X, y and sample_weight out"):
        model.chart("intercept", X, Y)
    clusters = gm.KMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"This KMeans has no chart 'intercept'; it has 'clusters'\."):
        clusters.chart("intercept")


def test_a_chart_below_another_is_drawn_with_it(register):
    register(
        member(
            "norm",
            lambda model, theme: bars(np.abs(model.coef_), "Norms"),
            of="fit",
            order=1,
            applies=fitted_with("coef_"),
            below="coefficients",
        )
    )
    model = gm.Ridge(alpha=1.0).fit(X, Y)
    assert kinds(model) == ["coefficients", "norm"]
    assert len(model.chart().to_dict()["vconcat"]) == 2


def test_a_chart_of_rows_says_what_data_it_needs(register):
    def draw(model, theme, X, y, sample_weight):
        return bars(np.asarray(model.predict(X)), f"{len(X)} predictions")

    register(
        member(
            "predicted",
            draw,
            of="rows",
            order=1,
            applies=lambda model, data: data and hasattr(model, "predict"),
            order_with_data=1,
            target="none",
        )
    )
    model = gm.Ridge(alpha=1.0).fit(X, Y)
    assert kinds(model) == ["coefficients"]
    assert kinds(model, data=True)[0] == "predicted"
    assert text(model.chart(X=X)) == "40 predictions"
    with pytest.raises(ValueError, match="The chart 'predicted' is of rows, which Ridge does not keep: give X"):
        model.chart("predicted")
    with pytest.raises(ValueError, match="The chart 'predicted' is of rows without a target: leave y out"):
        model.chart("predicted", X, Y)


def test_a_chart_of_predictions_gets_them(register):
    register(
        member(
            "errors",
            lambda predictions, theme: bars(predictions.truth[:, 0] - predictions.predicted[:, 0], predictions.name),
            of="predictions",
            order=1,
            applies=lambda model, data: hasattr(model, "predict"),
        )
    )
    model = gm.Ridge(alpha=1.0).fit(X, Y)
    drawn = model.chart("errors", X, Y)
    assert text(drawn) == "Ridge"
    spec = drawn.to_dict()
    values = spec["data"]["values"] if "values" in spec["data"] else spec["datasets"][spec["data"]["name"]]
    np.testing.assert_allclose([record["value"] for record in values], Y - model.predict(X))
    with pytest.raises(ValueError, match="The chart 'errors' is of predictions: give X and y"):
        model.chart("errors")


def test_a_result_declares_its_own_chart(register):
    class Table(Drawn):
        own_charts = ("table",)
        values = (1.0, 2.0)

    register(
        member(
            "table",
            lambda result, theme: bars(result.values, "A table"),
            of="result",
            order=0,
            applies=lambda model, data: "table" in registry.offers(model),
        )
    )
    assert kinds(Table()) == ["table"]
    assert text(chart(Table())) == "A table"
    with pytest.raises(ValueError, match=r"This Table has no chart 'coefficients'; it has 'table'\."):
        chart(Table(), "coefficients")


def test_a_name_is_given_once(register):
    with pytest.raises(ValueError, match="There is a chart 'path' already"):
        register(member("path", None, of="fit", order=1, applies=fitted_with("coef_")))


def test_every_module_declares_one_chart_of_its_name():
    for name, module in registry.chart_modules().items():
        assert module.__name__.rpartition(".")[2] == name == module.CHART.name
        assert callable(module.draw)
    places = [module.CHART.order for module in registry.chart_modules().values() if module.CHART.of != "result"]
    assert len(set(places)) == len(places)


def test_charts_are_listed_without_altair():
    code = """
import sys
import gramian as gm, gramian.charts
model = gm.Ridge(alpha=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
assert gramian.charts.kinds(model) == ["coefficients"]
try:
    model.chart("path")
except ValueError as error:
    assert str(error).startswith("This Ridge has no chart 'path'; it has 'coefficients'."), error
assert not any(name.partition(".")[0] == "altair" for name in sys.modules)
model.chart()
assert "altair" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)

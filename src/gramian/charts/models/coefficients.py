"""Coefficients as dots, with their 95 % intervals where theory gives them."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Record
from gramian.charts.declaration import ChartKind, has, loss_of, uses_kernel
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import feature_names, labels, number, plain, used
from gramian.charts.theme import WIDTH, Theme, panel_title, rows, title

MAX_FEATURES = 40
MAX_TARGETS = 3
STEP = 22
AXIS = "change of the {what} for one unit of the feature"
CHART = ChartKind(
    name="coefficients", of="fit", order=50, applies=lambda model, data: has(model, "coef_") and not uses_kernel(model)
)


def draw(model: Estimator, theme: Theme) -> Chart:
    """One row per feature, the largest first; several targets side by side."""
    columns, facts = _columns(model)
    order, notes = _largest(columns["estimate"])
    names = columns["name"][0]
    shown = dict(zip(order.tolist(), labels(names[order]), strict=True))
    targets = len(columns["estimate"])
    headings = _headings(model, columns)
    if targets > MAX_TARGETS:
        notes.append(f"the first {MAX_TARGETS} of {targets} {'classes' if has(model, 'classes_') else 'targets'}")
    panels = []
    for target in range(min(targets, MAX_TARGETS)):
        one = {key: values[target] for key, values in columns.items()}
        records = [_record(one, int(j), shown[int(j)]) for j in order]
        panel = _panel(records, theme, min(targets, MAX_TARGETS), _axis_title(model, targets), first=target == 0)
        panels.append(panel if targets == 1 else panel.properties(title=panel_title(headings[target], theme)))
    whole = panels[0] if targets == 1 else alt.hconcat(*panels, spacing=24)
    finding, legend = _finding(columns)
    return whole.properties(title=title(finding, _facts(model, facts), "; ".join([*legend, *notes])))


def _columns(model: Estimator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns (t, d) of the model's summary without its intercepts, and its facts; bare coefficients without one."""
    estimates = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    targets, d = estimates.shape
    if not has(model, "summary"):
        return {"name": np.tile(feature_names(model), (targets, 1)), "estimate": estimates}, {}
    summary = model.summary()
    columns = {key: np.asarray(values).reshape(targets, -1)[:, -d:] for key, values in summary.coefficients.items()}
    return columns, summary.facts


def _headings(model: Estimator, columns: dict[str, Any]) -> list[str]:
    """The target, class or pair of classes of each row of coefficients."""
    targets = len(columns["estimate"])
    if "class" in columns:
        return labels(f"class {plain(name)}" for name in columns["class"][:, 0])
    if has(model, "classes_") and targets == len(model.classes_):
        return labels(f"class {plain(name)}" for name in np.asarray(model.classes_).tolist())
    return [f"target {target}" for target in range(targets)]


def _axis_title(model: Estimator, targets: int) -> str:
    """The quantity that a feature changes: the prediction, its logarithm, the log-odds or decision value of a class."""
    loss = loss_of(model)
    if not has(model, "classes_"):
        logarithm = loss is not None and loss.link == "log"
        return AXIS.format(what="logarithm of the prediction" if logarithm else "prediction")
    if targets > 1:
        return "change for one unit"
    positive = labels(np.asarray(model.classes_).tolist())[-1]
    what = "log-odds of {}" if loss is not None and loss.link == "logit" else "decision value of {}"
    return AXIS.format(what=what.format(positive))


def _largest(estimates: Floats) -> tuple[Chart, list[str]]:
    size = np.abs(estimates).max(axis=1, keepdims=True)
    share = np.max(np.abs(estimates) / np.where(size > 0, size, 1.0), axis=0)
    order = np.argsort(-share, kind="stable")
    if len(order) <= MAX_FEATURES:
        return order, []
    count = max(min(int((share > 0).sum()), MAX_FEATURES), 1)
    return order[:count], [f"the {count} largest of {len(order):,} are shown"]


def _record(column: dict[str, Any], j: int, label: str) -> dict[str, Any]:
    record: Record = {"label": label, "name": plain(column["name"][j]), "zero": 0.0, "kind": "clear"}
    for key in ("estimate", "low", "high", "p", "least_squares"):
        if key in column and np.isfinite(column[key][j]):
            record[key] = float(column[key][j])
    has_interval = "low" in record and "high" in record
    unclear = record["low"] <= 0 <= record["high"] if has_interval else record["estimate"] == 0
    return record | {"kind": "unclear" if unclear else "clear"}


def _panel(records: list[Record], theme: Theme, panels: int, axis: str, *, first: bool) -> Chart:
    base = alt.Chart(rows(records)).encode(
        y=alt.Y(
            "label:N",
            sort=None,
            axis=alt.Axis(title=None, labels=first, ticks=False, domain=False, grid=True, labelColor=theme.ink),
        )
    )
    keys = [key for key in ("estimate", "least_squares", "low", "high", "p") if key in records[0]]
    tooltip = [alt.Tooltip("name:N", title="feature"), *(alt.Tooltip(f"{key}:Q", format=".4~g") for key in keys)]
    values = [0.0, *(record[key] for record in records for key in keys if key != "p" and key in record)]
    low, high = min(values), max(values)
    pad = 0.04 * (high - low) or 1.0  # a dot at the end must not touch the names
    x = alt.X(
        "estimate:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False),
        axis=linear_axis(axis, low, high, tickCount=7 if panels == 1 else 4),
    )
    zero = alt.Chart(rows([{"estimate": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(x=x)
    colour = alt.Color("kind:N", legend=None, scale=_scale(theme.accent, theme.muted))
    if "least_squares" in keys:
        marks = _pair(base, x, theme, tooltip)
    else:
        ends = ("low", "high") if "low" in keys else ("zero", "estimate")
        bars = base.mark_rule(strokeWidth=2.5 if "low" in keys else 1.5, strokeCap="round").encode(
            x=alt.X(f"{ends[0]}:Q"), x2=f"{ends[1]}:Q", color=colour, opacity=alt.value(0.75)
        )
        dots = base.mark_point(size=64, opacity=1, strokeWidth=1.8).encode(
            x=x,
            stroke=colour,
            fill=alt.Fill("kind:N", legend=None, scale=_scale(theme.accent, theme.background)),
            tooltip=tooltip,
        )
        marks = bars + dots
    width = WIDTH if panels == 1 else int(WIDTH * 1.2 / panels)
    return (zero + marks).properties(width=width, height=alt.Step(STEP))


def _pair(base: Chart, x: Chart, theme: Theme, tooltip: list[Chart]) -> Chart:
    """Two estimates on one row, joined."""
    names = ["total least squares", "least squares"]
    legend = alt.Legend(title=None, orient="top", offset=4)
    colour = alt.Color("estimator:N", scale=alt.Scale(domain=names, range=[theme.accent, theme.second]), legend=legend)
    shape = alt.Shape("estimator:N", scale=alt.Scale(domain=names, range=["circle", "diamond"]), legend=legend)
    join = base.mark_rule(color=theme.faint, strokeWidth=2).encode(x=x, x2="least_squares:Q")
    dots = [
        base.transform_calculate(estimator=f"'{name}'")
        .mark_point(filled=True, size=72, opacity=1)
        .encode(x=alt.X(f"{field}:Q"), color=colour, shape=shape, tooltip=tooltip)
        for field, name in (("least_squares", names[1]), ("estimate", names[0]))
    ]
    return join + dots[0] + dots[1]


def _scale(clear: str, unclear: str) -> Chart:
    return alt.Scale(domain=["clear", "unclear"], range=[clear, unclear])


def _finding(columns: dict[str, Any]) -> tuple[str, list[str]]:
    estimate = columns["estimate"]
    if "least_squares" in columns:
        other = np.asarray(columns["least_squares"], dtype=np.float64)
        target, j = np.unravel_index(np.abs(estimate - other).argmax(), estimate.shape)
        pair = f"{number(float(estimate[target, j]))} against {number(float(other[target, j]))}"
        name = labels([columns["name"][0][j]])[0]
        return f"Total and ordinary least squares differ most in {name}: {pair}", [
            "errors in all variables, or in the target alone"
        ]
    if "low" in columns:
        low, high = (np.asarray(columns[key], dtype=np.float64) for key in ("low", "high"))
        clear = int(((low > 0) | (high < 0)).sum())
        return used(clear, estimate.size, " clearly"), [
            "dot and 95 % interval; hollow where the interval contains zero"
        ]
    kept = int((estimate != 0).sum())
    return used(kept, estimate.size), ["hollow: exactly zero"] if kept < estimate.size else []


def _facts(model: Estimator, facts: dict[str, Any]) -> str:
    texts = [type(model).__name__]
    texts += [f"alpha {number(facts['alpha'])}"] if "alpha" in facts else []
    r2 = np.atleast_1d(facts.get("r2", np.nan))
    texts += [f"R² {number(r2[0], 2)}"] if len(r2) == 1 and np.isfinite(r2[0]) else []
    texts += [f"n {facts['n']:,.10g}"] if "n" in facts else []
    return " · ".join(texts)

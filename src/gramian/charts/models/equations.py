"""Minor components as linear equations that rows nearly satisfy: the weight of every column in each."""

import numpy as np

from gramian._core.text import without_round_off
from gramian._core.types import Chart, Estimator, Floats
from gramian.charts.declaration import ChartKind, fitted_with
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import NO_BREAK, counted, feature_names, labels, number
from gramian.charts.theme import WIDTH, Theme, rows, title

MAX_EQUATIONS = 3
MAX_COLUMNS = 40
MIN_WRITTEN = 0.0005  # weight of a column in an equation that is written out
MAX_WRITTEN = 4  # columns of an equation that is written out
STEP = 22
BETWEEN = 24  # pixels between panels
CHART = ChartKind(name="equations", of="fit", order=120, applies=fitted_with("components_", "offsets_"))


def draw(model: Estimator, theme: Theme) -> Chart:
    """One row per column, the largest weights first; the equations side by side."""
    V = np.asarray(model.components_, dtype=np.float64)
    scale = np.abs(V) @ np.abs(np.asarray(model.mean_, dtype=np.float64)) + np.sqrt(max(model.objective_, 0.0))
    offsets = [without_round_off(float(o), float(s)) for o, s in zip(model.offsets_, scale, strict=True)]
    names = labels(feature_names(model))
    k, d = V.shape
    shown = min(k, MAX_EQUATIONS)
    order = np.argsort(-np.abs(V[:shown]).max(axis=0), kind="stable")[:MAX_COLUMNS]
    notes = []
    if shown < k:
        notes.append(f"the first {shown} of {k:,} equations, with the smallest variances")
    if len(order) < d:
        notes.append(f"the {len(order)} largest weights of {d:,}")
    if d <= MAX_WRITTEN:
        notes += [_written(V[i], offsets[i], names) for i in range(shown)]
    columns = [(int(j), names[j]) for j in order]
    panels = [_panel(V[i], offsets[i], i, columns, shown, theme) for i in range(shown)]
    drawn = panels[0] if shown == 1 else alt.hconcat(*panels, spacing=BETWEEN)
    facts = [type(model).__name__, f"residual variance {number(model.objective_)}"]
    return drawn.properties(title=title(_finding(model, k), " · ".join(facts), *notes))


def _panel(v: Floats, offset: float, place: int, columns: list[tuple[int, str]], panels: int, theme: Theme) -> Chart:
    records = [{"label": name, "weight": float(v[j]), "zero": 0.0} for j, name in columns]
    axis = alt.Axis(title=None, labels=place == 0, ticks=False, domain=False, grid=True, labelColor=theme.ink)
    base = alt.Chart(rows(records)).encode(y=alt.Y("label:N", sort=None, axis=axis))
    x = alt.X(
        "weight:Q",
        scale=alt.Scale(domain=[-1.08, 1.08], nice=False),
        axis=linear_axis(f"Σ weight · column = {number(offset)}", -1.0, 1.0, tickCount=7 if panels == 1 else 4),
    )
    zero = alt.Chart(rows([{"weight": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(x=x)
    colour = theme.of_class(place)
    stems = base.mark_rule(color=colour, strokeWidth=2.5, opacity=0.75).encode(x=x, x2="zero:Q")
    tooltip = [alt.Tooltip("label:N", title="column"), alt.Tooltip("weight:Q", format=".4~g")]
    dots = base.mark_circle(color=colour, size=80, opacity=1).encode(x=x, tooltip=tooltip)
    width = (WIDTH - (panels - 1) * BETWEEN) / panels
    return alt.layer(zero, stems, dots).properties(width=width, height=alt.Step(STEP))


def _written(v: Floats, offset: float, names: list[str]) -> str:
    """An equation in full.

    >>> _written(np.array([0.6, 0.0, -0.8]), 0.5, ["a", "b", "c"]).replace(NO_BREAK, " ")
    '0.6 a − 0.8 c = 0.5'
    """
    terms: list[str] = []
    for weight, name in zip(v, names, strict=True):
        if abs(weight) >= MIN_WRITTEN:
            sign = ("− " if weight < 0 else "+ ") if terms else "−" if weight < 0 else ""
            terms.append(f"{sign}{number(abs(weight))} {name}".replace(" ", NO_BREAK))
    return " ".join([*terms, f"={NO_BREAK}{number(offset)}"])


def _finding(model: Estimator, k: int) -> str:
    residual = float(np.sqrt(max(model.objective_, 0.0)))
    what = "the equation" if k == 1 else f"these {counted(k, 'equation')}"
    if residual <= 1e-9 * float(np.abs(np.asarray(model.mean_)).max(initial=1.0)):
        return f"Every row satisfies {what}"
    return f"Rows satisfy {what} up to {number(residual, 2)} (root mean square)"

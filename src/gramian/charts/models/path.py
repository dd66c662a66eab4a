"""Coefficients as lines over alpha, the largest named where they end."""

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Record
from gramian.charts.declaration import ChartKind, has, uses_kernel
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import AlphaAxis, ValueAxis
from gramian.charts.marks.text import feature_names, labels, listed, number, percent, used
from gramian.charts.theme import WIDTH, Theme, panel_title, rows, title

MAX_LINES = 60
MAX_TARGETS = 3
HEIGHT = 300
LABEL_HEIGHT = 15  # pixels between two labels
MIN_LABELLED = 0.02  # lines that reach a smaller share of the largest have no label


def applies(model: Estimator, data: bool) -> bool:
    """Applies to linear models with a path over several alphas."""
    linear = has(model, "path_") and not uses_kernel(model)
    return linear and has(model.path_, "alphas") and len(model.path_.alphas) > 1


CHART = ChartKind(name="path", of="fit", order=20, applies=applies)


def draw(model: Estimator, theme: Theme) -> Chart:
    """The path of one target, or of the first few side by side."""
    path = model.path_
    alphas = np.asarray(path.alphas, dtype=np.float64)
    coefs = np.asarray(path.coefs, dtype=np.float64)
    coefs = coefs[:, None, :] if coefs.ndim == 2 else coefs
    grids = [alphas, np.asarray(model.scores_.alphas)] if has(model, "scores_") else [alphas]
    axis = AlphaAxis.over(*grids, np.array([model.alpha_]))
    targets = coefs.shape[1]
    width = WIDTH if targets == 1 else int(WIDTH * 1.2 / min(targets, MAX_TARGETS))
    names = feature_names(model)
    panels, hidden = [], 0
    for target in range(min(targets, MAX_TARGETS)):
        lines, n_omitted = _lines(coefs[:, target], names, theme)
        hidden = max(hidden, n_omitted)
        panel = _panel(lines, axis, alphas, model, theme, width)
        heading = panel_title(f"target {target}", theme, offset=20)
        panels.append(panel if targets == 1 else panel.properties(title=heading))
    whole = panels[0] if targets == 1 else alt.hconcat(*panels, spacing=24)
    notes = [f"the {MAX_LINES} largest of {MAX_LINES + hidden:,} lines are shown"] if hidden else []
    if targets > MAX_TARGETS:
        notes.append(f"the first {MAX_TARGETS} of {targets} targets")
    how = "chosen by cross-validation" if has(model, "scores_") else "given"
    facts = f"{type(model).__name__} · alpha {number(model.alpha_)} {how} · {len(alphas)} alphas"
    return whole.properties(title=title(_finding(model, alphas, coefs, labels(names)), facts, "; ".join(notes)))


def _lines(coefs: Floats, names: list[str], theme: Theme) -> tuple[list[Record], int]:
    """Lines from the largest down, the first few with a colour and a label; and the number omitted."""
    size = np.abs(coefs).max(axis=0)
    order = [int(j) for j in np.argsort(-size, kind="stable") if size[j] > 0]
    shown = order[:MAX_LINES]
    short = labels(names[j] for j in shown)
    named = sum(size[j] >= MIN_LABELLED * size[order[0]] for j in shown[: len(theme.palette)])
    lines = [
        {
            "name": names[j],
            "label": short[place] if place < named else "",
            "colour": theme.palette[place] if place < named else theme.faint,
            "values": coefs[:, j],
        }
        for place, j in enumerate(shown)
    ]
    return lines, len(order) - len(shown)


def _panel(lines: list[Record], axis: AlphaAxis, alphas: Floats, model: Estimator, theme: Theme, width: int) -> Chart:
    at = axis.place(alphas)
    values = np.array([line["values"] for line in lines]) if lines else np.zeros((1, 1))
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    vertical = ValueAxis.over(low, high, "coefficient")
    y = vertical.encoding("coefficient")
    x = axis.encoding(width)
    records = [
        {
            "alpha": float(a),
            "coefficient": float(f"{value:.6g}"),
            "name": line["name"],
            "line": index,
            "colour": line["colour"],
            "wide": bool(line["label"]),
        }
        for index, line in enumerate(lines)
        for a, value in zip(at, line["values"], strict=True)
    ]
    zero = alt.Chart(rows([{"coefficient": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(y=y)
    base = alt.Chart(rows(records)).encode(
        x=x,
        y=y,
        detail="line:N",
        color=alt.Color("colour:N", scale=None),
        tooltip=[alt.Tooltip("name:N", title="feature")],
    )
    thin = base.transform_filter("!datum.wide").mark_line(strokeWidth=1)
    wide = base.transform_filter("datum.wide").mark_line(strokeWidth=2)
    layers = [zero, thin, wide]
    ends = _ends([line for line in lines if line["label"]], vertical, int(at.argmin()))
    if ends:
        side = alt.Chart(rows(ends)).encode(color=alt.Color("colour:N", scale=None))
        layers.append(
            side.mark_rule(strokeWidth=1, opacity=0.6).encode(
                x=alt.value(width + 1), x2=alt.value(width + 9), y=y, y2="place:Q"
            )
        )
        layers.append(
            side.mark_text(align="left", baseline="middle", fontSize=12).encode(
                x=alt.value(width + 12), y=vertical.encoding("place"), text="label:N"
            )
        )
    layers.append(axis.rule(float(model.alpha_), f"alpha {number(model.alpha_)}", theme.ink, width=width))
    return alt.layer(*layers).properties(width=width, height=HEIGHT)


def _ends(lines: list[Record], vertical: ValueAxis, last: int) -> list[Record]:
    """Labels at the right ends of the lines, moved apart until none covers another."""
    gap = (vertical.high - vertical.low) * LABEL_HEIGHT / HEIGHT
    lines = sorted(lines, key=lambda line: float(line["values"][last]))
    positions = np.array([float(line["values"][last]) for line in lines])
    places = spread(positions, gap, vertical.low, vertical.high)
    return [
        {"label": line["label"], "colour": line["colour"], "coefficient": float(end), "place": float(place)}
        for line, end, place in zip(lines, positions, places, strict=True)
    ]


def spread(positions: Floats, gap: float, low: float, high: float) -> Floats:
    """Positions at least `gap` apart that are nearest to the wanted ones (ascending): isotonic least squares.

    >>> spread(np.array([0.0, 0.1, 5.0]), 1.0, -10.0, 10.0)
    array([-0.45,  0.55,  5.  ])
    """
    if not len(positions):
        return positions
    shift = gap * np.arange(len(positions))
    groups: list[list[float]] = []  # sum and count of positions that are pooled
    for value in positions - shift:
        groups.append([float(value), 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] >= groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    level = np.concatenate([np.full(int(count), total / count) for total, count in groups])
    return np.clip(level, low, max(high - shift[-1], low)) + shift


def _finding(model: Estimator, alphas: Floats, coefs: Floats, names: list[str]) -> str:
    """The number of coefficients that are not zero and the first to enter, or the shrinkage of their norm."""
    now = np.atleast_2d(model.coef_)
    if (coefs == 0).any() or (now == 0).any():
        first = [names[j] for j in _first(coefs)[:2]]
        kept = used(int((now != 0).sum()), now.size)
        return f"{kept}; {listed(first)} enter first" if len(first) > 1 else f"{kept} at alpha {number(model.alpha_)}"
    weakest = np.linalg.norm(coefs[int(alphas.argmin())])
    share = np.linalg.norm(now) / weakest if weakest > 0 else 1.0
    return f"Shrinkage to {percent(float(share))} of the norm without penalty"


def _first(coefs: Floats) -> list[int]:
    """Features in the order in which they enter the path, the larger first where several enter together."""
    size = np.abs(coefs).max(axis=1)
    place = (size > 0).argmax(axis=0)
    begun = size[place, np.arange(size.shape[1])]
    return [int(j) for j in np.lexsort((-begun, place)) if begun[j] > 0]

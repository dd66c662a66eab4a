"""The validation loss over alpha, with its standard error."""

import numpy as np

from gramian._core.types import Chart, Estimator
from gramian.charts.declaration import ChartKind, fitted_with, has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import AlphaAxis, ValueAxis
from gramian.charts.marks.text import number
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.selection.cv.scores import Scores

HEIGHT = 200
MAX_BARS = 30  # alphas up to which each has its own dot and bar
CHART = ChartKind(name="scores", of="fit", order=80, applies=fitted_with("scores_"), below="path")
RULES = {
    "best": "Smallest validation loss at alpha {alpha}",
    "one_se": "Alpha {alpha} is the largest within one standard error of the best",
}
NEIGHBORS = {
    "best": "Smallest validation loss with {alpha} neighbours",
    "one_se": "{alpha} neighbours are the most within one standard error of the best",
}
NEIGHBORS_TITLE = "← smoother\u2003·\u2003neighbours\u2003·\u2003closer →"


def draw(model: Estimator, theme: Theme) -> Chart:
    """Mean over the folds with a band of one standard error; rules at the best and at the chosen alpha."""
    scores = model.scores_
    alphas, mean, se = (np.asarray(part, dtype=np.float64) for part in (scores.alphas, scores.mean, scores.se))
    axis = AlphaAxis.over(alphas, title=NEIGHBORS_TITLE) if has(scores, "neighbors") else AlphaAxis.over(alphas)
    vertical = ValueAxis.over(float((mean - se).min()), float((mean + se).max()), "validation loss")
    x, y = axis.encoding(), vertical.encoding("loss")
    columns = zip(axis.place(alphas), alphas, mean, se, strict=True)
    records = [
        {
            "alpha": float(at),
            "tried": float(a),
            "loss": float(m),
            "low": float(m - s),
            "high": float(m + s),
            "se": float(s),
        }
        for at, a, m, s in columns
    ]
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=text, format=".4~g")
        for key, text in (("tried", _parameter(scores)), ("loss", "loss"), ("se", "standard error"))
    ]
    base = alt.Chart(rows(records)).encode(x=x)
    with_bars = len(alphas) <= MAX_BARS
    shape = (
        base.mark_rule(strokeWidth=2, opacity=0.45, color=theme.accent)
        if with_bars
        else base.mark_area(color=theme.accent, opacity=0.18)
    )
    band = shape.encode(y=vertical.encoding("low"), y2="high:Q")
    line = base.mark_line(color=theme.accent, strokeWidth=2).encode(y=y)
    dots = base.mark_point(color=theme.accent, filled=True, size=30, opacity=1 if with_bars else 0).encode(
        y=y, tooltip=tooltip
    )
    layers = [band, line, dots]
    best, chosen = float(alphas[scores.best]), float(alphas[scores.chosen])
    if best != chosen:
        layers.append(axis.rule(best, "best", theme.muted, side="left", dashed=True))
        layers += _threshold(float(mean[scores.best] + se[scores.best]), y, theme)
    layers.append(
        axis.rule(
            chosen,
            "chosen" if best != chosen else "best, chosen",
            theme.ink,
            side="right" if best != chosen else "auto",
        )
    )
    picked = [records[scores.best], records[scores.chosen]]
    layers.append(alt.Chart(rows(picked)).mark_point(filled=True, size=60, opacity=1, color=theme.ink).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title(*_title(scores)))


def _threshold(level: float, y: Chart, theme: Theme) -> list[Chart]:
    base = alt.Chart(rows([{"loss": level, "text": "best + one standard error"}])).encode(y=y)
    rule = base.mark_rule(color=theme.muted, strokeDash=[2, 3])
    label = base.mark_text(align="right", baseline="bottom", dy=-3, fontSize=11, color=theme.muted)
    return [rule, label.encode(x=alt.value(WIDTH - 2), text="text:N")]


def _title(scores: Scores) -> tuple[str, str, str]:
    folds = np.asarray(scores.folds).shape[1]
    chosen = scores.chosen
    rule = scores.rule if has(scores, "rule") else "best"
    rules, what = (NEIGHBORS if has(scores, "neighbors") else RULES), _parameter(scores)
    finding = rules.get(rule, what.capitalize() + " {alpha} is chosen").format(alpha=number(scores.alphas[chosen]))
    how = f"rule {rule!r} · mean of {folds:,} folds ± one standard error: "
    loss = f"{number(scores.mean[chosen], 4)} ± {number(scores.se[chosen], 2)}"
    side = "largest" if scores.best == 0 else "smallest"
    edge = f"The best {what} is the {side} of the grid: extend the grid." if scores.at_boundary else ""
    return finding, how + loss, edge


def _parameter(scores: Scores) -> str:
    return "number of neighbours" if has(scores, "neighbors") else "alpha"

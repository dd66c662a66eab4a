"""The validation loss over alpha, with its standard error."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import AlphaAxis, ValueAxis
from gramian.charts.marks.text import number
from gramian.charts.theme import WIDTH, Theme, rows, title

HEIGHT = 200
FEW = 30  # alphas up to which each has its own dot and bar
RULES = {
    "best": "The smallest validation loss is at alpha {alpha}",
    "one_se": "Alpha {alpha} is the strongest within one standard error of the best",
}
NEIGHBORS = {
    "best": "The smallest validation loss is with {alpha} neighbours",
    "one_se": "{alpha} neighbours are the most within one standard error of the best",
}
NEIGHBORS_TITLE = "← smoother\u2003·\u2003neighbours\u2003·\u2003closer →"


def draw(model: Any, look: Theme) -> Any:
    """Mean over the folds and a band of one standard error; rules at the best alpha and at the chosen one."""
    scores = model.scores_
    alphas, mean, se = (np.asarray(part, dtype=np.float64) for part in (scores.alphas, scores.mean, scores.se))
    axis = AlphaAxis.over(alphas, title=NEIGHBORS_TITLE) if hasattr(scores, "neighbors") else AlphaAxis.over(alphas)
    vertical = ValueAxis.over(float((mean - se).min()), float((mean + se).max()), "validation loss")
    x, y = axis.encoding(), vertical.encoding("loss")
    columns = zip(axis.place(alphas), alphas, mean, se, strict=True)
    records = [
        {
            "alpha": float(at),
            "given": float(a),
            "loss": float(m),
            "low": float(m - s),
            "high": float(m + s),
            "se": float(s),
        }
        for at, a, m, s in columns
    ]
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=text, format=".4~g")
        for key, text in (("given", _what(scores)), ("loss", "loss"), ("se", "± se"))
    ]
    base = alt.Chart(rows(records)).encode(x=x)
    few = len(alphas) <= FEW
    shape = (
        base.mark_rule(strokeWidth=2, opacity=0.45, color=look.accent)
        if few
        else base.mark_area(color=look.accent, opacity=0.18)
    )
    band = shape.encode(y=vertical.encoding("low"), y2="high:Q")
    line = base.mark_line(color=look.accent, strokeWidth=2).encode(y=y)
    dots = base.mark_point(color=look.accent, filled=True, size=30, opacity=1 if few else 0).encode(
        y=y, tooltip=tooltip
    )
    layers = [band, line, dots]
    best, chosen = float(alphas[scores.best]), float(alphas[scores.chosen])
    if best != chosen:
        layers.append(axis.rule(best, "best", look.muted, side="left", dashed=True))
        layers += _threshold(float(mean[scores.best] + se[scores.best]), y, look)
    layers.append(
        axis.rule(
            chosen, "chosen" if best != chosen else "best, chosen", look.ink, side="right" if best != chosen else "auto"
        )
    )
    picked = [records[scores.best], records[scores.chosen]]
    layers.append(alt.Chart(rows(picked)).mark_point(filled=True, size=60, opacity=1, color=look.ink).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title(*_words(scores)))


def _threshold(level: float, y: Any, look: Theme) -> list[Any]:
    base = alt.Chart(rows([{"loss": level, "text": "best + one standard error"}])).encode(y=y)
    rule = base.mark_rule(color=look.muted, strokeDash=[2, 3])
    word = base.mark_text(align="right", baseline="bottom", dy=-3, fontSize=11, color=look.muted)
    return [rule, word.encode(x=alt.value(WIDTH - 2), text="text:N")]


def _words(scores: Any) -> tuple[str, str, str]:
    folds = np.asarray(scores.folds).shape[1]
    chosen = scores.chosen
    rule = getattr(scores, "rule", "best")
    rules, what = (NEIGHBORS if hasattr(scores, "neighbors") else RULES), _what(scores)
    finding = rules.get(rule, what.capitalize() + " {alpha} is chosen").format(alpha=number(scores.alphas[chosen]))
    how = f"rule {rule!r} · mean of {folds:,} folds ± one standard error: "
    loss = f"{number(scores.mean[chosen], 4)} ± {number(scores.se[chosen], 2)}"
    side = "largest" if scores.best == 0 else "smallest"
    edge = f"The best {what} is the {side} of the grid: a wider grid might do better." if scores.at_boundary else ""
    return finding, how + loss, edge


def _what(scores: Any) -> str:
    return "number of neighbours" if hasattr(scores, "neighbors") else "alpha"

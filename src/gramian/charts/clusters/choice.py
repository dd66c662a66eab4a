"""The criterion along the number of clusters, with the number chosen."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import ValueAxis
from gramian.charts.marks.text import counted, number
from gramian.charts.theme import WIDTH, Theme, rows, title

HEIGHT = 240
FINDINGS = {
    "bic": "BIC is smallest with {k}",
    "elbow": "The log loss bends most at {k}",
    "gap": "{K} {are} the fewest whose gap the next number does not exceed",
    "penalty": "Loss and penalty together are smallest with {k}",
    "prediction_strength": "{K} {are} the most that one half of the rows predicts of the other",
    "silhouette": "The silhouette is largest with {k}",
    "stability": "{K} {are} the most that halves of the rows agree on",
}
TITLES = {
    "bic": "BIC",
    "elbow": "log loss",
    "gap": "gap",
    "penalty": "loss + penalty",
    "prediction_strength": "prediction strength",
    "silhouette": "silhouette",
    "stability": "agreement of halves",
}
LOWER = ("bic", "elbow", "penalty")


def draw(model: Any, look: Theme) -> Any:
    """Values over the numbers tried, their errors where they have them, and a rule at the number chosen."""
    choice = model.choice_
    tried = np.asarray(choice.n_clusters, dtype=np.int64)
    values = np.asarray(choice.values, dtype=np.float64)
    given = getattr(choice, "errors", None)
    errors = np.zeros(len(values)) if given is None else np.nan_to_num(np.asarray(given, dtype=np.float64))
    there = np.isfinite(values)
    name = TITLES.get(choice.criterion, str(choice.criterion))
    records = [
        {"k": int(k), "value": float(v), "low": float(v - e), "high": float(v + e)}
        for k, v, e in zip(tried[there], values[there], errors[there], strict=True)
    ]
    low = min((record["low"] for record in records), default=0.0)
    high = max((record["high"] for record in records), default=1.0)
    vertical = ValueAxis.over(low, high, name)
    ends = [float(tried.min()) - 0.5, float(tried.max()) + 0.5]
    step = max(1, -(-len(tried) // 20))
    x = alt.X(
        "k:Q",
        scale=alt.Scale(domain=ends, nice=False),
        axis=alt.Axis(title="clusters", values=tried[::step].tolist(), format="d", grid=False),
    )
    y = vertical.encoding("value")
    base = alt.Chart(rows(records)).encode(x=x)
    tooltip = [alt.Tooltip("k:Q", title="clusters"), alt.Tooltip("value:Q", title=name, format=".5~g")]
    layers = [base.mark_line(color=look.accent, strokeWidth=2).encode(y=y)]
    if errors.any():
        bars = base.mark_rule(color=look.accent, strokeWidth=2, opacity=0.45)
        layers.append(bars.encode(y=vertical.encoding("low"), y2="high:Q"))
    layers.append(base.mark_point(color=look.accent, filled=True, size=36, opacity=1).encode(y=y, tooltip=tooltip))
    chosen = [record for record in records if record["k"] == int(choice.chosen)]
    mark = alt.Chart(rows([{"k": int(choice.chosen), "text": "chosen"}])).encode(x=x)
    layers.append(mark.mark_rule(color=look.ink, strokeWidth=1.5))
    layers.append(mark.mark_text(baseline="bottom", color=look.ink, fontSize=12).encode(y=alt.value(-4), text="text:N"))
    layers.append(alt.Chart(rows(chosen)).mark_point(filled=True, size=80, opacity=1, color=look.ink).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title(*_words(model, choice, errors)))


def _words(model: Any, choice: Any, errors: Any) -> tuple[str, str, str]:
    k = int(choice.chosen)
    words = counted(k, "cluster")
    finding = FINDINGS.get(choice.criterion, "{K} {are} chosen").format(k=words, K=words, are="is" if k == 1 else "are")
    tried, values = np.asarray(choice.n_clusters), np.asarray(choice.values, dtype=np.float64)
    at = values[tried == k]
    better = "smaller is better" if choice.criterion in LOWER else "larger is better"
    value = f"{number(at[0], 4)} at {k}" if len(at) and np.isfinite(at[0]) else ""
    facts = [type(model).__name__, f"criterion {choice.criterion!r}, {better}", value]
    notes = ["bars: one standard error"] if errors.any() else []
    if k == tried.max() and len(tried) > 1:
        notes.append("The number chosen is the largest tried: more might do better.")
    return finding, " · ".join(fact for fact in facts if fact), " · ".join(notes)

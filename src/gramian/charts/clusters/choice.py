"""The criterion over the number of clusters, with the number chosen."""

import numpy as np

from gramian._core.types import Chart, Estimator, Floats
from gramian.charts.declaration import ChartKind, has, is_unsupervised
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, vertical_rule
from gramian.charts.marks.text import counted, number
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.structures.number_of_clusters import Choice

HEIGHT = 240
MAX_TICKS = 20
FINDINGS = {
    "bic": "BIC is smallest with {k}",
    "elbow": "The elbow of the log loss is at {k}",
    "gap": "The gap statistic chooses {K}",
    "penalty": "Penalised loss is smallest with {k}",
    "prediction_strength": "{K} {are} the most with high prediction strength",
    "silhouette": "The silhouette is largest with {k}",
    "stability": "{K} {are} the most that are stable between halves of the rows",
}
TITLES = {
    "bic": "BIC",
    "elbow": "log loss",
    "gap": "gap statistic",
    "penalty": "penalised loss",
    "prediction_strength": "prediction strength",
    "silhouette": "silhouette",
    "stability": "agreement between halves",
}
LOWER_IS_BETTER = ("bic", "elbow", "penalty")


def applies(model: Estimator, data: bool) -> bool:
    """Applies to clusterings of which the number of clusters was chosen."""
    return is_unsupervised(model) and has(model, "choice_")


CHART = ChartKind(name="choice", of="fit", order=140, applies=applies)


def draw(model: Estimator, theme: Theme) -> Chart:
    """Values over the numbers tried, their errors where they have them, and a rule at the number chosen."""
    choice = model.choice_
    tried = np.asarray(choice.n_clusters, dtype=np.int64)
    values = np.asarray(choice.values, dtype=np.float64)
    errors = (
        np.zeros(len(values)) if choice.errors is None else np.nan_to_num(np.asarray(choice.errors, dtype=np.float64))
    )
    finite = np.isfinite(values)
    name = TITLES.get(choice.criterion, str(choice.criterion))
    records = [
        {"k": int(k), "value": float(v), "low": float(v - e), "high": float(v + e)}
        for k, v, e in zip(tried[finite], values[finite], errors[finite], strict=True)
    ]
    low = min((record["low"] for record in records), default=0.0)
    high = max((record["high"] for record in records), default=1.0)
    vertical = ValueAxis.over(low, high, name)
    ends = [float(tried.min()) - 0.5, float(tried.max()) + 0.5]
    step = max(1, -(-len(tried) // MAX_TICKS))
    x = alt.X(
        "k:Q",
        scale=alt.Scale(domain=ends, nice=False),
        axis=alt.Axis(title="clusters", values=tried[::step].tolist(), format="d", grid=False),
    )
    y = vertical.encoding("value")
    base = alt.Chart(rows(records)).encode(x=x)
    tooltip = [alt.Tooltip("k:Q", title="clusters"), alt.Tooltip("value:Q", title=name, format=".5~g")]
    layers = [base.mark_line(color=theme.accent, strokeWidth=2).encode(y=y)]
    if errors.any():
        bars = base.mark_rule(color=theme.accent, strokeWidth=2, opacity=0.45)
        layers.append(bars.encode(y=vertical.encoding("low"), y2="high:Q"))
    layers.append(base.mark_point(color=theme.accent, filled=True, size=36, opacity=1).encode(y=y, tooltip=tooltip))
    chosen = [record for record in records if record["k"] == int(choice.chosen)]
    layers += vertical_rule("k", int(choice.chosen), "chosen", x, theme)
    layers.append(alt.Chart(rows(chosen)).mark_point(filled=True, size=80, opacity=1, color=theme.ink).encode(x=x, y=y))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title(*_title(model, choice, errors)))


def _title(model: Estimator, choice: Choice, errors: Floats) -> tuple[str, str, str]:
    k = int(choice.chosen)
    clusters = counted(k, "cluster")
    finding = FINDINGS.get(choice.criterion, "{K} {are} chosen").format(
        k=clusters, K=clusters, are="is" if k == 1 else "are"
    )
    tried, values = np.asarray(choice.n_clusters), np.asarray(choice.values, dtype=np.float64)
    at = values[tried == k]
    better = "smaller is better" if choice.criterion in LOWER_IS_BETTER else "larger is better"
    value = f"{number(at[0], 4)} at {k}" if len(at) and np.isfinite(at[0]) else ""
    facts = [type(model).__name__, f"criterion {choice.criterion!r}, {better}", value]
    notes = ["bars: one standard error"] if errors.any() else []
    if k == tried.max() and len(tried) > 1:
        notes.append("The number chosen is the largest tried: try more.")
    return finding, " · ".join(fact for fact in facts if fact), " · ".join(notes)

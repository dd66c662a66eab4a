"""The validation loss over the number of features, with its standard error."""

import numpy as np

from gramian._core.types import Chart, Estimator
from gramian.charts.declaration import ChartKind, has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, vertical_rule
from gramian.charts.marks.text import feature_names, labels, listed, number
from gramian.charts.theme import WIDTH, Theme, rows, title

HEIGHT = 280
MAX_NAMES = 5


def applies(model: Estimator, data: bool) -> bool:
    """Applies to feature selection by cross-validation."""
    return has(model, "path_", "support_") and has(model.path_, "sizes", "mean") and model.path_.mean is not None


CHART = ChartKind(name="selection", of="fit", order=10, applies=applies)


def draw(model: Estimator, theme: Theme) -> Chart:
    """One dot per number of features with one standard error either side; a rule at the number chosen."""
    path = model.path_
    sizes = np.asarray(path.sizes, dtype=np.float64)
    mean, se = (np.asarray(part, dtype=np.float64) for part in (path.mean, path.se))
    se = np.where(np.isfinite(se), se, 0.0)
    order = np.argsort(sizes, kind="stable")
    records = [
        {"size": float(sizes[i]), "loss": float(mean[i]), "low": float(mean[i] - se[i]), "high": float(mean[i] + se[i])}
        for i in order
        if np.isfinite(mean[i])
    ]
    ends = float(sizes.min()), float(sizes.max())
    x = alt.X(
        "size:Q",
        scale=alt.Scale(domain=[ends[0] - 0.5, ends[1] + 0.5], nice=False, zero=False),
        axis=alt.Axis(title="features", tickMinStep=1, format="d", grid=False),
    )
    vertical = ValueAxis.over(min(r["low"] for r in records), max(r["high"] for r in records), "validation loss")
    y = vertical.encoding("loss")
    base = alt.Chart(rows(records)).encode(x=x)
    bars = base.mark_rule(color=theme.accent, strokeWidth=2, opacity=0.45).encode(
        y=vertical.encoding("low"), y2="high:Q"
    )
    line = base.mark_line(color=theme.accent, strokeWidth=1.5).encode(y=y)
    dots = base.mark_point(color=theme.accent, filled=True, size=45, opacity=1).encode(
        y=y, tooltip=[alt.Tooltip("size:Q", title="features"), alt.Tooltip("loss:Q", format=".4~g")]
    )
    chosen = int(np.count_nonzero(model.support_))
    share = (chosen - ends[0]) / max(ends[1] - ends[0], 1.0)
    align = "right" if share > 0.8 else "left" if share < 0.2 else "center"
    rule = vertical_rule("size", float(chosen), f"{chosen} selected", x, theme, align=align)
    best = int(np.nanargmin(mean))
    loss = f"{number(mean[best], 4)} ± {number(se[best], 2)}"
    facts = f"{type(model).__name__} · smallest validation loss {loss} with {int(sizes[best])} features"
    return alt.layer(*rule, bars, line, dots).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(model, chosen), facts)
    )


def _finding(model: Estimator, chosen: int) -> str:
    support = np.asarray(model.support_, dtype=bool)
    names = labels(feature_names(model))
    kept = np.flatnonzero(support)
    if not kept.size:
        return f"None of {len(support):,} features is selected"
    start = f"{chosen} of {len(support):,} features"
    if kept.size <= MAX_NAMES:
        return f"{start}: {listed([names[j] for j in kept])}"
    order = np.asarray(model.order_ if has(model, "order_") else [], dtype=np.int64)
    if np.array_equal(np.sort(order), kept):  # the order in which they entered
        return f"{start} are selected, {listed([names[j] for j in order[:2]])} first"
    return f"{start} are selected"

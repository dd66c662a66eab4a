"""The weights of a learned metric: the share of each column, and the number of directions."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats
from gramian.charts.declaration import ChartKind, fitted_with
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import counted, feature_names, labels, listed, percent
from gramian.charts.theme import WIDTH, Theme, rows, title

MAX_COLUMNS = 20
STEP = 22
SHARE = 0.9  # of the metric, that the columns in the title have together
MAX_NAMED = 3
CHART = ChartKind(name="metric", of="fit", order=90, applies=fitted_with("metric_weights_"), below="fit")


def draw(model: Estimator, theme: Theme) -> Chart:
    """One bar a column, the largest first."""
    shares = np.asarray(model.metric_weights_, dtype=np.float64)
    order = np.argsort(-shares, kind="stable")
    names = labels(feature_names(model))
    shown = order[:MAX_COLUMNS]
    records = [{"label": names[j], "share": float(shares[j])} for j in shown]
    y = alt.Y(
        "label:N",
        sort=None,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelColor=theme.ink),
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
    )
    x = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0.0, float(shares.max()) * 1.02], nice=False),
        axis=alt.Axis(title="share of the metric, for standardised columns", format="~%", tickCount=6),
    )
    bars = alt.Chart(rows(records)).mark_bar(color=theme.accent, cornerRadiusEnd=2)
    bars = bars.encode(x=x, y=y, tooltip=[alt.Tooltip("label:N"), alt.Tooltip("share:Q", format=".2%")])
    notes = [f"the {len(shown)} largest of {len(order):,} are shown"] if len(shown) < len(order) else []
    metric = model.metric_
    facts = [type(model).__name__, counted(metric.rounds, "iteration"), _directions(metric)]
    return bars.properties(
        width=WIDTH,
        height=alt.Step(STEP),
        title=title(_finding([names[j] for j in order], shares[order]), " · ".join(facts), "; ".join(notes)),
    )


def _finding(names: list[str], shares: Floats) -> str:
    count = int(np.searchsorted(np.cumsum(shares), SHARE) + 1)
    if count > MAX_NAMED:
        return f"{count} of {counted(len(names), 'column')} have {percent(SHARE)} of the learned metric"
    has = "has" if count == 1 else "have"
    return f"{listed(names[:count])} {has} {percent(float(shares[:count].sum()))} of the learned metric"


def _directions(metric: Any) -> str:
    """The number of orthogonal directions of the standardised columns with most of the metric."""
    values = np.sort(metric.spectrum)[::-1]
    count = int(np.searchsorted(np.cumsum(values), SHARE * values.sum()) + 1)
    return f"{percent(float(values[:count].sum() / values.sum()))} of it in {counted(count, 'direction')}"

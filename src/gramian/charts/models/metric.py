"""What a learned metric is made of: the share of each column, and how many directions there are."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.text import Floats, counted, feature_names, labels, listed, percent
from gramian.charts.theme import WIDTH, Theme, rows, title

MOST_ROWS = 20
STEP = 22
MOST = 0.9  # what the columns in the finding have together
MOST_NAMED = 3


def draw(model: Any, look: Theme) -> Any:
    """One bar a column, the largest first."""
    shares = np.asarray(model.metric_weights_, dtype=np.float64)
    order = np.argsort(-shares, kind="stable")
    names = labels(feature_names(model))
    shown = order[:MOST_ROWS]
    records = [{"label": names[j], "share": float(shares[j])} for j in shown]
    y = alt.Y(
        "label:N",
        sort=None,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelColor=look.ink),
        scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2),
    )
    x = alt.X(
        "share:Q",
        scale=alt.Scale(domain=[0.0, float(shares.max()) * 1.02], nice=False),
        axis=alt.Axis(title="share of the metric, columns in standard deviations", format="~%", tickCount=6),
    )
    bars = alt.Chart(rows(records)).mark_bar(color=look.accent, cornerRadiusEnd=2)
    bars = bars.encode(x=x, y=y, tooltip=[alt.Tooltip("label:N"), alt.Tooltip("share:Q", format=".2%")])
    notes = [f"the {len(shown)} largest of {len(order):,} are shown"] if len(shown) < len(order) else []
    found = model._learned
    facts = [type(model).__name__, f"{counted(found.rounds, 'round')} of learning", _directions(found)]
    return bars.properties(
        width=WIDTH,
        height=alt.Step(STEP),
        title=title(_finding([names[j] for j in order], shares[order]), " · ".join(facts), "; ".join(notes)),
    )


def _finding(names: list[str], shares: Floats) -> str:
    count = int(np.searchsorted(np.cumsum(shares), MOST) + 1)
    if count > MOST_NAMED:
        return f"{count} of {counted(len(names), 'column')} have {percent(MOST)} of the learned metric"
    has = "has" if count == 1 else "have"
    return f"{listed(names[:count])} {has} {percent(float(shares[:count].sum()))} of the learned metric"


def _directions(found: Any) -> str:
    """How many directions, at right angles in standard deviations, have most of the metric."""
    values = np.sort(found.spectrum)[::-1]
    count = int(np.searchsorted(np.cumsum(values), MOST * values.sum()) + 1)
    have = "has" if count == 1 else "have"
    return f"{counted(count, 'direction')} {have} {percent(float(values[:count].sum() / values.sum()))} of it"

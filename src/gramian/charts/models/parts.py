"""What each part of a kernel adds to the prediction: curves over single columns, and dots for the rest."""

from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import some
from gramian.charts.marks.text import NO_BREAK, Floats, feature_names, labels, number, percent, plain
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title
from gramian.kernels.algebra import Scaled
from gramian.kernels.columns import On
from gramian.kernels.points import vectors

HEIGHT = 170
MOST_PARTS = 8
MOST_POINTS = 600  # in all panels together
GRID = 160
LONGEST = 36  # letters over a panel


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of a kernel at the rows of the fit: its values, less their mean; of one column also its curve."""

    name: str
    values: Floats
    column: Floats | None = None
    grid: Floats | None = None
    curve: Floats | None = None


def draw(model: Any, look: Theme) -> Any:
    """A panel for each part, the one that varies most first, all on one scale."""
    machine = model._machine
    weight = machine.weight / machine.weight.sum()
    parts = _parts(model, weight)
    total = np.sum([part.values for part in parts], axis=0)
    residual = machine.Y[:, 0] - machine.b[0] - machine.times(machine.points, machine.beta[:, :1])[:, 0]
    variances = np.array([weight @ part.values**2 for part in parts])
    shares = variances / (variances.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")
    shown = order[:MOST_PARTS]
    keep = some(machine.n, max(MOST_POINTS // len(shown), 60))
    curves = [parts[j].curve is not None for j in shown]
    dots = [parts[j].values[keep] + residual[keep] * (parts[j].column is not None) for j in shown]
    ends = [*dots, *(curve for j in shown if (curve := parts[j].curve) is not None)]
    axis = ValueAxis.over(min(float(e.min()) for e in ends), max(float(e.max()) for e in ends), "what it adds")
    names = labels(part.name for part in parts)
    panels = [
        _panel(
            parts[j],
            f"{_short(parts[j].name)} · {percent(shares[j])}",
            dots[i],
            keep,
            total,
            axis,
            look,
            first=i % 2 == 0,
        )
        for i, j in enumerate(shown)
    ]
    words = [
        "line: what a column adds, less its mean; grey dots: the same and the residual of the row"
        if any(curves)
        else "",
        f"{'blue ' if any(curves) else ''}dots: what a part adds to each row, less its mean" if not all(curves) else "",
        _left_out(machine, keep, parts, shown),
    ]
    small = "; ".join(word for word in words if word)
    whole = alt.concat(*panels, columns=2, spacing={"row": 26, "column": 22})
    return whole.properties(title=title(_finding(names, shares, order), _facts(model), small))


def _parts(model: Any, weight: Floats) -> list[Part]:
    summands = model.kernel_.summands(getattr(model, "n_features_in_", None))
    columns = [inner.single for summand in summands if isinstance(inner := _inner(summand)[0], On)]
    found = []
    for summand in summands:
        part = _part(model, summand, weight)
        inner = _inner(summand)[0]
        if part.curve is not None and isinstance(inner, On) and columns.count(inner.single) == 1:
            part = replace(part, name=_column_name(model, inner.single))
        found.append(part)
    return found


def _part(model: Any, summand: Any, weight: Floats) -> Part:
    machine = model._machine
    whole, given = machine.whole[:, :1], machine.given
    values = (summand(given, given) @ whole)[machine.used, 0]
    middle = float(weight @ values)
    inner, factor = _inner(summand)
    on = isinstance(inner, On)
    base = inner.base if on else inner
    one = inner.single is not None if on else getattr(model, "n_features_in_", 0) == 1
    if not one or not base.takes_rows:
        return Part(plain(summand), values - middle)
    X = vectors(inner.chosen(given) if on else given).dense()
    grid = np.linspace(X[machine.used].min(), X[machine.used].max(), GRID)
    curve = factor * (base(grid[:, None], X) @ whole)[:, 0] - middle
    return Part(plain(summand), values - middle, X[machine.used, 0], grid, curve)


def _column_name(model: Any, place: Any) -> str:
    known = hasattr(model, "n_features_in_") and not isinstance(place, str)
    return feature_names(model)[place] if known else plain(place)


def _inner(summand: Any) -> tuple[Any, float]:
    """A kernel without the number before it, and that number."""
    factor = 1.0
    while isinstance(summand, Scaled):
        summand, factor = summand.base, factor * float(summand.factor)
    return summand, factor


def _panel(
    part: Part, name: str, dots: Floats, keep: Any, total: Floats, axis: ValueAxis, look: Theme, *, first: bool
) -> Any:
    across = total if part.column is None else part.column
    low, high = float(across.min()), float(across.max())
    pad = 0.03 * (high - low) or 0.5
    words = "all parts together" if part.column is None else None
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=linear_axis(words, low, high, grid=False, tickCount=5),
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False),
        axis=linear_axis(
            axis.title if first else None,
            axis.low,
            axis.high,
            tickCount=5,
            minExtent=LEFT if first else 0,
            labels=first,
        ),
    )
    records = [{"x": float(a), "y": float(b)} for a, b in zip(across[keep], dots, strict=True)]
    layers = [
        alt.Chart(rows([{"y": 0.0}])).mark_rule(color=look.muted, strokeWidth=1).encode(y=y),
        alt.Chart(rows(records)).mark_circle(size=16, opacity=0.4, color=look.muted).encode(x=x, y=y),
    ]
    if part.curve is not None and part.grid is not None:
        line = [{"x": float(a), "y": float(b)} for a, b in zip(part.grid, part.curve, strict=True)]
        layers.append(alt.Chart(rows(line)).mark_line(color=look.accent, strokeWidth=2.2).encode(x=x, y=y))
    else:
        layers[1] = layers[1].mark_circle(size=18, opacity=0.6, color=look.accent)
    heading = alt.TitleParams(
        name, fontSize=12, fontWeight="normal", color=look.ink, offset=6, anchor="start", frame="group"
    )
    return alt.layer(*layers).properties(width=int(WIDTH / 2) - 20, height=HEIGHT, title=heading)


def _finding(names: list[str], shares: Floats, order: Any) -> str:
    first = order[0]
    if not shares.any():
        return "No part changes from row to row"
    if shares[first] > 0.9:
        return f"Nearly all that changes is {names[first]}: {percent(shares[first])} of the parts' variance"
    both = f"{names[order[0]]} and {names[order[1]]} vary most"
    return f"{both}: {percent(shares[order[0]])} and {percent(shares[order[1]])} of the parts' variance"


def _facts(model: Any) -> str:
    machine = model._machine
    words = [type(model).__name__, f"alpha {number(machine.alpha)}", f"n {machine.n:,}"]
    words += [f"target 0 of {machine.Y.shape[1]}"] if machine.Y.shape[1] > 1 else []
    return " · ".join(words)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _left_out(machine: Any, keep: Any, parts: list[Part], shown: Any) -> str:
    words = [f"{len(keep):,} of {machine.n:,} rows"] if len(keep) < machine.n else []
    words += [f"{len(shown)} of {len(parts)} parts"] if len(shown) < len(parts) else []
    return " and ".join(words).replace(" ", NO_BREAK) + " are shown" if words else ""

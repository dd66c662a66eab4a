"""The contribution of each summand of a kernel to the prediction: curves over single columns, dots for the rest."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Ints
from gramian.charts.declaration import ChartKind, has, regresses
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import sample
from gramian.charts.marks.text import NO_BREAK, feature_names, labels, number, percent, plain
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title
from gramian.kernels.algebra import Scaled
from gramian.kernels.base import Kernel
from gramian.kernels.columns import On
from gramian.kernels.points import vectors

HEIGHT = 170
MAX_PARTS = 8
MAX_POINTS = 600  # in all panels together
GRID = 160
MAX_NAME_LENGTH = 36


def applies(model: Estimator, data: bool) -> bool:
    """Applies to kernel ridge regression with a kernel of several summands."""
    return regresses(model) and has(model, "dual_solution_") and len(_summands(model)) > 1


CHART = ChartKind(name="parts", of="fit", order=30, applies=applies)


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of a kernel at the training rows: its centred values; of one column also its curve."""

    name: str
    values: Floats
    column: Floats | None = None
    grid: Floats | None = None
    curve: Floats | None = None


def draw(model: Estimator, theme: Theme) -> Chart:
    """A panel for each part, the one with the largest variance first, all on one scale."""
    solution = model.dual_solution_
    problem = solution.problem
    weight = problem.weight / problem.weight.sum()
    parts = _parts(model, weight)
    total = np.sum([part.values for part in parts], axis=0)
    residual = (problem.Y - solution.fitted_values())[:, 0]
    variances = np.array([weight @ part.values**2 for part in parts])
    shares = variances / (variances.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")
    shown = order[:MAX_PARTS]
    keep = sample(problem.n, max(MAX_POINTS // len(shown), 60))
    curves = [parts[j].curve is not None for j in shown]
    dots = [parts[j].values[keep] + residual[keep] * (parts[j].column is not None) for j in shown]
    ends = [*dots, *(curve for j in shown if (curve := parts[j].curve) is not None)]
    axis = ValueAxis.over(min(float(e.min()) for e in ends), max(float(e.max()) for e in ends), "contribution")
    names = labels(part.name for part in parts)
    panels = [
        _panel(
            parts[j],
            f"{_short(parts[j].name)} · {percent(shares[j])}",
            dots[i],
            keep,
            total,
            axis,
            theme,
            first=i % 2 == 0,
        )
        for i, j in enumerate(shown)
    ]
    notes = [
        "line: centred contribution of a column; grey dots: the same plus the residual" if any(curves) else "",
        f"{'blue ' if any(curves) else ''}dots: centred contribution to each row" if not all(curves) else "",
        _omitted(problem.n, keep, parts, shown),
    ]
    caption = "; ".join(note for note in notes if note)
    whole = alt.concat(*panels, columns=2, spacing={"row": 26, "column": 22})
    return whole.properties(title=title(_finding(names, shares, order), _facts(model), caption))


def _summands(model: Estimator) -> list[Kernel]:
    return list(model.kernel_.summands(model.n_features_in_ if has(model, "n_features_in_") else None))


def _parts(model: Estimator, weight: Floats) -> list[Part]:
    summands = _summands(model)
    columns = [inner.single for summand in summands if isinstance(inner := _inner(summand)[0], On)]
    parts = []
    for summand in summands:
        part = _part(model, summand, weight)
        inner = _inner(summand)[0]
        if part.curve is not None and isinstance(inner, On) and columns.count(inner.single) == 1:
            part = replace(part, name=_column_name(model, inner.single))
        parts.append(part)
    return parts


def _part(model: Estimator, summand: Any, weight: Floats) -> Part:
    solution = model.dual_solution_
    used, training = solution.problem.index, solution.problem.X
    dual = np.zeros((solution.problem.n_rows, 1))
    dual[used] = solution.beta[:, :1]
    values = (summand(training, training) @ dual)[used, 0]
    middle = float(weight @ values)
    inner, factor = _inner(summand)
    on = isinstance(inner, On)
    base = inner.base if on else inner
    one_column = inner.single is not None if on else has(model, "n_features_in_") and model.n_features_in_ == 1
    if not one_column or not base.takes_rows:
        return Part(plain(summand), values - middle)
    X = vectors(inner.chosen(training) if on else training).dense()
    grid = np.linspace(X[used].min(), X[used].max(), GRID)
    curve = factor * (base(grid[:, None], X) @ dual)[:, 0] - middle
    return Part(plain(summand), values - middle, X[used, 0], grid, curve)


def _column_name(model: Estimator, place: Any) -> str:
    by_index = has(model, "n_features_in_") and not isinstance(place, str)
    return feature_names(model)[place] if by_index else plain(place)


def _inner(summand: Any) -> tuple[Any, float]:
    """A kernel without its factor, and the factor."""
    factor = 1.0
    while isinstance(summand, Scaled):
        summand, factor = summand.base, factor * float(summand.factor)
    return summand, factor


def _panel(
    part: Part, name: str, dots: Floats, keep: Ints, total: Floats, axis: ValueAxis, theme: Theme, *, first: bool
) -> Chart:
    across = total if part.column is None else part.column
    low, high = float(across.min()), float(across.max())
    pad = 0.03 * (high - low) or 0.5
    name_of_x = "sum of all parts" if part.column is None else None
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=linear_axis(name_of_x, low, high, grid=False, tickCount=5),
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
        alt.Chart(rows([{"y": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(y=y),
        alt.Chart(rows(records)).mark_circle(size=16, opacity=0.4, color=theme.muted).encode(x=x, y=y),
    ]
    if part.curve is not None and part.grid is not None:
        line = [{"x": float(a), "y": float(b)} for a, b in zip(part.grid, part.curve, strict=True)]
        layers.append(alt.Chart(rows(line)).mark_line(color=theme.accent, strokeWidth=2.2).encode(x=x, y=y))
    else:
        layers[1] = layers[1].mark_circle(size=18, opacity=0.6, color=theme.accent)
    heading = alt.TitleParams(
        name, fontSize=12, fontWeight="normal", color=theme.ink, offset=6, anchor="start", frame="group"
    )
    return alt.layer(*layers).properties(width=int(WIDTH / 2) - 20, height=HEIGHT, title=heading)


def _finding(names: list[str], shares: Floats, order: Ints) -> str:
    first = order[0]
    if not shares.any():
        return "Every part is constant"
    if shares[first] > 0.9:
        return f"{names[first]} has {percent(shares[first])} of the variance of the parts"
    largest = f"{names[order[0]]} and {names[order[1]]} have the largest variances"
    return f"{largest}: {percent(shares[order[0]])} and {percent(shares[order[1]])} of the parts"


def _facts(model: Estimator) -> str:
    problem = model.dual_solution_.problem
    facts = [type(model).__name__, f"alpha {number(model.alpha_)}", f"n {problem.n:,}"]
    facts += [f"target 0 of {problem.Y.shape[1]}"] if problem.Y.shape[1] > 1 else []
    return " · ".join(facts)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…"


def _omitted(n: int, keep: Ints, parts: list[Part], shown: Ints) -> str:
    facts = [f"{len(keep):,} of {n:,} rows"] if len(keep) < n else []
    facts += [f"{len(shown)} of {len(parts)} parts"] if len(shown) < len(parts) else []
    return " and ".join(facts).replace(" ", NO_BREAK) + " are shown" if facts else ""

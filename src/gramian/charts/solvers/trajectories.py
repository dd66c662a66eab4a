"""Trajectories of solvers on one problem: how the objective falls, and over two coefficients the ways they take."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import linear_axis, log_axis, step_encoding
from gramian.charts.marks.contours import contours, simplified
from gramian.charts.marks.text import Floats, labels, number
from gramian.charts.solvers.objective_contours import GRID, Landscape, recorder_of
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 320
PANEL = 380  # width of each of two panels
MOST_POINTS = 400  # of one trajectory
NEAR = 1e-6  # of the first gap: where a method has arrived
EPS = 1e-16
LEVELS = 12
WIDEST, THINNEST = 4.5, 1.5


def draw(models: dict[str, Any], look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """The gaps of all models over their iterations; with their data, the paths over the objective beside them."""
    names = labels(models)
    fitted = list(models.values())
    _refuse_different(models)
    histories = [_history(name, model) for name, model in models.items()]
    best = min(float(np.nanmin(values)) for _, values in histories)
    floor = EPS * max(abs(best), max(float(np.nanmax(values[np.isfinite(values)])) - best for _, values in histories))
    gaps = [(steps, np.maximum(values - best, floor if floor > 0 else 1e-300)) for steps, values in histories]
    width = WIDTH if X is None else PANEL
    curves = _curves(names, gaps, look, width)
    facts = f"{_problem(fitted[0])} · best objective {number(best, 6)}"
    notes = ["objective above the best that any of them found; iterations of different methods cost differently"]
    if X is None:
        return curves.properties(title=title(_finding(names, gaps), facts, *notes))
    paths, note = _paths(names, fitted, X, y, sample_weight, look)
    whole = alt.hconcat(paths, curves, spacing=36).resolve_scale(
        color="shared", strokeDash="shared", strokeWidth="shared"
    )
    return whole.properties(title=title(_finding(names, gaps), facts, *notes, *note))


def _history(name: str, model: Any) -> tuple[Floats, Floats]:
    history = getattr(model, "history_", None)
    if not history:
        raise ValueError(
            f"The model {name!r}, a {type(model).__name__}, has no history_: it was not solved step by step."
        )
    table = np.array([entry[:2] for entry in history], dtype=np.float64)
    return table[:, 0], table[:, 1]


def _refuse_different(models: dict[str, Any]) -> None:
    """One problem: the same loss, penalty and strength."""
    first: tuple[str, dict[str, str]] | None = None
    for name, model in models.items():
        mine = {
            "loss": repr(getattr(model, "_loss", None)),
            "penalty": repr(getattr(model, "penalty", None)),
            "alpha": f"{getattr(model, 'alpha_', 0.0):.12g}",
            "fit_intercept": repr(getattr(model, "fit_intercept", None)),
        }
        first = first or (name, mine)
        for key, value in mine.items():
            if value != first[1][key]:
                raise ValueError(
                    f"The models solve different problems: {key} is {first[1][key]} for {first[0]!r} and {value} for "
                    f"{name!r}. Give models that differ in their solver alone."
                )


def _colour(names: list[str], look: Theme) -> dict[str, Any]:
    """Colours, and dashes where they come round again."""
    colours = [look.of_class(j) for j in range(len(names))]
    dashes = [[1, 0] if j < len(look.palette) else [5, 3] for j in range(len(names))]
    legend = alt.Legend(title=None, orient="top", offset=6, symbolType="stroke", symbolStrokeWidth=3, columns=4)
    return {
        "color": alt.Color("solver:N", sort=names, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(
            "solver:N", sort=names, scale=alt.Scale(domain=names, range=dashes), legend=legend
        ),
    }


def _curves(names: list[str], gaps: list[tuple[Floats, Floats]], look: Theme, width: int) -> Any:
    records: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for name, (steps, gap) in zip(names, gaps, strict=True):
        kept = _spaced(len(steps))
        records += [
            {"step": float(steps[i]), "gap": float(gap[i]), "solver": name} for i in kept if np.isfinite(gap[i])
        ]
        ends.append({"step": float(steps[-1]), "gap": float(gap[-1]), "solver": name})
    low, high = min(r["gap"] for r in records), max(r["gap"] for r in records)
    low, high = low / 2.0, high * 2.0
    y = alt.Y(
        "gap:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=log_axis("objective above the best", low, high, minExtent=LEFT),
    )
    x = step_encoding(int(max(steps[-1] for steps, _ in gaps)), "iterations", width=width)
    encoding = _colour(names, look)
    lines = _one_by_one(records, names, x=x, y=y, order="step:Q", **encoding)
    dots = alt.Chart(rows(ends)).mark_point(filled=True, size=55, opacity=1).encode(x=x, y=y, color=encoding["color"])
    tooltip = [alt.Tooltip("solver:N"), alt.Tooltip("step:Q", title="iterations"), alt.Tooltip("gap:Q", format=".3~g")]
    return alt.layer(*lines, dots.encode(tooltip=tooltip)).properties(width=width, height=HEIGHT)


def _one_by_one(records: list[dict[str, Any]], names: list[str], **encoding: Any) -> list[Any]:
    """A line for each solver, the later the thinner: those that lie on each other are all seen."""
    widths = np.linspace(WIDEST, THINNEST, len(names)) if len(names) > 1 else [2.0]
    lines = []
    for name, width in zip(names, widths, strict=True):
        own = [record for record in records if record["solver"] == name]
        lines.append(
            alt.Chart(rows(own)).mark_line(strokeWidth=float(width), strokeJoin="round", clip=True).encode(**encoding)
        )
    return lines


def _spaced(n: int) -> Any:
    """Places of at most so many of n steps, the early ones closer."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.unique(np.concatenate([[0], np.geomspace(1, n - 1, MOST_POINTS).astype(np.int64), [n - 1]]))


def _paths(
    names: list[str], models: list[Any], X: Any, y: Any, sample_weight: Any, look: Theme
) -> tuple[Any, list[str]]:
    ground = Landscape.of(models[0], X, y, sample_weight)
    begin, value = ground.start()
    ways = []
    for name, model in zip(names, models, strict=True):
        recorder = recorder_of(model)
        if recorder is None or not recorder.thetas:
            raise ValueError(
                f"The path of {name!r} was not recorded: fit it with callbacks=[gm.charts.Recorder()], or leave X and "
                "y out."
            )
        way = np.array([theta[0] for theta in recorder.thetas])
        if abs(model.history_[0][1] - value) <= 1e-9 * max(abs(value), 1.0):
            way = np.vstack([begin, way])
        ways.append(way[np.isfinite(way).all(axis=1)][:, :2])
    every = np.vstack([*ways, ground.best[None, :2]])
    low, high = every.min(axis=0), every.max(axis=0)
    pad = np.maximum(0.18 * (high - low), 0.05 * np.abs(high - low).max() + 1e-12)
    gx, gy, Z, used = ground.grid(low - pad, high + pad)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[float(gx[0]), float(gx[-1])], nice=False, zero=False),
        axis=linear_axis(ground.names[0], float(gx[0]), float(gx[-1]), grid=False, tickCount=5),
    )
    up = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[float(gy[0]), float(gy[-1])], nice=False, zero=False),
        axis=linear_axis(ground.names[1], float(gy[0]), float(gy[-1]), grid=False, tickCount=5, minExtent=LEFT),
    )
    layers = [_levels(gx, gy, Z, x, up, look)]
    records: list[dict[str, Any]] = []
    for name, way in zip(names, ways, strict=True):
        points = way * ground.scale
        kept = _spaced(len(points))
        records += [
            {"x": float(points[i, 0]), "y": float(points[i, 1]), "at": at, "solver": name} for at, i in enumerate(kept)
        ]
    encoding = _colour(names, look)
    layers += _one_by_one(records, names, x=x, y=up, order="at:Q", **encoding)
    few = [record for record in records if record["at"] <= 40]
    layers.append(
        alt.Chart(rows(few)).mark_circle(size=16, opacity=1, clip=True).encode(x=x, y=up, color=encoding["color"])
    )
    goal = ground.best[:2] * ground.scale
    star = alt.Chart(rows([{"x": float(goal[0]), "y": float(goal[1])}]))
    layers.append(
        star.mark_point(shape="cross", angle=45, size=110, filled=True, opacity=1, color=look.ink).encode(x=x, y=up)
    )
    notes = [f"contours of the objective{_held(ground)}; cross: the optimum of {names[0]}"]
    if used < len(ground.rows):
        notes.append(f"contours from {used:,} of {len(ground.rows):,} rows")
    return alt.layer(*layers).properties(width=PANEL, height=HEIGHT), ["; ".join(notes)]


def _held(ground: Landscape) -> str:
    return ", its intercept at its best" if ground.rows.shape[1] == 3 else ""


def _levels(gx: Floats, gy: Floats, Z: Floats, x: Any, y: Any, look: Theme) -> Any:
    """Contours at levels that come closer towards the minimum."""
    finite = Z[np.isfinite(Z)]
    low, high = float(finite.min()), float(np.quantile(finite, 0.98))
    levels = low + (high - low) * np.linspace(0.07, 1.0, LEVELS) ** 2
    cell = np.array([np.ptp(gx), np.ptp(gy)]) / (GRID - 1)
    records = []
    for place, level in enumerate(levels):
        for part, line in enumerate(contours(gx, gy, Z, float(level))):
            kept = simplified(line / cell, 0.04) * cell
            records += [
                {"x": float(a), "y": float(b), "line": f"{place}.{part}", "at": at, "level": float(level)}
                for at, (a, b) in enumerate(kept)
            ]
    base = alt.Chart(rows(records)).mark_line(color=look.faint, strokeWidth=1, clip=True, strokeJoin="round")
    return base.encode(x=x, y=y, detail="line:N", order="at:Q")


def _finding(names: list[str], gaps: list[tuple[Floats, Floats]]) -> str:
    first = max(float(gap[0]) for _, gap in gaps)
    needed = {}
    for name, (steps, gap) in zip(names, gaps, strict=True):
        arrived = np.flatnonzero(gap <= NEAR * first)
        needed[name] = int(steps[arrived[0]]) if arrived.size else None
    there = {name: steps for name, steps in needed.items() if steps is not None}
    if not there:
        return "No method comes within a millionth of its first gap"
    fastest = min(there, key=lambda name: there[name])
    start = f"{fastest} closes the gap to a millionth in {there[fastest]:,} iterations"
    others = [name for name in names if name != fastest]
    if not others:
        return start
    never = [name for name in others if name not in there]
    if never:
        name = never[0] if len(never) == 1 else f"{len(never)} others"
        return f"{start}; {name} {'does' if len(never) == 1 else 'do'} not get there"
    slowest = max(others, key=lambda name: there[name])
    return f"{start}, {slowest} in {there[slowest]:,}"


def _problem(model: Any) -> str:
    words = [type(model).__name__]
    loss = getattr(model, "_loss", None)
    words += [f"loss {type(loss).__name__}"] if loss is not None else []
    words += [f"alpha {number(model.alpha_)}"] if getattr(model, "alpha_", None) else []
    return " · ".join(words)

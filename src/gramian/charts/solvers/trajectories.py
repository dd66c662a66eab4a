"""Trajectories of solvers on one problem: the objective over the iterations, and the paths over two coefficients."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Record, Table, Values, Weights
from gramian.charts.declaration import has, loss_of
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis, log_axis, step_encoding
from gramian.charts.marks.contours import contours, simplified
from gramian.charts.marks.text import labels, number
from gramian.charts.solvers.objective_contours import GRID, ObjectiveSurface, recorder_of
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 320
PANEL = 380  # width of each of two panels
MAX_POINTS = 400  # of one trajectory
CONVERGED = 1e-6  # of the first gap
EPS = 1e-16
LEVELS = 12
MAX_STROKE, MIN_STROKE = 4.5, 1.5
MAX_DOTS = 40  # of one path


def draw(
    models: dict[str, Estimator], theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """The gaps of all models over their iterations; with their data, beside the paths over the objective."""
    names = labels(models)
    fitted = list(models.values())
    _refuse_different(models)
    histories = [_history(name, model) for name, model in models.items()]
    best = min(float(np.nanmin(values)) for _, values in histories)
    floor = EPS * max(abs(best), max(float(np.nanmax(values[np.isfinite(values)])) - best for _, values in histories))
    gaps = [(steps, np.maximum(values - best, floor if floor > 0 else 1e-300)) for steps, values in histories]
    width = WIDTH if X is None else PANEL
    curves = _curves(names, gaps, theme, width)
    facts = f"{_problem(fitted[0])} · best objective {number(best, 6)}"
    notes = ["objective minus the smallest value reached; iterations of different solvers differ in cost"]
    if X is None:
        return curves.properties(title=title(_finding(names, gaps), facts, *notes))
    paths, note = _paths(names, fitted, X, y, sample_weight, theme)
    whole = alt.hconcat(paths, curves, spacing=36).resolve_scale(
        color="shared", strokeDash="shared", strokeWidth="shared"
    )
    return whole.properties(title=title(_finding(names, gaps), facts, *notes, *note))


def _history(name: str, model: Estimator) -> tuple[Floats, Floats]:
    history = model.history_ if has(model, "history_") else None
    if not history:
        raise ValueError(
            f"The model {name!r}, a {type(model).__name__}, has no history_: it was not fitted by iterations."
        )
    table = np.array([entry[:2] for entry in history], dtype=np.float64)
    return table[:, 0], table[:, 1]


def _refuse_different(models: dict[str, Estimator]) -> None:
    """One problem: the same loss, penalty and alpha."""
    first: tuple[str, dict[str, str]] | None = None
    for name, model in models.items():
        problem = {
            "loss": repr(loss_of(model)),
            "penalty": repr(model.penalty if has(model, "penalty") else None),
            "alpha": f"{model.alpha_ if has(model, 'alpha_') else 0.0:.12g}",
            "fit_intercept": repr(model.fit_intercept if has(model, "fit_intercept") else None),
        }
        first = first or (name, problem)
        for key, value in problem.items():
            if value != first[1][key]:
                raise ValueError(
                    f"The models solve different problems: {key} is {first[1][key]} for {first[0]!r} and {value} for "
                    f"{name!r}. Give models that differ in their solver alone."
                )


def _colour(names: list[str], theme: Theme) -> dict[str, Any]:
    """Colours, and dashes where the colours repeat."""
    colours = [theme.of_class(j) for j in range(len(names))]
    dashes = [[1, 0] if j < len(theme.palette) else [5, 3] for j in range(len(names))]
    legend = alt.Legend(title=None, orient="top", offset=6, symbolType="stroke", symbolStrokeWidth=3, columns=4)
    return {
        "color": alt.Color("solver:N", sort=names, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(
            "solver:N", sort=names, scale=alt.Scale(domain=names, range=dashes), legend=legend
        ),
    }


def _curves(names: list[str], gaps: list[tuple[Floats, Floats]], theme: Theme, width: int) -> Chart:
    records: list[Record] = []
    ends: list[Record] = []
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
        axis=log_axis("objective − smallest value", low, high, minExtent=LEFT),
    )
    x = step_encoding(int(max(steps[-1] for steps, _ in gaps)), "iterations", width=width)
    encoding = _colour(names, theme)
    lines = _lines(records, names, x=x, y=y, order="step:Q", **encoding)
    dots = alt.Chart(rows(ends)).mark_point(filled=True, size=55, opacity=1).encode(x=x, y=y, color=encoding["color"])
    tooltip = [alt.Tooltip("solver:N"), alt.Tooltip("step:Q", title="iterations"), alt.Tooltip("gap:Q", format=".3~g")]
    return alt.layer(*lines, dots.encode(tooltip=tooltip)).properties(width=width, height=HEIGHT)


def _lines(records: list[Record], names: list[str], **encoding: Any) -> list[Chart]:
    """A line for each solver, later ones thinner, so that coinciding lines are visible."""
    widths = np.linspace(MAX_STROKE, MIN_STROKE, len(names)) if len(names) > 1 else [2.0]
    lines = []
    for name, width in zip(names, widths, strict=True):
        own = [record for record in records if record["solver"] == name]
        lines.append(
            alt.Chart(rows(own)).mark_line(strokeWidth=float(width), strokeJoin="round", clip=True).encode(**encoding)
        )
    return lines


def _spaced(n: int) -> Chart:
    """Indices of at most MAX_POINTS of n steps, the early ones denser."""
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.unique(np.concatenate([[0], np.geomspace(1, n - 1, MAX_POINTS).astype(np.int64), [n - 1]]))


def _paths(
    names: list[str], models: list[Estimator], X: Table, y: Values | None, sample_weight: Weights, theme: Theme
) -> tuple[Chart, list[str]]:
    surface = ObjectiveSurface.of(models[0], X, y, sample_weight)
    start, value = surface.start()
    paths = []
    for name, model in zip(names, models, strict=True):
        recorder = recorder_of(model)
        if recorder is None or not recorder.thetas:
            raise ValueError(
                f"The path of {name!r} was not recorded: fit it with callbacks=[gm.charts.Recorder()], or leave X and "
                "y out."
            )
        path = np.array([theta[0] for theta in recorder.thetas])
        if abs(model.history_[0][1] - value) <= 1e-9 * max(abs(value), 1.0):
            path = np.vstack([start, path])
        paths.append(path[np.isfinite(path).all(axis=1)][:, :2])
    points = np.vstack([*paths, surface.best[None, :2]])
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.maximum(0.18 * (high - low), 0.05 * np.abs(high - low).max() + 1e-12)
    gx, gy, Z, used = surface.grid(low - pad, high + pad)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[float(gx[0]), float(gx[-1])], nice=False, zero=False),
        axis=linear_axis(surface.names[0], float(gx[0]), float(gx[-1]), grid=False, tickCount=5),
    )
    up = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[float(gy[0]), float(gy[-1])], nice=False, zero=False),
        axis=linear_axis(surface.names[1], float(gy[0]), float(gy[-1]), grid=False, tickCount=5, minExtent=LEFT),
    )
    layers = [_levels(gx, gy, Z, x, up, theme)]
    records: list[Record] = []
    for name, path in zip(names, paths, strict=True):
        points = path * surface.scale
        kept = _spaced(len(points))
        records += [
            {"x": float(points[i, 0]), "y": float(points[i, 1]), "at": at, "solver": name} for at, i in enumerate(kept)
        ]
    encoding = _colour(names, theme)
    layers += _lines(records, names, x=x, y=up, order="at:Q", **encoding)
    first = [record for record in records if record["at"] <= MAX_DOTS]
    layers.append(
        alt.Chart(rows(first)).mark_circle(size=16, opacity=1, clip=True).encode(x=x, y=up, color=encoding["color"])
    )
    optimum = surface.best[:2] * surface.scale
    cross = alt.Chart(rows([{"x": float(optimum[0]), "y": float(optimum[1])}]))
    layers.append(
        cross.mark_point(shape="cross", angle=45, size=110, filled=True, opacity=1, color=theme.ink).encode(x=x, y=up)
    )
    notes = [f"contours of the objective{_intercept_note(surface)}; cross: the optimum of {names[0]}"]
    if used < len(surface.rows):
        notes.append(f"contours from {used:,} of {len(surface.rows):,} rows")
    return alt.layer(*layers).properties(width=PANEL, height=HEIGHT), ["; ".join(notes)]


def _intercept_note(surface: ObjectiveSurface) -> str:
    return " at the optimal intercept" if surface.rows.shape[1] == 3 else ""


def _levels(gx: Floats, gy: Floats, Z: Floats, x: Chart, y: Chart, theme: Theme) -> Chart:
    """Contours at levels that are denser towards the minimum."""
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
    base = alt.Chart(rows(records)).mark_line(color=theme.faint, strokeWidth=1, clip=True, strokeJoin="round")
    return base.encode(x=x, y=y, detail="line:N", order="at:Q")


def _finding(names: list[str], gaps: list[tuple[Floats, Floats]]) -> str:
    first = max(float(gap[0]) for _, gap in gaps)
    needed = {}
    for name, (steps, gap) in zip(names, gaps, strict=True):
        converged = np.flatnonzero(gap <= CONVERGED * first)
        needed[name] = int(steps[converged[0]]) if converged.size else None
    iterations = {name: steps for name, steps in needed.items() if steps is not None}
    if not iterations:
        return "No solver reduces the gap to a millionth"
    fastest = min(iterations, key=lambda name: iterations[name])
    start = f"{fastest} reduces the gap to a millionth in {iterations[fastest]:,} iterations"
    others = [name for name in names if name != fastest]
    if not others:
        return start
    unconverged = [name for name in others if name not in iterations]
    if unconverged:
        name = unconverged[0] if len(unconverged) == 1 else f"{len(unconverged)} others"
        return f"{start}; {name} {'does' if len(unconverged) == 1 else 'do'} not"
    slowest = max(others, key=lambda name: iterations[name])
    return f"{start}, {slowest} in {iterations[slowest]:,}"


def _problem(model: Estimator) -> str:
    facts = [type(model).__name__]
    loss = loss_of(model)
    facts += [f"loss {type(loss).__name__}"] if loss is not None else []
    facts += [f"alpha {number(model.alpha_)}"] if has(model, "alpha_") and model.alpha_ else []
    return " · ".join(facts)

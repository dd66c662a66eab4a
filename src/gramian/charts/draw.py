"""Which charts a fitted model has, and the one door to them."""

from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted

INSTALL = 'Charts need Altair, which is not installed: pip install "gramian[app]"'
THEMES = ("light", "dark")


def kinds(model: Any) -> list[str]:
    """The kinds of chart that a fitted model has, by what it knows about itself.

    >>> import gramian as gm
    >>> kinds(gm.Ridge(alpha=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]))
    ['coefficients']
    """
    path = getattr(model, "path_", None)
    has = {
        "selection": hasattr(path, "sizes") and getattr(path, "mean", None) is not None and hasattr(model, "support_"),
        "path": len(getattr(path, "alphas", ())) > 1,
        "scores": hasattr(model, "scores_"),
        "coefficients": hasattr(model, "coef_"),
    }
    return [kind for kind, there in has.items() if there]


def chart(model: Any, kind: str | None = None, *, theme: str = "light") -> Any:
    """One Altair chart of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    kind : "coefficients", "path", "scores" or "selection", optional
        Coefficients with their 95 % intervals where theory gives them; their path over alpha; the validation loss over
        alpha; the validation loss over the number of features. By default the path above the validation loss where
        alpha was chosen, else the first of selection, path, coefficients that there is.
    theme : "light" or "dark"

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.LinearRegression().fit([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> chart(model).to_dict()["title"]["text"]
    ['The one coefficient is clearly not zero']
    """
    check_is_fitted(model)
    if theme not in THEMES:
        raise ValueError(f"theme is {theme!r}; it must be 'light' or 'dark'.")
    available = kinds(model)
    name = type(model).__name__
    if not available:
        raise ValueError(f"{name} has nothing to draw: no coefficients, path or scores.")
    if kind is not None and kind not in available:
        raise ValueError(f"This {name} has no chart {kind!r}; it has {', '.join(map(repr, available))}.")
    try:
        import_module("altair")
    except ImportError as error:
        raise ImportError(INSTALL) from error
    style = import_module("gramian.charts.theme")
    parts = [kind] if kind is not None else _default(available)
    look = style.LOOKS[theme]
    drawn = [import_module(f"gramian.charts.{part}").draw(model, look) for part in parts]
    return style.finished(drawn, look)


def _default(available: list[str]) -> list[str]:
    if "path" in available and "scores" in available:
        return ["path", "scores"]
    return [next(kind for kind in ("selection", "path", "coefficients", "scores") if kind in available)]

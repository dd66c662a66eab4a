"""What lets a fitted object draw itself."""

from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted


class Charted:
    """Adds `chart()`."""

    def chart(self, kind: str | None = None, *, theme: str = "light") -> Any:
        """One Altair chart of the fit (extra `app`); `kind` chooses which where there are several.

        Parameters
        ----------
        kind : str, optional
            "coefficients", "path", "scores" or "selection", as far as the fit has them.
        theme : "light" or "dark"
        """
        check_is_fitted(self)
        # Charts stand to the right of everything that draws itself, so they are looked up by name when asked for.
        return import_module("gramian.charts").chart(self, kind, theme=theme)

"""`chart()` of fitted models and of results."""

from importlib import import_module
from typing import ClassVar

from sklearn.utils.validation import check_is_fitted

from gramian._core.fitted.training_rows import TrainingRows, remembering
from gramian._core.types import Chart, Table, Values, Weights


class Drawn:
    """Adds `chart()` to a result or a structure, and the charts that are its own."""

    own_charts: ClassVar[tuple[str, ...]] = ()  # of an estimator none: its fitted attributes decide
    axes_have_units: ClassVar[bool] = True  # else charts of its embedding have no ticks

    def chart(
        self,
        kind: str | None = None,
        X: Table = None,
        y: Values | None = None,
        *,
        sample_weight: Weights = None,
        theme: str = "light",
    ) -> Chart:
        """One Altair chart (extra `app`); `kind` chooses which where there are several.

        Parameters
        ----------
        kind : str, optional
            Of the fit alone "coefficients", "path", "scores" or "selection", with a kernel "parts", "fit" or "metric",
            as far as it has them. With X and y of a classifier "roc", "pr", "calibration", "confusion", and "boundary"
            of two features, which needs no y; of a regressor "residuals". Of clusters "clusters", with X also the
            rows, of a number that was chosen "choice", and with X of a mixture "responsibilities"; of a hierarchical
            clustering "dendrogram", of `SpectralClustering` "embedding" and of "auto" "eigengap"; of embeddings
            "embedding", with y in colours; of principal components "scree", "biplot", and with X "embedding"; of minor
            components "equations".
            Results of `gm.selection` have one of their own, and `evaluate`'s with y those of its predictions.
        X : array, data frame, sparse matrix or Rows, optional
            Rows to predict; `Rows` bring their target and weights.
        y : array (n,), optional
            Their target.
        sample_weight : array (n,), optional
            Weights are counts.
        theme : "light" or "dark"
        """
        # charts are to the right of this room: imported by name when one is drawn
        return import_module("gramian.charts").chart(self, kind, X, y, sample_weight=sample_weight, theme=theme)


class Charted(Drawn):
    """Adds `chart()` to an estimator, which has to be fitted, and the fingerprint of its training rows to its `fit`."""

    _training_rows: TrainingRows | None

    @property
    def fitted_loss(self) -> object:
        """The loss that the fit minimised; None of estimators that minimise none."""
        return vars(self).get("_loss")

    def __init_subclass__(cls, **options: object) -> None:
        if "fit" in cls.__dict__:
            cls.fit = remembering(cls.__dict__["fit"])  # type: ignore[attr-defined]
        super().__init_subclass__(**options)

    def chart(
        self,
        kind: str | None = None,
        X: Table = None,
        y: Values | None = None,
        *,
        sample_weight: Weights = None,
        theme: str = "light",
    ) -> Chart:
        check_is_fitted(self)
        return super().chart(kind, X, y, sample_weight=sample_weight, theme=theme)

    chart.__doc__ = Drawn.chart.__doc__

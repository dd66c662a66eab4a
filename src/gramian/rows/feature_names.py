"""What an estimator remembers of the columns it was fitted to."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core.types import Estimator, Matrix, Table, Weights
from gramian.rows.base import Rows
from gramian.rows.source import scan


def remember_columns(estimator: Estimator, d: int, names: tuple[str, ...] | None) -> None:
    """What scikit-learn's `validate_data` does when fitting, for tables that it does not know."""
    estimator.n_features_in_ = d
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def fit_rows(estimator: Estimator, X: Table, sample_weight: Weights) -> Rows:
    """Rows to fit to, of a table or already scanned; the estimator remembers their columns."""
    if isinstance(X, Rows):
        if sample_weight is not None:
            raise ValueError("Rows bring their own weights: give sample_weight to gm.scan.")
        remember_columns(estimator, X.d, X.names)
        return X
    rows = scan(X, sample_weight=sample_weight)
    validate_data(estimator, X, skip_check_array=True)
    estimator.n_features_in_ = rows.d
    return rows


def new_rows(model: Estimator, X: Matrix) -> Rows:
    """New rows with the columns of the fit, in its order."""
    check_is_fitted(model)
    if isinstance(X, Rows):
        if X.d != model.n_features_in_:
            raise ValueError(
                f"X has {X.d} features, but {type(model).__name__} is expecting {model.n_features_in_} features "
                "as input."
            )
        fitted_names = getattr(model, "feature_names_in_", None)
        if fitted_names is not None and X.names is not None and X.names != tuple(fitted_names):
            wrong = next((a, b) for a, b in zip(X.names, fitted_names, strict=True) if a != b)
            raise ValueError(
                f"The feature names should match those of the fit, in order: found {wrong[0]!r} where {wrong[1]!r} was."
            )
        return X
    rows = scan(X)
    validate_data(model, X, skip_check_array=True, reset=False)
    return rows

"""What an estimator remembers of the columns it was fitted to."""

from typing import Any

import numpy as np


def remember_columns(estimator: Any, d: int, names: tuple[str, ...] | None) -> None:
    """What scikit-learn's `validate_data` does when fitting, for tables that it does not know."""
    estimator.n_features_in_ = d
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_

"""Gramian: classical machine learning from sums of inner products.

>>> import gramian as gm
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> model = gm.Ridge().fit(X, y)
>>> model.certificate_.holds
True
"""

from importlib import import_module
from typing import Any

from gramian._version import __version__

# The public names and the rooms they live in. A room is imported when one of its names is first used.
_ROOMS = {
    "gramian.warnings": ["ConvergenceWarning", "PrecisionWarning"],
    "gramian.rows": ["Block", "Rows", "scan", "threads"],
    "gramian.features": ["FunctionFeatures", "PolynomialFeatures", "RadialBasisFeatures", "StandardScaler"],
    "gramian.statistics": ["Moments", "Triangle", "moments", "triangle"],
    "gramian.models": ["ElasticNet", "Lasso", "LinearRegression", "Ridge", "TotalLeastSquares"],
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
_HOME_OF_MODULE = {
    "losses": "gramian.objective.losses",
    "penalties": "gramian.objective.penalties",
    "selection": "gramian.selection",
}

__all__ = sorted([*_HOME, *_HOME_OF_MODULE, "__version__"])  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name in _HOME_OF_MODULE:
        value: Any = import_module(_HOME_OF_MODULE[name])
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'gramian' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

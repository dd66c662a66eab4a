"""The supervised estimators: thin compositions of a loss, a penalty and the solver that fits them."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.models.least_squares": ["LinearRegression"],
        "gramian.models.ridge": ["Ridge"],
        "gramian.models.sparse": ["ElasticNet", "Lasso"],
        "gramian.models.total": ["TotalLeastSquares"],
    },
)

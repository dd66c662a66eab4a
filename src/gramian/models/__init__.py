"""The supervised estimators: thin compositions of a loss, a penalty and the solver that fits them."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.models.meta.balanced": ["Balanced"],
        "gramian.models.discriminant.discriminant": ["GaussianDiscriminant"],
        "gramian.models.linear.least_squares": ["LinearRegression"],
        "gramian.models.linear.regressor": ["Regressor"],
        "gramian.models.linear.classifier": ["Classifier"],
        "gramian.models.linear.logistic": ["LogisticRegression"],
        "gramian.models.linear.map": ["MAP"],
        "gramian.models.neighbors.estimators": ["KNeighborsClassifier", "KNeighborsRegressor"],
        "gramian.models.linear.perceptron": ["Perceptron"],
        "gramian.models.linear.ridge": ["Ridge"],
        "gramian.models.linear.sparse": ["ElasticNet", "Lasso"],
        "gramian.models.linear.svc": ["SVC"],
        "gramian.models.kernel.svr": ["SVR", "OneClassSVM"],
        "gramian.models.meta.threshold": ["TunedThreshold"],
        "gramian.models.linear.total": ["TotalLeastSquares"],
    },
)

"""The supervised estimators: thin compositions of a loss, a penalty and the solver that fits them."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.models.balanced": ["Balanced"],
        "gramian.models.discriminant": ["GaussianDiscriminant"],
        "gramian.models.least_squares": ["LinearRegression"],
        "gramian.models.linear": ["Regressor"],
        "gramian.models.linear_classifier": ["Classifier"],
        "gramian.models.logistic": ["LogisticRegression"],
        "gramian.models.map": ["MAP"],
        "gramian.models.neighbors": ["KNeighborsClassifier", "KNeighborsRegressor"],
        "gramian.models.perceptron": ["Perceptron"],
        "gramian.models.ridge": ["Ridge"],
        "gramian.models.sparse": ["ElasticNet", "Lasso"],
        "gramian.models.svm": ["SVC"],
        "gramian.models.svr": ["SVR", "OneClassSVM"],
        "gramian.models.threshold": ["TunedThreshold"],
        "gramian.models.total": ["TotalLeastSquares"],
    },
)

"""Gramian: classical machine learning from sums of inner products.

>>> import gramian as gm
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> model = gm.Ridge().fit(X, y)
>>> model.certificate_.holds
True
"""

from gramian._core.lazy import attach
from gramian._version import __version__

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.warnings": ["ConvergenceWarning", "PrecisionWarning"],
        "gramian.rows": ["Block", "Rows", "scan", "threads"],
        "gramian.features": ["FunctionFeatures", "PolynomialFeatures", "RadialBasisFeatures", "StandardScaler"],
        "gramian.statistics": ["Moments", "Triangle", "moments", "triangle"],
        "gramian.kernels.lowrank.approximate": ["Nystroem", "RandomFourier"],
        "gramian.models": [
            "Balanced",
            "Classifier",
            "ElasticNet",
            "GaussianDiscriminant",
            "KNeighborsClassifier",
            "KNeighborsRegressor",
            "Lasso",
            "LinearRegression",
            "LogisticRegression",
            "MAP",
            "OneClassSVM",
            "Perceptron",
            "Regressor",
            "Ridge",
            "SVC",
            "SVR",
            "TotalLeastSquares",
            "TunedThreshold",
        ],
        "gramian.spectral": ["LLE", "MDS", "MinorComponents", "PCA", "SpectralClustering", "TSNE", "spectrum_test"],
        "gramian.structures": [
            "Agglomerative",
            "CompetitiveLearning",
            "Divisive",
            "GaussianMixture",
            "KCircles",
            "KEllipses",
            "KGaussians",
            "KLines",
            "KMeans",
            "KMedians",
            "KPlanes",
            "StudentTMixture",
            "Structures",
        ],
    },
    {
        "charts": "gramian.charts",
        "kernels": "gramian.kernels",
        "likelihoods": "gramian.objective.likelihoods",
        "losses": "gramian.objective.losses",
        "metrics": "gramian.metrics",
        "penalties": "gramian.objective.penalties",
        "priors": "gramian.objective.priors",
        "selection": "gramian.selection",
        "solvers": "gramian.solvers",
        "structures": "gramian.structures",
    },
)

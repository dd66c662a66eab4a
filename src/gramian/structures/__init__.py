"""Clustering: structures, the rules by which rows are theirs, one loop for every pair, and trees of clusters."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.structures.agglomerative": ["Agglomerative"],
        "gramian.structures.assignments": ["FrequencySensitive", "Nearest", "RivalPenalised", "Soft"],
        "gramian.structures.choice": ["Choice"],
        "gramian.structures.circle": ["Circle"],
        "gramian.structures.compositions": [
            "KCircles",
            "KEllipses",
            "KGaussians",
            "KLines",
            "KMedians",
            "KPlanes",
            "Structures",
        ],
        "gramian.structures.divisive": ["Divisive"],
        "gramian.structures.ellipse": ["Ellipse"],
        "gramian.structures.flat": ["Flat", "Line", "Plane"],
        "gramian.structures.gaussian": ["Gaussian"],
        "gramian.structures.kernel_point": ["KernelPoint"],
        "gramian.structures.kmeans": ["CompetitiveLearning", "KMeans"],
        "gramian.structures.mixtures": ["GaussianMixture", "StudentTMixture"],
        "gramian.structures.point": ["Point"],
        "gramian.structures.structure": ["Structure"],
        "gramian.structures.student": ["StudentT"],
    },
)

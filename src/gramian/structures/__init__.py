"""Clustering: structures, the rules by which rows are theirs, one loop for every pair, and trees of clusters."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.structures.hierarchy.agglomerative": ["Agglomerative"],
        "gramian.structures.loop.assignments": ["FrequencySensitive", "Nearest", "RivalPenalised", "Soft"],
        "gramian.structures.number_of_clusters": ["Choice"],
        "gramian.structures.components.quadrics.circle": ["Circle"],
        "gramian.structures.compositions": [
            "KCircles",
            "KEllipses",
            "KGaussians",
            "KLines",
            "KMedians",
            "KPlanes",
            "Structures",
        ],
        "gramian.structures.components.direction": ["Direction"],
        "gramian.structures.hierarchy.divisive": ["Divisive"],
        "gramian.structures.components.quadrics.ellipse": ["Ellipse"],
        "gramian.structures.components.flat": ["Flat", "Line", "Plane"],
        "gramian.structures.components.densities.gaussian": ["Gaussian"],
        "gramian.structures.components.kernel_point": ["KernelPoint"],
        "gramian.structures.kmeans": ["CompetitiveLearning", "KMeans"],
        "gramian.structures.mixtures": ["GaussianMixture", "StudentTMixture"],
        "gramian.structures.components.point": ["Point"],
        "gramian.structures.components.base": ["Structure"],
        "gramian.structures.components.densities.student": ["StudentT"],
    },
)

"""Clustering: structures, the rules by which rows are theirs, and trees of clusters."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.structures.agglomerative": ["Agglomerative"],
        "gramian.structures.divisive": ["Divisive"],
    },
)

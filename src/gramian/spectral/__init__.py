"""Eigenproblems: what the leading vectors of a matrix of inner products or affinities say of its rows."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.spectral.clustering": ["SpectralClustering"],
        "gramian.spectral.lle": ["LLE"],
        "gramian.spectral.mds": ["MDS"],
        "gramian.spectral.minor": ["MinorComponents"],
        "gramian.spectral.null": ["spectrum_test"],
        "gramian.spectral.pca": ["PCA"],
        "gramian.spectral.tsne": ["TSNE"],
    },
)

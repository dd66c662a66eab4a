"""Eigenproblems: what the leading vectors of a matrix of inner products or affinities say of its rows."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.spectral.clustering.spectral_clustering": ["SpectralClustering"],
        "gramian.spectral.embedding.lle": ["LLE"],
        "gramian.spectral.embedding.mds": ["MDS"],
        "gramian.spectral.pca.minor": ["MinorComponents"],
        "gramian.spectral.null.spectrum_test": ["spectrum_test"],
        "gramian.spectral.pca.pca": ["PCA"],
        "gramian.spectral.embedding.tsne": ["TSNE"],
    },
)

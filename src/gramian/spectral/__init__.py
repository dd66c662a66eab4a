"""Eigenproblems: principal components of rows and kernels, minor components, and what noise would look like."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.spectral.minor": ["MinorComponents"],
        "gramian.spectral.null": ["spectrum_test"],
        "gramian.spectral.pca": ["PCA"],
    },
)

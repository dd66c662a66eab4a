"""Kernels k(x, x'): implicit features, their algebra, and whether they are valid.

>>> from gramian.kernels import RBF, Linear
>>> k = 0.5 * RBF(2.0) + Linear()
>>> k([[0.0], [2.0]]).round(3)
array([[0.5  , 0.303],
       [0.303, 4.5  ]])
>>> k.validity().valid
True
"""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.kernels.anova": ["ANOVA"],
        "gramian.kernels.base": ["Kernel"],
        "gramian.kernels.columns": ["On"],
        "gramian.kernels.combine": ["Exponential", "PolynomialOf", "Power", "Product", "Scaled", "Sum"],
        "gramian.kernels.diffusion": ["Diffusion"],
        "gramian.kernels.distributions": ["ProbabilityProduct"],
        "gramian.kernels.given": ["Custom", "Precomputed"],
        "gramian.kernels.graphs": ["RandomWalk"],
        "gramian.kernels.maps": ["feature_map", "repaired"],
        "gramian.kernels.named": ["kernel_of"],
        "gramian.kernels.reshape": ["Centered", "Normalized", "ScaledBy", "Trusted", "Warped"],
        "gramian.kernels.stationary": ["RBF", "GaussianDensity", "Laplacian", "Matern", "Periodic"],
        "gramian.kernels.strings": ["Gappy", "Mismatch", "Spectrum"],
        "gramian.kernels.validity": ["Validity"],
        "gramian.kernels.vectors": [
            "Bilinear",
            "Constant",
            "Cosine",
            "Linear",
            "Polynomial",
            "Sigmoid",
            "White",
        ],
    },
)

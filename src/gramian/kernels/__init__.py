"""Kernels k(x, x'): implicit features, their algebra, and whether they are valid.

>>> from gramian.kernels import RBF, Linear
>>> k = 0.5 * RBF(2.0) + Linear()
>>> k([[0.0], [2.0]]).round(3)
array([[0.5  , 0.303],
       [0.303, 4.5  ]])
>>> k.validity().valid
True
"""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.kernels.vectors.anova": ["ANOVA"],
        "gramian.kernels.base": ["Kernel"],
        "gramian.kernels.columns": ["On"],
        "gramian.kernels.algebra": ["Exponential", "PolynomialOf", "Power", "Product", "Scaled", "Sum"],
        "gramian.kernels.structured.diffusion": ["Diffusion"],
        "gramian.kernels.structured.distributions": ["ProbabilityProduct"],
        "gramian.kernels.custom": ["Custom", "Precomputed"],
        "gramian.kernels.structured.graphs": ["RandomWalk"],
        "gramian.kernels.lowrank.feature_maps": ["feature_map", "repaired"],
        "gramian.kernels.named": ["kernel_of"],
        "gramian.kernels.transforms": ["Centered", "Normalized", "ScaledBy", "Trusted", "Warped"],
        "gramian.kernels.vectors.stationary": [
            "RBF",
            "GaussianDensity",
            "Laplacian",
            "Matern",
            "Periodic",
            "RationalQuadratic",
        ],
        "gramian.kernels.structured.strings": ["Gappy", "Mismatch", "Spectrum"],
        "gramian.kernels.validity.proof": ["Validity"],
        "gramian.kernels.vectors.inner_products": [
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

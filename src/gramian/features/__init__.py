"""φ(x): explicit representations of rows, as scikit-learn transformers."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.features.functions": ["FunctionFeatures"],
        "gramian.features.polynomial": ["PolynomialFeatures"],
        "gramian.features.radial": ["RadialBasisFeatures"],
        "gramian.features.scaler": ["StandardScaler"],
    },
)

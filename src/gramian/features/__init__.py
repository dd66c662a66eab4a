"""φ(x): explicit representations of rows, as scikit-learn transformers."""

from gramian.features.functions import FunctionFeatures
from gramian.features.polynomial import PolynomialFeatures
from gramian.features.radial import RadialBasisFeatures
from gramian.features.scaler import StandardScaler

__all__ = ["FunctionFeatures", "PolynomialFeatures", "RadialBasisFeatures", "StandardScaler"]

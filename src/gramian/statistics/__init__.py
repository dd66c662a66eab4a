"""What a pass adds up: values with `+` that a fit can be solved from."""

from gramian.statistics.gram import Moments
from gramian.statistics.products import moments
from gramian.statistics.qr import Triangle, triangle

__all__ = ["Moments", "Triangle", "moments", "triangle"]

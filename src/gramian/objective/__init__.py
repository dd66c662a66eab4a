"""What is minimised: losses of the prediction, penalties of the coefficients."""

from gramian.objective import losses, penalties

__all__ = ["losses", "penalties"]

"""What is minimised: losses of the prediction, penalties of the coefficients."""

from gramian.objective import likelihoods, losses, penalties, priors

__all__ = ["likelihoods", "losses", "penalties", "priors"]

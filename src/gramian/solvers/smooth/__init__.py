"""Smooth losses: Newton, Newton-CG, proximal Newton, and likelihoods with a scale."""

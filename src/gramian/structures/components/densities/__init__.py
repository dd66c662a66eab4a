"""Probability densities: Gaussian and Student t, and what they share."""

"""Piecewise-linear losses, and any convex loss with any convex penalty."""

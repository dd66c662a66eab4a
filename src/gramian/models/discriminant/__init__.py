"""Gaussian discriminants and their boundaries."""

"""Kernels of strings, graphs and probability distributions."""

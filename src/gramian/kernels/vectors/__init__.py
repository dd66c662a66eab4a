"""Kernels of rows of numbers."""

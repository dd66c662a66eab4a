"""Axes, dots, outlines and words that charts are made of."""

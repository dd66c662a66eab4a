"""Axes, dots, outlines and text of charts."""

"""Distances and sums between points, compiled."""

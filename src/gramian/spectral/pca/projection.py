"""Rows in the coordinates of some axes, and back."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Array, Floats
from gramian.features.base import checked, fill
from gramian.rows import Block, Rows, workspace


def coordinates(rows: Rows, axes: Floats, mean: Floats, scales: Floats | None = None) -> Array:
    """(X − mean) axesᵀ / scales, block by block; sparse rows stay sparse."""
    axes_T, offset = np.ascontiguousarray(axes.T), axes @ mean

    def write(block: Block, part: Array) -> None:
        if sp.issparse(block.X):
            scores = np.asarray(block.X.astype(np.float64, copy=False) @ axes_T) - offset
        else:
            scores = np.subtract(block.X, mean, out=workspace("centred", *block.X.shape)) @ axes_T
        part[:] = scores if scales is None else scores / scales

    return fill(rows, len(axes), write, "Transform it in parts.")


def points_at(rows: Rows, axes: Floats, mean: Floats, scales: Floats | None = None) -> Array:
    """mean + (T · scales) axes for coordinates T."""
    scaled_axes = axes if scales is None else axes * scales[:, None]

    def write(block: Block, part: Array) -> None:
        T = block.X.toarray() if sp.issparse(block.X) else block.X
        part[:] = np.ascontiguousarray(T, dtype=np.float64) @ scaled_axes + mean

    return fill(rows, len(mean), write, "Transform it in parts.")


def nearest(rows: Rows, normals: Floats, mean: Floats) -> Array:
    """The points nearest to the rows of the flat through the mean at right angles to some directions."""

    def write(block: Block, part: Array) -> None:
        X = np.asarray(block.X.toarray() if sp.issparse(block.X) else block.X, dtype=np.float64)
        part[:] = X - ((X - mean) @ normals.T) @ normals

    return fill(rows, len(mean), write, "Project it in parts.")


def error_of(rows: Rows, axes: Floats, mean: Floats) -> float:
    """Mean squared distance of rows from the flat of the axes through the mean, by weight."""

    def of_block(block: Block) -> Any:
        squares = square_distances(checked(block, rows), axes, mean)[0]
        w = block.weights
        return np.array([w @ squares, w.sum()])

    total, weight = rows.sum(of_block)
    return float(total / weight)


def square_distances(block: Block, axes: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Squared distances from the flat, and the coordinates within it."""
    X = block.X
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        T = np.asarray(X @ axes.T) - axes @ mean
        whole = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1) - 2.0 * np.asarray(X @ mean) + mean @ mean
        return np.maximum(whole - (T**2).sum(axis=1), 0.0), T
    Z = np.subtract(X, mean, out=workspace("centred", *X.shape))
    T = Z @ axes.T
    Z -= T @ axes
    return np.einsum("ij,ij->i", Z, Z), T

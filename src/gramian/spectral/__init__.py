"""Eigenproblems and maps: principal components, and rows laid out in few dimensions."""

from gramian.spectral.lle import LLE
from gramian.spectral.mds import MDS
from gramian.spectral.tsne import TSNE

__all__ = ["LLE", "MDS", "TSNE"]

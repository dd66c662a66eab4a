"""Altair charts of fitted models: the same in a notebook, in a file and on a page."""

from gramian.charts.draw import chart, kinds
from gramian.charts.file import save_html, save_png

__all__ = ["chart", "kinds", "save_html", "save_png"]

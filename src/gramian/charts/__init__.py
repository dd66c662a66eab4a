"""Altair charts of fitted models, of their predictions and of evaluations: in a notebook, in a file and on a page."""

from gramian.charts.export import save_html, save_png
from gramian.charts.registry import chart, kinds, trajectories
from gramian.charts.solvers.recorder import Recorder

__all__ = ["Recorder", "chart", "kinds", "save_html", "save_png", "trajectories"]

"""The data set inside the package: 442 diabetes patients and the progression of the disease after a year."""

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.rows import MemoryRows, Rows


@dataclass(frozen=True, eq=False)
class Example:
    """A table: features X (n, d) with their names, and a target y (n,) with its name."""

    X: Floats
    y: Floats
    names: tuple[str, ...]
    target: str

    def subset(self, rows: Ints) -> "Example":
        """The table of these rows."""
        return Example(self.X[rows], self.y[rows], self.names, self.target)

    def scaled(self, scale: Floats) -> "Example":
        """The table with each feature divided by its scale."""
        return Example(self.X / scale, self.y, self.names, self.target)

    def rows(self) -> Rows:
        """Rows with names, for `fit`."""
        return MemoryRows(self.X, self.y[:, None], None, names=self.names, target_names=(self.target,))


def load_example() -> Example:
    """The diabetes data of Efron, Hastie, Johnstone and Tibshirani (2004), in natural units.

    >>> example = load_example()
    >>> example.X.shape, example.names[:3], example.target
    ((442, 10), ('age', 'sex', 'bmi'), 'progression')
    """
    text = files("gramian").joinpath("data", "diabetes.csv").read_text(encoding="utf-8")
    head, *body = csv.reader(text.splitlines())
    table = np.array(body, dtype=np.float64)
    return Example(table[:, :-1], table[:, -1], tuple(head[:-1]), head[-1])

"""Draw the pictures of the README and the guides: python docs/make_pictures.py [folder]."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import gramian as gm
from gramian.app.example import load_example
from gramian.charts import chart, save_png
from gramian.structures import Circle, Ellipse, Line, Point


def shapes() -> np.ndarray:
    """Rows (500, 2) along a circle, an ellipse and a line, and about a point."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 2.0 * np.pi, (2, 150))
    s = rng.uniform(-3.0, 15.0, 120)
    parts = [
        np.column_stack([2.5 * np.cos(t[0]), 7.0 + 2.5 * np.sin(t[0])]),
        np.column_stack([9.0 + 4.5 * np.cos(t[1]), 7.0 + 2.0 * np.sin(t[1]) + 1.5 * np.cos(t[1])]),
        np.column_stack([s, 0.15 * s]),
        np.column_stack([15.5 + np.zeros(80), 5.0 + np.zeros(80)]) + 0.4 * rng.standard_normal((80, 2)),
    ]
    return np.concatenate(parts) + 0.12 * rng.standard_normal((500, 2))


def main(folder: Path) -> None:
    data = load_example()
    data = data.scaled(data.X.std(axis=0))  # coefficients of one size: per standard deviation
    lasso = gm.Lasso(rule="one_se", standardize=True).fit(data.rows())
    rows = shapes()
    mixed = gm.Structures([Circle(), Ellipse(), Line(), Point()], n_clusters=None, n_init=20, random_state=0).fit(rows)
    pictures = {
        "lasso.png": lasso.chart(),
        "ridge.png": gm.Ridge(standardize=True).fit(data.rows()).chart("coefficients"),
        "greedy.png": chart(gm.selection.GreedySelector(gm.LinearRegression()).fit(data.rows())),
        "clusters.png": mixed.chart("clusters", rows),
        "scree.png": gm.spectrum_test(load_digits().data, scrambles=5).chart(),
    }
    for name, picture in pictures.items():
        print(save_png(picture, folder / name, scale=1.5))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

"""Draw the pictures of the README and the guide: python docs/make_pictures.py [folder]."""

import sys
from pathlib import Path

import gramian as gm
from gramian.app.example import load_example
from gramian.charts import chart, save_png


def main(folder: Path) -> None:
    data = load_example()
    data = data.scaled(data.X.std(axis=0))  # coefficients of one size: per standard deviation
    lasso = gm.Lasso(rule="one_se", standardize=True).fit(data.rows())
    pictures = {
        "lasso.png": lasso.chart(),
        "ridge.png": gm.Ridge(standardize=True).fit(data.rows()).chart("coefficients"),
        "greedy.png": chart(gm.selection.GreedySelector(gm.LinearRegression()).fit(data.rows())),
    }
    for name, picture in pictures.items():
        print(save_png(picture, folder / name, scale=1.5))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

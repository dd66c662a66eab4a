"""Which strategy of cross-validation a search for alpha takes, held to a recorded table.

Each row of `data/cv_strategies.txt` is a loss and a penalty, each column a shape of the table; pairs that are always
refitted have no row. The letters of a cell are those of `LETTERS`: with folds one for each of `SOLVERS`, then
leave-one-out, leave-one-out of few rows, and the comparison of kernels. Run as a script, this module prints the table.
"""

from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import gramian as gm
from gramian.objective import losses as L
from gramian.objective import penalties as P
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.rows.labels import coded
from gramian.selection.cv.regularization import AlphaSearch

RECORDED = Path(__file__).parent / "data" / "cv_strategies.txt"
N = 80
LETTERS = {
    "ApproximateLeaveOneOut": "A",
    "FoldProximal": "P",
    "FoldPiecewise": "L",
    "FoldScale": "S",
    "FoldSoftmax": "M",
    "ComparisonFoldNewton": "C",
    "FoldNewton": "N",
    "Refits": "r",
}
SOLVERS = ["auto", "newton", "newton-cg", "proximal", gm.solvers.GradientDescent()]
LOSSES = [
    L.Squared(),
    L.Absolute(),
    L.Quantile(0.8),
    L.Power(1.5),
    L.Huber(),
    L.Huber(scale=1.0),
    L.StudentT(),
    L.StudentT(scale=1.0),
    L.Poisson(),
    L.Logistic(),
    L.Perceptron(),
    L.Hinge(),
    L.SquaredHinge(),
    L.RootHinge(),
    L.SoftMargin(),
    L.Softmax(),
    L.MultiHinge(),
]
PENALTIES = [P.Zero(), P.L2(), P.L1(), P.ElasticNet(), P.Tikhonov, P.GroupL1, P.MCP(), P.Box(0.0, 1.0), P.NonNegative()]
SHAPES = ["dense", "coded", "sparse", "wide", "sparse wide"]


def penalty_of(penalty, d):
    """Penalties that are of a number of columns, made for it."""
    if penalty is P.Tikhonov:
        return P.Tikhonov(np.eye(d))
    return P.GroupL1(tuple(np.arange(d) % 2)) if penalty is P.GroupL1 else penalty


@cache
def rows_of(shape, targets, weighted):
    rng = np.random.default_rng(0)
    d = 350 if "wide" in shape else 4
    X = rng.standard_normal((N, d))
    values = {
        "signs": np.where(np.arange(N) % 2, 1.0, -1.0),
        "classes": np.arange(N) % 3.0,
        "counts": np.arange(N) % 5.0,
    }.get(targets, rng.standard_normal(N))
    weight = np.where(np.arange(N) < 20, 1.0, 0.0) if weighted else None
    rows = MemoryRows(sp.csr_array(X) if "sparse" in shape else X, values[:, None], weight)
    return coded(rows, lambda y: y) if shape == "coded" else rows


def strategy_of(search):
    """The letter of the strategy that a search takes."""
    return LETTERS[search.strategy.__name__]


def letters_of(loss, penalty, shape):
    d = 350 if "wide" in shape else 4

    @cache
    def problem_of(weighted):
        rows = rows_of(shape, loss.targets, weighted)
        return Problem(rows, loss, penalty_of(penalty, d), 0.1, outputs=3 if loss.targets == "classes" else 1)

    def search(cv, weighted=False, **options):
        problem = problem_of(weighted)
        return strategy_of(AlphaSearch(problem.rows, [lambda rows: problem], cv, **options))

    folds = "".join(search(3, solver=solver) for solver in SOLVERS)
    return folds + search("loo") + search("loo", weighted=True) + search(3, comparison=True)


def name_of(part):
    return part.__name__ if isinstance(part, type) else repr(part).replace(" ", "")


def table():
    lines = []
    for loss in LOSSES:
        for penalty in PENALTIES:
            cells = [letters_of(loss, penalty, shape) for shape in SHAPES]
            if set("".join(cells)) != {LETTERS["Refits"]}:
                lines.append(" ".join([f"{name_of(loss)} {name_of(penalty)}".ljust(56), *cells]))
    return lines


def test_the_strategy_of_every_loss_and_penalty_is_the_recorded_one():
    assert table() == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    print("\n".join(table()))

"""The solver that each pair of loss and penalty gets, at every size, and the reason that is given for it."""

from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm
from checks.members import members
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import Penalty
from gramian.objective.problem import Problem
from gramian.rows.base import Basis, Rows
from gramian.solvers.choose import choose, plain
from solver_choices import expected

LOSSES = members(
    Loss,
    {
        "Power": [{"p": p} for p in (1.0, 2.0, 3.0)],
        "Huber": [{"scale": 0.7}],
        "StudentT": [{"scale": 0.8}],
        "MultiHinge": [{"margin": 0.0}],
    },
)
N = (3, 40, 150, 151, 299, 300, 301, 1999, 2000, 2001, 2002, 12_345, 60_000, 60_001, 99_999, 300_001, 2_000_000)
D = (1, 2, 49, 50, 74, 99, 149, 150, 151, 199, 299, 300, 301, 599, 666, 667, 1000, 1999, 2000, 2001, 50_000)
HOMES = ("dense", "sparse", "landmarks", "files", "files with landmarks", "sparse landmarks")


@dataclass(frozen=True)
class KnownByProx(Penalty):
    """‖w‖², of which solvers are told the prox alone."""

    def value(self, w):
        return float(w @ w)

    def prox(self, w, step):
        return w / (1.0 + 2.0 * step)


class Files(Rows):
    """Rows of which none can be picked, as those of files."""

    def __init__(self, rows):
        self.__dict__.update({k: v for k, v in rows.__dict__.items() if k not in ("X", "y", "weight")})

    def block(self, start, stop):
        raise NotImplementedError


def rows_of(home, d, low, high):
    """Three rows of d columns, at the home of a kind."""
    X = np.zeros((3, d))
    X[1] = 1.0
    return gm.scan(sp.csr_array(X) if "sparse" in home else X, np.array([low, high, high]))


def stand_in(rows, home, n):
    """Rows that say they are n."""
    found = Files(rows) if "files" in home else copy(rows)
    found.n = n
    if "landmarks" in home:
        found.basis = Basis(rows, np.eye(1), True)
    return found


def penalties(d):
    found = [
        gm.penalties.Zero(),
        gm.penalties.L2(),
        gm.penalties.L1(),
        gm.penalties.ElasticNet(),
        gm.penalties.ElasticNet(0.0),
        gm.penalties.GroupL1(tuple(range(d)) if d < 3 else tuple(i // 2 for i in range(d))),
        gm.penalties.NonNegative(),
        gm.penalties.NonNegative(gm.penalties.L2()),
        gm.penalties.Box(-1.0, 1.0, gm.penalties.L1()),
        gm.penalties.MCP(),
        gm.penalties.SCAD(),
        KnownByProx(),
    ]
    return found + ([gm.penalties.Tikhonov(np.eye(d)[:2])] if d <= 301 or d in (1999, 2001) else [])


def description(solver):
    """The names of a solver's classes, from the outside in."""
    inner = getattr(solver, "inner", None)
    return (type(solver).__name__, *(description(inner) if inner is not None else ()))


def outcome(problem):
    try:
        solver, reason = choose(problem)
    except ValueError as error:
        return str(error)
    return description(solver), reason


def compare(loss, home, draws, seed):
    """Compare the choice with the oracle at randomly drawn cells of the grid."""
    low, high = {"numbers": (-1.0, 2.0), "counts": (0.0, 3.0), "signs": (-1.0, 1.0), "classes": (0.0, 1.0)}[
        loss.targets
    ]
    outputs = (2, 3, 10) if loss.targets == "classes" else (1,)
    rng = np.random.default_rng(seed)
    cells = rng.multinomial(draws, np.full(len(D), 1.0 / len(D)))
    for d, count in zip(D, cells, strict=True):
        rows, known = rows_of(home, d, low, high), penalties(d)
        for _ in range(count):
            penalty, n, m = known[rng.integers(len(known))], int(rng.choice(N)), int(rng.choice(outputs))
            alpha = 0.1 if not penalty.convex else float(rng.choice([0.0, 0.1, 0.1]))
            intercept = bool(rng.integers(2))
            problem = Problem(rows, loss, penalty, alpha, intercept=intercept, outputs=m)
            problem.rows = stand_in(rows, home, n)
            assert outcome(problem) == expected(plain(problem)), (home, n, d, m, penalty, alpha, intercept)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_choice_is_as_stated_case_by_case(loss):
    for k, home in enumerate(HOMES):
        compare(loss, home, 30, k)


if __name__ == "__main__":  # many more cells
    for seed in range(100):
        for each in LOSSES:
            for home in HOMES:
                compare(each, home, 400, seed)
        print(f"{len(LOSSES) * len(HOMES) * 400 * (seed + 1)} choices agree", flush=True)

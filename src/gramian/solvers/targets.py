"""A problem of one or several targets solved: directly for all of them, or one by one by a solver that iterates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.rows.labels import coded
from gramian.solvers.base import Callback
from gramian.solvers.certificate import weakness
from gramian.solvers.choose import direct_solver, refuse_sums
from gramian.solvers.solution import Solution


def solve_targets(
    problem: Problem,
    *,
    solver: Any = "auto",
    direct: bool = True,
    alphas: int | Floats | None = None,
    max_iter: int = 1000,
    tol: float = 1e-8,
    callbacks: Sequence[Callback] = (),
    warn: bool = True,
) -> list[Solution]:
    """One solution of all targets where a direct solver is asked for, or supports the problem; else one for each.

    `alphas` is the grid, or its length, of a path to the solution; `direct` False leaves direct solvers out.
    """
    method = direct_solver(problem, solver) if direct else None
    if method is not None:
        return [method.solve(problem, alphas, max_iter=max_iter, tol=tol, warn=warn)]
    refuse_sums(problem, solver)
    from gramian.solvers.solve import fit_problem  # with all solvers: closed forms do without

    options: dict[str, Any] = {"solver": solver, "max_iter": max_iter, "tol": tol, "callbacks": callbacks, "warn": warn}
    return [fit_problem(each, **options) for each in problems_of_targets(problem)]


def problems_of_targets(problem: Problem) -> list[Problem]:
    """A problem for each target, whose solutions are those of all of them together."""
    rows, count = problem.rows.settled(), len(problem.rows.target_names)
    return [problem.on(target_rows(rows, j)) for j in range(count)]


def target_rows(rows: Rows, j: int) -> Rows:
    """The rows with one of their targets."""
    return rows if len(rows.target_names) == 1 else coded(rows, lambda y: y[:, [j]])


def joined(solutions: list[Solution]) -> Solution:
    """The solutions of single targets as one, with the weakest of their certificates."""
    if len(solutions) == 1:
        return solutions[0]
    worst = max(solutions, key=lambda each: weakness(each.certificate))
    return replace(
        worst,
        coef=np.column_stack([each.coef[:, 0] for each in solutions]),
        intercept=np.array([each.intercept[0] for each in solutions]),
        value=float(sum(each.value for each in solutions)),
        iterations=max(each.iterations for each in solutions),
        iterate=None,
    )

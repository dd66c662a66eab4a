"""Solvers without an iteration to follow from outside: what they declare, and the one function that they implement."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.solvers.solution import Solution

SMALL_GRAM = 1000  # columns for which a Gram matrix is always worth its n d² operations


def is_wide(problem: Problem) -> bool:
    """Whether a Gram matrix would be larger than the rows, and large."""
    return isinstance(problem.data, Rows) and problem.d > max(problem.data.n, SMALL_GRAM)


class DirectSolver(ABC):
    """A solver of the squared loss that goes from the rows, or from their sums, to a certified solution.

    Attributes
    ----------
    names : tuple of str
        The values of `solver` that ask for it.
    grid_length : int
        Length of a grid of alphas, where none is given.
    """

    name: ClassVar[str]
    names: ClassVar[tuple[str, ...]] = ()
    grid_length: ClassVar[int]

    @classmethod
    @abstractmethod
    def of_name(cls, name: str) -> Self:
        """The solver with the settings that one of its names, or "auto", stands for."""

    @abstractmethod
    def supports(self, problem: Problem) -> bool:
        """Whether the problem, of any number of targets, is one it solves; its rows may be sums of them."""

    @abstractmethod
    def cost(self, problem: Problem) -> float:
        """Estimated multiplications."""

    @abstractmethod
    def solve(
        self, problem: Problem, alphas: int | Floats | None = None, *, max_iter: int, tol: float, warn: bool = True
    ) -> Solution:
        """The solution, along a path of alphas (or of so many) where it follows one or the grid is given."""

"""What every solver returns: coefficients, their certificate, and what inference needs."""

from dataclasses import dataclass, field

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.base import Details, History
from gramian.solvers.certificate import Certificate, SolverInfo


@dataclass(frozen=True, eq=False)
class Iterate:
    """The last iterate of a solver, in the standardized coordinates of the problem that it solved."""

    problem: Problem
    theta: Floats  # (m, p)
    details: Details


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """A solved linear problem in the units of the data: f = intercept + coefᵀx for m outputs.

    Attributes
    ----------
    coef : array (d, m); intercept : array (m,)
    value : float
        The objective there.
    certificate, solver :
        How near it is to an optimum, and which solver found it.
    history, iterations :
        Of an iterative solver; a closed form is one step.
    scale : float or None
        The scale of the loss, where it was estimated.
    separated : bool
        Whether the optimum is at infinity, so that a small penalty was added.
    interrupted : bool
        Whether Ctrl-C ended it.
    perfect : str
        Why the scale of the noise cannot be estimated; empty where it can.
    iterate : Iterate or None
        The point in the coordinates of its problem, of an iterative solver: from which inference and warm starts go on.
    """

    coef: Floats
    intercept: Floats
    value: float
    certificate: Certificate
    solver: SolverInfo
    history: History = field(default_factory=list)
    iterations: int = 1
    scale: float | None = None
    separated: bool = False
    interrupted: bool = False
    perfect: str = ""
    iterate: Iterate | None = None

    @property
    def problem(self) -> Problem:
        """The problem as it was solved."""
        assert self.iterate is not None
        return self.iterate.problem

    @property
    def theta(self) -> Floats:
        """The coefficients in the standardized coordinates of the problem, (m, p)."""
        assert self.iterate is not None
        return self.iterate.theta

    @property
    def details(self) -> Details:
        """What the solver hands on beside its last iterate."""
        assert self.iterate is not None
        return self.iterate.details

    @property
    def dual(self) -> Floats | None:
        """The dual variables, where the solver has them: a subgradient of each row's loss."""
        return None if self.iterate is None else self.iterate.details.dual

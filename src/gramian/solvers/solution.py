"""What every solver returns: coefficients, their certificate, and what inference needs."""

from dataclasses import dataclass, field

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.solvers.base import Details, History
from gramian.solvers.certificate import Certificate, SolverInfo


@dataclass(frozen=True, eq=False)
class Iterate:
    """The last iterate of a solver, in the standardized coordinates of the problem that it solved."""

    problem: Problem
    theta: Floats  # (m, p)
    details: Details


@dataclass(frozen=True, eq=False)
class SquaredLossSums:
    """What the squared loss leaves of t targets, and what standard errors and intervals are made of.

    Attributes
    ----------
    residual : array (t,)
        Σ w r² of each target.
    total : array (t,)
        Σ w (y − mean)² of each target (Σ w y² without an intercept).
    weight : float
        Σ w.
    df : float or None
        Degrees of freedom that the fit uses, intercept included; None where theory gives none.
    covariance_factor : array (d, r), or None where there is none or it would be too large to keep
        Factor of the covariance of the coefficients over the noise variance, FFᵀ; its rows times 2**−x.
    x : integer array (d,); mean : array (d + t,)
        Exponents of the columns, and the means of columns and targets.
    """

    residual: Floats
    total: Floats
    weight: float
    df: float | None = None
    covariance_factor: Floats | None = None
    x: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    mean: Floats = field(default_factory=lambda: np.zeros(0))


TracedPath = tuple[Floats, Floats, Floats]  # alphas (A,), coefficients (A, d, m), intercepts (A, m)


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
    sums : SquaredLossSums or None
        Of the squared loss, by a direct solver.
    path : alphas, coefficients and intercepts, or None
        Where the solver has followed a path of alphas to the solution.
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
    sums: SquaredLossSums | None = None
    path: TracedPath | None = None
    iterate: Iterate | None = None

    @property
    def squares(self) -> SquaredLossSums:
        """The sums of a solution to the squared loss by a direct solver."""
        assert self.sums is not None
        return self.sums

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

"""What a fit says about itself: how near to an optimum it is, what that shows, and which solver found it."""

import math
from dataclasses import dataclass

# Residuals that vanish at the optimum of a convex objective and nowhere else; without convexity, at stationary points.
OPTIMALITY = frozenset({"duality gap", "gradient", "KKT residual"})
ALTERNATION = "decrease by another alternation"


@dataclass(frozen=True)
class Certificate:
    """Evidence of what a fit is, computed from its coefficients and not by the solver.

    Attributes
    ----------
    kind : str
        The quantity: ``"gradient"`` (of the objective, relative to the size of its terms), ``"duality gap"`` (relative
        to the objective at zero), ``"KKT residual"``, ``"eigen-residual"``, ``"decrease by another alternation"``, …
    value, tolerance : float
        The quantity at the point returned, and what it may be.
    holds : bool
        Whether the value is within its tolerance and the method is accurate at this condition number.
    rank : int or None
        Independent columns of the design, where they were counted.
    condition : float or None
        Condition number of the design as given, intercept included, where it was computed.
    through : str
        The statistic solved from: ``"moments"``, ``"triangle"``, ``"svd"`` or ``"rows"``.
    digits : int
        Decimal digits that rounding leaves of the largest contributions to the prediction; 0 where unknown.
    note : str
        One more sentence, where there is something to say.
    convex : bool or None
        Whether the objective is convex, as its loss and penalty declare; None where nothing is minimised as such.
    attained : bool
        False where the objective has no minimum: its infimum is only approached.

    Examples
    --------
    >>> c = Certificate("gradient", 1e-16, 1e-9, True, 3, 12.0, "moments", 14, convex=True)
    >>> print(c)
    gradient 1e-16 is within 1e-09: global optimum, through moments, rank 3, condition number 12
    >>> Certificate("gradient", 1e-16, 1e-9, True, None, None, "rows", convex=False).claim
    'stationary point'
    """

    kind: str
    value: float
    tolerance: float
    holds: bool
    rank: int | None
    condition: float | None
    through: str
    digits: int = 0
    note: str = ""
    convex: bool | None = None
    attained: bool = True

    def __post_init__(self) -> None:
        if math.isnan(self.value) or not self.attained:
            object.__setattr__(self, "holds", False)

    @property
    def claim(self) -> str:
        """What the evidence shows of the point returned.

        "global optimum" (a residual of optimality within its tolerance, and a convex objective), "stationary point"
        (the same residual without convexity), "local optimum of the alternation", "converged within tolerance",
        "not converged" or "no optimum exists".
        """
        if not self.attained:
            return "no optimum exists"
        if not self.holds:
            return "not converged"
        if self.kind in OPTIMALITY and self.convex is not None:
            return "global optimum" if self.convex else "stationary point"
        return "local optimum of the alternation" if self.kind == ALTERNATION else "converged within tolerance"

    def __str__(self) -> str:
        within = self.value <= self.tolerance
        text = f"{self.kind} {self.value:.3g} is {'within' if within else 'beyond'} {self.tolerance:.3g}"
        if within and not self.holds and self.attained:
            text += f", which does not certify the fit, through {self.through}"
        else:
            text += f": {self.claim}, through {self.through}"
        text += "" if self.rank is None else f", rank {self.rank}"
        text += "" if self.condition is None else f", condition number {self.condition:.3g}"
        return f"{text}. {self.note}" if self.note else text


def weakness(certificate: Certificate) -> tuple[bool, bool, float]:
    """A key by which the weakest of several certificates is the largest: what all of them together show."""
    return not certificate.attained, not certificate.holds, certificate.value


@dataclass(frozen=True)
class SolverInfo:
    """Which solver a fit used, and why.

    >>> print(SolverInfo("Cholesky", "d is small"))
    Cholesky: d is small
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"

"""What a fit says about itself: how near to the optimum it is, and by which road it came."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """Evidence that a fit is the answer, computed from its coefficients and not by the solver.

    Attributes
    ----------
    kind : str
        The quantity: ``"gradient"`` (of the objective, relative to the size of its terms), ``"duality gap"`` (relative
        to the objective at zero) or ``"eigen-residual"``.
    value, tolerance : float
        The quantity found, and what it may be.
    holds : bool
        Whether the value is within its tolerance and the road taken could carry the digits.
    rank : int
        Independent columns found.
    condition : float
        Condition number of the design as given, intercept included; NaN where there is none.
    through : str
        The statistic solved from: ``"moments"``, ``"triangle"``, ``"svd"`` or ``"rows"``.
    digits : int
        Decimal digits that rounding leaves of the largest contributions to the prediction; 0 where unknown.
    note : str
        One more sentence, where there is something to say.
    claim : str
        What the answer is where it holds: ``"the optimum"``, or less where there may be several, such as ``"a local
        minimum"``.

    Examples
    --------
    >>> print(Certificate("gradient", 1e-16, 1e-9, True, 3, 12.0, "moments", 14))
    gradient 1e-16 is within 1e-09: the optimum, through moments, rank 3, condition number 12
    """

    kind: str
    value: float
    tolerance: float
    holds: bool
    rank: int
    condition: float
    through: str
    digits: int = 0
    note: str = ""
    claim: str = "the optimum"

    def __str__(self) -> str:
        verdict = "within" if self.value <= self.tolerance else "beyond"
        answer = self.claim if self.holds else "not certified"
        text = (
            f"{self.kind} {self.value:.3g} is {verdict} {self.tolerance:.3g}: {answer}, through {self.through}, "
            f"rank {self.rank}"
        )
        text += "" if self.condition != self.condition else f", condition number {self.condition:.3g}"
        return f"{text}. {self.note}" if self.note else text


@dataclass(frozen=True)
class Solver:
    """Which solver a fit used, and why.

    >>> print(Solver("Cholesky", "d is small"))
    Cholesky: d is small
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"

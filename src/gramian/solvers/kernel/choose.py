"""Which solver of an exact kernel matrix a loss and a penalty have; without one, landmark points make features."""

from dataclasses import dataclass

from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import Hinge, Perceptron
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import L2, Penalty, Zero


@dataclass(frozen=True)
class DualSolver:
    """A solver of the dual variables of the rows, and the problems that it supports."""

    name: str
    loss: type[Loss]
    penalty: type[Penalty]

    def supports(self, loss: Loss, penalty: Penalty) -> bool:
        """Whether it minimises this loss and this penalty of the function."""
        return type(loss) is self.loss and type(penalty) is self.penalty


DUAL_SOLVERS = (
    DualSolver("kernel ridge", Squared, L2),  # ridge_solution.py
    DualSolver("working sets", Hinge, L2),  # smo.py
    DualSolver("dual perceptron", Perceptron, Zero),  # dual_perceptron.py
)


def dual_solver(loss: Loss, penalty: Penalty, rank: int | None) -> DualSolver | None:
    """The solver of the exact kernel matrix; None where `rank` asks for landmark points, or none supports the problem.

    >>> from gramian.objective.losses.regression import Absolute
    >>> dual_solver(Squared(), L2(), None).name, dual_solver(Squared(), L2(), 50), dual_solver(Absolute(), L2(), None)
    ('kernel ridge', None, None)
    """
    if rank is not None:
        return None
    return next((solver for solver in DUAL_SOLVERS if solver.supports(loss, penalty)), None)

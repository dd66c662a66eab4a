"""Products of all rows with vectors of length n or p, each from one pass."""

from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Block


class RowProducts:
    """The targets and shares of the weight of all rows, and products with their standard columns Z (n, p)."""

    def __init__(self, problem: Problem) -> None:
        def of_block(block: Block) -> list[Any]:
            assert block.y is not None
            w = block.weights
            return [(block.y[:, 0], w)]

        self.problem = problem
        y, w = (np.concatenate(part) for part in zip(*problem.rows.sum(of_block), strict=True))
        self.y, self.share = y, w / problem.columns.weight

    def predictions(self, theta: Floats) -> Floats:
        """Zθᵀ (n, M) for θ (M, p)."""
        problem = self.problem
        return np.concatenate(
            problem.rows.sum(lambda block: [problem.predictions(part, theta) for part, _, _ in problem.panels(block)])
        )

    def gradient_sums(self, values: Floats) -> Floats:
        """valuesᵀZ (m, p) for values (n, m)."""
        problem = self.problem

        def of_block(block: Block) -> Floats:
            total, start = np.zeros((problem.m, problem.p)), block.start
            for part, y, _ in problem.panels(block):
                total += problem.gradient_sums(part, values[start : start + len(y)])
                start += len(y)
            return total

        return problem.settled(problem.rows.sum(of_block))

    def gram(self, values: Floats) -> Floats:
        """Zᵀ diag(values) Z (p, p) for values (n,), or (m p, m p) for a matrix (m, m) of each row,
        whose rows sum to zero."""
        problem = self.problem
        size = problem.m * problem.p if values.ndim == 3 else problem.p

        def of_block(block: Block) -> Floats:
            total, start = np.zeros((size, size)), block.start
            for part, y, _ in problem.panels(block):
                h = values[start : start + len(y)]
                total += problem.joint_gram(part, h) if h.ndim == 3 else problem.weighted_gram(part, h)
                start += len(y)
            return total

        return problem.settled_gram(problem.rows.sum(of_block))

    def loss_value(self, f: Floats) -> float:
        """The mean loss of predictions f (n, m)."""
        return float(self.share @ self.problem.loss.value(self.y, f[:, 0] if self.problem.m == 1 else f))

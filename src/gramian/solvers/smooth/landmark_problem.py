"""A smooth problem on the features of landmarks, without the features: raw sums are transformed after each pass.

θ is that of the problem itself. A pass multiplies k(x, P) by R⁻¹ of the coefficients, which costs r² once, where
features would cost r² for every row; what a pass adds up, in raw columns, is transformed when the pass is over.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Point, Problem, Sums
from gramian.rows import Block, Rows, workspace

SAMPLE = 20  # rows for each landmark that a curvature is estimated from


class LandmarkProblem(Problem):
    """The same objective: `gradient_sums`, `sweep` and `weighted_gram` give raw sums.

    `settled` and `settled_gram` transform them to the coordinates of θ.
    """

    most_dense: ClassVar[int] = 100_000  # landmarks: K_PP is factorised too
    features: Rows
    R: Floats
    well_conditioned: bool
    shift: Floats
    _known: list[tuple[Floats, Floats, Floats]]

    @classmethod
    def of(cls, problem: Problem) -> Problem:
        """The problem in the basis of its rows, where they have one."""
        basis = problem.rows.basis
        if basis is None or isinstance(problem, LandmarkProblem) or problem.rows.is_sparse:
            return problem
        result = cls.__new__(cls)
        result.__dict__.update(problem.__dict__)
        result.features, result.rows = problem.rows, basis.rows
        result.R, result.well_conditioned = basis.R, basis.well_conditioned
        result.shift = basis.R.T @ problem.center  # in raw columns
        result._known = []
        return result

    @property
    def far(self) -> bool:
        return False

    def _with(self, **changes: Any) -> Problem:
        return LandmarkProblem.of(self.on(self.features, self.columns, **changes))

    def curvature_sample(self) -> Problem:
        """The problem on so many rows, spread evenly, as a curvature needs to be known well."""
        stride = self.rows.n // max(SAMPLE * self.p, 1)
        if stride < 2:
            return self
        return part_of(self, np.arange(stride // 2, self.rows.n, stride), alone=True)

    def panels(self, block: Block, *, whole: bool = False) -> Any:
        return super().panels(block)

    def _coefficients(self, part: Any, theta: Floats) -> tuple[Floats, Floats]:
        for known, raw, offset in self._known:
            if np.array_equal(known, theta):
                return raw, offset
        coef, offset = super()._coefficients(part, theta)
        raw = np.ascontiguousarray(sl.solve_triangular(self.R, coef.T, check_finite=False).T)
        self._known = [(theta.copy(), raw, offset), *self._known[:2]]  # a pass has θ, and a direction at most
        return raw, offset

    def gradient_sums(self, part: Any, g: Floats) -> Floats:
        sums = np.empty((self.m, self.p))
        sums[:, : self.d] = g.T @ part
        if self.intercept:
            sums[:, self.d] = g.sum(axis=0)
        return sums

    def sweep(self, part: Any, y: Floats, w: Floats | None, theta: Floats) -> tuple[Any, Any, Floats]:
        coef, offset = self._coefficients(part, theta)
        values, sizes, products, totals = self.loss.swept(part, y, w, coef, offset)
        return values, sizes, np.column_stack([products, totals]) if self.intercept else products

    def _centred(self, part: Any) -> Floats:
        Z = workspace("gram", part.shape[0], self.p)
        np.subtract(part, self.shift, out=Z[:, : self.d])
        if not self.well_conditioned:
            Z[:, : self.d] = self._solve_RT(Z[:, : self.d].T).T
        if self.intercept:
            Z[:, self.d] = 1.0
        return Z

    def _in_units(self, part: Any, sums: Floats) -> Floats:
        return sums

    def standard(self, part: Any) -> Floats:
        return super().standard(self._solve_RT(part.T).T)

    def settled(self, sums: Floats) -> Floats:
        result = np.empty_like(sums)
        products = self._solve_RT(sums[:, : self.d].T).T
        if self.intercept:
            products -= np.outer(sums[:, self.d], self.center)
            result[:, self.d] = sums[:, self.d]
        result[:, : self.d] = products * self.inverse
        return result

    def settled_gram(self, H: Floats) -> Floats:
        unit = np.append(self.inverse, 1.0) if self.intercept else self.inverse
        blocks = H.reshape(len(H) // self.p, self.p, -1, self.p).transpose(0, 2, 1, 3)
        settled = np.empty_like(blocks)
        for a, b in np.ndindex(*blocks.shape[:2]):
            part = blocks[a, b].copy()
            if self.well_conditioned:
                part[: self.d] = self._solve_RT(part[: self.d])
                part[:, : self.d] = self._solve_RT(np.ascontiguousarray(part[:, : self.d].T)).T
            settled[a, b] = part * unit[:, None] * unit
        return np.asarray(settled.transpose(0, 2, 1, 3).reshape(H.shape))

    def point(self, theta: Floats, sums: Sums) -> Point:
        gradient = self.settled(sums.gradient.reshape(self.m, self.p))
        hessian = None if sums.hessian is None else self.settled_gram(sums.hessian)
        return super().point(theta, Sums(sums.value, sums.size, gradient, hessian))

    def _solve_RT(self, B: Floats) -> Floats:
        return np.asarray(sl.solve_triangular(self.R, B, trans="T", check_finite=False))


def part_of(problem: Problem, index: Ints, *, alone: bool = False) -> Problem:
    """The problem on a subset of the rows, in the same coordinates; weights are over those of all rows, or of these."""
    rows: Any = problem.features if isinstance(problem, LandmarkProblem) else problem.rows
    subset, columns = rows.subset(index), problem.columns
    if alone:
        weight = subset.sum(lambda block: block.total_weight)
        columns = replace(columns, weight=max(weight, 1e-300))
    return LandmarkProblem.of(problem.on(subset, columns))

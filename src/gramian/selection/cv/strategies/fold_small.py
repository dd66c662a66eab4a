"""Exact cross-validation on small tables: Newton steps of all models at once, each with the Hessian at its own θ."""

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import single_threaded_blas
from gramian.selection.cv.strategies.backtracking import Backtracking
from gramian.selection.cv.strategies.fold_passes import FoldPasses, extrapolated, nearest
from gramian.solvers.smooth.newton import solver_of
from gramian.solvers.smooth.proximal_newton import MAX_SWEEPS, minimiser

MOST_PRODUCTS = 2**21  # of a Hessian: below, the calls of a pass cost about as much
MOST_WHOLE = 100  # coefficients with zeros or bounds that are worked on as a whole
MOST_PASSES = 60
LEEWAY = 1e-3  # of the loss, by which a forecast may be worse than where it came from
INNER = 1e-3  # of the residual, that a minimum of a model leaves
LEFT = 1e-3  # of the decrease that counts as none: what is left after a last step that converges as the one before
SLOW = 1e-2  # of the last decrease to be had: more, and a Hessian is taken anew
FLAT = 1e-9  # of the mean slope of the loss: what a gradient may be, where nothing curves or no step is shorter
MOST_COLLINEAR = 1e12  # diagonal of the inverse of a Hessian whose own diagonal is 1


class SmallPath:
    """The models of one plan from alpha to alpha, for losses of one output and penalties without groups.

    `settled` is a length in the metric of the Hessian, over the root of the objective. A Hessian is kept for the steps
    that follow at its alpha as long as they converge fast.
    """

    @staticmethod
    def supports(problem: Problem, passes: FoldPasses) -> bool:
        """Whether a Hessian of each model costs no more than the calls that ask for it."""
        parts = problem.parts
        whole = parts is not None and not parts.groups and (parts.smooth or problem.p <= MOST_WHOLE)
        return passes.table is not None and whole and len(passes.table[0]) * problem.p**2 <= MOST_PRODUCTS

    def __init__(self, problem: Problem, passes: FoldPasses, settled: float) -> None:
        assert passes.table is not None
        assert problem.parts is not None
        self.Z, self.y, w, atoms = passes.table
        self.problem, self.settled = problem, settled
        self.smooth = problem.parts.smooth
        atom = np.repeat(np.arange(len(atoms)), [a.stop - a.start for a in atoms])
        train, test = passes.train[:, atom] * w, passes.test[:, atom] * w
        self.empty = bool((train.sum(axis=1) <= 0).any())
        with np.errstate(invalid="ignore"):  # NaN where no row counts
            self.train, self.test = (part / part.sum(axis=1, keepdims=True) for part in (train, test))
        self.tested = test > 0
        self.count = len(train)
        self.known: dict[float, Floats] = {}
        self.terms: dict[float, tuple[Floats, Floats]] = {}  # loss of those models, and penalty over its alpha
        self.slopes: dict[float, Floats] = {}  # gradients of the loss at these models
        self.hessians = np.zeros((self.count, problem.p, problem.p))  # of the loss, where it was last taken
        self.inverses = np.zeros_like(self.hessians)  # of those with the penalty

    @single_threaded_blas()
    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        if self.empty:
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            theta = self._optima(alpha)
            return None if theta is None else self._validation(theta)

    def _validation(self, theta: Floats) -> Floats:
        """Mean losses on the test parts; NaN where no row of one counts."""
        values = self.problem.loss.value(self.y, theta[1:] @ self.Z.T)
        values[~self.tested] = 0.0
        values *= self.test
        return np.asarray(values.sum(axis=1))

    def _optima(self, alpha: float) -> Floats | None:
        problem = self.problem.with_alpha(alpha)
        loss, d, Z = problem.loss, problem.d, self.Z
        base, value = self._nearest(alpha)
        theta = self._start(problem, alpha)
        search = Backtracking(base, value, theta - base)
        before, live = np.zeros(self.count), np.arange(self.count)
        losses, penalties, slopes = np.zeros(self.count), np.zeros(self.count), np.zeros_like(theta)
        first, curved = True, False
        for _ in range(MOST_PASSES):
            point, share = theta[live], self.train if len(live) == self.count else self.train[live]
            values, g, h = loss.all(self.y, point @ Z.T)
            values *= share
            bent, nonsmooth = problem.quadratic(point)[1], nonsmooth_part(problem, point)
            mean = values.sum(axis=1)
            penalty = 0.5 * (bent * point[:, :d]).sum(axis=1) + nonsmooth
            there = mean + penalty
            fell = search.descended(live, there, there)
            if not fell.all():
                rejected = live[~fell]
                if first:
                    search.restart(rejected)
                elif not search.shorten(rejected):
                    return None
                theta[rejected] = _within(problem, search.points(rejected))
                first = False
                continue
            first = False
            losses[live], penalties[live] = mean, penalty
            g *= share
            slope = g @ Z
            slopes[live] = slope
            size = np.abs(g, out=g).sum(axis=1)
            g = slope.copy()
            g[:, :d] += bent
            enough = self.settled**2 * (np.abs(mean) + penalty)
            flat = np.zeros(len(g), dtype=bool)
            if self.smooth:
                flat = np.abs(g).max(axis=1) <= FLAT * np.maximum(size, 1e-300)
            for renewed in (False, True):
                if not (renewed or curved):
                    continue
                if renewed:
                    curved = True
                    self._renew(problem, live, h * share)
                steps = self._steps(problem, live, point, g, nonsmooth, size)
                if steps is None:
                    return None
                delta, gain = steps
                last = before[live]
                near = (gain <= LEFT * enough) | (gain**2 <= LEFT * enough * last)
                if (near | flat | (gain <= SLOW * last)).all():
                    break
            delta[flat & ~near] = 0.0
            before[live] = gain
            search.advance(live, point, there, delta, -gain)
            theta[live] = _within(problem, point + delta)
            live = live[~(near | flat)]
            if not len(live):
                slopes += (self.hessians @ search.step[:, :, None])[:, :, 0]
                self.known[alpha], self.terms[alpha], self.slopes[alpha] = theta, (losses, penalties / alpha), slopes
                return theta
        return None

    def _nearest(self, alpha: float) -> tuple[Floats, Floats]:
        """The models at the alpha next to this one, and about their objectives here, which no start may exceed."""
        if not self.known:
            return np.repeat(self.problem.zero(), self.count, axis=0), np.full(self.count, np.inf)
        near = nearest(self.known, alpha)
        loss, penalty = self.terms[near]
        return self.known[near].copy(), loss + alpha * penalty + LEEWAY * np.abs(loss)

    def _start(self, problem: Problem, alpha: float) -> Floats:
        """Where the path leads; with zeros, where the quadratic models at the nearest solution have their minimum."""
        if not self.known:
            return np.repeat(self.problem.zero(), self.count, axis=0)
        if self.smooth:
            return extrapolated(self.known, alpha).copy()
        near = nearest(self.known, alpha)
        theta, g = self.known[near], self.slopes[near].copy()
        g[:, : problem.d] += problem.quadratic(theta)[1]
        nonsmooth, size = nonsmooth_part(problem, theta), np.full(self.count, np.inf)
        steps = self._steps(problem, np.arange(self.count), theta, g, nonsmooth, size)
        return theta.copy() if steps is None else _within(problem, theta + steps[0])

    def _renew(self, problem: Problem, live: Ints, h: Floats) -> None:
        """The Hessians of the loss where the models are, from the curvature of each row times its share."""
        for k, root in zip(live, np.sqrt(h), strict=True):
            B = self.Z.T * root
            np.matmul(B, B.T, out=self.hessians[k])
        if self.smooth:
            self.inverses[live] = _inverses(self.hessians[live] + problem.penalty_hessian)

    def _steps(
        self, problem: Problem, live: Ints, theta: Floats, g: Floats, nonsmooth: Floats, size: Floats
    ) -> tuple[Floats, Floats] | None:
        """The step of every model to the minimum of its quadratic model, and the decrease to first order."""
        if self.smooth:
            delta = -(self.inverses[live] @ g[:, :, None])[:, :, 0]
            return delta, -(g * delta).sum(axis=1)
        H = self.hessians[live] + problem.penalty_hessian
        residual = np.abs(theta - problem.prox(theta - g, 1.0))
        curve = np.diagonal(H, axis1=1, axis2=2)
        if ((curve <= 0) & (residual > FLAT * size[:, None])).any():
            return None
        x, slope = theta.copy(), g.copy()
        for k, enough in enumerate((INNER * residual.max(axis=1, initial=0.0)).tolist()):
            minimiser(len(x[k]))(H[k], x[k], slope[k], *problem.separable, enough, MAX_SWEEPS)
        delta = x - theta
        return delta, nonsmooth - nonsmooth_part(problem, _within(problem, theta + delta)) - (g * delta).sum(axis=1)


def _inverses(H: Floats) -> Floats:
    """H⁻¹ of every model; where one is singular, without its null space."""
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    A = H * unit[:, :, None] * unit[:, None, :]
    try:
        found = np.linalg.inv(A)
        part = np.diagonal(found, axis1=1, axis2=2)
        if (part > 0).all() and (part < MOST_COLLINEAR).all():
            return np.asarray(found * unit[:, :, None] * unit[:, None, :])
    except np.linalg.LinAlgError:
        pass
    return np.stack([solver_of(one)(np.eye(len(one))) for one in H])


def _within(problem: Problem, theta: Floats) -> Floats:
    """θ moved to the nearest point within bounds, in place."""
    assert problem.parts is not None
    if problem.parts.bounded:
        c = theta[:, : problem.d]
        np.clip(c, problem.low, problem.high, out=c)
    return theta


def nonsmooth_part(problem: Problem, theta: Floats) -> Floats:
    """What the penalty has beside squares, of every model (M, p)."""
    parts, c = problem.parts, theta[:, : problem.d]
    assert parts is not None
    if parts.smooth:
        return np.zeros(len(theta))
    found = np.abs(c) @ problem.l1
    if parts.bounded:
        found[~((c >= problem.low) & (c <= problem.high)).all(axis=1)] = np.inf
    return found

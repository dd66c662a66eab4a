"""Every solver: each pair of loss and penalty is proved optimal by weak duality, in raw units."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear, minimize

import gramian as gm
from checks.members import members, public_classes
from gramian.objective.losses import Hinge, Huber, MultiHinge, Power, RootHinge
from gramian.objective.losses.base import Loss, PiecewiseLinear, Scaled
from gramian.objective.penalties import Penalty
from gramian.objective.problem import Problem
from gramian.solvers.base import Solver, run
from gramian.solvers.choose import choose, plain
from gramian.solvers.solve import certified, fit_problem
from gramian.solvers.sparse.local_linear import WeightedL1

N, D, CLASSES = 120, 4, 3
LOSSES = members(
    Loss,
    {
        "Power": [{"p": p} for p in (1.0, 2.0, 3.0)],
        "Huber": [{"delta": 1.0, "scale": 0.7}],
        "StudentT": [{"nu": 3.0, "scale": 0.8}],
        "Quantile": [{"q": 0.85}],
        "MultiHinge": [{"margin": 0.0}],
    },
)
GROUPS = (0, 1, 0, 1)
UNITS = np.array([1e-6, 1e-2, 1e3, 1e6])
MEANS = 1e6 * np.array([1.0, -1.0, 1.0, 0.0])


def penalties(units):
    """Every public penalty for four columns; groups and matrices are given in the units of the columns."""
    found = members(
        Penalty,
        {
            "Tikhonov": [{"matrix": np.diff(np.eye(D), axis=0) * units}],
            "GroupL1": [{"groups": GROUPS}],
            "ElasticNet": [{"l1_ratio": 0.0}],
            "Box": [
                {"low": -0.2 / units, "high": np.array([0.3, np.inf, 0.1, 0.3]) / units},
                {"low": -0.2, "high": 0.3, "penalty": gm.penalties.L1()},
                {"low": -0.2, "high": 0.3, "penalty": gm.penalties.L2()},
            ],
            "NonNegative": [{"penalty": gm.penalties.ElasticNet()}],
        },
    )
    return [penalty for penalty in found if fits(penalty)]


def fits(penalty, d=D):
    try:
        penalty.parts(d)
    except ValueError:  # a matrix for another number of columns
        return False
    return True


PENALTIES = penalties(np.ones(D))


def table(seed, loss):
    """Columns that are correlated, and a target that they explain in part."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) @ (np.eye(D) + 0.3)
    eta = X @ np.array([0.7, -0.4, 0.2, 0.0])
    y = {
        "numbers": lambda: eta + 0.5 * rng.standard_t(3, N),
        "counts": lambda: rng.poisson(np.exp(0.5 * eta + 0.5)).astype(float),
        "signs": lambda: np.where(eta + rng.logistic(size=N) > 0, 1.0, -1.0),
        "classes": lambda: np.digitize(eta + 0.5 * rng.logistic(size=N), [-0.7, 0.7]).astype(float),
    }[loss.targets]()
    return X, y, rng.integers(0, 4, N).astype(float)


def refused(loss, penalty):
    """A hinge of all classes with a concave penalty, unless it has no margin, and so no coefficients."""
    return isinstance(loss, MultiHinge) and loss.margin > 0 and not penalty.convex


def outputs(loss):
    return CLASSES if loss.targets == "classes" else 1


def solve(loss, penalty, alpha, X, y, weight=None, *, intercept=True, sparse=False, **options):
    rows = gm.scan(sp.csr_array(X) if sparse else X, y, sample_weight=weight)
    problem = Problem(rows, loss, penalty, alpha, intercept=intercept, outputs=outputs(loss))
    return fit_problem(problem, **options)


# the conditions of optimality, from the data as given


def touching(penalty, alpha, w):
    """The penalty, or the weighted L1 norm that touches a concave one at w: they have the same slopes there."""
    slopes = penalty.at(alpha).slope(w)
    return penalty if slopes is None else WeightedL1(slopes)


@dataclass
class Slopes:
    """alpha ∂ penalty at w: an interval for each coefficient, and balls for the groups that are zero."""

    low: np.ndarray
    high: np.ndarray
    balls: list

    @classmethod
    def of(cls, penalty, alpha, w):
        parts = touching(penalty, alpha, w).parts(len(w))
        S = np.diag(parts.square) if parts.square.ndim == 1 else parts.square
        slope, l1, balls = 2.0 * alpha * (S @ w) + alpha * parts.l1 * np.sign(w), alpha * parts.l1, []
        for group in parts.groups:
            size, cost = np.linalg.norm(w[group]), alpha * np.sqrt(len(group))
            if size > 0:
                slope[group] += cost * w[group] / size
            else:
                balls.append((group, cost))
        low, high = slope - l1 * (w == 0), slope + l1 * (w == 0)
        return cls(np.where(w <= parts.low, -np.inf, low), np.where(w >= parts.high, np.inf, high), balls)

    @property
    def loose(self):
        found = self.low < self.high
        for group, cost in self.balls:
            found[group] = cost > 0
        return found

    def miss(self, pull):
        """How far −pull is from the slopes, coefficient by coefficient."""
        left = -pull - np.clip(-pull, self.low, self.high)
        for group, cost in self.balls:
            size = np.linalg.norm(pull[group])
            left[group] = -pull[group] * max(1.0 - cost / size, 0.0) if size > 0 else 0.0
        return np.abs(left)


def standard(X, share, intercept):
    """Columns less their means (with an intercept), and their deviations."""
    Z = X - share @ X if intercept else X
    unit = np.sqrt(share @ Z**2)
    return Z, np.where(unit > 0, unit, 1.0)


def kkt(loss, penalty, alpha, X, y, weight, coef, b):
    """The largest violation in units of the columns, over the mean slope of the loss; coef is (d, m)."""
    share = weight / weight.sum()
    intercept = b is not None
    Z, unit = standard(X, share, intercept)
    f = X @ coef + (b if intercept else 0.0)
    g = loss.gradient(y, f if f.shape[1] > 1 else f[:, 0]).reshape(f.shape)
    left = [np.abs(share @ g).max() if intercept else 0.0]
    for k in range(f.shape[1]):
        left.append((Slopes.of(penalty, alpha, coef[:, k]).miss(Z.T @ (share * g[:, k])) / unit).max())
    return max(left) / (share @ np.abs(g)).sum()


@dataclass
class Proof:
    """The objective, how far above the optimum it may be, and by how much the dual point misses its equations."""

    value: float
    gap: float
    lack: float


def proof(loss, penalty, alpha, X, y, weight, coef, b, dual=None):
    """A feasible point of the dual, made from the coefficients: whatever it is, weak duality makes it a bound.

    (1/Σw) Σ w loss(y, Xw + b) + alpha penalty(w) is at least −Σ share loss*(u) − (alpha penalty)*(−Xᵀ(share u)) for
    every u with Σ share u = 0, the solver's own (`dual`) where a group at zero leaves many. Written row by row and
    coefficient by coefficient (Fenchel and Young) nothing cancels.
    """
    share, intercept = weight / weight.sum(), b is not None
    used = share > 0
    Z, unit = standard(X, share, intercept)
    f = X @ coef + (b if intercept else 0.0)
    value = share @ loss.value(y, f) + alpha * penalty.value(coef)
    parts = penalty.parts(len(coef))
    tiny = 1e-8 * (share @ np.abs(f - share @ f) + 0.01 * np.abs(f).max()) / unit
    coef = np.where((np.abs(coef) <= tiny) & (parts.l1 > 0), 0.0, coef)
    slopes = Slopes.of(penalty, alpha, coef)
    columns = np.column_stack([np.ones(len(y))] * intercept + [Z / unit]) * share[:, None]
    held = np.append(np.ones(int(intercept), dtype=bool), ~slopes.loose)
    aim = -np.append(np.zeros(int(intercept)), np.where(slopes.loose, 0.0, slopes.low) / unit)
    if isinstance(loss, PiecewiseLinear) and slopes.balls and dual is not None:
        u = dual[: len(y)].reshape(-1)
        room = np.minimum(u - loss.breakpoint(y)[1], loss.breakpoint(y)[2] - u)
    elif isinstance(loss, PiecewiseLinear):
        u, room = _piecewise_linear_slopes(loss, y, f, share, columns, slopes, unit, intercept)
    else:
        u = loss.gradient(y, f)
        room = _room(loss, y, u)
    E = columns[:, held]
    for _ in range(3):  # rows that are inside the domain move, so that the equations hold
        u = u - room**2 * (E @ np.linalg.lstsq((E * room[:, None] ** 2).T @ E, E.T @ u - aim[held], rcond=1e-14)[0])
    pull = Z.T @ (share * u)
    shrink = max([1.0] + [np.linalg.norm(pull[g]) / cost for g, cost in slopes.balls if cost > 0])
    loose = slopes.loose & np.isfinite(slopes.low) & np.isfinite(slopes.high) & (parts.l1 > 0)
    if loose.any():
        shrink = max(shrink, (np.abs(pull) / np.maximum(alpha * parts.l1, 1e-300))[loose].max())
    u, pull = u / shrink, pull / shrink
    if isinstance(loss, PiecewiseLinear):
        _, low, high = loss.breakpoint(y)
        u = np.clip(u, low, high)
    rows = share[used] @ (loss.value(y, f) + loss.conjugate(y, u) - u * f)[used]
    young, lack = _penalty_gap(penalty, alpha, coef, pull, np.abs(Z).T @ (share * np.abs(u)))
    if intercept:
        lack = max(lack, abs(share @ u) / (share @ np.abs(u)))
    return Proof(value, rows + young, lack)


def _room(loss, y, u):
    """How far each slope may move either way and stay in the domain of the conjugate."""
    unit = np.maximum(np.abs(u), 1e-3 * np.abs(u).max())
    room = np.zeros_like(u)
    for k in range(60):
        step = unit * 0.5**k
        inside = np.isfinite(loss.conjugate(y, u + step)) & np.isfinite(loss.conjugate(y, u - step))
        room = np.where((room == 0) & inside, step, room)
    return room


def _piecewise_linear_slopes(loss, y, f, share, columns, slopes, unit, intercept):
    """Rows off their breakpoint have the slope of their side; those at it the slopes that balance the rest best."""
    at, low, high = loss.breakpoint(y)
    e = f - at
    free = (np.abs(e) <= 1e-6 * (share @ np.abs(e) + 1e-9 * np.abs(f).max())) & (share > 0)
    u = np.where(free, 0.0, np.where(e > 0, high, low))
    F, some = np.flatnonzero(free), np.flatnonzero(slopes.loose)
    fixed = np.append(np.zeros(int(intercept)), np.where(slopes.loose, 0.0, slopes.low) / unit) + columns.T @ u
    slack = np.eye(len(fixed))[:, some + int(intercept)]
    ends = np.append(low[F], (slopes.low / unit)[some]), np.append(high[F], (slopes.high / unit)[some])
    A = np.column_stack([columns[F].T, slack])
    if A.shape[1]:
        u[F] = lsq_linear(A, -fixed, ends, method="bvls", tol=1e-15, max_iter=1000).x[: len(F)]
    u[F] = np.clip(u[F], low[F], high[F])
    return u, np.where(free, np.minimum(u - low, high - u), 0.0)


def _penalty_gap(penalty, alpha, w, pull, size):
    """alpha penalty(w) + (alpha penalty)*(−pull) + pull · w, and by how much −pull is out of the conjugate's domain."""
    parts = penalty.parts(len(w))
    if parts.square.ndim == 2 or parts.groups:
        slopes = Slopes.of(penalty, alpha, w)
        return 0.0, float((slopes.miss(pull) / size).max())
    q, l1 = alpha * parts.square, alpha * parts.l1
    up = -pull
    left = np.sign(up) * np.maximum(np.abs(up) - l1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(left == 0, 0.0, np.where(q > 0, left / (2.0 * q), np.copysign(np.inf, left)))
    best = np.clip(best, parts.low, parts.high)
    lack = float((np.where(np.isfinite(best), 0.0, np.abs(left)) / size).max())
    best = np.where(np.isfinite(best), best, w)

    def at(c):
        return up * c - q * c**2 - l1 * np.abs(c)

    return float((at(best) - at(w)).sum()), lack


def proved(loss, penalty, alpha, X, y, weight, fit, intercept, most=1e-7):
    """Assert that a fit is optimal, whatever its certificate says."""
    weight = np.ones(len(y)) if weight is None else weight
    b = fit.intercept if intercept else None
    coef = fit.coef
    given, penalty = penalty.at(alpha), touching(penalty, alpha, fit.coef[:, 0])
    parts = penalty.parts(len(coef))
    assert (coef >= parts.low[:, None] - 1e-15 * np.abs(parts.low[:, None])).all()
    assert (coef <= parts.high[:, None] + 1e-15 * np.abs(parts.high[:, None])).all()
    if isinstance(loss, Scaled) and loss.scale is None:
        s, r = fit.scale, (y - X @ coef[:, 0] - (b if intercept else 0.0))
        share = weight / weight.sum()
        joint = share @ loss.joint(y, y - r, s) + alpha * given.value(coef[:, 0])
        np.testing.assert_allclose(fit.value, joint, rtol=1e-10)
        steps = [share @ loss.joint(y, y - r, s * (1 + h)) for h in (-1e-4, 1e-4)]
        assert abs(np.diff(steps)[0] / 2e-4) <= 1e-6 * abs(joint)  # ∂ / ∂ log scale
        loss, alpha = loss.at(s), alpha / (s if isinstance(loss, Huber) else 1.0)
    elif not isinstance(loss, RootHinge | MultiHinge):
        f = X @ coef + (b if intercept else 0.0)
        value = (weight / weight.sum()) @ loss.value(y, f if f.shape[1] > 1 else f[:, 0])
        value += alpha * sum(given.value(c) for c in coef.T)
        np.testing.assert_allclose(fit.value, value, rtol=1e-9, atol=1e-12)
    if isinstance(loss, RootHinge):
        assert decrease_below(given, alpha, X, y, weight, coef[:, 0], b) <= 1e-6
        return
    if isinstance(loss, MultiHinge):
        return
    if not loss.convex or loss.targets == "classes":
        assert kkt(loss, given if loss.targets == "classes" else penalty, alpha, X, y, weight, coef, b) <= 1e-6
        return
    if fit.value == 0.0:
        return  # no loss and no penalty is below zero
    dual = fit.dual
    found = proof(loss, penalty, alpha, X, y, weight, coef[:, 0], b[0] if intercept else None, dual)
    assert found.lack <= 1e-9
    assert -1e-12 * abs(found.value) <= found.gap <= most * abs(found.value)


def decrease_below(penalty, alpha, X, y, weight, w, b, nearness=1e-3):
    """How much lower, relatively, the weighted hinge that touches the root of the hinge at a fit can be."""

    def hinges(w, b):
        return np.maximum(1.0 - y * (X @ w + (0.0 if b is None else b)), 0.0)

    slopes = 0.5 * weight / np.sqrt(hinges(w, b) + nearness)
    alpha, above = alpha * weight.sum() / slopes.sum(), touching(penalty, alpha, w)
    best = solve(Hinge(), above, alpha, X, y, slopes, intercept=b is not None)
    here, there = (
        (slopes / slopes.sum()) @ hinges(w, b) + alpha * above.value(w)
        for w, b in ((w, b), (best.coef[:, 0], best.intercept))
    )
    return (here - there) / here


# the checks


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_pair_is_solved(loss, penalty):
    X, y, weight = table(0, loss)
    alpha = 0.05
    if refused(loss, penalty):
        with pytest.raises(ValueError, match="No solver can do the loss MultiHinge with the penalty"):
            solve(loss, penalty, alpha, X, y)
        return
    proving = loss if loss != Power(1.0) else gm.losses.Absolute()
    for w, intercept, sparse in ((None, True, False), (weight, False, False), (weight, True, True)):
        Xs = X * (np.random.default_rng(1).random(X.shape) < 0.6) if sparse else X
        fit = solve(loss, penalty, alpha, Xs, y, w, intercept=intercept, sparse=sparse)
        assert fit.certificate.holds
        proved(proving, penalty, alpha, Xs, y, w, fit, intercept)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_units_and_means_do_not_matter(loss):
    """Columns in units from 1e-6 to 1e6, and columns a million deviations from zero."""
    X, y, weight = table(2, loss)
    proving = loss if loss != Power(1.0) else gm.losses.Absolute()
    for Xs, units in ((X * UNITS, UNITS), (X + MEANS, np.ones(D))):
        for penalty in penalties(units):
            if isinstance(penalty, gm.penalties.GroupL1):
                if loss.targets == "classes":
                    continue  # right, but a minute each while blocks of coefficients are swept in Python
                penalty = gm.penalties.GroupL1(range(D))
            if refused(loss, penalty) or (isinstance(loss, Power) and not penalty.convex):
                continue  # what Newton leaves of powers in such units, the method for convex pairs resolves
            fit = solve(loss, penalty, 0.05, Xs, y, weight)
            assert fit.certificate.holds, penalty
            proved(proving, penalty, 0.05, Xs, y, weight, fit, True)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.smooth and loss.convex], ids=repr)
def test_certificate_of_a_smooth_loss_is_what_it_says(loss, penalty):
    """At a point that is not the optimum: θ − prox(θ − gradient) over the mean slope, from the data themselves."""
    X, y, weight = table(3, loss)
    alpha = 0.05
    if isinstance(loss, Power) or (isinstance(loss, Scaled) and loss.scale is None):
        return  # measured otherwise, see below
    rows = gm.scan(X + 3.0, y, sample_weight=weight)
    problem = Problem(rows, loss, penalty, alpha, outputs=outputs(loss))
    method, _ = choose(problem)
    found = run(method, problem, max_iter=1, tol=1e-8)
    _, value = certified(problem, found.theta, found)
    share = weight / weight.sum()
    Z, unit = standard(X + 3.0, share, True)
    scale = np.ldexp(1.0, np.frexp(unit)[1])
    coef, b = problem.to_original(found.theta)
    parts = touching(penalty, alpha, coef[:, 0]).parts(D)
    for group in parts.groups:
        scale[group] = np.ldexp(1.0, int(np.round(np.mean(np.log2(scale[group])))))
    f = (X + 3.0) @ coef + b
    g = loss.gradient(y, f if f.shape[1] > 1 else f[:, 0]).reshape(f.shape)
    S = np.diag(parts.square) if parts.square.ndim == 1 else parts.square
    left = [np.abs(share @ g).max()]
    for k in range(f.shape[1]):
        c = coef[:, k]
        parts = touching(penalty, alpha, c).parts(D)
        slope = (Z.T @ (share * g[:, k]) + 2.0 * alpha * S @ c) / scale
        theta = c * scale
        moved = theta - slope
        moved = np.sign(moved) * np.maximum(np.abs(moved) - alpha * parts.l1 / scale, 0.0)
        for group in parts.groups:
            size, cost = np.linalg.norm(moved[group]), alpha * np.sqrt(len(group)) / scale[group[0]]
            moved[group] *= max(1.0 - cost / size, 0.0) if size > 0 else 0.0
        moved = np.clip(moved, parts.low * scale, parts.high * scale)
        left.append(np.abs(theta - moved).max())
    np.testing.assert_allclose(value, max(left) / (share @ np.abs(g)).sum(), rtol=1e-6, atol=1e-13)


BOUNDED = {
    "InteriorPoint": (["Absolute", "Quantile", "Hinge"], ["Zero", "L2", "L1", "ElasticNet", "Tikhonov"]),
    "DualDescent": (["Absolute", "Quantile", "Hinge"], ["L2"]),
    "JointInteriorPoint": (["MultiHinge"], ["L2", "Tikhonov"]),
}


BOUNDED_PENALTIES = (
    gm.penalties.NonNegative(),
    gm.penalties.NonNegative(gm.penalties.L1()),
    gm.penalties.Box(-0.3, 0.5),
)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", [3, 4, 14, 3465])
def test_coefficients_keep_their_bounds_and_certificates_are_of_finite_values(loss, seed):
    """HiGHS left -8e-14 of a non-negative coefficient at seed 3465, and an infinite objective was certified."""
    from fuzz.families import pairs

    _, _, alpha, X, y, weight, intercept = pairs.draw(seed)
    y = {"signs": np.where(y > y.mean(), 1.0, -1.0), "counts": np.round(np.abs(y))}.get(loss.targets, y)
    if loss.targets == "classes":
        y = (
            np.digitize(y, np.quantile(y, [0.3, 0.7])).astype(float)
            if len(np.unique(y)) > 2
            else np.arange(len(y)) % 3.0
        )
    for penalty in BOUNDED_PENALTIES:
        problem = pairs.problem_of(loss, penalty, alpha, X, y, weight, intercept)
        fit = fit_problem(problem, warn=False, max_iter=100)
        parts = penalty.parts(X.shape[1])
        assert (fit.coef >= parts.low[:, None]).all()
        assert (fit.coef <= parts.high[:, None]).all()
        assert np.isfinite(fit.value) or not fit.certificate.holds


@pytest.mark.parametrize("name", BOUNDED)
def test_duality_gap_is_a_bound_wherever_it_stops(name):
    kinds, names = BOUNDED[name]
    method = getattr(gm.solvers, name)()
    for loss in (getattr(gm.losses, kind)() for kind in kinds):
        X, y, weight = table(4, loss)
        for penalty in (penalty for penalty in PENALTIES if type(penalty).__name__ in names):
            problem = Problem(gm.scan(X + 2.0, y, sample_weight=weight), loss, penalty, 0.02, outputs=outputs(loss))
            least = fit_problem(problem, tol=1e-10, warn=False).value
            for steps in (0, 1, 2, 4, 7):
                found = run(method, problem, max_iter=steps, tol=1e-10)
                kind, gap = certified(problem, found.theta, found)
                value = problem.value(found.theta)
                assert kind == "duality gap"
                assert value - least <= (gap + 1e-9) * abs(value), (loss, penalty, steps)


def hinge_of_all(X, y, penalty, alpha):
    """The same objective as a programme with one more variable a row, by sequential quadratic programming."""
    n, d, k = len(y), X.shape[1], CLASSES
    Z = np.column_stack([X, np.ones(n)])
    codes = y.astype(int)
    slack = k * (d + 1)
    blocks = []
    for j in range(k):
        A = np.zeros((n, slack + n))
        for row in range(n):
            A[row, slack + row] = 1.0
            A[row, codes[row] * (d + 1) : (codes[row] + 1) * (d + 1)] += Z[row]
            A[row, j * (d + 1) : (j + 1) * (d + 1)] -= Z[row]
        blocks.append((A, np.where(codes == j, 0.0, 1.0)))
    A, b = np.vstack([a for a, _ in blocks]), np.concatenate([c for _, c in blocks])
    parts = penalty.parts(d)
    S = np.diag(parts.square) if parts.square.ndim == 1 else parts.square

    def value(v):
        W = v[:slack].reshape(k, d + 1)[:, :d]
        return v[slack:].mean() + alpha * np.einsum("kd,de,ke->", W, S, W)

    def slope(v):
        found = np.zeros_like(v)
        W = v[:slack].reshape(k, d + 1)[:, :d]
        found[:slack].reshape(k, d + 1)[:, :d] = 2.0 * alpha * W @ S
        found[slack:] = 1.0 / n
        return found

    start = np.append(np.zeros(slack), np.ones(n))
    constraint = {"type": "ineq", "fun": lambda v: A @ v - b, "jac": lambda v: A}
    return minimize(value, start, jac=slope, method="SLSQP", constraints=[constraint], options={"ftol": 1e-12}).fun


@pytest.mark.parametrize("name", ["L2", "Tikhonov"])
def test_hinge_of_all_classes_reaches_the_programme(name):
    loss = gm.losses.MultiHinge()
    X, y, _ = table(5, loss)
    X, y = X[:36], y[:36]
    for penalty in (penalty for penalty in PENALTIES if type(penalty).__name__ == name):
        fit = solve(loss, penalty, 0.03, X, y)
        assert fit.certificate.holds
        f = X @ fit.coef + fit.intercept
        value = loss.value(y, f).mean() + 0.03 * sum(penalty.value(c) for c in fit.coef.T)
        np.testing.assert_allclose(fit.value, value, rtol=1e-10)
        np.testing.assert_allclose(value, hinge_of_all(X, y, penalty, 0.03), rtol=1e-6)


def test_every_public_solver_is_among_the_checked():
    """A solver that is added must say here by which pairs it is checked, through `choose` or by hand."""
    chosen = set()
    for loss in LOSSES:
        X, y, _ = table(0, loss)
        for penalty in PENALTIES:
            for rows in (gm.scan(X, y), gm.scan(np.tile(X, 600)[:30], y[:30])):
                if rows.d > D and not (loss.convex and fits(penalty, rows.d)):
                    continue
                if refused(loss, penalty):
                    continue
                problem = Problem(rows, loss, penalty, 0.05, outputs=outputs(loss))
                chosen.add(type(choose(plain(problem))[0]).__name__)
    by_hand = {
        "ColumnDescent",
        "DualDescent",
        "GradientDescent",
        "SmoothedNewton",
        "ActiveRowsInteriorPoint",
        "NewtonCG",
        "PerceptronAlgorithm",
        "ScaleSearch",
        "StochasticGradient",
        "RowSpaceInteriorPoint",
    }
    public = {kind.__name__ for kind in public_classes(Solver)}
    assert public <= chosen | by_hand
    for kind in public_classes(Solver):
        assert kind.name
        assert kind.unit
        assert kind.__doc__

"""Every loss with every penalty: against the general method and SciPy; rows of weight zero; weights as repetitions."""

import numpy as np
from scipy.optimize import minimize

import gramian as gm
from fuzz.verdict import Verdict
from gramian.objective.problem import Problem, joint_scale
from gramian.solvers.solve import fit_problem

L, P = gm.losses, gm.penalties
CLASSES = 3
MAX_POWELL = 8  # coefficients that are also searched without gradients
TOLERANCE = 1e-5  # of the objective, that a certified fit may be above the best point known


def draw_loss(rng):
    kinds = [
        L.Squared(), L.Absolute(), L.Quantile(float(rng.uniform(0.05, 0.95))), L.Power(float(rng.uniform(1.05, 4.0))),
        L.Huber(1.35, float(10.0 ** rng.uniform(-1, 1))), L.Huber(), L.StudentT(4.0, 1.0), L.Poisson(), L.Logistic(),
        L.Hinge(), L.SquaredHinge(), L.RootHinge(), L.Perceptron(), L.Softmax(), L.MultiHinge(),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def draw_penalty(rng, d):
    kinds = [
        P.Zero(), P.L2(), P.L1(), P.ElasticNet(float(rng.random())),
        P.Tikhonov(rng.standard_normal((rng.integers(1, d + 2), d))),
        P.GroupL1(tuple(rng.integers(0, 3, d).tolist())), P.Box(-0.3, 0.5), P.Box(-0.3, np.inf, P.L2()),
        P.NonNegative(), P.NonNegative(P.L1()),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def draw(seed):
    """A loss, a penalty, alpha, a small table (wide or tall, perhaps with a constant column), weights, intercept."""
    rng = np.random.default_rng(seed)
    loss = draw_loss(rng)
    n, d = int(rng.integers(6, 40)), int(rng.integers(1, 12))
    penalty = draw_penalty(rng, d)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + rng.standard_normal(d)
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = 2.0
    eta = (X - X.mean(axis=0)) @ rng.standard_normal(d) / max(float(np.abs(X).std()), 1e-3)
    eta = np.clip(eta / max(float(np.abs(eta).max()), 1e-9), -1, 1)
    y = {
        "numbers": lambda: eta + 0.5 * rng.standard_t(3, n),
        "counts": lambda: rng.poisson(np.exp(eta)).astype(float),
        "signs": lambda: np.where(eta + 0.7 * rng.logistic(size=n) > 0, 1.0, -1.0),
        "classes": lambda: np.digitize(eta + 0.5 * rng.logistic(size=n), [-0.5, 0.5]).astype(float),
    }[loss.targets]()
    y[: min(n, CLASSES)] = {"signs": [1.0, -1.0, 1.0], "classes": [0.0, 1.0, 2.0], "counts": [1.0, 0.0, 2.0]}.get(
        loss.targets, y[:CLASSES]
    )
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    alpha = float(10.0 ** rng.uniform(-3, 0.5))
    return loss, penalty, alpha, X, y, weight, bool(rng.random() < 0.8)


def problem_of(loss, penalty, alpha, X, y, weight, intercept):
    outputs = CLASSES if loss.targets == "classes" else 1
    return Problem(gm.scan(X, y, sample_weight=weight), loss, penalty, alpha, intercept=intercept, outputs=outputs)


def told(case):
    loss, penalty, alpha, X, _, weight, intercept = case
    what = f"{loss!r} × {penalty!r} alpha {alpha:.3g}, {X.shape}, weights {weight is not None}, intercept {intercept}"
    return what.replace("\n", " ")


def lower(problem, fit):
    """The least objective that SciPy finds from the fit, over coefficients within their bounds."""
    parts = problem.parts
    ends = [
        (lo, hi)
        for _ in range(problem.m)
        for lo, hi in [*zip(problem.low, problem.high, strict=True)] + [(None, None)] * problem.intercept
    ]
    ends = [tuple(None if end is None or np.isinf(end) else end for end in pair) for pair in ends]

    def value(v):
        found = problem.value(v.reshape(problem.m, problem.p))
        return found if np.isfinite(found) else 1e300

    start = fit.theta.reshape(-1)
    found = fit.value
    searches: list = [("L-BFGS-B", {"maxiter": 200})]
    if len(start) <= MAX_POWELL:
        searches.append(("Powell", {"maxiter": 10, "xtol": 1e-10, "ftol": 1e-14}))
    for method, options in searches:
        bounds = ends if parts.bounded else None
        found = min(found, float(minimize(value, start, method=method, bounds=bounds, options=options).fun))
    return found


def pair(seed):
    """A certified fit is not above the general method nor above what SciPy finds from it."""
    case = draw(seed)
    loss = case[0]
    problem = problem_of(*case)
    fit = fit_problem(problem, warn=False)
    if not (np.isfinite(fit.value) and np.isfinite(fit.coef).all()):
        return Verdict("wrong", f"not finite: {told(case)}")
    if not fit.certificate.holds:
        return Verdict("uncertified", told(case))
    if fit.separated or not loss.convex:
        return Verdict("right", told(case))
    best = fit.value
    if not joint_scale(loss):
        best = min(
            best, lower(fit.problem, fit), fit_problem(problem, solver="primal-dual", tol=1e-10, warn=False).value
        )
    above = (fit.value - best) / max(abs(best), fit.problem.least_value)
    if above > TOLERANCE:
        return Verdict("wrong", f"{above:.2g} above, certified by {fit.certificate}: {fit.solver.name}: {told(case)}")
    return Verdict("right", told(case))


def zero_weight(seed):
    """Rows of weight zero change no bit of the coefficients, whatever they hold."""
    loss, penalty, alpha, X, y, weight, intercept = case = draw(seed)
    rng = np.random.default_rng((seed, 1))
    weight = np.ones(len(y)) if weight is None else weight
    size = 10.0 ** rng.choice([12, 150])
    absurd = size * rng.standard_normal((3, X.shape[1]))
    targets = y[:3] if loss.targets != "numbers" else size * rng.standard_normal(3)
    without = fit_problem(problem_of(*case[:5], weight, intercept), warn=False)
    places = np.sort(rng.integers(0, len(y), 3))
    Xs, ys, ws = np.insert(X, places, absurd, axis=0), np.insert(y, places, targets), np.insert(weight, places, 0.0)
    beside = fit_problem(problem_of(loss, penalty, alpha, Xs, ys, ws, intercept), warn=False)
    if np.array_equal(without.coef, beside.coef) and np.array_equal(without.intercept, beside.intercept):
        return Verdict("right", told(case))
    return Verdict("wrong", f"{np.abs(without.coef - beside.coef).max():.2g} apart: {told(case)}")


def repetition(seed):
    """A weight of k is k rows: both certified objectives agree."""
    loss, penalty, alpha, X, y, weight, intercept = case = draw(seed)
    weight = np.random.default_rng((seed, 2)).integers(1, 4, len(y)) if weight is None else weight.astype(int)
    one = fit_problem(problem_of(*case[:5], weight.astype(float), intercept), warn=False)
    several = fit_problem(
        problem_of(loss, penalty, alpha, np.repeat(X, weight, axis=0), np.repeat(y, weight), None, intercept),
        warn=False,
    )
    if not (one.certificate.holds and several.certificate.holds) or not loss.convex or one.separated:
        return Verdict("uncertified", told(case))
    apart = abs(one.value - several.value) / max(abs(one.value), one.problem.least_value)
    return Verdict("right" if apart <= TOLERANCE else "wrong", f"{apart:.2g} apart: {told(case)}")


def draw_hard(seed):
    """A case of `draw`, made harder: weights over orders of magnitude, offsets, repeated rows, few rows, bounds."""
    loss, penalty, alpha, X, y, weight, intercept = draw(seed)
    rng = np.random.default_rng((seed, 3))
    n, d = X.shape
    if rng.random() < 0.4:
        kinds = [
            P.Box(0.2, 0.9),
            P.Box(-0.9, -0.1, P.L1()),
            P.Box(np.full(d, -0.2), np.linspace(0.1, 2.0, d)),
            P.MCP(),
            P.SCAD(),
        ]
        penalty = kinds[rng.integers(len(kinds))]
    if rng.random() < 0.3:
        keep = max(3, min(n, d // 2 + 2))
        X, y, weight = X[:keep], y[:keep], None if weight is None else weight[:keep]
        n = keep
    if rng.random() < 0.4:
        weight = 10.0 ** rng.uniform(-rng.choice([2.0, 4.0, 6.0]), 0.0, n)
    if rng.random() < 0.3:
        X = X + rng.choice([1e2, 1e4, 1e6]) * rng.standard_normal(d)
    if rng.random() < 0.2 and d > 1:
        X[:, 0] = X[:, -1]
    if rng.random() < 0.2:
        twice = rng.integers(0, n, n)
        X, y, weight = (None if part is None else np.concatenate([part, part[twice]]) for part in (X, y, weight))
    return loss, penalty, alpha * 10.0 ** rng.uniform(-2, 1), X, y, weight, intercept


def hard_pair(seed):
    """No point that SciPy finds from a certified fit is lower; of a stationary point, none near it."""
    case = draw_hard(seed)
    problem = problem_of(*case)
    try:
        fit = fit_problem(problem, warn=False)
    except ValueError as error:  # a concave penalty with the joint hinge
        return Verdict("refused" if "solver" in str(error) else "wrong", f"{error}: {told(case)}")
    certificate = fit.certificate
    if not (np.isfinite(fit.value) and np.isfinite(fit.coef).all()):
        return Verdict("wrong", f"not finite: {told(case)}")
    if not certificate.holds:
        return Verdict("uncertified", told(case))
    convex = case[0].convex and problem.penalty.convex
    if (certificate.claim == "global optimum") != convex:
        return Verdict("wrong", f"{certificate.claim}: {told(case)}")
    if fit.separated or joint_scale(case[0]):
        return Verdict("right", told(case))
    best = lower(fit.problem, fit) if convex else lower_nearby(fit.problem, fit)
    above = (fit.value - best) / max(abs(best), fit.problem.least_value)
    if above > TOLERANCE:
        return Verdict("wrong", f"{above:.2g} above, certified by {certificate}: {fit.solver.name}: {told(case)}")
    return Verdict("right", told(case))


def lower_nearby(problem, fit):
    """The least objective at short steps along single coefficients and random directions."""
    start, best = fit.theta.reshape(-1), fit.value
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(len(start)), rng.standard_normal((20, len(start)))])
    for size in (1e-4, 1e-6):
        for direction in np.vstack([directions, -directions]):
            found = problem.value((start + size * (1.0 + np.abs(start)) * direction).reshape(problem.m, problem.p))
            best = min(best, float(found)) if np.isfinite(found) else best
    return best


FAMILIES = {"pair": pair, "hard pair": hard_pair, "zero weight": zero_weight, "repetition": repetition}

"""Plain NumPy answers the qualities are measured against. Nothing here comes from Gramian or from a peer's own word."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, logsumexp

Array = NDArray[np.float64]
Curve = Callable[[Array], Array]  # the curvature of a loss, row by row, times a direction in the scores
Loss = Callable[[Array, Array], tuple[float, Array, Curve]]
BLOCK = 50_000
DONE = 1e-14  # relative decrease from which a minimum counts as found


@dataclass(frozen=True)
class Sums:
    """Count, sums and cross-products of the rows of [X, y], taken about one given centre."""

    n: int
    first: Array
    second: Array
    centre: Array

    @classmethod
    def of(cls, X: Array, y: Array, centre: Array) -> "Sums":
        width = X.shape[1] + 1
        first, second = np.zeros(width), np.zeros((width, width))
        for start in range(0, len(y), BLOCK):
            block = np.column_stack([X[start : start + BLOCK], y[start : start + BLOCK]]) - centre
            first += block.sum(0)
            second += block.T @ block
        return cls(len(y), first, second, centre)

    def __sub__(self, part: "Sums") -> "Sums":
        return Sums(self.n - part.n, self.first - part.first, self.second - part.second, self.centre)

    def centred(self) -> tuple[Array, Array]:
        """Mean cross-products of X with X and of X with y, about this part's own mean."""
        cross = self.second / self.n - np.outer(self.first, self.first) / self.n**2
        return cross[:-1, :-1], cross[:-1, -1]

    def intercept(self, coef: Array) -> float:
        """The intercept in centred coordinates that goes with these coefficients."""
        return float(self.first @ np.append(-coef, 1.0)) / self.n

    def mse(self, coef: Array, intercept: float) -> float:
        """Mean squared error of coefficients and a centred intercept on these rows."""
        direction = np.append(-coef, 1.0)
        square = direction @ self.second @ direction - 2 * intercept * (self.first @ direction)
        return float(square / self.n + intercept**2)


def folds(X: Array, y: Array, count: int = 5) -> tuple[Sums, list[Sums]]:
    """Sums of all rows and of each fold of scikit-learn's KFold(count) (consecutive rows)."""
    centre = np.append(X.mean(0), y.mean())
    sizes = np.full(count, len(y) // count)
    sizes[: len(y) % count] += 1
    edges = np.append(0, np.cumsum(sizes))
    parts = [Sums.of(X[a:b], y[a:b], centre) for a, b in pairwise(edges)]
    n, first, second = (sum(getattr(part, name) for part in parts) for name in ("n", "first", "second"))
    return Sums(n, first, second, centre), parts


def cv_mse(total: Sums, parts: list[Sums], solve: Any) -> float:
    """Mean over folds of the validation error of solve(XᵀX/m, Xᵀy/m), fitted on the other folds."""
    errors = []
    for part in parts:
        train = total - part
        coef = solve(*train.centred())
        errors.append(part.mse(coef, train.intercept(coef)))
    return float(np.mean(errors))


def least_squares(X: Array, y: Array) -> tuple[Array, float]:
    """Centred normal equations with one step of refinement on the residual."""
    total, _ = folds(X, y, 1)
    gram, moment = total.centred()
    coef = np.linalg.solve(gram, moment)
    mean = total.centre[:-1]
    residual = y - y.mean() - (X @ coef - mean @ coef)
    coef = coef + np.linalg.solve(gram, X.T @ (residual - residual.mean()) / len(y))
    return np.asarray(coef, dtype=float), float(y.mean() - mean @ coef)


def lasso_gaps(X: Array, y: Array, coefs: Array, alphas: Array, duals: Array | None = None) -> Array:
    """Duality gap of ‖y − Xw‖²/n + alpha ‖w‖₁ over its value at zero, for centred X and y and each row of coefs.

    The dual point is the residual, or the row of `duals` when a peer returns one and it is better; either is put on
    its best feasible multiple here, so a bad one can only make the gap larger.
    """
    n = len(y)
    residuals = y - coefs @ X.T
    primal = (residuals**2).sum(1) / n + alphas * np.abs(coefs).sum(1)
    dual = np.zeros(len(alphas))
    for points in [residuals] if duals is None else [residuals, duals]:
        square = np.maximum((points**2).sum(1), np.finfo(float).tiny)
        along = points @ y
        room = alphas / np.maximum(np.abs(points @ X).max(1), np.finfo(float).tiny)
        step = np.clip(2 * along / (n * square), -room, room)
        dual = np.maximum(dual, step * along - n * step**2 * square / 4)
    return np.asarray((primal - dual) / (y @ y / n), dtype=float)


def forward_selection(X: Array, y: Array, count: int) -> set[int]:
    """Greedy forward selection by the mean validation error of five folds, every candidate solved afresh."""
    total, parts = folds(X, y)
    trains = [(total - part).centred() for part in parts]
    chosen: list[int] = []
    for _ in range(count):
        errors = {}
        for candidate in set(range(X.shape[1])) - set(chosen):
            errors[candidate] = subset_mse(total, parts, trains, [*chosen, candidate])
        chosen.append(min(errors, key=lambda candidate: errors[candidate]))
    return set(chosen)


def subset_mse(total: Sums, parts: list[Sums], trains: list[tuple[Array, Array]], subset: list[int]) -> float:
    """Cross-validated error of least squares on some columns."""
    errors = []
    for part, (gram, moment) in zip(parts, trains, strict=True):
        coef = np.zeros(len(moment))
        coef[subset] = np.linalg.solve(gram[np.ix_(subset, subset)], moment[subset])
        errors.append(part.mse(coef, (total - part).intercept(coef)))
    return float(np.mean(errors))


def logistic(scores: Array, y: Array) -> tuple[float, Array, Curve]:
    """log(1 + exp(−y f)) for y = ±1: its mean, its gradient in the scores f, and its curvature."""
    margins = y[:, None] * scores
    wrong = expit(-margins)
    curvature = wrong * (1 - wrong)
    return float(np.logaddexp(0, -margins).mean()), -y[:, None] * wrong, lambda step: curvature * step


def softmax(scores: Array, y: Array) -> tuple[float, Array, Curve]:
    """−log p_y for y = 0 … k − 1."""
    rows, norm = np.arange(len(y)), logsumexp(scores, axis=1)
    p = np.exp(scores - norm[:, None])
    gradient = p.copy()
    gradient[rows, y] -= 1
    return float((norm - scores[rows, y]).mean()), gradient, lambda step: p * (step - (p * step).sum(1)[:, None])


def squared_hinge(scores: Array, y: Array) -> tuple[float, Array, Curve]:
    """max(0, 1 − y f)² for y = ±1."""
    short = np.maximum(0, 1 - y[:, None] * scores)
    return float((short**2).mean()), -2 * y[:, None] * short, lambda step: 2 * (short > 0) * step


class Smooth:
    """mean loss(X Wᵀ + b, y) + alpha ‖W‖² as a function of V = [W, b], one row for each score; X dense or sparse."""

    def __init__(self, loss: Loss, X: Any, y: Array, alpha: float) -> None:
        self.loss, self.X, self.y, self.alpha, self.n = loss, X, y, alpha, len(y)

    def scores(self, V: Array) -> Array:
        return np.asarray(self.X @ V[:, :-1].T + V[:, -1])

    def back(self, rows: Array) -> Array:
        """Σ rowᵢ ⊗ [xᵢ, 1] / n"""
        return np.column_stack([(self.X.T @ rows).T, rows.sum(0)]) / self.n

    def ridge(self, V: Array) -> Array:
        return 2 * self.alpha * np.column_stack([V[:, :-1], np.zeros(len(V))])

    def value(self, V: Array) -> float:
        return self.loss(self.scores(V), self.y)[0] + self.alpha * float((V[:, :-1] ** 2).sum())

    def times(self, curve: Curve, P: Array) -> Array:
        """The Hessian times P, from the curvature of the scores."""
        return self.back(curve(self.scores(P))) + self.ridge(P)

    def minimise(self, V: Array) -> tuple[Array, float, Array]:
        """Newton's method by conjugate gradients from V: the minimiser, the minimum, and the gradient at the start."""
        first = None
        for _ in range(100):
            _, slope, curve = self.loss(self.scores(V), self.y)
            value, gradient = self.value(V), self.back(slope) + self.ridge(V)
            first = gradient if first is None else first
            if np.abs(gradient).max() < 1e-13:  # rounding: nothing is left to solve for
                return V, value, first
            step = conjugate_gradients(partial(self.times, curve), gradient)
            length = length_of(self.value, V, value, step, float((gradient * step).sum()))
            if not length:
                return V, value, first
            V = V - length * step
        raise RuntimeError("the reference did not converge")


def length_of(value_at: Callable[[Array], float], V: Array, value: float, step: Array, promise: float) -> float:
    """How far to go from V against a Newton step that promises to gain so much; 0 where V is the minimum."""
    length = 1.0
    while promise > DONE * value and length > 1e-9:
        if value_at(V - length * step) <= value - 1e-4 * length * promise:
            return length
        length /= 2
    return 0.0


def conjugate_gradients(times: Curve, target: Array) -> Array:
    """The solution of times(P) = target to seven digits, or as near as rounding lets it come."""
    step, residual = np.zeros_like(target), target
    direction, square = residual, float((residual**2).sum())
    goal = 1e-14 * square
    for _ in range(2000):
        if square <= goal:
            break
        image = times(direction)
        curvature = float((direction * image).sum())
        if curvature <= 0:
            break
        step = step + square / curvature * direction
        residual = residual - square / curvature * image
        square, before = float((residual**2).sum()), square
        direction = residual + square / before * direction
    return step


def smooth(loss: Loss, X: Any, y: Array, alpha: float, result: dict[str, Any]) -> dict[str, float]:
    """Objective of an answer, its excess over the minimum (relative), and the largest entry of its gradient."""
    problem = Smooth(loss, X, y, alpha)
    V = np.column_stack([result["coef"], result["intercept"]])
    value = problem.value(V)
    _, minimum, gradient = problem.minimise(V)
    return {"objective": value, "excess": max(0.0, value / minimum - 1), "gradient": float(np.abs(gradient).max())}


def sparse_logistic(X: Any, y: Array, alpha: float, result: dict[str, Any]) -> dict[str, float]:
    """Objective of an answer to mean log(1 + exp(−y f)) + alpha ‖w‖₁, its gap, and its excess over the minimum.

    gap: relative duality gap, with the dual point of the answer scaled to feasibility. excess: over the best lower
    bound found on the way to the minimum by Newton's method in the orthant of the signs, from the answer on.
    """
    w, b, n = np.ravel(result["coef"]).copy(), float(np.ravel(result["intercept"])[0]), len(y)

    def value(w: Array, b: float) -> float:
        return float(np.logaddexp(0, -y * (X @ w + b)).mean() + alpha * np.abs(w).sum())

    start, gap, lower, before = value(w, b), np.nan, -np.inf, None
    for _ in range(60):
        margins = X @ w
        b = _best_intercept(margins, y, b)
        now, wrong = value(w, b), expit(-y * (margins + b))
        slope = -(X.T @ (y * wrong)) / n
        dual = wrong * min(1.0, alpha / np.abs(slope).max())
        lower = max(lower, float((entr(dual) + entr(1 - dual)).mean()))
        gap = (start - lower) / start if np.isnan(gap) else gap
        if now - lower < 1e-9 * now:
            break
        free = (w != 0) | (np.abs(slope) > alpha)
        signs = np.where(w != 0, np.sign(w), -np.sign(slope))[free]
        if before is None or not np.array_equal(free, before):
            part, before = X[:, free], free
        curvature = wrong * (1 - wrong)

        step = conjugate_gradients(partial(_curved, part, curvature), np.append(slope[free] + alpha * signs, 0.0))
        for length in 0.5 ** np.arange(30):
            moved = w[free] - length * step[:-1]
            trial = w.copy()
            trial[free] = np.where(moved * signs > 0, moved, 0.0)
            if value(trial, b - length * step[-1]) <= (1 + 1e-15) * now:
                break
        else:
            break
        w, b = trial, b - length * step[-1]
    return {
        "objective": start,
        "gap": gap,
        "excess": (start - lower) / start,
        "nnz": float(np.count_nonzero(result["coef"])),
    }


def _curved(X: Any, curvature: Array, P: Array) -> Array:
    """The Hessian of the mean loss times P, the intercept last."""
    image = curvature * (X @ P[:-1] + P[-1])
    return np.append(X.T @ image, image.sum()) / X.shape[0]


def _best_intercept(margins: Array, y: Array, b: float) -> float:
    """The intercept that minimises the log loss on top of these margins."""
    for _ in range(50):
        wrong = expit(-y * (margins + b))
        step = float((y * wrong).sum() / (wrong * (1 - wrong)).sum())
        b += step
        if abs(step) < 1e-13 * max(1.0, abs(b)):
            break
    return b


def cv_log_loss(X: Array, y: Array, alpha: float, count: int = 5) -> float:
    """Mean over the folds of KFold(count) of the validation log loss of logistic regression on the other folds."""
    losses = []
    for held in np.array_split(np.arange(len(y)), count):
        rest = np.delete(np.arange(len(y)), held)
        V = Smooth(logistic, X[rest], y[rest], alpha).minimise(np.zeros((1, X.shape[1] + 1)))[0]
        losses.append(Smooth(logistic, X[held], y[held], 0.0).value(V))
    return float(np.mean(losses))


def hinge_primal(X: Array, y: Array, alpha: float, coef: Array, intercept: float) -> float:
    """mean max(0, 1 − y f) + alpha ‖w‖² for y = ±1"""
    return float(np.maximum(0, 1 - y * (X @ coef + intercept)).mean() + alpha * coef @ coef)


def hinge_dual(X: Array, y: Array, alpha: float, s: Array) -> float:
    """A lower bound of that minimum: mean s − ‖Σ sᵢyᵢxᵢ/n‖²/(4 alpha), s first brought to 0 ≤ s ≤ 1, Σ sᵢyᵢ = 0."""
    s = np.clip(s, 0, 1)
    above, below = s[y > 0].sum(), s[y < 0].sum()
    s = np.where(y > 0, s * min(1.0, below / max(above, 1e-300)), s * min(1.0, above / max(below, 1e-300)))
    moment = X.T @ (s * y) / len(y)
    return float(s.mean() - moment @ moment / (4 * alpha))


def hinge_minimum(X: Array, y: Array, alpha: float) -> tuple[float, float]:
    """Upper and lower bound of the minimum, by a primal-dual interior point method until they agree to eight digits.

    In units of n: minimise n alpha ‖w‖² + Σ ξ with y f − 1 + ξ = t ≥ 0 (multiplier s) and ξ ≥ 0 (multiplier 1 − s).
    """
    n, d = X.shape
    A = y[:, None] * np.column_stack([X, np.ones(n)])
    ridge = 2 * n * alpha * np.append(np.ones(d), 0.0)
    v, xi, t, s = np.zeros(d + 1), np.full(n, 2.0), np.ones(n), np.full(n, 0.5)
    for _ in range(100):
        upper, lower = hinge_primal(X, y, alpha, v[:-1], v[-1]), hinge_dual(X, y, alpha, s)
        if upper - lower < 1e-8 * upper:
            return upper, lower
        r = 1 - s
        D = 1 / (t / s + xi / r)
        parts = (slice(start, start + 2000) for start in range(0, n, 2000))
        hessian = sum((A[part] * D[part, None]).T @ A[part] for part in parts) + np.diag(ridge)
        lack = A.T @ s - ridge * v

        # Both are called in this round only, so that they see its values.
        def step(short: Array, free: Array) -> tuple[Array, Array, Array, Array]:
            """Newton's direction when s t is to grow by `short` and r ξ by `free`."""
            push = short / s - free / r  # noqa: B023
            dv = np.linalg.solve(hessian, lack + A.T @ (D * push))  # noqa: B023
            ds = D * (push - A @ dv)  # noqa: B023
            dxi = (free + xi * ds) / r  # noqa: B023
            return dv, dxi, A @ dv + dxi, ds

        def room(dxi: Array, dt: Array, ds: Array) -> float:
            pairs = ((xi, dxi), (t, dt), (s, ds), (r, -ds))  # noqa: B023
            return min(1.0, *(float((-a[da < 0] / da[da < 0]).min(initial=1e9)) for a, da in pairs))

        _, dxi, dt, ds = step(-s * t, -r * xi)
        reach = room(dxi, dt, ds)
        now = (s @ t + r @ xi) / (2 * n)
        then = ((s + reach * ds) @ (t + reach * dt) + (r - reach * ds) @ (xi + reach * dxi)) / (2 * n)
        aim = now * (then / now) ** 3
        dv, dxi, dt, ds = step(aim - s * t - ds * dt, aim - r * xi + ds * dxi)
        reach = 0.995 * room(dxi, dt, ds)
        v, xi, t, s = v + reach * dv, xi + reach * dxi, t + reach * dt, s + reach * ds
    raise RuntimeError("the reference did not converge")


class Huber:
    """mean(σ + σ H((y − f)/σ)) + alpha ‖w‖², H(u) = u² up to delta and 2 delta |u| − delta² beyond, in [w, b, σ]."""

    def __init__(self, X: Array, y: Array, alpha: float, delta: float) -> None:
        self.Z, self.y, self.alpha, self.delta = np.column_stack([X, np.ones(len(y))]), y, alpha, delta

    def value(self, v: Array) -> float:
        if v[-1] <= 0:
            return np.inf
        u = np.abs(self.y - self.Z @ v[:-1]) / v[-1]
        heights = np.where(u <= self.delta, u**2, 2 * self.delta * u - self.delta**2)
        return float(v[-1] * (1 + heights.mean()) + self.alpha * v[:-2] @ v[:-2])

    def slope(self, v: Array) -> tuple[Array, Array]:
        """Gradient and (generalised) Hessian."""
        n, sigma = len(self.y), v[-1]
        u = (self.y - self.Z @ v[:-1]) / sigma
        inner = np.clip(u, -self.delta, self.delta)
        gradient = np.append(-2 * self.Z.T @ inner / n, 1 - (inner**2).mean())
        near = np.abs(u) <= self.delta
        jacobian = np.column_stack([self.Z[near], u[near]])
        hessian = 2 / (n * sigma) * jacobian.T @ jacobian
        width = len(v) - 2
        gradient[:width] += 2 * self.alpha * v[:width]
        hessian[range(width), range(width)] += 2 * self.alpha
        return gradient, hessian

    def minimise(self, v: Array) -> float:
        """The minimum, by Newton's method from v."""
        for _ in range(100):
            value, (gradient, hessian) = self.value(v), self.slope(v)
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            length = length_of(self.value, v, value, step, float(gradient @ step))
            if not length:
                return value
            v = v - length * step
        raise RuntimeError("the reference did not converge")


def fitted(model: Any, **more: Any) -> dict[str, Any]:
    """What a linear model returns: coefficients, intercept, and a note where sklearnex fell back to scikit-learn."""
    answer = {"coef": np.ravel(model.coef_), "intercept": float(np.ravel(model.intercept_)[0]), **more}
    if type(model).__module__.startswith("sklearnex"):
        answer["note"] = "oneDAL" if hasattr(model, "_onedal_estimator") else "fell back to scikit-learn"
    return answer


def classifier(model: Any, **more: Any) -> dict[str, Any]:
    """What a linear classifier returns: a row of coefficients and an intercept for every score."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    return {"coef": coef, "intercept": np.resize(model.intercept_, len(coef)).astype(float), **more}


def liblinear(X: Any, y: Array, solver: int, C: float, options: str, bias: float = 1.0) -> dict[str, Any]:
    """Train liblinear-official for y = ±1, the conversion of X to its own format included."""
    from liblinear.liblinearutil import parameter, problem, train
    from scipy.sparse import csr_matrix

    given = problem(y, csr_matrix(X), bias=bias)
    coef, intercept = train(given, parameter(f"-s {solver} -c {C:.17g} -B {bias:g} {options} -q")).get_decfun()
    return {"coef": np.array([coef]), "intercept": np.array([intercept])}


def eigen_residual(X: Array, axes: Array, variances: Array) -> float:
    """The largest ‖C v − λ v‖ over the largest λ, for rows v of `axes` and variances λ with divisor n − 1."""
    mean, product = X.mean(0), np.zeros((X.shape[1], len(axes)))
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK] - mean
        product += block.T @ (block @ axes.T)
    left = product / (len(X) - 1) - axes.T * variances
    return float(np.linalg.norm(left, axis=0).max() / variances[0])

"""Structures alone: fits against brute force, and degenerate rows."""

import ast
import inspect
import warnings
from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.stats import multivariate_normal, multivariate_t

import gramian as gm
from checks.test_structures import TestStructure as Checks
from gramian.structures import (
    Circle,
    Direction,
    Ellipse,
    Flat,
    Gaussian,
    KernelPoint,
    Line,
    Nearest,
    Plane,
    Point,
    Soft,
    Structure,
    StudentT,
)
from gramian.structures.components.geometry import Geometry
from gramian.structures.components.medians import median
from gramian.structures.components.quadrics.ellipsoid_projection import signed_distances
from gramian.structures.loop.sufficient_statistics import Scatter

SEARCH = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 20000, "maxfev": 20000}


def ring(seed, axes, n=40, end=6.28, noise=0.05):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, end, n)
    X = np.column_stack([axes[0] * np.cos(t), axes[1] * np.sin(t)])
    turn = rng.uniform(0, 3)
    X = X @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + rng.uniform(-2, 2, 2)
    return X + noise * rng.standard_normal((n, 2)), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("end", [1.2, 6.28])
def test_circle_against_a_search(seed, end):
    X, w = ring(seed, (3.0, 3.0), end=end)
    circle = Circle().fit(X, w)

    def value(p):
        return w @ (np.hypot(*(X - p[:2]).T) - p[2]) ** 2

    starts = ([*X.mean(axis=0), 1.0], [*circle.center_, circle.radius_], [*(X.mean(axis=0) + 1), 4.0])
    best = min(minimize(value, start, method="Nelder-Mead", options=SEARCH).fun for start in starts)
    assert w @ circle.distance(X) ** 2 <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("end", [3.5, 6.28])
def test_ellipse_against_a_search(seed, end):
    X, w = ring(seed, (3.0, 1.2), end=end)
    ellipse = Ellipse().fit(X, w)

    def value(p):
        if min(p[2:4]) < 1e-6:
            return 1e9
        turn = np.array([[np.cos(p[4]), -np.sin(p[4])], [np.sin(p[4]), np.cos(p[4])]])
        return w @ signed_distances((X - p[:2]) @ turn, np.abs(p[2:4]))[0] ** 2

    angle = np.arctan2(*ellipse.directions_[0][::-1])
    starts = ([*X.mean(axis=0), 1.0, 1.1, 0.0], [*ellipse.center_, *ellipse.axes_, angle], [*X.mean(axis=0), 3, 1, 1])
    best = min(minimize(value, start, method="Nelder-Mead", options=SEARCH).fun for start in starts)
    assert w @ ellipse.distance(X) ** 2 <= best * (1 + 1e-8)


def test_ellipsoid_of_known_axes():
    rng = np.random.default_rng(0)
    G = rng.standard_normal((200, 4))
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    X = (G / np.linalg.norm(G, axis=1)[:, None]) * [5.0, 3.0, 2.0, 1.0] @ turn + 7.0
    found = Ellipse().fit(X)
    np.testing.assert_allclose(found.axes_, [5, 3, 2, 1], rtol=1e-6)
    np.testing.assert_allclose(found.center_, 7.0, rtol=1e-6)
    np.testing.assert_allclose(np.abs(found.directions_ @ turn.T), np.eye(4), atol=1e-5)


@pytest.mark.parametrize("axes", [(3.0, 1.0), (1.0, 1.0), (5.0, 0.01), (2.0, 1.9999999)])
def test_ellipse_projections_against_a_fine_curve(axes):
    axes = np.array(axes)
    rng = np.random.default_rng(0)
    Z = 2 * rng.standard_normal((60, 2))
    Z[:8, 1], Z[0], Z[1], Z[2] = 0.0, 0.0, 1e-200, [axes[0], 0.0]
    Z[3] = [1e-3, 1e-18]
    far, y = signed_distances(Z, axes)
    np.testing.assert_allclose(((y / axes) ** 2).sum(axis=1), 1.0, atol=1e-12)
    t = np.linspace(0, 2 * np.pi, 100_001)
    curve = np.column_stack([axes[0] * np.cos(t), axes[1] * np.sin(t)])
    brute = np.array([np.sqrt(((curve - z) ** 2).sum(axis=1).min()) for z in Z])
    np.testing.assert_allclose(np.abs(far), brute, atol=2e-5)
    assert (np.abs(far) <= brute + 1e-12).all()


def test_lines_and_planes_are_principal_components():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((50, 4)) * [4, 3, 2, 1] + 100, rng.integers(1, 4, 50)
    repeated = np.repeat(X, w, axis=0)
    values, vectors = np.linalg.eigh(np.cov(repeated.T, bias=True))
    for structure, off in ((Line(), 3), (Plane(), 1), (Flat(2), 2), (Plane(2), 2), (Flat(0), 4)):
        found = structure.fit(X, w)
        assert w @ found.distance(X) ** 2 == pytest.approx(len(repeated) * values[:off].sum())
    assert abs(Line().fit(X, w).direction_ @ vectors[:, -1]) == pytest.approx(1)
    assert abs(Plane().fit(X, w).normal_ @ vectors[:, 0]) == pytest.approx(1)


def test_points_are_means_and_medians():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((41, 3)), rng.integers(0, 4, 41)
    np.testing.assert_allclose(Point().fit(X, w).center_, np.repeat(X, w, axis=0).mean(axis=0))
    np.testing.assert_allclose(Point("absolute").fit(X, w).center_, np.median(np.repeat(X, w, axis=0), axis=0))
    import scipy.sparse as sp

    S = sp.random(50, 6, 0.3, random_state=0, format="csr")
    weight = rng.uniform(0.5, 2, 50)
    np.testing.assert_allclose(median(S, weight), median(S.toarray(), weight), atol=1e-12)
    for error in ("squared", "absolute"):
        sparse, dense = Point(error).fit(S, weight), Point(error).fit(S.toarray(), weight)
        np.testing.assert_allclose(sparse.center_, dense.center_, atol=1e-12)
        np.testing.assert_allclose(sparse.loss(S), dense.loss(S.toarray()), atol=1e-12)


def test_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 3))
    for kind in ("full", "shared", "diagonal", "spherical"):
        found = Gaussian(kind).fit(X)
        C = found.covariance_ if np.ndim(found.covariance_) == 2 else np.diag(np.broadcast_to(found.covariance_, 3))
        np.testing.assert_allclose(found.log_density(X), multivariate_normal(found.mean_, C).logpdf(X))
    np.testing.assert_allclose(Gaussian().fit(X).covariance_, np.cov(X.T, bias=True))
    found = StudentT(3.0).fit(X)
    np.testing.assert_allclose(found.log_density(X), multivariate_t(found.mean_, found.scale_, df=3.0).logpdf(X))
    np.testing.assert_allclose(found.covariance_, 3.0 * found.scale_)
    assert np.isinf(StudentT(2.0).fit(X).covariance_).all()


def test_student_t_maximises_the_likelihood():
    rng = np.random.default_rng(1)
    x = rng.standard_t(3, 60)[:, None]
    found = StudentT(3.0).fit(x)

    def value(p):
        return -multivariate_t([p[0]], [[np.exp(p[1])]], df=3.0).logpdf(x).sum()

    best = minimize(value, [0.0, 0.0], method="Nelder-Mead", options=SEARCH).fun
    assert -found.log_density(x).sum() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("nu", [1.5, 5.0, np.inf])
def test_student_t_with_estimated_nu_maximises_the_likelihood(nu):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 1)) if nu == np.inf else rng.standard_t(nu, (200, 1))
    found = StudentT("auto").fit(x)

    def value(p):
        return -multivariate_t([p[0]], [[np.exp(p[1])]], df=np.exp(p[2])).logpdf(x).sum()

    ends = [(None, None), (None, None), (np.log(0.2), np.log(1000.0))]
    best = min(minimize(value, [0.1, 0.1, at], bounds=ends, tol=1e-14).fun for at in (0.5, 2.0, 4.0, 6.5))
    assert -found.log_density(x).sum() == pytest.approx(best, rel=1e-9)
    assert found.n_parameters(1) == 3
    np.testing.assert_array_equal(StudentT("auto").fit(x, np.ones(200)).nu_, found.nu_)


def test_gaussian_with_missing_numbers_maximises_the_likelihood():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ [[1.0, 0.8], [0.0, 0.5]] + [2.0, -1.0]
    X[rng.random((40, 2)) < 0.25] = np.nan
    X[0] = np.nan
    found = Gaussian().fit(X)

    def value(p):
        L = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
        C, m = L @ L.T, p[:2]
        total = 0.0
        for x in X:
            there = ~np.isnan(x)
            if there.any():
                total -= multivariate_normal(m[there], C[np.ix_(there, there)]).logpdf(x[there])
        return total

    best = minimize(value, [2.0, -1.0, 0.0, 0.5, -0.5], method="BFGS").fun
    assert -found.log_density(X).sum() == pytest.approx(best, rel=1e-7)


def test_points_of_a_feature_space():
    rng = np.random.default_rng(0)
    X, Z, w = rng.standard_normal((30, 3)), rng.standard_normal((5, 3)), rng.uniform(size=30)
    linear = KernelPoint("linear").fit(X, w)
    np.testing.assert_allclose(linear.distance(Z), Point().fit(X, w).distance(Z))
    kernel = gm.kernels.Polynomial(2)
    mean = w @ kernel.features(X) / w.sum()
    expected = np.linalg.norm(kernel.features(Z) - mean, axis=1)
    np.testing.assert_allclose(KernelPoint(kernel).fit(X, w).distance(Z), expected)
    with pytest.raises(ValueError, match="not fitted"):
        KernelPoint().distance(X)
    with pytest.raises(ValueError, match=r"gm\.KMeans"):
        gm.Structures(KernelPoint()).fit(X)


class TestDegenerate:
    def test_one_point_and_duplicates(self):
        for structure in (Point(), Line(), Plane(), Circle(), Point("absolute")):
            for X in ([[1.0, 2.0]], [[1.0, 2.0]] * 5):
                assert structure.fit(X).distance([[1.0, 2.0]])[0] == pytest.approx(0, abs=1e-12)
        with pytest.warns(gm.PrecisionWarning, match="is singular in 2 of 2 directions"):
            found = Gaussian().fit([[1.0, 2.0]] * 3)
        assert np.isfinite(found.log_density([[1.0, 2.0]])).all()

    def test_circles_of_few_points(self):
        two = Circle().fit([[0.0, 0.0], [2.0, 0.0]])
        assert two.radius_ == pytest.approx(1.0)
        three = Circle().fit([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
        np.testing.assert_allclose(three.distance([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]]), 0, atol=1e-9)
        with pytest.raises(ValueError, match="lie on a line"):
            Circle().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])

    def test_ellipses_of_few_points(self):
        with pytest.raises(ValueError, match=r"4 distinct rows.*5 determine"):
            Ellipse().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
        with pytest.raises(ValueError, match="lie on a flat"):
            Ellipse().fit(np.outer(np.arange(8.0), [1.0, 2.0]))

    def test_parameters(self):
        X = np.random.default_rng(0).standard_normal((9, 2))
        for structure, message in (
            (Flat(2), "q is 2"),
            (Plane(3), "q is 3"),
            (Gaussian("round"), "covariance is 'round'"),
            (StudentT(0.0), "nu is 0"),
            (StudentT("many"), "nu is 'many'"),
            (Point("cubic"), "error is 'cubic'"),
        ):
            with pytest.raises(ValueError, match=message):
                structure.fit(X)
        for structure in (Line(), Plane(), Ellipse()):
            with pytest.raises(ValueError, match="n_features=1"):
                structure.fit(X[:, :1])
        with pytest.raises(ValueError, match="Every value of column 1 is missing"):
            Gaussian().fit([[1.0, np.nan], [2.0, np.nan]])
        import scipy.sparse as sp

        with pytest.raises(TypeError, match="sparse"):
            Line().fit(sp.csr_array(X))

    def test_constant_and_repeated_columns(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.standard_normal((50, 2)), np.full(50, 3.0)])
        X = np.column_stack([X, X[:, 0]])
        with pytest.warns(gm.PrecisionWarning, match="2 of 4"):
            found = Gaussian().fit(X)
        assert np.linalg.eigvalsh(found.covariance_).min() > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.PrecisionWarning)
            other = Gaussian().fit(1e-8 * X)
        np.testing.assert_allclose(other.log_density(1e-8 * X) - found.log_density(X), -4 * np.log(1e-8), rtol=1e-9)


def arc(seed):
    """Part of an ellipse, at least 60 degrees of it, with noise."""
    rng = np.random.default_rng(seed)
    n, degrees, axis = int(rng.integers(15, 60)), rng.uniform(60, 180), rng.uniform(0.2, 1.0)
    t = rng.uniform(0, 6.28) + np.deg2rad(rng.uniform(0, degrees, n))
    turn = rng.uniform(0, 3)
    X = np.column_stack([np.cos(t), axis * np.sin(t)])
    X = X @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + rng.uniform(-2, 2, 2)
    return X + 10 ** rng.uniform(-3, -1) * rng.standard_normal((n, 2))


@pytest.mark.parametrize("seed", range(5))
def test_ellipses_of_short_arcs_against_many_searches(seed):
    X = arc(seed)
    found = (Ellipse().fit(X).distance(X) ** 2).sum()
    rng = np.random.default_rng(seed + 100)
    mean, scale = X.mean(axis=0), np.sqrt(X.var(axis=0).sum())

    def residuals(p):
        center, axes = mean + scale * p[:2], scale * np.exp(np.clip(p[2:4], np.log(1e-6), np.log(1e3)))
        turn = np.array([[np.cos(p[4]), -np.sin(p[4])], [np.sin(p[4]), np.cos(p[4])]])
        return signed_distances((X - center) @ turn, axes)[0] / scale

    best = np.inf
    for _ in range(15):
        axes, angle = np.exp(rng.uniform(np.log(0.3), np.log(10.0), 2)), rng.uniform(0, np.pi)
        side = rng.standard_normal(2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        start = np.concatenate([-turn @ (axes * side / np.linalg.norm(side)), np.log(axes), [angle]])
        best = min(best, 2.0 * scale**2 * least_squares(residuals, start, max_nfev=200).cost)
    assert found <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_direction_against_a_search(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((40, 3)) + rng.standard_normal(3), rng.uniform(0.0, 2.0, 40)
    found = Direction().fit(X, w)
    U = X / np.linalg.norm(X, axis=1)[:, None]

    def value(t):
        u = np.array([np.sin(t[0]) * np.cos(t[1]), np.sin(t[0]) * np.sin(t[1]), np.cos(t[0])])
        return w @ ((U - u) ** 2).sum(axis=1)

    best = min(minimize(value, start, method="Nelder-Mead", options=SEARCH).fun for start in ((0.5, 0.0), (2.0, 3.0)))
    assert w @ found.distance(X) ** 2 == pytest.approx(best, rel=1e-9)
    mean = w @ U / w.sum()
    np.testing.assert_allclose(found.resultant_length_ * found.direction_, mean, atol=1e-14)
    np.testing.assert_allclose(found.distance(X) ** 2, 2.0 * (1.0 - U @ found.direction_), atol=1e-14)
    lengths = rng.uniform(1e-3, 1e3, 40)
    np.testing.assert_allclose(Direction().fit(lengths[:, None] * X, w).direction_, found.direction_, atol=1e-13)


def test_directions_that_cancel_and_rows_of_zeros():
    found = Direction().fit([[1.0, 0.0], [-2.0, 0.0]])
    assert found.resultant_length_ == 0.0
    assert np.linalg.norm(found.direction_) == 1.0
    np.testing.assert_allclose(Direction().fit([[0.0, 0.0], [0.0, 4.0]]).distance([[0.0, 0.0], [0.0, 1.0]]), [1.0, 0.0])


@pytest.mark.parametrize("assignment", ["nearest", "soft"])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_clusters_of_directions(assignment, unit):
    rng = np.random.default_rng(0)
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8]])
    own = np.repeat([0, 1, 2], 50)
    X = unit * rng.uniform(0.1, 20.0, 150)[:, None] * (axes[own] + 0.05 * rng.standard_normal((150, 3)))
    model = gm.Structures("direction", assignment, 3, random_state=0).fit(X)
    order = [int(np.argmax([axis @ each.direction_ for each in model.structures_])) for axis in axes]
    np.testing.assert_array_equal(model.labels_, np.array(order)[own])
    assert model.certificate_.claim == "local optimum of the alternation"
    assert model.certificate_.holds
    assert "directions" in " ".join(model.chart(X=X).to_dict()["title"]["text"])


@dataclass(eq=False)
class AxisLine(Structure):
    """The line parallel to a coordinate axis of least Σw distance²."""

    noun = ("axis line", "axis lines")

    def loss(self, X):
        return ((X - self.center_) ** 2 * (np.arange(X.shape[1]) != self.axis_)).sum(axis=1)

    def statistics(self, X, weight):
        return Scatter.of(X, weight, diagonal=True)

    def _update(self, estimate):
        self.center_, self.axis_ = estimate.mean, int(estimate.cross.argmax())

    def moved_to(self, x):
        other = copy(self)
        other.center_ = np.array(x, dtype=np.float64)
        return other

    def n_parameters(self, d):
        return d - 1

    def codimension(self, d):
        return d - 1

    def min_rows(self, d):
        return 2

    def geometry(self):
        return Geometry(self.center_, directions=np.eye(len(self.center_))[[self.axis_]])


def test_a_structure_is_a_few_lines():
    for kind in (AxisLine, Direction):
        defined = ast.parse(inspect.getsource(kind)).body[0]
        assert defined.end_lineno - defined.lineno + 1 <= 40
    checks, member = Checks(), AxisLine()
    checks.test_refits_lower_their_own_error(member)
    checks.test_alone_it_is_a_minimum(member)
    checks.test_weights_equal_repetition(member)
    checks.test_units(member)
    checks.test_loops_are_monotone(member, Nearest())
    checks.test_loops_are_monotone(member, Soft())
    checks.test_distance_agrees_with_brute_force(member)
    checks.test_new_rows_are_checked(member)
    rng = np.random.default_rng(0)
    t = rng.uniform(-5.0, 5.0, (2, 60))
    X = np.concatenate([np.column_stack([t[0], 0.02 * t[1] + 7.0]), np.column_stack([0.02 * t[0] + 7.0, t[1]])])
    for assignment in ("nearest", "soft"):
        model = gm.Structures(AxisLine(), assignment, 2, random_state=0).fit(X)
        assert sorted(each.axis_ for each in model.structures_) == [0, 1]
        assert len(set(model.labels_[:60])) == len(set(model.labels_[60:])) == 1
        assert model.certificate_.holds
        assert "2 axis lines" in " ".join(model.chart(X=X).to_dict()["title"]["text"]).replace("\u00a0", " ")
    chart = AxisLine().fit(X[:60]).chart(X=X[:60])
    assert "axis line" in " ".join(chart.to_dict()["title"]["text"]).replace("\u00a0", " ")

"""Every public structure: refits lower their own error, loops are monotone, distances agree with brute force."""

import copy

import numpy as np
import pytest
from scipy.optimize import minimize

from checks.members import members
from gramian.rows import scan
from gramian.structures import KernelPoint, Nearest, Soft, Structure
from gramian.structures.loop.alternation import Loop
from gramian.structures.loop.initialization import initial_structures

VARIANTS = {
    "Point": [{"error": "absolute"}],
    "Flat": [{"q": 0}],
    "Plane": [{"q": 1}],
    "Gaussian": [{"covariance": kind} for kind in ("shared", "diagonal", "spherical")],
    "StudentT": [{"nu": 1.0}],
}
ALL = [each for each in members(Structure, VARIANTS) if not isinstance(each, KernelPoint)]


def cloud(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3.0, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("structure", ALL, ids=repr)
class TestStructure:
    def test_refits_lower_their_own_error(self, structure):
        X, w = cloud(0)
        rng = np.random.default_rng(1)
        at = copy.copy(structure).with_column_scales(X.std(axis=0))
        at = at.fitted_to(X[:30], w[:30])
        for _ in range(4):
            weight = w * rng.uniform(size=len(X))
            after = at.fitted_to(X, weight, 8)
            before, value = weight @ at.loss(X), weight @ after.loss(X)
            assert value <= before + 1e-12 * abs(before)
            at = after

    def test_alone_it_is_a_minimum(self, structure):
        X, w = cloud(2)
        fitted = copy.deepcopy(structure).fit(X, w)
        value = float(w @ fitted.loss(X))
        rng = np.random.default_rng(3)
        for size in (1e-3, 1e-2, 0.1):
            other = copy.deepcopy(fitted)
            location = other.location + size * rng.standard_normal(3)
            setattr(other, other.location_attribute, location / (np.linalg.norm(location) if other.scale_free else 1.0))
            assert float(w @ other.loss(X)) >= value - 1e-9 * abs(value)

    def test_weights_equal_repetition(self, structure):
        X, _ = cloud(4)
        w = np.random.default_rng(5).integers(0, 4, len(X))
        a = copy.deepcopy(structure).fit(X, w)
        b = copy.deepcopy(structure).fit(np.repeat(X, w, axis=0))
        np.testing.assert_allclose(a.loss(X), b.loss(X), rtol=1e-6, atol=1e-8)

    def test_units(self, structure):
        X, w = cloud(6)
        a, b = copy.deepcopy(structure).fit(X, w), copy.deepcopy(structure).fit(1e-8 * X, w)
        unit = 1.0 if structure.scale_free else 1e-8
        np.testing.assert_allclose(b.distance(1e-8 * X), unit * a.distance(X), rtol=1e-5, atol=1e-14)

    @pytest.mark.parametrize("rule", [Nearest(), Soft()], ids=repr)
    def test_loops_are_monotone(self, structure, rule):
        X, w = cloud(7, n=80)
        rows = scan(X, sample_weight=w)
        for seed in range(2):
            templates = [copy.copy(structure).with_column_scales(X.std(axis=0))] * 3
            loop = Loop(rows, rule, float(X.var(axis=0).mean()))
            start = initial_structures(templates, rows, "k-means++", np.random.default_rng(seed))
            outcome = loop.run(loop.start(start), max_iter=25, tol=0.0)
            values = np.array([value for _, value, _ in outcome.history])
            assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()

    def test_distance_agrees_with_brute_force(self, structure):
        X, w = cloud(8)
        fitted = copy.deepcopy(structure).fit(X, w)
        new = cloud(9, n=12)[0]
        far = fitted.distance(new)
        for x, found in zip(new, far, strict=True):
            assert found == pytest.approx(nearest(fitted, x), rel=1e-5, abs=1e-6)

    def test_new_rows_are_checked(self, structure):
        with pytest.raises(ValueError, match="not fitted"):
            copy.deepcopy(structure).distance([[1.0, 2.0, 3.0]])
        fitted = copy.deepcopy(structure).fit(*cloud(0))
        with pytest.raises(ValueError, match="2 columns"):
            fitted.distance([[1.0, 2.0]])
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fitted.distance([[1.0, 2.0, np.inf]])


def nearest(fitted, x):
    """The distance of x from points of the structure, minimised over its own coordinates."""
    if fitted.scale_free:
        return np.linalg.norm(x / np.linalg.norm(x) - fitted.location)
    shape = fitted.geometry()
    if shape.directions is not None and len(shape.directions):

        def place(t):
            return shape.center + t @ shape.directions

        start = np.zeros(len(shape.directions))
        return np.sqrt(minimize(lambda t: ((place(t) - x) ** 2).sum(), start, tol=1e-12).fun)
    if shape.quadric is None:
        return np.linalg.norm(x - shape.center)

    squares, columns = np.linalg.eigh(shape.quadric)

    def surface(t):
        u = np.array([np.sin(t[0]) * np.cos(t[1]), np.sin(t[0]) * np.sin(t[1]), np.cos(t[0])])
        return shape.center + columns @ (np.sqrt(squares) * u)

    starts = [(a, b) for a in (0.3, 1.5, 2.8) for b in (-2.0, 0.0, 2.0)]
    options = {"xatol": 1e-9, "fatol": 1e-14}
    found = [
        minimize(lambda t: ((surface(t) - x) ** 2).sum(), s, method="Nelder-Mead", options=options).fun for s in starts
    ]
    return np.sqrt(min(found))

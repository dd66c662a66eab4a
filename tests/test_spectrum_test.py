"""The null of a spectrum: Tracy–Widom against Painlevé II, Marchenko–Pastur and BBP against simulation, digits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.integrate import quad, solve_ivp
from scipy.special import airy
from sklearn.datasets import load_digits

import gramian as gm
from gramian.spectral.null import factor_analysis, permutation
from gramian.spectral.null.factor_analysis import factors_of
from gramian.spectral.null.noise import noise_median
from gramian.spectral.null.spectrum_test import scrambled
from gramian.spectral.null.tracy_widom import tracy_widom
from gramian.spectral.pca.principal_axes import principal
from simulations.spectra import COLUMNS


def test_tracy_widom_quantiles():
    # Bejan's table of F₁, to its four digits
    at = [-3.8954, -3.1804, -2.7824, -1.9104, -1.2686, -0.5923, 0.4501, 0.9793, 2.0234, 3.2724]
    share = [0.01, 0.05, 0.10, 0.30, 0.50, 0.70, 0.90, 0.95, 0.99, 0.999]
    below, above = tracy_widom(at)
    np.testing.assert_allclose(below, share, atol=2e-5)
    np.testing.assert_allclose(below + above, 1.0, atol=1e-14)
    assert tracy_widom([-np.inf, -20.0, 200.0, np.inf])[0].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_tracy_widom_against_painleve():
    """F₁² = F₂ exp(−∫q), q the solution of q'' = s q + 2 q³ that is Ai at infinity."""
    s0 = 6.0
    tail = [quad(f, s0, 40.0, epsabs=0, epsrel=1e-12)[0] for f in (
        lambda x: (x - s0) * airy(x)[0] ** 2, lambda x: airy(x)[0] ** 2, lambda x: airy(x)[0],
    )]  # fmt: skip
    start = [*airy(s0)[:2], *tail]

    def slope(s, y):
        return [y[1], s * y[0] + 2 * y[0] ** 3, -y[3], -(y[0] ** 2), -y[0]]

    at = np.array([4.0, 2.0, 0.5, -1.0, -2.5, -4.0])
    path = solve_ivp(slope, (s0, -4.5), start, method="DOP853", rtol=1e-12, atol=1e-18, t_eval=at)
    np.testing.assert_allclose(tracy_widom(at)[0], np.exp(-0.5 * (path.y[2] + path.y[4])), atol=2e-11)


def test_the_far_tail_keeps_its_digits():
    s = np.array([10.0, 20.0, 40.0])
    found = tracy_widom(s)[1]
    # to first order 1 − F₁ is the trace of the operator, ∫ Ai(2x + s) dx
    trace = [quad(lambda x, a=a: airy(2 * x + a)[0], 0, 20, epsabs=0, epsrel=1e-10)[0] for a in s]
    np.testing.assert_allclose(found, trace, rtol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(400, 100), (100, 400), (300, 300)])
def test_noise_fills_the_law_of_marchenko_and_pastur(n, d):
    rng = np.random.default_rng(0)
    found = gm.spectrum_test(1.5 * rng.standard_normal((n, d)) + 7.0, scrambles=0, level=1e-4)
    assert found.noise == pytest.approx(2.25, rel=0.05)
    assert found.significant == 0
    low, high = found.edges
    assert found.edge == high
    assert found.eigenvalues[0] < high * 1.05
    assert found.eigenvalues[-1] > low * 0.9 - 0.02
    assert len(found.eigenvalues) == len(found.p_values) == min(n - 1, d)
    assert found.threshold == pytest.approx(found.noise * (1 + np.sqrt(d / (n - 1))), rel=1e-12)
    values = np.linalg.svd(rng.standard_normal((800, 200)), compute_uv=False) ** 2 / 800
    assert np.median(values) == pytest.approx(noise_median(0.25)[0], rel=0.02)


@pytest.mark.parametrize(("n", "d"), [(60, 2), (100, 5), (120, 40), (40, 40), (30, 200), (3, 30)])
def test_p_values_of_noise_are_uniform(n, d):
    rng = np.random.default_rng(1)
    p = np.array([gm.spectrum_test(rng.standard_normal((n, d)), scrambles=0).p_values[0] for _ in range(300)])
    # Each bound is crossed by chance once in about ten thousand.
    assert 2 <= (p < 0.05).sum() <= 32
    assert 10 <= (p < 0.1).sum() <= 52
    assert 115 <= (p < 0.5).sum() <= 190


def test_noise_beside_many_directions():
    """As many as half of the directions leave the estimate of the noise as it is."""
    rng = np.random.default_rng(4)
    for n, d, r in ((400, 60, 20), (60, 400, 20), (1000, 8, 4), (100, 5, 2), (300, 4, 1)):
        X = rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
        found = gm.spectrum_test(X, scrambles=0, level=1e-3)
        assert found.significant == r
        assert found.noise == pytest.approx(1.0, abs=0.12)
        assert (np.diff(found.p_values) >= 0).all()
    # a group that hides itself in the mean: each is compared with the others set aside
    X = rng.standard_normal((500, 10))
    X[:, :4] *= 2.0
    X = X @ np.linalg.qr(rng.standard_normal((10, 10)))[0]  # in directions that no column has to itself
    found = gm.spectrum_test(X, scrambles=0, level=1e-3)
    assert found.significant == 4
    assert (found.p_values[:4] < 1e-10).all()


def test_noise_of_unequal_size():
    """No half of the values looks like noise: the median is taken, so that small columns do not make others large."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 60)) * np.where(np.arange(60) < 40, 1.0, 0.05)
    found = gm.spectrum_test(X, scrambles=5)
    assert found.noise > 0.7
    assert found.significant < 15
    assert found.above_scrambled == 0  # the remedy: scrambled columns keep their sizes


def spiked(seed, n, d, variance):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    v = rng.standard_normal(d)
    v /= np.linalg.norm(v)
    return X + (np.sqrt(variance) - 1.0) * np.outer(X @ v, v), v


@pytest.mark.parametrize(("n", "d"), [(2000, 500), (400, 800)])
def test_a_spike_appears_beyond_the_threshold(n, d):
    """A direction of variance 1 + h leaves the noise where h > √(d/n), at (1 + h)(1 + d/(n h)) and not before."""
    root = np.sqrt(d / n)
    below, _ = spiked(0, n, d, 1.0 + 0.5 * root)
    found = gm.spectrum_test(below, scrambles=0, level=1e-4)
    assert found.significant == 0
    for times in (2.0, 4.0):
        h = times * root
        X, v = spiked(1, n, d, 1.0 + h)
        model = gm.PCA(1).fit(X)
        found = gm.spectrum_test(X, scrambles=0, level=1e-4)
        assert found.significant == 1
        assert found.eigenvalues[0] == pytest.approx((1 + h) * (1 + d / (n * h)), rel=0.12)
        assert found.spikes[0] == pytest.approx(1 + h, rel=0.2)
        assert found.cosines[0] == pytest.approx(abs(model.components_[0] @ v), abs=0.08)
        assert found.eigenvalues[0] > found.edge > found.threshold
        np.testing.assert_allclose(model.null_.eigenvalues, found.eigenvalues[: len(model.null_.eigenvalues)])


def test_digits_against_scrambled_digits():
    """Few directions of digits are above scrambled ones, whose spectrum is that of columns of unequal variance."""
    X = load_digits().data
    found = gm.spectrum_test(X, scrambles=5)
    model = gm.PCA().fit(X)
    assert found.scrambled.shape == (5, 61)
    assert found.scrambled.sum(axis=1) == pytest.approx(found.eigenvalues.sum())
    assert 5 <= found.above_scrambled <= 15
    assert found.above_scrambled < found.significant == model.n_components_ == model.null_.significant
    scaled = gm.spectrum_test(gm.StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), scrambles=5)
    # columns of unit variance that are scrambled are noise: their edge is the edge of the law
    assert scaled.scrambled[:, 0].mean() == pytest.approx((1 + np.sqrt(61 / 1796)) ** 2, rel=0.1)
    assert scaled.above_scrambled >= 10
    text = str(found)
    assert "1797 rows × 61 columns" in text
    assert "scrambled" in text
    assert "more" in text
    assert repr(found) == text


def test_sources_and_weights():
    X = spiked(2, 300, 20, 4.0)[0]
    w = np.random.default_rng(0).integers(0, 3, 300)
    a = gm.spectrum_test(X, sample_weight=w)
    b = gm.spectrum_test(np.repeat(X, w, axis=0), scrambles=2)
    np.testing.assert_allclose(a.eigenvalues, b.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(a.p_values, b.p_values, rtol=1e-6)
    assert a.scrambled is None
    assert a.above_scrambled is None
    assert "scrambled" not in str(a)
    np.testing.assert_allclose(gm.spectrum_test(gm.moments(X, sample_weight=w)).eigenvalues, a.eigenvalues, rtol=1e-10)
    sparse = gm.spectrum_test(sp.random(200, 30, 0.2, random_state=0, format="csr"), scrambles=3)
    assert sparse.scrambled.shape == (3, 30)
    same = gm.spectrum_test(X, scrambles=2, random_state=3).scrambled
    np.testing.assert_array_equal(same, gm.spectrum_test(X, scrambles=2, random_state=3).scrambled)
    assert gm.spectrum_test(X, scrambles=1, random_state=np.random.RandomState(0)).scrambled.shape == (1, 20)
    table = pd.DataFrame(X).rename(columns=str).assign(kind=["a", "b"] * 150)
    of_rows = gm.spectrum_test(gm.scan(table, target="kind"), scrambles=2)
    np.testing.assert_array_equal(of_rows.eigenvalues, gm.spectrum_test(X, scrambles=0).eigenvalues)
    assert of_rows.scrambled.shape == (2, 20)
    with pytest.raises(ValueError, match="hold their weights"):
        gm.spectrum_test(gm.moments(X), sample_weight=w)
    with pytest.raises(ValueError, match="level is 2"):
        gm.spectrum_test(X, level=2)


def test_scrambling_keeps_every_column():
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(50, 6)) < 0.4, rng.standard_normal((50, 6)), 0.0)
    for given in (X, sp.csr_array(X)):
        mixed = scrambled(given, rng)
        mixed = mixed.toarray() if sp.issparse(mixed) else mixed
        np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(X, axis=0))
        assert (mixed != X).any()


def test_tables_without_noise():
    flat = np.outer(np.arange(10.0), [1.0, 2.0, 3.0, 4.0])
    found = gm.spectrum_test(flat)
    assert found.significant == 1
    np.testing.assert_allclose(found.spikes, found.eigenvalues[:1] * 10 / 9)
    assert found.cosines.tolist() == [1.0]
    assert gm.spectrum_test(np.ones((4, 3))).significant == 0
    assert gm.spectrum_test([[1.0, 2.0]]).significant == 0


def test_threes_are_above_scrambled_threes_only_at_first():
    """The first singular values of one digit are above those of its scrambled pixels, the others below."""
    digits = load_digits()
    found = gm.spectrum_test(digits.data[digits.target == 3], scrambles=10)
    null = found.scrambled.mean(axis=0)
    first = found.above_scrambled
    assert 4 <= first <= 10
    assert (found.eigenvalues[:first] > null[:first]).all()
    assert (found.eigenvalues[first + 1 : 40] < null[first + 1 : 40]).all()


def pixels():
    """Pixels of digits in units of their deviation, without those that are almost always blank."""
    X = load_digits().data
    X = X[:, X.std(axis=0) > 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z[:, (Z**4).mean(axis=0) < 6.0]


@pytest.mark.parametrize("seed", range(3))
def test_scrambled_pixels_are_isotropic_and_a_spike_appears_beyond_the_root(seed):
    """Many eigenvalues are above 1 and none is significant; a direction of strength β is seen from √(d/n)."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(pixels(), axis=0)
    n, d = X.shape
    root = np.sqrt(d / n)
    v = rng.standard_normal(d)
    v /= np.linalg.norm(v)
    g = rng.standard_normal(n)
    g /= g.std()
    none = gm.spectrum_test(X, scrambles=0, level=1e-3)
    assert none.significant == 0
    assert none.noise == pytest.approx(1.0, abs=0.01)
    assert (none.eigenvalues > 1.0).sum() > d / 3
    assert none.eigenvalues[0] == pytest.approx((1 + root) ** 2, rel=0.06)
    assert none.threshold == pytest.approx(1 + root, rel=0.02)
    for times, seen in ((0.3, 0), (0.6, 0), (2.5, 1), (4.0, 1)):
        found = gm.spectrum_test(X + np.sqrt(times * root) * np.outer(g, v), scrambles=0, level=1e-3)
        assert found.significant == seen
        if seen:
            h = times * root
            assert found.eigenvalues[0] == pytest.approx((1 + h) * (1 + root**2 / h), rel=0.13)


# Independent columns have nothing in common, whatever their distributions


@pytest.mark.parametrize("kind", COLUMNS)
def test_independent_columns_keep_the_level(kind):
    """Of 40 tables 2 are expected at level 5 %: 9 or more have a probability of 2e-4."""
    rng = np.random.default_rng(10)
    found = [gm.spectrum_test(COLUMNS[kind](rng, 80, 15), scrambles=0) for _ in range(40)]
    assert sum(test.significant > 0 for test in found) < 9
    for test in found:
        assert test.significant == np.sum(np.cumprod(test.p_values < test.level))
        assert (np.diff(test.p_values) >= 0).all()


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("n", [80, 3000])
def test_directions_in_common_are_found_among_columns_of_any_kind(kind, n):
    """Of 10 tables at most 2 have more than the two directions that are there, and none has fewer."""
    rng = np.random.default_rng(11)
    counts = []
    for seed in range(10):
        X = COLUMNS[kind](rng, n, 15)
        scores = rng.standard_normal((n, 2)) * [2.0, 1.5]
        loadings = np.linalg.qr(rng.standard_normal((15, 2)))[0].T * X.std(axis=0).max() * 2.0
        counts.append(gm.PCA(random_state=seed).fit(X + scores @ loadings).n_components_)
    assert min(counts) == 2
    assert sum(count > 2 for count in counts) <= 2


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("d", [15, 120])
def test_noise_beside_directions_in_common_does_not_count(kind, d):
    """Of 20 tables at most 4 have more than the two directions that are there."""
    rng = np.random.default_rng(14)
    counts = []
    for seed in range(20):
        X = COLUMNS[kind](rng, 100, d)
        loadings = np.linalg.qr(rng.standard_normal((d, 2)))[0].T * X.std() * 2.0 * np.sqrt(d)
        table = X + rng.standard_normal((100, 2)) @ loadings
        counts.append(gm.spectrum_test(table, scrambles=0, random_state=seed).significant)
    assert min(counts) == 2
    assert sum(count > 2 for count in counts) <= 4


def test_factor_analysis_finds_the_model(monkeypatch):
    monkeypatch.setattr(factor_analysis, "ITERATIONS", 500)
    rng = np.random.default_rng(15)
    n, d = 20_000, 8
    loadings, noise = rng.standard_normal((d, 2)), np.linspace(1.0, 4.0, d)
    scores = rng.standard_normal((n, 2))
    Z = scores @ loadings.T + rng.standard_normal((n, d)) * np.sqrt(noise)
    Z -= Z.mean(axis=0)
    found = factors_of(Z, 2)
    np.testing.assert_allclose(found.noise / n, noise, rtol=0.1, atol=0.05)
    np.testing.assert_allclose(found.loadings @ found.loadings.T / n, loadings @ loadings.T, atol=0.15)
    np.testing.assert_allclose(found.scores.T @ found.scores, np.eye(2), atol=1e-8)
    common = found.scores @ found.loadings.T
    assert np.corrcoef(common.ravel(), (scores @ loadings.T).ravel())[0, 1] > 0.8
    wide = factors_of(Z[:6], 2)
    assert np.abs(wide.scores @ wide.loadings.T - Z[:6]).mean() < np.abs(Z[:6]).mean()


def test_large_and_weighted_tables_and_moments_know_variances(monkeypatch):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((400, 12)) * np.linspace(0.3, 3.0, 12)
    spiked = X + np.outer(rng.standard_normal(400), 1.5 * np.ones(12))
    for source, some in ((X, False), (spiked, True)):
        weights = np.ones(400)
        weights[0] = 2.0
        assert (gm.spectrum_test(source, scrambles=0).significant > 0) == some
        assert (gm.spectrum_test(gm.moments(source)).significant > 0) == some
        assert (gm.spectrum_test(source, sample_weight=weights).significant > 0) == some
        assert (gm.PCA(3).fit(source).null_.significant > 0) == some
    wide = rng.standard_normal((60, 400)) * np.linspace(0.3, 3.0, 400)
    monkeypatch.setattr(permutation, "MAX_PERMUTED_CELLS", 0)
    assert gm.spectrum_test(wide, scrambles=0).significant == 0
    assert gm.spectrum_test(wide + np.outer(rng.standard_normal(60), np.full(400, 2.0)), scrambles=0).significant == 1


# Light tails, heavy ones, and one draw in ten far above the others
LAWS = {
    "normal": lambda rng: rng.normal(),
    "pareto": lambda rng: rng.pareto(0.5),
    "lognormal": lambda rng: rng.lognormal(sigma=3.0),
    "rare": lambda rng: rng.normal() + 100.0 * (rng.random() < 0.1),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("level", [0.001, 0.01, 0.05, 0.2])
def test_level_of_sequential_comparison_is_that_of_ranks(law, level):
    draw, enough, repeats = LAWS[law], permutation.ENOUGH_PERMUTED, 1000
    rng = np.random.default_rng(15)
    p = np.array(
        [
            permutation._beside(lambda rng: np.full((1, 1), draw(rng)), draw(rng), 0, level, seed, [], enough)
            for seed in range(repeats)
        ]
    )
    most = max(level, 1 / 101)  # of 100 tables, no less than 1 / 101
    if law != "normal":  # what the tables say that make more needless
        most = max(most, 0.05 if level <= 0.05 else level)
    share = (p < level).mean()
    assert share < most + 4.0 * np.sqrt(most * (1.0 - most) / repeats)
    if law == "normal":
        assert share > most - 4.0 * np.sqrt(most * (1.0 - most) / repeats) - 0.002
    assert p.min() > 0.0
    assert p.max() <= 1.0


def test_edge_from_variances_is_that_of_marchenko_pastur_where_they_are_equal():
    n, d = 300, 80
    centre = (np.sqrt(n) + np.sqrt(d)) ** 2
    scale = (np.sqrt(n) + np.sqrt(d)) * (1 / np.sqrt(n) + 1 / np.sqrt(d)) ** (1 / 3)
    for s in (-1.27, 0.98, 2.02):
        expected = tracy_widom(s)[1][0]
        found = permutation._by_variances(np.full(d, float(n)), float(n), centre + s * scale)
        assert found == pytest.approx(expected, rel=1e-6)


def test_sums_of_squares_in_one_pass():
    rng = np.random.default_rng(13)
    X = sp.random(50, 7, 0.3, random_state=0, format="csr")
    w = rng.integers(1, 4, 50)
    expected = w @ (X.toarray() - w @ X.toarray() / w.sum()) ** 2
    for table in (X, X.toarray()):
        rows = gm.scan(table, sample_weight=w)
        found = principal(rows, None, "auto", 0)
        squares = rows.sum(lambda block, found=found: permutation._block_squares(block, found))
        np.testing.assert_allclose(np.ldexp(squares, 2 * found.exponent), expected, rtol=1e-10)
        np.testing.assert_allclose(permutation.column_squares(found), squares, rtol=1e-10)

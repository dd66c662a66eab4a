"""PCA against scikit-learn, the SVD of the centred table, and what theory says of weights, units and rank."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as Peer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.spectral.pca import principal_axes

SOLVERS = ("moments", "dual", "svd", "krylov")


def table(seed, n=200, d=12):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ (rng.standard_normal((d, d)) * np.geomspace(5, 0.3, d)[:, None]) + 3.0


def aligned(A, B):
    """A with the signs of B, row by row."""
    return A * np.sign((A * B).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("shape", [(200, 12), (15, 40), (30, 30)])
def test_against_scikit_learn(solver, shape):
    X = table(0, *shape)
    r = 5
    model, peer = gm.PCA(r, solver=solver).fit(X), Peer(r, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.explained_variance_, peer.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(model.singular_values_, peer.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(model.variances_, peer.explained_variance_ * (shape[0] - 1) / shape[0], rtol=1e-10)
    np.testing.assert_allclose(model.components_, aligned(peer.components_, model.components_), atol=1e-7)
    np.testing.assert_allclose(model.mean_, peer.mean_, rtol=1e-12)
    T = model.transform(X)
    np.testing.assert_allclose(np.abs(T), np.abs(peer.transform(X)), atol=1e-6)
    np.testing.assert_allclose(
        model.inverse_transform(T), peer.inverse_transform(peer.transform(X)), rtol=1e-6, atol=1e-6
    )
    assert model.certificate_.holds
    C = np.cov(X.T, bias=True)
    left = C @ model.components_.T - model.components_.T * model.variances_
    assert np.abs(left).max() <= 1e-8 * model.variances_[0]
    assert ("asked for" in str(model.solver_)) == (solver != "auto")
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(r), atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sources_weights_and_sparse(solver):
    X = np.where(np.abs(table(1, 60, 8)) > 3.0, table(1, 60, 8), 0.0)
    w = np.random.default_rng(0).integers(0, 3, 60)
    reference = gm.PCA(3, solver=solver).fit(np.repeat(X, w, axis=0))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    for given in (X, np.asfortranarray(X), frame, sp.csr_array(X), sp.csc_matrix(X)):
        model = gm.PCA(3, solver=solver).fit(given, sample_weight=w)
        np.testing.assert_allclose(model.variances_, reference.variances_, rtol=1e-9)
        np.testing.assert_allclose(model.components_, reference.components_, atol=1e-7)
        np.testing.assert_allclose(model.transform(given), reference.transform(X), atol=1e-6)
    rows = gm.scan(frame.assign(y=["a", "b"] * 30, w=w), target="y", weight="w")
    np.testing.assert_allclose(gm.PCA(3, solver=solver).fit(rows).variances_, reference.variances_, rtol=1e-9)
    named = gm.PCA(2, solver=solver).fit(frame)
    assert list(named.feature_names_in_) == list("abcdefgh")
    assert list(named.set_output(transform="pandas").transform(frame).columns) == ["pca0", "pca1"]


def test_moments_and_triangles():
    X = table(2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    reference = gm.PCA(4).fit(X, sample_weight=w)
    for sums in (gm.moments(X, sample_weight=w), gm.triangle(X, sample_weight=w), gm.moments(X, X[:, 0] * 2.0)):
        if sums.t:
            reference = gm.PCA(4).fit(X)
        model = gm.PCA(4).fit(sums)
        np.testing.assert_allclose(model.variances_, reference.variances_, rtol=1e-10)
        np.testing.assert_allclose(model.components_, reference.components_, atol=1e-9)
        np.testing.assert_allclose(model.transform(X), reference.transform(X), atol=1e-8)
    with pytest.raises(ValueError, match="hold their weights"):
        gm.PCA().fit(gm.moments(X), sample_weight=w)
    with pytest.raises(ValueError, match="needs the rows"):
        gm.PCA(solver="krylov").fit(gm.moments(X))
    with pytest.raises(ValueError, match="needs the rows"):
        gm.PCA(solver="moments").fit(gm.triangle(X))
    with pytest.raises(ValueError, match="bcv"):
        gm.PCA(criterion="bcv").fit(gm.moments(X))


@pytest.mark.parametrize("shape", [(80, 6), (6, 80)])
def test_small_singular_values_are_not_squared(shape):
    rng = np.random.default_rng(3)
    n, r = shape[0], min(shape) - 1
    U = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, r))])[0][:, 1:]
    V = np.linalg.qr(rng.standard_normal((shape[1], r)))[0]
    s = np.geomspace(1.0, 1e-9, r)
    X = (U * s) @ V.T
    model = gm.PCA(r).fit(X)
    assert model.certificate_.through in ("triangle", "svd")
    assert "1e-7" in model.solver_.reason
    np.testing.assert_allclose(model.singular_values_, s, rtol=1e-5)
    few = gm.PCA(2).fit(X)
    assert few.certificate_.through in ("moments", "dual")
    given = gm.PCA(r).fit(gm.moments(X))
    assert "rounding" in given.certificate_.note or given.certificate_.rank < r


def test_signs_do_not_depend_on_the_method():
    X = table(4, 40, 40)
    found = [gm.PCA(6, solver=solver).fit(X).components_ for solver in SOLVERS]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-6)
    size = np.abs(found[0])
    assert (found[0][np.arange(6), size.argmax(axis=1)] > 0).all()


def test_constant_rows_one_row_and_too_many_components():
    model = gm.PCA(2).fit(np.full((5, 3), 1.7))
    np.testing.assert_array_equal(model.variances_, 0.0)
    np.testing.assert_array_equal(model.variance_shares_, 0.0)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    assert "equal" in model.certificate_.note
    one = gm.PCA().fit([[1.0, 2.0]])
    np.testing.assert_array_equal(one.transform([[1.0, 2.0]]), [[0.0]])
    assert one.null_.significant == 0
    X = table(5, 30, 2) @ np.array([[1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 0.0]])
    flat = gm.PCA(4).fit(X)
    assert "vary in 2 directions: 2 of 4" in flat.certificate_.note
    np.testing.assert_array_equal(flat.variances_[2:], 0.0)
    np.testing.assert_allclose(flat.inverse_transform(flat.transform(X)), X, atol=1e-9)
    wide = gm.PCA(4, solver="dual").fit(X.T[:, :20])
    np.testing.assert_allclose(wide.components_ @ wide.components_.T, np.eye(4), atol=1e-9)
    with pytest.raises(ValueError, match="at most 4 components"):
        gm.PCA(5).fit(X)
    with pytest.raises(ValueError, match="density is infinite"):
        flat.score(X)


def test_columns_beyond_the_range_of_squares():
    X = table(6, 50, 4)
    reference = gm.PCA(4).fit(X)
    for solver in ("auto", *SOLVERS):
        for unit in (2.0**600, 2.0**-600):
            model = gm.PCA(3, solver=solver).fit(X * unit)
            np.testing.assert_allclose(model.variance_shares_, reference.variance_shares_[:3], rtol=1e-9)
            np.testing.assert_allclose(model.components_, reference.components_[:3], atol=1e-7)
            np.testing.assert_allclose(model.transform(X * unit) / unit, reference.transform(X)[:, :3], atol=1e-6)
            np.testing.assert_allclose(model.singular_values_ / unit, reference.singular_values_[:3], rtol=1e-9)
            assert "beyond the range" in model.certificate_.note
            assert str(model.null_)
            assert str(gm.spectrum_test(X * unit, scrambles=1))
            assert str(model.summary())
            assert not np.isnan(model.reconstruction_error())
            with pytest.raises(ValueError, match="other units"):
                model.score(X * unit)
            white = gm.PCA(3, solver=solver, whiten=True).fit(X * unit)
            T = white.transform(X * unit)
            np.testing.assert_allclose(T.std(axis=0), 1.0, rtol=1e-8)
            back = white.inverse_transform(T) / unit
            np.testing.assert_allclose(
                back, gm.PCA(3).fit(X).inverse_transform(reference.transform(X)[:, :3]), atol=1e-6
            )


def test_a_mean_far_from_zero():
    X = table(7, 100, 6)
    for solver in SOLVERS:
        model = gm.PCA(3, solver=solver).fit(X + 1e7)
        np.testing.assert_allclose(model.variances_, gm.PCA(3).fit(X).variances_, rtol=1e-6)


@pytest.mark.parametrize("r", [1, 3, 8])
def test_likelihood_whitening_and_reconstruction(r):
    X = table(8, 150, 8)
    model, peer = gm.PCA(r, ddof=1, whiten=True).fit(X), Peer(r).fit(X)
    np.testing.assert_allclose(model.variances_, peer.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.noise_variance_, peer.noise_variance_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), rtol=1e-8)
    assert model.score(X) == pytest.approx(peer.score(X), rel=1e-8)
    assert model.log_likelihood() == pytest.approx(model.score_samples(X).sum(), rel=1e-9)
    np.testing.assert_allclose(model.get_covariance(), peer.get_covariance(), rtol=1e-8, atol=1e-9)
    T = model.transform(X)
    np.testing.assert_allclose(np.abs(T), np.abs(Peer(r, whiten=True).fit_transform(X)), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(T.std(axis=0, ddof=1), 1.0, rtol=1e-10)
    back = model.inverse_transform(T)
    error = ((X - back) ** 2).sum(axis=1).mean()
    assert model.reconstruction_error(X) == pytest.approx(error, rel=1e-9, abs=1e-12)
    assert model.reconstruction_error() == pytest.approx(error, rel=1e-7, abs=1e-10)
    assert model.reconstruction_error(sp.csr_array(X)) == pytest.approx(error, rel=1e-7, abs=1e-10)
    np.testing.assert_allclose(model.score_samples(sp.csr_array(X)), model.score_samples(X), rtol=1e-6)
    # maximum likelihood: no other variances do better
    plain = gm.PCA(r).fit(X)
    assert plain.log_likelihood() >= model.log_likelihood()


def test_number_of_components():
    X = load_digits().data
    share = gm.PCA(0.8).fit(X)
    assert share.variance_shares_.sum() >= 0.8 > share.variance_shares_[:-1].sum()
    assert share.n_components_ == Peer(0.8).fit(X).n_components_
    assert gm.PCA(None).fit(X).n_components_ == 64
    varying = X[:, X.std(axis=0) > 0]
    assert gm.PCA(criterion="likelihood").fit(varying).n_components_ == Peer("mle").fit(varying).n_components_
    rng = np.random.default_rng(9)
    for n, d in ((400, 30), (40, 300)):
        Y = rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((n, 4)) @ rng.standard_normal((4, d))
        for criterion in ("edge", "likelihood", "bcv"):
            assert gm.PCA(criterion=criterion).fit(Y).n_components_ == 4
    assert gm.PCA().fit(rng.standard_normal((200, 20))).n_components_ >= 1
    many = rng.standard_normal((400, 60)) + 5.0 * rng.standard_normal((400, 28)) @ rng.standard_normal((28, 60))
    assert gm.PCA(criterion="likelihood").fit(many).n_components_ == 28
    assert 28 <= gm.PCA().fit(many).n_components_ <= 29  # noise is significant once in twenty tables
    assert 28 <= gm.PCA(criterion="bcv").fit(many).n_components_ <= 30


def test_bi_cross_validation_by_hand():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((30, 12)) + 2.0 * rng.standard_normal((30, 2)) @ rng.standard_normal((2, 12))
    for given in (X, X.T):
        model = gm.PCA(criterion="bcv", random_state=0).fit(given)
        seed = int(np.random.default_rng(0).integers(2**31))
        n, d = given.shape
        Z = given - given.mean(axis=0)
        Z = Z if n >= d else Z.T
        from gramian.rows import CountedFolds

        rows, columns = CountedFolds(3, seed).labels(0, len(Z)), CountedFolds(3, seed + 1).labels(0, Z.shape[1])
        errors = np.zeros(len(model.bcv_errors_))
        for i in range(3):
            for j in range(3):
                A, B = Z[rows == i][:, columns == j], Z[rows == i][:, columns != j]
                C, D = Z[rows != i][:, columns == j], Z[rows != i][:, columns != j]
                U, s, Vt = np.linalg.svd(D, full_matrices=False)
                for k in range(len(errors)):
                    inverse = Vt[:k].T @ np.diag(1.0 / s[:k]) @ U[:, :k].T
                    errors[k] += ((A - B @ inverse @ C) ** 2).sum()
        np.testing.assert_allclose(model.bcv_errors_, errors / X.size, rtol=1e-8)
        assert model.n_components_ == max(errors.argmin(), 1)


def test_many_components_are_looked_for_step_by_step(monkeypatch):
    X = table(11, 300, 250)
    reference = gm.PCA(0.97).fit(X)
    monkeypatch.setattr(principal_axes, "MAX_OPERATIONS", 0.0)
    monkeypatch.setattr(principal_axes, "COMPLETE", 0.0)
    model = gm.PCA(0.97).fit(X)
    assert model.solver_.name == "block Krylov"
    assert model.n_components_ == reference.n_components_ > 50
    np.testing.assert_allclose(model.variances_, reference.variances_, rtol=1e-8)
    few = gm.PCA(3).fit(X)
    assert few.solver_.name == "block Krylov"
    np.testing.assert_allclose(few.noise_variance_, gm.PCA(3, solver="svd").fit(X).noise_variance_, rtol=1e-8)
    Y = np.random.default_rng(0).standard_normal((400, 120))
    Y[:, :2] *= 4.0
    Y = Y @ np.linalg.qr(np.random.default_rng(1).standard_normal((120, 120)))[0]
    assert gm.PCA().fit(Y).n_components_ == 2
    with pytest.raises(ValueError, match="all eigenvalues"):
        gm.PCA(criterion="likelihood").fit(Y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_and_pickles_give_the_same_bits(solver):
    X = table(12, 600 if solver == "dual" else 5000, 40)
    found = []
    for count in (1, 2):
        with gm.threads(count):
            found.append(gm.PCA(4, solver=solver).fit(X))
    np.testing.assert_array_equal(found[0].components_, found[1].components_)
    np.testing.assert_array_equal(found[0].variances_, found[1].variances_)
    again = pickle.loads(pickle.dumps(found[0]))
    np.testing.assert_array_equal(again.transform(X), found[0].transform(X))
    assert str(again.summary()) == str(found[0].summary())


def test_texts():
    model = gm.PCA().fit(load_digits().data)
    assert "component 1" in str(model.summary())
    assert "<table>" in model.summary()._repr_html_()
    noise = gm.PCA().fit(np.random.default_rng(0).standard_normal((300, 10)))
    assert "No component is more than noise" in noise.certificate_.note
    assert model.transform(load_digits().data.astype(np.float32)).dtype == np.float32


def test_what_is_refused():
    X = table(13, 20, 3)
    for given, text in (
        ({"n_components": 0}, "n_components is 0"),
        ({"n_components": 1.5}, "n_components is 1.5"),
        ({"n_components": "mle"}, "n_components is 'mle'"),
        ({"criterion": "scree"}, "criterion is"),
        ({"solver": "arpack"}, "solver is"),
        ({"ddof": 20}, "ddof is 20"),
        ({"rank": 3}, "rank is for kernels"),
    ):
        with pytest.raises(ValueError, match=text):
            gm.PCA(**given).fit(X)
    with pytest.raises(ValueError, match="2 columns, and there are 1 components"):
        gm.PCA(1).fit(X).inverse_transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="a third of the rows"):
        gm.PCA(criterion="bcv").fit(X)
    with pytest.raises(ValueError, match="NaN"):
        gm.PCA(solver="krylov").fit([[np.nan, 1.0], [1.0, 2.0]])
    with pytest.raises(AttributeError, match="after fit"):
        _ = gm.PCA().null_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.PCA().fit(X.astype(np.float32))


def large_sparse(seed, n=360, d=330):
    """Sparse, with a few strong directions."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, format="csr")
    groups = rng.integers(0, 6, n)
    strong = sp.csr_array((rng.uniform(1.0, 3.0, n), (np.arange(n), groups)), shape=(n, d))
    return sp.csr_array(X + strong)


def test_large_sparse_tables_stay_sparse(monkeypatch):
    X = large_sparse(0)
    Z = X.toarray() - np.asarray(X.mean(axis=0))
    monkeypatch.setattr(principal_axes, "SPARSE_FULL", 300)
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    monkeypatch.setattr(sp.csr_matrix, "toarray", None)
    model = gm.PCA(5).fit(X)
    assert model.solver_.name == "block Krylov"
    assert "sparse and large" in model.solver_.reason
    values, V = np.linalg.eigh(Z.T @ Z / len(Z))
    np.testing.assert_allclose(model.variances_, values[::-1][:5], rtol=1e-9)
    V = V[:, ::-1][:, :5].T
    np.testing.assert_allclose(model.components_, aligned(V, model.components_), atol=1e-6)
    np.testing.assert_allclose(model.variance_shares_, values[::-1][:5] / values.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.noise_variance_, values[:-5].mean(), rtol=1e-8)
    np.testing.assert_allclose(model.transform(X), Z @ model.components_.T, atol=1e-9)
    assert model.certificate_.holds
    w = np.random.default_rng(1).integers(0, 3, len(Z))
    weighted = gm.PCA(3).fit(X, sample_weight=w)
    again = gm.PCA(3).fit(X[np.repeat(np.arange(len(Z)), w)])
    assert weighted.solver_.name == again.solver_.name == "block Krylov"
    np.testing.assert_allclose(weighted.variances_, again.variances_, rtol=1e-8)
    np.testing.assert_allclose(weighted.components_, again.components_, atol=1e-6)
    auto = gm.PCA().fit(X)
    assert 1 <= auto.n_components_ <= 8  # the strong directions are columns, little more than independent ones
    assert auto.null_.noise == pytest.approx(values[:-5].mean(), rel=0.1)


def test_pipelines_and_searches():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    search = GridSearchCV(
        make_pipeline(gm.PCA(whiten=True), gm.LogisticRegression(alpha=0.01)),
        {"pca__n_components": [2, 0.8, "auto"], "pca__criterion": ["edge"]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["pca__n_components"] != 2
    assert search.best_score_ > 0.8
    by_density = GridSearchCV(gm.PCA(), {"n_components": [1, 5, 15]}, cv=3).fit(X[:, X.std(axis=0) > 1.0])
    assert by_density.best_params_["n_components"] > 1  # the score is the mean log-density of rows left out
    frame = pd.DataFrame(X[:, 18:30], columns=[f"pixel {j}" for j in range(12)])
    pipe = make_pipeline(gm.StandardScaler(), gm.PCA(3)).set_output(transform="pandas").fit(frame)
    found = pipe.transform(frame)
    assert list(found.columns) == ["pca0", "pca1", "pca2"] == list(pipe.get_feature_names_out())
    np.testing.assert_array_equal(found.index, frame.index)
    copy = pickle.loads(pickle.dumps(clone(pipe).fit(frame)))
    pd.testing.assert_frame_equal(copy.transform(frame), found)


@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_rows_constant_columns_and_few_rows(solver):
    X = table(14, 12, 5)
    twice = gm.PCA(4, solver=solver).fit(np.repeat(X, 3, axis=0))
    once = gm.PCA(4, solver=solver).fit(X)
    np.testing.assert_allclose(twice.variances_, once.variances_, rtol=1e-9)
    np.testing.assert_allclose(twice.components_, once.components_, atol=1e-7)
    wider = gm.PCA(4, solver=solver).fit(np.c_[X, np.full(12, 1e6), np.full(12, 0.1)])
    np.testing.assert_allclose(wider.variances_, once.variances_, rtol=1e-9)
    np.testing.assert_allclose(wider.components_[:, 5:], 0.0, atol=1e-9)
    two = gm.PCA(2, solver=solver).fit(X[:2])
    np.testing.assert_allclose(two.variances_, [((X[0] - X[1]) ** 2).sum() / 4, 0.0], rtol=1e-9)
    np.testing.assert_allclose(two.inverse_transform(two.transform(X[:2])), X[:2], atol=1e-9)
    single = gm.PCA(3, solver=solver).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.variances_, once.variances_[:3], rtol=1e-5)
    assert single.transform(X.astype(np.float32)).dtype == np.float32

"""`kernel=` on models: against direct minimisation, scikit-learn, and refits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR
from sklearn.svm import OneClassSVM as LibOneClass

import gramian as gm
from gramian.solvers.kernel.kernel_rows import KernelRows
from gramian.solvers.kernel.smo import Dual, minimise

RBF, Linear = gm.kernels.RBF, gm.kernels.Linear


def wave(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n) + 4.0


def moons(seed=0, n=160):
    return make_moons(n, noise=0.25, random_state=seed)


# ridge


@pytest.mark.parametrize("alpha", [1.0, 0.01, 1e-4])
def test_ridge_without_intercept_is_kernel_ridge(alpha):
    X, y = wave()
    ours = gm.Ridge(alpha=alpha, kernel=RBF(1.0), fit_intercept=False).fit(X, y)
    theirs = KernelRidge(alpha=alpha * len(y), kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-9)
    assert ours.certificate_.holds


@pytest.mark.parametrize("alpha", [0.3, 0.01])
def test_a_linear_kernel_is_the_linear_model(alpha):
    X, y = wave(1)
    linear, kernel = gm.Ridge(alpha=alpha).fit(X, y), gm.Ridge(alpha=alpha, kernel=Linear()).fit(X, y)
    np.testing.assert_allclose(kernel.predict(X), linear.predict(X), rtol=1e-9)
    assert kernel.intercept_ == pytest.approx(linear.intercept_, rel=1e-9)


def test_several_targets_and_weights():
    X, y = wave(2)
    Y = np.column_stack([y, y**2])
    w = np.random.default_rng(0).integers(0, 3, len(y))
    both = gm.Ridge(alpha=0.01, kernel=RBF(1.0)).fit(X, Y, sample_weight=w)
    repeated = gm.Ridge(alpha=0.01, kernel=RBF(1.0)).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(both.predict(X), repeated.predict(X), rtol=1e-8)
    assert both.predict(X).shape == Y.shape


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_is_that_of_refits(intercept):
    X, y = wave(3, 40)
    model = gm.Ridge(kernel=RBF(1.0), cv="loo", alphas=[0.1, 1e-3], fit_intercept=intercept).fit(X, y)
    for a, alpha in enumerate(model.scores_.alphas):
        misses = []
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            one = gm.Ridge(alpha=float(alpha), kernel=RBF(1.0), fit_intercept=intercept).fit(X[rest], y[rest])
            misses.append((y[i] - one.predict(X[i : i + 1])[0]) ** 2)
        assert model.scores_.mean[a] == pytest.approx(np.mean(misses), rel=1e-7)


def test_folds_are_those_of_refits():
    X, y = wave(4, 60)
    model = gm.Ridge(kernel=RBF(1.0), cv=KFold(3), alphas=[0.1, 1e-3]).fit(X, y)
    for a, alpha in enumerate(model.scores_.alphas):
        for k, (train, test) in enumerate(KFold(3).split(X)):
            one = gm.Ridge(alpha=float(alpha), kernel=RBF(1.0)).fit(X[train], y[train])
            assert model.scores_.folds[a, k] == pytest.approx(np.mean((y[test] - one.predict(X[test])) ** 2), rel=1e-7)


def test_no_penalty_interpolates():
    X, y = wave(5, 50)
    model = gm.Ridge(alpha=0.0, kernel=RBF(0.5)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)
    twice = gm.Ridge(alpha=0.0, kernel=RBF(0.5)).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(twice.predict(X), y, atol=1e-6)
    with pytest.raises(ValueError, match="interpolates"):
        model.predict(X, interval=0.9)


def test_intervals_are_those_of_the_gaussian_process():
    """Against the conditional normal distribution with a flat prior of the intercept, worked out directly."""
    X, y = wave(6, 60)
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.0)).fit(X, y)
    K, lam, n = RBF(1.0)(X), 1e-3 * 60, 60
    M, one = K + lam * np.eye(n), np.ones(n)
    b = (one @ np.linalg.solve(M, y)) / (one @ np.linalg.solve(M, one))
    sigma2 = lam * (y - b) @ np.linalg.solve(M, y - b) / (n - 1)
    Z = np.array([[0.0, 0.0], [10.0, 10.0]])
    k = RBF(1.0)(Z, X)
    left = 1.0 - k @ np.linalg.solve(M, one)
    variance = 1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(M, k.T)) + left**2 / (one @ np.linalg.solve(M, one))
    total = np.sqrt(sigma2 * (variance / lam + 1.0))
    from scipy.stats import t

    found = model.predict(Z, interval=0.9)
    np.testing.assert_allclose((found.high - found.low) / 2, t(n - 1).ppf(0.95) * total, rtol=1e-8)
    assert found.high[1] - found.low[1] > found.high[0] - found.low[0]


def test_parts_add_up():
    X, y = wave(7)
    model = gm.Ridge(alpha=1e-3, kernel=2.0 * RBF(0.7) + 0.5 * Linear()).fit(X, y)
    parts = model.parts(X[:9])
    assert len(parts) == 2
    np.testing.assert_allclose(sum(parts.values()) + model.intercept_, model.predict(X[:9]), rtol=1e-9)
    additive = gm.Ridge(alpha=1e-3, kernel=gm.kernels.ANOVA(RBF(1.0), 1)).fit(X, y)
    parts = additive.parts(X)
    assert len(parts) == 2
    np.testing.assert_allclose(sum(parts.values()) + additive.intercept_, additive.predict(X), rtol=1e-8)
    first = next(iter(parts.values()))
    assert abs(np.corrcoef(first, np.sin(X[:, 0]))[0, 1]) > 0.95


def test_low_rank_comes_near():
    X, y = wave(8)
    exact, few = (
        gm.Ridge(alpha=1e-3, kernel=RBF(2.0)).fit(X, y),
        gm.Ridge(alpha=1e-3, kernel=RBF(2.0), rank=60).fit(X, y),
    )
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=1e-3)
    assert few.dual_coef_.shape == (60,)
    np.testing.assert_allclose(
        RBF(2.0)(X, X[few.representation_.index]) @ few.dual_coef_ + few.intercept_, few.predict(X), atol=1e-7
    )


# the choice of the kernel


def test_the_length_scale_is_the_best_of_those_tried():
    X, y = wave(9, 80)
    model = gm.Ridge(kernel=RBF("auto"), cv="loo").fit(X, y)
    assert isinstance(model.kernel_.length_scale, float)
    best = min(model.kernel_losses_.values())
    assert model.kernel_losses_[repr(model.kernel_)] == best
    assert model.scores_.mean[model.scores_.chosen] == pytest.approx(best, rel=1e-6)
    assert len(model.kernel_losses_) == 10


@pytest.mark.parametrize("model", [gm.LogisticRegression(alpha=0.01), gm.SVC(alpha=0.01)], ids=repr)
def test_classifiers_choose_their_scale_too(model):
    X, y = moons(1, 80)
    fitted = clone(model).set_params(kernel=RBF("auto")).fit(X, y)
    assert min(fitted.kernel_losses_.values()) == fitted.kernel_losses_[repr(fitted.kernel_)]
    assert fitted.score(X, y) > 0.85


def test_auto_tries_families():
    X, y = wave(10, 60)
    model = gm.Ridge(kernel="auto", cv="loo").fit(X, y)
    texts = " ".join(model.kernel_losses_)
    assert all(name in texts for name in ("Linear", "RBF", "Laplacian", "Matern"))
    straight = gm.Ridge(kernel="auto", cv="loo").fit(
        X, X @ [1.0, -2.0] + 1e-3 * np.random.default_rng(0).normal(size=60)
    )
    np.testing.assert_allclose(straight.predict(X), X @ [1.0, -2.0], atol=0.05)


# losses in the space of a factor


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_losses_reach_the_optimum_over_functions(loss):
    X, y = moons(2, 60)
    kernel, alpha, sign = RBF(0.7), 0.01, np.where(y > 0, 1.0, -1.0)
    model = gm.Classifier(loss, alpha=alpha, kernel=kernel).fit(X, y)
    values, vectors = np.linalg.eigh(kernel(X))
    F = vectors * np.sqrt(np.maximum(values, 0.0))

    def objective(v):
        f = F @ v[1:] + v[0]
        margin = sign * f
        losses = np.logaddexp(0, -margin) if loss == "logistic" else np.maximum(0, 1 - margin) ** 2
        return losses.mean() + alpha * v[1:] @ v[1:]

    best = minimize(
        objective, np.zeros(61), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14}
    )
    assert model.objective_ <= best.fun + 1e-9
    np.testing.assert_allclose(model.decision_function(X), F @ best.x[1:] + best.x[0], atol=1e-3)
    np.testing.assert_allclose(
        kernel(X, X[model.representation_.index]) @ model.dual_coef_[0] + model.intercept_[0],
        model.decision_function(X),
        atol=1e-6,
    )


def test_robust_losses_and_several_classes():
    X, y = wave(11, 80)
    y[3] += 100.0
    robust = gm.Regressor("absolute", alpha=1e-3, kernel=RBF(1.0)).fit(X, y)
    assert np.median(np.abs(robust.predict(X) - y)) < 0.2
    X, y = load_iris(return_X_y=True)
    model = gm.LogisticRegression(alpha=1e-3, kernel="rbf").fit(X[::3], y[::3])
    assert model.score(X, y) > 0.94
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert "kernel RBF" in str(model.summary())


def plain_perceptron(K, sign, order, sweeps):
    beta = np.zeros(len(sign))
    for r in range(sweeps):
        mistakes = 0
        for i in order(r):
            if sign[i] * (K[i] @ beta + beta.sum()) <= 0:
                beta[i] += sign[i]
                mistakes += 1
        if mistakes == 0:
            break
    return beta


def test_the_perceptron_corrects_dual_variables():
    X, y = make_moons(60, noise=0.05, random_state=3)
    sign = np.where(y > 0, 1.0, -1.0)
    K = RBF(0.5)(X)
    model = gm.Perceptron(kernel=RBF(0.5)).fit(X, y)
    beta = plain_perceptron(K, sign, lambda r: np.random.default_rng((0, r)).permutation(60), 1000)
    np.testing.assert_allclose(model.decision_function(X), K @ beta + beta.sum(), atol=1e-5)
    assert model.score(X, y) == 1.0
    assert model.n_mistakes_ == np.abs(beta).sum()


# support vector machines


@pytest.mark.parametrize("alpha", [0.1, 3e-3, 1e-5])
def test_svc_is_libsvms(alpha):
    X, y = moons(4, 200)
    ours = gm.SVC(alpha=alpha, kernel=RBF(0.5)).fit(X, y)
    theirs = LibSVC(C=1 / (2 * 200 * alpha), gamma=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    assert ours.certificate_.holds
    beta = np.zeros(200)
    beta[ours.support_] = ours.dual_coef_[0]
    other = np.zeros(200)
    other[theirs.support_] = theirs.dual_coef_[0]
    K, sign = RBF(0.5)(X), np.where(y > 0, 1.0, -1.0)
    mine, best = (b @ sign - 0.5 * b @ K @ b for b in (beta, other))
    assert mine == pytest.approx(best, rel=1e-6)
    assert abs(beta.sum()) < 1e-8 * np.abs(beta).sum()
    np.testing.assert_allclose(ours.margin_, 2 / np.sqrt(beta @ K @ beta), rtol=1e-6)


def test_svc_certificate_from_scratch():
    X, y = moons(5, 100)
    alpha, kernel = 1e-3, RBF(0.6)
    w = np.random.default_rng(0).uniform(0.2, 2.0, 100)
    model = gm.SVC(alpha=alpha, kernel=kernel).fit(X, y, sample_weight=w)
    sign, K = np.where(y > 0, 1.0, -1.0), kernel(X)
    beta = np.zeros(100)
    beta[model.support_] = model.dual_coef_[0]
    C = w / (2 * alpha * w.sum())
    assert (sign * beta >= 0).all()
    assert (np.abs(beta) <= C * (1 + 1e-12)).all()
    f = K @ beta + model.intercept_[0]
    primal = 0.5 * beta @ K @ beta + C @ np.maximum(0, 1 - sign * f)
    dual = sign @ beta - 0.5 * beta @ K @ beta
    assert (primal - dual) / primal <= 1.01e-6
    assert model.objective_ == pytest.approx(2 * alpha * primal, rel=1e-9)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code"])
def test_svc_of_several_classes(multiclass):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = gm.SVC(alpha=1e-3, kernel="rbf", multiclass=multiclass).fit(X[::2], names[::2])
    assert model.score(X, names) > 0.93
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()


def test_svc_chooses_alpha_by_the_hinge_of_left_out_rows():
    X, y = moons(6, 90)
    alphas = [0.1, 1e-2, 1e-3]
    model = gm.SVC(kernel=RBF(0.5), cv=KFold(3), alphas=alphas).fit(X, y)
    sign = np.where(y > 0, 1.0, -1.0)
    for a, alpha in enumerate(alphas):
        for k, (train, test) in enumerate(KFold(3).split(X)):
            one = gm.SVC(alpha=alpha, kernel=RBF(0.5)).fit(X[train], y[train])
            hinge = np.maximum(0, 1 - sign[test] * one.decision_function(X[test])).mean()
            assert model.scores_.folds[a, k] == pytest.approx(hinge, rel=0.02, abs=2e-3)


def test_svc_without_intercept_and_with_few_slots():
    X, y = moons(7, 100)
    sign, kernel = np.where(y > 0, 1.0, -1.0), RBF(0.5)
    model = gm.SVC(alpha=1e-2, kernel=kernel, fit_intercept=False).fit(X, y)
    assert model.intercept_[0] == 0.0
    assert model.certificate_.holds
    C = np.full(100, 0.5)
    dual = Dual(sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), np.arange(100))
    rows = KernelRows(kernel, kernel.points(X))
    small = KernelRows(kernel, kernel.points(X), memory=0)
    a, b = minimise(dual, rows, tol=1e-8), minimise(dual, small, tol=1e-8)
    np.testing.assert_allclose(a.f, b.f, atol=1e-6)


def test_strings_and_precomputed_matrices():
    words, y = ["abab", "abba", "baba", "cdcd", "dcdc", "ccdd"], [0, 0, 0, 1, 1, 1]
    model = gm.SVC(alpha=0.01, kernel=gm.kernels.Spectrum(2)).fit(words, y)
    assert model.predict(["ab", "cd"]).tolist() == [0, 1]
    X, y = moons(8, 80)
    K = RBF(0.5)(X)
    given = gm.SVC(alpha=0.01, kernel=gm.kernels.Precomputed()).fit(K, y)
    np.testing.assert_allclose(
        given.decision_function(K), gm.SVC(alpha=0.01, kernel=RBF(0.5)).fit(X, y).decision_function(X), atol=1e-4
    )
    assert cross_val_score(gm.SVC(alpha=0.01, kernel=gm.kernels.Precomputed()), K, y, cv=3).mean() > 0.8


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.01, 0.1), (1e-4, 0.05), (1e-3, 0.0)])
def test_svr_is_libsvms(alpha, epsilon):
    X, y = wave(12)
    ours = gm.SVR(alpha=alpha, epsilon=epsilon, kernel=RBF(1.0)).fit(X, y)
    theirs = LibSVR(C=1 / (2 * len(y) * alpha), epsilon=epsilon, gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    assert ours.certificate_.holds


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class_is_libsvms(nu):
    X, _ = wave(13)
    ours = gm.OneClassSVM(nu, kernel=RBF(1.0)).fit(X)
    theirs = LibOneClass(nu=nu, gamma=0.5, tol=1e-9).fit(X)
    np.testing.assert_allclose(ours.decision_function(X) * nu * len(X), theirs.decision_function(X), atol=1e-3)
    assert (ours.decision_function(X) < -1e-7).mean() <= nu
    assert len(ours.support_) >= nu * len(X)
    assert ours.predict([[100.0, 100.0]]).tolist() == [-1]


# the input


@pytest.mark.parametrize(
    "model",
    [
        gm.Ridge(alpha=0.01, kernel=RBF(1.0)),
        gm.Ridge(alpha=0.01, kernel=RBF(1.0), rank=20),
        gm.Regressor(gm.losses.Huber(1.35, 0.3), alpha=0.01, kernel=RBF(1.0)),
        gm.SVR(alpha=0.01, kernel=RBF(1.0)),
    ],
    ids=repr,
)
def test_sparse_frames_and_rows(model):
    import pandas as pd

    X, y = wave(14, 50)
    plain = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(sp.csr_array(X), y).predict(sp.csr_array(X)), plain, atol=1e-5)
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = clone(model).fit(frame, y)
    np.testing.assert_allclose(fitted.predict(frame), plain, atol=1e-6)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(clone(model).fit(gm.scan(X, y)).predict(X), plain, atol=1e-6)
    with pytest.raises(ValueError, match="feature"):
        fitted.predict(pd.DataFrame(np.zeros((2, 3)), columns=["a", "b", "c"]))


def test_nested_parameters_are_searched():
    X, y = moons(9, 80)
    search = GridSearchCV(gm.SVC(alpha=0.01, kernel=RBF(1.0)), {"kernel": [RBF(0.3), RBF(3.0)]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    model = gm.Ridge(kernel=RBF(1.0) + Linear()).set_params(kernel__left__length_scale=2.0)
    assert model.kernel == RBF(2.0) + Linear()
    assert model.get_params()["kernel__left__length_scale"] == 2.0


def test_what_is_refused():
    X, y = wave(15, 30)
    labels = y > y.mean()
    with pytest.raises(ValueError, match="is no kernel"):
        gm.Ridge(alpha=0.1, kernel=RBF(1.0) - 2.0 * RBF(2.0)).fit(X, y)
    with pytest.raises(ValueError, match="penalty must be 'l2'"):
        gm.LogisticRegression(alpha=0.1, penalty="l1", kernel="rbf").fit(X, labels)
    with pytest.raises(ValueError, match="not 'l1'"):
        gm.SVC(alpha=0.1, penalty="l1", kernel="rbf").fit(X, labels)
    with pytest.raises(ValueError, match="rank is for kernels"):
        gm.LogisticRegression(alpha=0.1, rank=3).fit(X, labels)
    with pytest.raises(ValueError, match="rank is for kernels"):
        gm.Ridge(alpha=0.1, rank=3).fit(X, y)
    with pytest.raises(ValueError, match="rank is 0"):
        gm.Ridge(alpha=0.1, kernel="rbf", rank=0).fit(X, y)
    with pytest.raises(ValueError, match="leave out matrix"):
        gm.Ridge(alpha=0.1, kernel="rbf", standardize=True).fit(X, y)
    with pytest.raises(ValueError, match="hard margin"):
        gm.SVC(alpha=0, kernel="rbf").fit(X, labels)
    with pytest.raises(ValueError, match="needs rank="):
        gm.SVC(alpha=0.1, kernel="rbf", multiclass="joint").fit(X, labels)
    with pytest.raises(ValueError, match="alpha is 0"):
        gm.SVR(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="fits one target"):
        gm.SVR(alpha=0.1).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y contains NaN"):
        gm.SVR(alpha=0.1).fit(X, np.where(labels, np.nan, y))
    with pytest.raises(ValueError, match="requires y"):
        gm.Ridge(alpha=0.1, kernel="rbf").fit(X)
    with pytest.raises(ValueError, match="must be None"):
        gm.Ridge(alpha=0.1, kernel="rfb").fit(X, y)
    with pytest.raises(ValueError, match="parts"):
        gm.Ridge(alpha=0.1).fit(X, y).parts(X)


# features that are nearly a kernel


@pytest.mark.parametrize("method", ["pivots", "uniform", "k-means++", "leverage"])
def test_landmarks_explain_the_kernel(method):
    X, _ = wave(16, 100)
    K = RBF(1.5)(X)
    errors = []
    for count in (10, 40, 100):
        F = gm.Nystroem(RBF(1.5), n_components=count, method=method, random_state=0).fit(X)
        Z = F.transform(X)
        errors.append(np.abs(K - Z @ Z.T).max())
        assert F.error_ == pytest.approx(1 - np.trace(Z @ Z.T) / np.trace(K), abs=1e-6)
    assert errors[0] > errors[1]
    assert errors[2] < 1e-5


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.5),
        RBF([1.0, 3.0]),
        gm.kernels.Laplacian(2.0),
        gm.kernels.Matern(1.5),
        gm.kernels.Matern(2.0, 2.5),
        gm.kernels.RationalQuadratic(1.5, 0.7),
    ],
)
def test_waves_come_near_the_kernel_as_the_root_of_their_number(kernel):
    X, _ = wave(17, 60)
    K = kernel(X)
    errors = []
    for count in (200, 20_000):
        F = gm.RandomFourier(kernel, n_components=count, random_state=1).fit_transform(X)
        errors.append(np.sqrt(np.mean((K - F @ F.T) ** 2)))
    assert errors[1] < 0.02
    assert 4 < errors[0] / errors[1] < 25
    assert errors[1] < gm.RandomFourier(kernel, n_components=20_000).fit(X).error_bound()


def test_orthogonal_waves_are_better():
    X = np.random.default_rng(0).standard_normal((80, 10))
    K, kernel = RBF(3.0)(X), RBF(3.0)
    errors = {
        flag: np.mean(
            [
                np.mean(
                    (
                        K
                        - (
                            F := gm.RandomFourier(
                                kernel, n_components=40, orthogonal=flag, random_state=s
                            ).fit_transform(X)
                        )
                        @ F.T
                    )
                    ** 2
                )
                for s in range(20)
            ]
        )
        for flag in (False, True)
    }
    assert errors[True] < errors[False]


def test_features_serve_in_a_pipeline():
    X, y = moons(10, 100)
    for features in (
        gm.Nystroem(RBF(0.5), n_components=30),
        gm.RandomFourier(RBF(0.5), n_components=100, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            assert make_pipeline(features, gm.LogisticRegression(alpha=1e-3)).fit(X, y).score(X, y) > 0.88
    odd = gm.RandomFourier(RBF(0.5), n_components=20_001, random_state=0).fit_transform(X)
    np.testing.assert_allclose(odd @ odd.T, RBF(0.5)(X), atol=0.06)
    with pytest.raises(ValueError, match="no known spectrum"):
        gm.RandomFourier(Linear()).fit(X)
    with pytest.raises(ValueError, match="orthogonal=True"):
        gm.RandomFourier("laplacian", orthogonal=True).fit(X)
    with pytest.raises(TypeError, match="orthogonal"):
        gm.RandomFourier(orthogonal="yes").fit(X)
    with pytest.raises(ValueError, match="method is"):
        gm.Nystroem(method="best").fit(X)
    with pytest.raises(ValueError, match="n_components is"):
        gm.Nystroem(n_components=0).fit(X)
    with pytest.raises(ValueError, match="delta"):
        gm.RandomFourier().fit(X).error_bound(2.0)


# neighbours in the feature space


@pytest.mark.parametrize("model", [gm.KNeighborsClassifier, gm.KNeighborsRegressor])
def test_neighbours_beyond_the_reach_of_a_kernel_come_in_order(model):
    rng = np.random.default_rng(5)
    X = 50.0 * rng.permutation(60)[:, None] + rng.normal(size=(60, 3))  # k = 0 to rounding between any two
    found = model(4, kernel=RBF(1.0)).fit(X, np.arange(60) % 2)
    distance, index = found.kneighbors(X + 20.0)
    np.testing.assert_array_equal(index, np.tile(np.arange(4), (60, 1)))
    np.testing.assert_allclose(distance, np.broadcast_to(distance[0, 0], distance.shape), rtol=0)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_by_the_distance_of_features(weights):
    X, y = moons(11, 80)
    Z = np.vstack([X[:20] + 0.01, [[9.0, 9.0]]])
    kernel = RBF(0.5) + 0.1 * Linear()
    model = gm.KNeighborsClassifier(5, weights=weights, kernel=kernel).fit(X, y)
    away = kernel.diagonal(Z)[:, None] + kernel.diagonal(X) - 2 * kernel(Z, X)
    distance, index = model.kneighbors(Z)
    np.testing.assert_allclose(distance, np.sqrt(np.sort(away, axis=1)[:, :5]), atol=1e-5)
    near = np.argsort(away, axis=1, kind="stable")[:, :5]
    if weights == "uniform":
        assert (model.predict(Z)[:20] == (y[near[:20]].mean(axis=1) > 0.5)).mean() > 0.9
    numbers = gm.KNeighborsRegressor(3, kernel=kernel).fit(X, y.astype(float))
    assert numbers.predict(Z).shape == (21,)
    strings = gm.KNeighborsClassifier(1, kernel=gm.kernels.Spectrum(2)).fit(["abab", "cdcd"], [0, 1])
    assert strings.predict(["ba", "dcd"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="leave out metric"):
        gm.KNeighborsRegressor(3, kernel=kernel, standardize=True).fit(X, y.astype(float))
    assert index.shape == (21, 5)


@pytest.mark.parametrize(
    "model",
    [gm.Ridge(alpha=1e-3, kernel=RBF(2.0), rank=40), gm.LogisticRegression(alpha=1e-3, kernel=RBF(2.0), rank=40)],
)
def test_features_may_be_made_block_by_block(model, monkeypatch):
    import gramian.models.kernel.data as module

    X, y = wave(18, 300)
    target = y if isinstance(model, gm.Ridge) else np.where(y > y.mean(), "high", "low")
    w = np.random.default_rng(0).integers(0, 3, 300)
    kept = clone(model).fit(X, target, sample_weight=w)
    monkeypatch.setattr(module, "MOST_CELLS", 10)
    streamed = clone(model).fit(X, target, sample_weight=w)
    assert streamed.certificate_.holds
    assert streamed.n_features_in_ == 2
    if isinstance(model, gm.Ridge):
        np.testing.assert_allclose(streamed.predict(X), kept.predict(X), atol=0.02)
    else:
        assert (streamed.predict(X) == kept.predict(X)).mean() > 0.98


def rough(seed, n):
    """Ten columns and little noise: a narrow kernel gains from every row, and no factor of low rank shows it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(("make", "worse"), [(wave, 1.01), (rough, 1.05)])
def test_the_choice_of_many_rows_is_nearly_the_best(make, worse, monkeypatch):
    """The exact leave-one-out error of what is chosen, next to the grid's best.

    Within one per cent where the kernel matrix has a factor of low rank; mostly so where it has none, but not always.
    """
    import gramian.models.kernel.ridge_cv as module

    X, y = make(40, 800)
    model = gm.Ridge(kernel=RBF("auto"), cv="loo", alphas=30)
    for name, value in {"WHOLE": 100, "SAMPLE": 400, "MOST": 800, "TESTED": 800, "RANK": 160}.items():
        monkeypatch.setattr(module, name, value)
    chosen = clone(model).fit(X, y)
    monkeypatch.undo()
    exact = clone(model).fit(X, y)
    judged = gm.Ridge(kernel=chosen.kernel_, cv="loo", alphas=[chosen.alpha_]).fit(X, y)
    best = exact.scores_.mean[exact.scores_.chosen]
    assert judged.scores_.mean[0] <= worse * best


@pytest.mark.parametrize("weighted", [False, True])
def test_the_last_rows_are_left_out_by_the_end_of_the_factor(weighted):
    from gramian.solvers.kernel.kernel_ridge import Factor, KernelPath, last_loo_residuals

    X, y = rough(6, 200)
    Y = np.column_stack([y, X[:, 0]])
    w = np.random.default_rng(0).integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    K = RBF(2.0)(X)
    factor = Factor(np.triu(K), w, 1e-3)
    found = last_loo_residuals(factor, Y, True, 30)
    for i in (170, 185, 199):  # at the λ of the factor
        rest = np.delete(np.arange(200), i)
        path = KernelPath(Y[rest], w[rest], True, K=K[np.ix_(rest, rest)])
        beta, b = path.at(1e-3 * w.sum() / w[rest].sum())
        np.testing.assert_allclose(found[i - 170], Y[i] - K[i, rest] @ beta - b, atol=1e-10)


def test_folds_and_weights_of_many_rows(monkeypatch):
    """Folds of a sample are cut from those given; where it has no rows of some, a factor of all rows serves."""
    import gramian.models.kernel.ridge_cv as module

    X, y = rough(21, 400)
    w = np.random.default_rng(1).integers(0, 3, 400)
    model = gm.Ridge(kernel=RBF("auto"), cv=4, alphas=15)
    exact = clone(model).fit(X, y, sample_weight=w)
    for name, value in {"WHOLE": 100, "SAMPLE": 160, "MOST": 220, "RANK": 40}.items():
        monkeypatch.setattr(module, name, value)
    near = clone(model).fit(X, y, sample_weight=w)
    assert near.scores_.folds.shape[1] == 4
    assert near.kernel_losses_[repr(near.kernel_)] == min(near.kernel_losses_.values())
    assert near.kernel_.length_scale == pytest.approx(exact.kernel_.length_scale, rel=1.1)
    few = gm.Ridge(kernel=RBF(3.0), cv=[(np.arange(1, 400), np.array([0]))] * 2, alphas=15)
    monkeypatch.setattr(module, "RANK", 400)
    found = clone(few).fit(X, y)
    monkeypatch.undo()
    np.testing.assert_allclose(found.scores_.mean, clone(few).fit(X, y).scores_.mean, rtol=1e-6)


# conjugate gradients


@pytest.mark.parametrize("intercept", [True, False])
def test_conjugate_gradients_are_the_factor(intercept, monkeypatch):
    import gramian.solvers.kernel.ridge_solution as module

    X, y = rough(3, 600)
    Y, w = np.column_stack([y, X[:, 0], np.zeros(600)]), np.random.default_rng(2).integers(0, 4, 600)
    model = gm.Ridge(alpha=1e-2, kernel=RBF(3.0), fit_intercept=intercept)
    kept = clone(model).fit(X, Y, sample_weight=w)
    monkeypatch.setattr(module, "STEPS_FROM", 100)
    monkeypatch.setattr(module, "STEPS_SHARE", 5)
    found = clone(model).fit(X, Y, sample_weight=w)
    assert kept.solver_.name == "Cholesky"
    assert found.solver_.name == "conjugate gradients"
    assert found.certificate_.value < 1e-12
    np.testing.assert_allclose(found.dual_coef_, kept.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, kept.intercept_, atol=1e-11)
    for one, other in zip(found.predict(X[:9], interval=0.9), kept.predict(X[:9], interval=0.9), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("most", [1.0, np.inf], ids=["foreseen", "tried"])
@pytest.mark.parametrize("alpha", [0.0, 1e-14, 1e-7])
def test_where_conjugate_gradients_are_slow_a_factor_is_used(alpha, most, monkeypatch):
    import gramian.solvers.kernel.ridge_solution as module

    X, y = rough(4, 500)
    model = gm.Ridge(alpha=alpha, kernel=RBF(1.5))
    kept = clone(model).fit(X, y)
    for name, value in {"STEPS_FROM": 100, "STEPS_RANKS": ((40, most),), "STEPS_SHARE": 20}.items():
        monkeypatch.setattr(module, name, value)
    found = clone(model).fit(X, y)
    assert found.solver_.name == kept.solver_.name == "Cholesky"
    assert found.certificate_.holds
    np.testing.assert_array_equal(found.dual_coef_, kept.dual_coef_)


def test_conjugate_gradients_give_the_same_bits_for_any_threads(monkeypatch):
    import gramian.solvers.kernel.ridge_solution as module

    X, y = rough(5, 700)
    for name, value in {"STEPS_FROM": 100, "STEPS_SHARE": 5}.items():
        monkeypatch.setattr(module, name, value)
    model = gm.Ridge(alpha=1e-2, kernel=RBF(3.0))
    with gm.threads(1):
        one = clone(model).fit(X, y)
        values = one.predict(X)
    assert one.solver_.name == "conjugate gradients"
    np.testing.assert_array_equal(values, one.predict(X))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("count", [4, 12])  # each made tridiagonal by itself; from one eigendecomposition
def test_folds_of_kernel_ridge_equal_refits(intercept, weighted, count):
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((43, 2))
    T = np.column_stack([np.sin(Z[:, 0]), Z[:, 1]]) + 0.1 * rng.standard_normal((43, 2))
    w = rng.uniform(0.2, 3.0, 43) if weighted else None
    kernel, folds = RBF(1.3), KFold(count, shuffle=True, random_state=0)
    alphas = [1.0, 1e-2, 1e-4]
    model = gm.Ridge(kernel=kernel, alphas=alphas, cv=folds, fit_intercept=intercept).fit(Z, T, sample_weight=w)
    for s, (train, test) in enumerate(folds.split(Z)):
        for a, alpha in enumerate(model.scores_.alphas):
            part = None if w is None else w[train]
            again = gm.Ridge(float(alpha), kernel=kernel, fit_intercept=intercept).fit(
                Z[train], T[train], sample_weight=part
            )
            loss = ((again.predict(Z[test]) - T[test]) ** 2).mean(axis=1)
            expected = np.average(loss, weights=None if w is None else w[test])
            np.testing.assert_allclose(model.scores_.folds[a, s], expected, rtol=1e-7)
    # where λ is rounding beside the kernel matrix, and where rows of a fold are trained on by none
    tiny = gm.Ridge(kernel=RBF(5.0), alphas=[1e-3, 1e-17], cv=folds, fit_intercept=intercept).fit(Z, T)
    assert np.isfinite(tiny.scores_.folds).all()
    apart = ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=0)
    model = gm.Ridge(kernel=kernel, alphas=alphas, cv=apart, fit_intercept=intercept).fit(Z, T)
    train, test = next(apart.split(Z))
    again = gm.Ridge(1e-2, kernel=kernel, fit_intercept=intercept).fit(Z[train], T[train])
    np.testing.assert_allclose(model.scores_.folds[1, 0], ((again.predict(Z[test]) - T[test]) ** 2).mean(), rtol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3, 90])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_tridiagonal_matrix_gives_every_alpha(n, intercept):
    from gramian.solvers.kernel.tridiagonal import TridiagonalPath

    rng = np.random.default_rng(n)
    K, Y, w = RBF(1.0)(rng.standard_normal((n, 3))), rng.standard_normal((n, 2)), rng.uniform(0.2, 3.0, n)
    lams = np.array([10.0, 1e-3, 1e-6, 1e-20])
    with gm.threads(1):
        beta, b = TridiagonalPath(K.copy(), Y, w, intercept).at(lams)
    for i, lam in enumerate(lams[:3]):
        M = K + np.diag(lam / w)
        np.testing.assert_allclose(M @ beta[:, i] + b[i], Y, atol=1e-8)
        np.testing.assert_allclose(beta[:, i].sum(axis=0) if intercept else b[i], 0.0, atol=1e-8)
    assert np.isnan(beta[:, 3]).all()  # rounding


def test_a_symmetric_matrix_is_made_tridiagonal():
    from gramian.solvers.lapack import times_reflectors, tridiagonalize

    A = np.random.default_rng(0).standard_normal((60, 60))
    A = A + A.T
    S, Q = np.asfortranarray(A.copy()), np.eye(60, order="F")
    diagonal, beside, scales = tridiagonalize(S)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    times_reflectors(S, scales, Q)
    np.testing.assert_allclose(Q @ T @ Q.T, A, atol=1e-12)
    np.testing.assert_allclose(Q.T @ Q, np.eye(60), atol=1e-13)
    turned = np.asfortranarray(A.copy())
    times_reflectors(S, scales, turned, transposed=True)
    np.testing.assert_allclose(turned, Q.T @ A, atol=1e-12)


def test_folds_of_kernel_ridge_give_the_same_bits_for_any_threads():
    X, y = wave(3, 300)
    found = []
    for count in (1, 2, 4):
        with gm.threads(count):
            found.append(gm.Ridge(kernel="rbf").fit(X, y).scores_.folds)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_logistic_kernels_are_scored_nearly_as_exact_fits_score_them():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((80, 2))
    label = np.hypot(*Z.T) + 0.3 * rng.standard_normal(80) > 1.2
    model = gm.LogisticRegression(kernel=RBF("auto"), alphas=4, cv=3).fit(Z, label)
    chosen = model.kernel_losses_[repr(model.kernel_)]
    assert chosen == min(model.kernel_losses_.values())
    exact = gm.LogisticRegression(kernel=model.kernel_, alphas=4, cv=3).fit(Z, label)
    np.testing.assert_array_equal(model.dual_coef_, exact.dual_coef_)
    assert exact.scores_.mean[exact.scores_.chosen] == pytest.approx(chosen, rel=0.05)


def test_every_row_may_be_outside():
    X = np.random.default_rng(0).standard_normal((50, 3))
    model = gm.OneClassSVM(nu=1.0).fit(X)
    assert model.offset_ == pytest.approx(model.score_samples(X).max(), rel=1e-6)
    assert (model.predict(X) == 1).sum() == 1


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_classes_of_which_one_is_left_out(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((15, 3)), np.repeat([0, 1, 2], 5)
    weight = np.where(rng.permutation(15) % 5 == 0, 1.0, 0.0)
    weight[[0, 5, 10]] = 1.0
    found = gm.SVC(kernel="rbf", alpha=1e-3, multiclass="ovo").fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)

"""The choice of alpha: every score against its own fit, leave-one-out against leaving one out, splitters and rules."""

import warnings
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

import gramian as gm
from gramian.models.kernel.search import searched_rank
from gramian.objective import losses as L
from gramian.objective import penalties as P
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.selection.cv.regularization import Refits
from gramian.selection.cv.strategy import FoldTask

ALPHAS = [1.0, 0.1, 0.01, 0.001]


def problem(seed, n=100, d=3, k=2):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    rng.shuffle(y)
    return rng.standard_normal((n, d)) + rng.standard_normal((k, d))[y], y


def loss_of(model, X, y, w=None):
    """The mean loss of a fit on other rows, written out; over the binary problems where there are several."""
    f, w = X @ model.coef_.T + model.intercept_, np.ones(len(y)) if w is None else w
    name = (
        "logistic" if isinstance(model, gm.LogisticRegression) else "hinge" if isinstance(model, gm.SVC) else model.loss
    )
    if model.multiclass_ == "joint":
        codes = np.searchsorted(model.classes_, y)
        own = f[np.arange(len(f)), codes]
        if name == "logistic":
            return w @ (logsumexp(f, axis=1) - own) / w.sum()
        return w @ ((f + 1.0 - np.eye(f.shape[1])[codes]).max(axis=1) - own) / w.sum()
    found = []
    for bit, word in enumerate(model.code_.T):
        side = word[np.searchsorted(model.classes_, y)]
        m, v = side * f[:, bit], w * np.abs(side)
        value = {
            "logistic": np.logaddexp(0, -m),
            "hinge": np.maximum(0, 1 - m),
            "squared_hinge": np.maximum(0, 1 - m) ** 2,
        }[name]
        found.append(v @ value / v.sum())
    return np.mean(found)


def by_hand(model, X, y, alphas, splits, w=None):
    """The table of scores by a separate fit for every alpha and split."""
    table = np.empty((len(alphas), len(splits)))
    for k, (train, test) in enumerate(splits):
        for a, alpha in enumerate(alphas):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gm.ConvergenceWarning)
                fitted = (
                    clone(model)
                    .set_params(alpha=float(alpha))
                    .fit(X[train], y[train], sample_weight=None if w is None else w[train])
                )
            table[a, k] = loss_of(fitted, X[test], y[test], None if w is None else w[test])
    return table


def forbidden_refits():
    """A search that fits a fold by itself fails."""
    return mock.patch.object(Refits, "_path", side_effect=AssertionError)


def splits_of(cv, X, y):
    return list(cv.split(X, y))


# scores


@pytest.mark.parametrize(
    ("model", "k"),
    [
        (gm.LogisticRegression(), 2),
        (gm.LogisticRegression(), 3),
        (gm.LogisticRegression(penalty="l1"), 2),
        (gm.LogisticRegression(penalty="elastic_net"), 3),
        (gm.LogisticRegression(multiclass="ovr"), 3),
        (gm.LogisticRegression(multiclass="ovo"), 3),
        (gm.Classifier("squared_hinge", multiclass="code"), 4),
        (gm.LogisticRegression(fit_intercept=False), 2),
        (gm.SVC(), 2),
    ],
    ids=repr,
)
def test_scores_are_those_of_separate_fits(model, k):
    X, y = problem(k, n=90, k=k)
    fitted = clone(model).set_params(alphas=ALPHAS).fit(X, y)
    expected = by_hand(model, X, y, ALPHAS, splits_of(gm.selection.KFold(5), X, y))
    np.testing.assert_array_equal(fitted.scores_.alphas, ALPHAS)
    np.testing.assert_allclose(fitted.scores_.folds, expected, rtol=2e-4 if isinstance(model, gm.SVC) else 1e-5)
    np.testing.assert_allclose(fitted.scores_.mean, expected.mean(axis=1), rtol=2e-4)
    assert fitted.alpha_ == ALPHAS[int(expected.mean(axis=1).argmin())]


def test_scores_of_the_joint_hinge():
    X, y = problem(1, n=24, d=2, k=3)
    alphas = [0.3, 0.03]
    model = gm.SVC(multiclass="joint", alphas=alphas, cv=2).fit(X, y)
    expected = by_hand(model, X, y, alphas, splits_of(gm.selection.KFold(2), X, y))
    np.testing.assert_allclose(model.scores_.folds, expected, rtol=1e-3)


@pytest.mark.parametrize("model", [gm.LogisticRegression(), gm.LogisticRegression(penalty="l1")], ids=repr)
def test_weights_count_in_training_and_validation(model):
    X, y = problem(3)
    w = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    fitted = clone(model).set_params(alphas=ALPHAS).fit(X, y, sample_weight=w)
    expected = by_hand(model, X, y, ALPHAS, splits_of(gm.selection.KFold(5), X, y), w)
    np.testing.assert_allclose(fitted.scores_.folds, expected, rtol=1e-5)


SPLITTERS = [
    KFold(4, shuffle=True, random_state=1),
    StratifiedKFold(3),
    ShuffleSplit(6, test_size=0.3, random_state=2),
    gm.selection.KFold(3, random_state=7),
    3,
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_splitters(cv, penalty):
    X, y = problem(4)
    model = gm.LogisticRegression(penalty=penalty, cv=cv, alphas=ALPHAS).fit(X, y)
    splitter = gm.selection.KFold(3) if cv == 3 else cv
    splits = splits_of(splitter, X, y)
    np.testing.assert_allclose(model.scores_.folds, by_hand(model, X, y, ALPHAS, splits), rtol=1e-5)
    pairs = gm.LogisticRegression(penalty=penalty, cv=splits, alphas=ALPHAS).fit(X, y)
    np.testing.assert_allclose(pairs.scores_.folds, model.scores_.folds, rtol=1e-5)


def test_pairs_that_leave_rows_out():
    X, y = problem(5)
    pairs = [
        (np.arange(0, 40), np.arange(50, 70)),
        (np.arange(30, 90), np.arange(0, 10)),
        (np.arange(20, 60), np.arange(90, 100)),
    ]
    model = gm.LogisticRegression(cv=pairs, alphas=ALPHAS).fit(X, y)
    np.testing.assert_allclose(model.scores_.folds, by_hand(model, X, y, ALPHAS, pairs), rtol=1e-5)


def test_sparse_and_dense_scores_agree():
    X, y = problem(6)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, 0.0, X)
    one, two = (gm.LogisticRegression(alphas=ALPHAS).fit(A, y).scores_ for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(one.folds, two.folds, rtol=1e-5)


def test_threads_make_no_difference():
    X, y = problem(7, n=2000)
    for model in (gm.LogisticRegression(), gm.LogisticRegression(penalty="l1", alphas=4)):
        found = []
        for count in (1, 2):
            with gm.threads(count):
                fitted = clone(model).fit(X, y)
            found.append((fitted.alpha_, fitted.coef_, fitted.scores_.folds))
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("solver", ["newton-cg", "proximal"])
def test_a_solver_that_is_asked_for_is_used_in_the_folds(solver):
    X, y = problem(8)
    one = gm.LogisticRegression(alphas=ALPHAS).fit(X, y)
    two = gm.LogisticRegression(alphas=ALPHAS, solver=solver).fit(X, y)
    np.testing.assert_allclose(two.scores_.folds, one.scores_.folds, rtol=1e-4)


def test_units_of_the_columns_do_not_hide_the_best():
    """The grid follows the data: rows in other units have their best alpha elsewhere, and find it."""
    X, y = problem(9, n=200)
    base = gm.LogisticRegression().fit(X, y)
    for scale in (1e-6, 1e6):
        other = gm.LogisticRegression().fit(X * scale, y)
        assert other.scores_.mean[other.scores_.best] == pytest.approx(base.scores_.mean[base.scores_.best], rel=1e-3)
        assert other.alpha_ / scale**2 == pytest.approx(base.alpha_, rel=0.3)


# leave one out


@pytest.mark.parametrize("data", ["overlap", "cancer", "three", "iris"])
def test_approximate_leave_one_out_chooses_well(data):
    """The alpha chosen is, by truly leaving each row out, within one per cent of the best."""
    X, y = {
        "overlap": lambda: problem(10, n=40, d=6),
        "cancer": lambda: tuple(part[:50] for part in load_breast_cancer(return_X_y=True)),
        "three": lambda: problem(11, n=40, d=2, k=3),
        "iris": lambda: tuple(part[::3] for part in load_iris(return_X_y=True)),
    }[data]()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alphas = np.geomspace(1.0, 1e-3, 4)
    model = gm.LogisticRegression(cv="loo", alphas=alphas).fit(X, y)
    exact = by_hand(model, X, y, alphas, splits_of(LeaveOneOut(), X, y)).mean(axis=1)
    assert model.scores_.folds.shape == (4, len(y))
    assert exact[model.scores_.chosen] <= 1.01 * exact.min()
    np.testing.assert_allclose(model.scores_.mean[:3], exact[:3], rtol=0.1)


def test_leave_one_out_without_a_short_cut_is_exact():
    X, y = problem(11, n=25)
    model = gm.LogisticRegression(cv="loo", alphas=ALPHAS[:3], penalty="l1").fit(X, y)
    exact = by_hand(model, X, y, ALPHAS[:3], splits_of(LeaveOneOut(), X, y))
    np.testing.assert_allclose(model.scores_.folds, exact, rtol=1e-4, atol=1e-6)
    same = gm.LogisticRegression(cv=LeaveOneOut(), alphas=ALPHAS[:3], penalty="l1").fit(X, y)
    np.testing.assert_array_equal(same.scores_.folds, model.scores_.folds)


@pytest.mark.parametrize("k", [2, 3])
def test_leave_one_out_leaves_out_all_copies_of_a_row(k):
    X, y = problem(12, n=40, k=k)
    w = np.random.default_rng(0).integers(0, 4, 40)
    w[:k] = 2
    copies = np.repeat(np.arange(40), w)
    together = [(np.flatnonzero(copies != i), np.flatnonzero(copies == i)) for i in np.flatnonzero(w)]
    one = gm.LogisticRegression(cv="loo", alphas=ALPHAS).fit(X, y, sample_weight=w)
    two = gm.LogisticRegression(cv=together, alphas=ALPHAS).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.scores_.folds, two.scores_.folds, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.scores_.mean, two.scores_.folds @ w[w > 0] / w.sum(), rtol=1e-4)


def test_leave_one_out_of_reductions():
    X, y = problem(13, n=60, k=3)
    for multiclass in ("ovr", "ovo"):
        model = gm.LogisticRegression(cv="loo", alphas=ALPHAS, multiclass=multiclass).fit(X, y)
        assert np.isfinite(model.scores_.mean).all()
        parts = []
        for word in model.code_.T:
            side = word[y]
            some = side != 0
            part = gm.LogisticRegression(cv="loo", alphas=ALPHAS).fit(X[some], side[some]).scores_
            parts.append((part.folds.sum(axis=1), some.sum()))
        total = sum(p for p, _ in parts) / sum(n for _, n in parts)
        np.testing.assert_allclose(model.scores_.mean, total, rtol=1e-6)


# rules and grids


def test_one_standard_error():
    X, y = problem(14, n=60)
    best = gm.LogisticRegression(alphas=np.geomspace(10, 1e-4, 12)).fit(X, y)
    simple = gm.LogisticRegression(alphas=np.geomspace(10, 1e-4, 12), rule="one_se").fit(X, y)
    scores = simple.scores_
    within = scores.mean <= scores.mean[scores.best] + scores.se[scores.best]
    assert simple.alpha_ == scores.alphas[within].max()
    assert simple.alpha_ > best.alpha_
    np.testing.assert_array_equal(scores.mean, best.scores_.mean)
    np.testing.assert_allclose(scores.se, scores.folds.std(axis=1, ddof=1) / np.sqrt(5))


def test_a_grid_that_is_given_is_not_refined():
    X, y = problem(15)
    given = [0.5, 0.02, 0.1]
    model = gm.LogisticRegression(alphas=given).fit(X, y)
    np.testing.assert_array_equal(model.scores_.alphas, sorted(given, reverse=True))
    free = gm.LogisticRegression(alphas=5).fit(X, y)
    assert len(free.scores_.alphas) > 5
    assert (np.diff(free.scores_.alphas) < 0).all()


def test_ends_of_the_grid_are_reported():
    X, y = problem(16)
    inside = gm.LogisticRegression(alphas=np.geomspace(100, 1e-8, 12)).fit(X, y)
    assert not inside.scores_.at_boundary
    for alphas, word in (([inside.alpha_ * 100, inside.alpha_ * 10], "smallest"), ([1e-5, 1e-12], "largest")):
        scores = gm.LogisticRegression(alphas=alphas).fit(X, y).scores_
        assert scores.at_boundary
        assert f"the best is the {word} alpha of the grid" in str(scores)
    single = gm.LogisticRegression(alphas=[0.1]).fit(X, y)
    assert not single.scores_.at_boundary
    assert single.alpha_ == 0.1


def test_the_score_of_the_choice_is_in_the_summary():
    X, y = problem(17)
    model = gm.LogisticRegression(alphas=4).fit(X, y)
    assert any(str(model.scores_) == note for note in model.summary().notes)
    assert model.summary().facts["alpha"] == model.alpha_


def test_without_alpha_nothing_is_chosen():
    X, y = problem(18)
    for penalty in (None, gm.penalties.NonNegative()):
        model = gm.LogisticRegression(penalty=penalty).fit(X, y)
        assert model.alpha_ == 0.0
        assert not hasattr(model, "scores_")


def test_piecewise_linear_losses_have_a_shorter_grid():
    X, y = problem(19, n=60)
    model = gm.SVC().fit(X, y)
    assert len(model.scores_.alphas) == 10
    assert len(gm.SVC(alphas=4).fit(X, y).scores_.alphas) == 4


# parts that lack something


@pytest.mark.parametrize(
    ("multiclass", "loss"),
    [
        (how, loss)
        for how in ("ovr", "ovo", "code", "joint")
        for loss in ("logistic", "hinge")
        if (how, loss) != ("joint", "hinge")
    ],
)
def test_a_class_of_one_row_spoils_no_choice(multiclass, loss):
    """N-20, N-21: it is either in training or in validation. Scores stay finite and near those without it."""
    rng = np.random.default_rng(20)
    y = np.array([0] * 15 + [1] * 15 + [2])
    X = rng.standard_normal((31, 2)) + np.array([[0, 0], [1.5, 0], [0, 2]])[y]
    model = gm.Classifier(loss, multiclass=multiclass, alphas=ALPHAS).fit(X, y)
    assert np.isfinite(model.scores_.folds).all()
    assert model.scores_.folds.max() < 10
    without = gm.Classifier(loss, multiclass=multiclass, alphas=ALPHAS).fit(X[:-1], y[:-1])
    assert model.score(X[:-1], y[:-1]) >= without.score(X[:-1], y[:-1]) - 0.1


@pytest.mark.parametrize("model", [gm.LogisticRegression(), gm.LogisticRegression(penalty="l1"), gm.SVC()], ids=repr)
def test_pairs_of_rare_classes(model):
    """Two classes of one row each: most parts have no row of that pair, and the others decide."""
    X, y = np.random.default_rng(0).standard_normal((9, 3)), np.array([0, 1, 2, 3, 4, 5, 0, 1, 2])
    fitted = clone(model).set_params(multiclass="ovo", alphas=[1.0, 0.1], cv=3).fit(X, y)
    assert np.isfinite(fitted.scores_.mean).all()
    assert np.isfinite(fitted.predict_proba(X)).all()


def test_parts_without_weight_are_refused():
    X, y = problem(21, n=20)
    w = np.ones(20)
    w[:5] = 0.0
    pairs = [(np.arange(5, 20), np.arange(5)), (np.arange(10), np.arange(10, 20))]
    for penalty in ("l2", "l1"):
        with pytest.raises(ValueError, match="no row with a positive weight"):
            gm.LogisticRegression(cv=pairs, penalty=penalty).fit(X, y, sample_weight=w)


def test_bad_cv_is_refused():
    X, y = problem(22, n=20)
    for cv, kind, said in (
        (1, ValueError, "cv is 1"),
        ("ten", ValueError, "cv is 'ten'"),
        (30, ValueError, "Cannot have 30 folds with 20 rows"),
        (object(), TypeError, "cv is <object"),
        ([], ValueError, "cv gives no splits"),
        ([(np.arange(10), np.arange(5, 15))], ValueError, "row 5 in both"),
        ([(np.arange(10), [])], ValueError, "Split 0 of cv has no test rows"),
    ):
        with pytest.raises(kind, match=said):
            gm.LogisticRegression(cv=cv).fit(X, y)


def test_tiny_tables():
    for n in (2, 3, 4):
        X, y = np.arange(n, dtype=float)[:, None], np.arange(n) % 2
        model = gm.LogisticRegression(alphas=3).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.scores_.mean).all()


@pytest.mark.parametrize("kind", ["plain", "weights", "matrix", "no intercept", "pairs", "rare", "far"])
def test_several_classes_in_the_same_passes(kind):
    """All folds of a softmax share their passes: a few for each alpha, and the scores of separate fits."""
    X, y = problem(21, n=1300 if kind == "plain" else 150, d=5, k=4)
    rng = np.random.default_rng(21)
    w, cv, model = None, gm.selection.KFold(5), gm.LogisticRegression(alphas=ALPHAS)
    if kind == "weights":
        w = rng.integers(0, 4, len(y)) + rng.random(len(y)) * (rng.random(len(y)) < 0.5)
    elif kind == "matrix":
        model = gm.LogisticRegression(alphas=ALPHAS, penalty=gm.penalties.Tikhonov(np.eye(5) - np.eye(5, k=1)))
    elif kind == "no intercept":
        model = gm.LogisticRegression(alphas=ALPHAS, fit_intercept=False)
    elif kind == "pairs":
        cv = ShuffleSplit(4, test_size=0.3, random_state=2)
    elif kind == "rare":
        y = np.where((y == 3) & (np.arange(len(y)) != y.argmax()), 2, y)  # a part without one of the classes
    elif kind == "far":
        X = X + 1e5
    fitted = clone(model).set_params(cv=cv).fit(X, y, sample_weight=w)
    if kind != "rare":
        expected = by_hand(model, X, y, ALPHAS, splits_of(cv, X, y), w)
        np.testing.assert_allclose(fitted.scores_.folds, expected, rtol=2e-5)
    assert fitted.path_.coefs.shape[0] == len(ALPHAS)


def test_softmax_passes_of_many_rows_are_compiled_with_equal_scores(monkeypatch):
    from gramian.solvers.smooth import softmax_models

    X, y = problem(25, n=1500, d=4, k=3)
    plain = gm.LogisticRegression(alphas=ALPHAS).fit(X, y).scores_.folds
    monkeypatch.setattr(softmax_models, "MOST_INTERPRETED", 0)
    np.testing.assert_allclose(gm.LogisticRegression(alphas=ALPHAS).fit(X, y).scores_.folds, plain, rtol=1e-7)


def test_passes_of_several_classes_are_few(monkeypatch):
    """Twenty alphas and five folds: few products with the rows each, for all folds together; seldom two gradients."""
    from gramian.solvers.smooth.softmax_models import SoftmaxModels

    passes = {"gradients": 0, "_products": 0, "neglected": 0}

    def counted(name):
        plain = getattr(SoftmaxModels, name)

        def call(*args):
            passes[name] += 1
            return plain(*args)

        return call

    for name in passes:
        monkeypatch.setattr(SoftmaxModels, name, counted(name))
    X, y = problem(22, n=600, d=8, k=5)
    gm.LogisticRegression(alphas=np.geomspace(1, 1e-5, 20)).fit(X, y)
    assert 20 <= passes["gradients"] <= 30
    assert sum(passes.values()) <= 20 * 9


@pytest.mark.parametrize(("penalty", "most"), [("l2", 65), ("l1", 100)])
def test_passes_of_two_classes_are_few(penalty, most, monkeypatch):
    """Starts and last steps are foretold: three passes an alpha, and five where coefficients are zero."""
    from gramian.selection.cv.strategies.fold_passes import FoldPasses

    passes, plain = [], FoldPasses.sums
    monkeypatch.setattr(FoldPasses, "sums", lambda *args: (passes.append(1), plain(*args))[1])
    X, y = problem(24, n=8000, d=20)  # beyond tables whose Hessians cost nothing
    top = 0.1 if penalty == "l1" else 1.0
    gm.LogisticRegression(penalty=penalty, alphas=np.geomspace(top, top * 1e-3, 20)).fit(X, y)
    assert 20 <= len(passes) <= most


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_softmax_models_know_their_gradient_after_a_step(far, compiled):
    """What a step changes beyond its Hessian, against gradients at both ends; and the losses of test rows."""
    from gramian.solvers.smooth.softmax_models import SoftmaxModels, penalty

    rng = np.random.default_rng(23)
    X, y = problem(23, n=1500, d=4, k=3)
    train, test = rng.random((2, len(y))), rng.random((2, len(y))) * (rng.random(len(y)) < 0.3)
    rows = MemoryRows(X, y[:, None].astype(float), None)
    models = SoftmaxModels(Problem(rows, L.Softmax(), P.L2(), 0.1, outputs=3), train, test)
    models.compiled = compiled
    theta, live = rng.standard_normal((2, 3, models.problem.p)), np.arange(2)
    theta[:, :, -1] += far * (np.arange(3) == 1)  # exponentials of such predictions overflow
    step = 0.1 * rng.standard_normal(theta.shape)
    after = models.gradients(theta + step, live)[1]
    value, before = models.gradients(theta, live)
    curved = models._products(step, [panel.train.astype(np.float32) for panel in models.panels])
    linear = before + curved + penalty(models.problem, step)[1]
    np.testing.assert_allclose(linear + models.neglected(live, step), after, atol=1e-6 * np.abs(after).max())
    Z = np.vstack([panel.Z for panel in models.panels])
    losses = np.array([L.Softmax().value(y.astype(float), Z @ one.T) for one in theta])
    np.testing.assert_allclose(value - penalty(models.problem, theta)[0], (train * losses).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(models.test_losses(theta), (test * losses).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("data", ["overlap", "separable", "cancer", "three", "wine", "heavy tails", "weights"])
def test_approximate_leave_one_out_says_how_far_it_may_be_off(data):
    """The mean is that of true refits to within the error it states, also where rows are separable or have leverage."""
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((80, 4)), None
    if data == "separable":
        y = (X[:, 0] > 0).astype(int)
    elif data == "cancer":
        X, y = (part[:70] for part in load_breast_cancer(return_X_y=True))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif data == "wine":
        X, y = (part[::2] for part in load_wine(return_X_y=True))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif data == "heavy tails":
        X, y = rng.standard_t(1.5, (80, 4)), rng.integers(0, 2, 80)
    else:
        X, y = problem(31, n=80, d=4, k=3 if data == "three" else 2)
        w = rng.integers(0, 3, 80).astype(float) if data == "weights" else None
    alphas = np.array([1.0, 1e-2, 1e-5])
    model = gm.LogisticRegression(cv="loo", alphas=alphas).fit(X, y, sample_weight=w)
    splits, v = splits_of(LeaveOneOut(), X, y), np.ones(len(y)) if w is None else w
    with np.errstate(invalid="ignore"):
        exact = by_hand(model, X, y, alphas, [s for s in splits if v[s[1][0]] > 0], w) @ (v[v > 0] / v.sum())
    scores = model.scores_
    off = np.abs(scores.mean - exact)
    assert (off <= scores.error + 1e-4 * scores.se).all()
    assert (scores.error <= 0.05 * scores.se).all()
    assert scores.exact == (not scores.error.any())
    assert scores.exact or "approximate" in str(scores)


def test_scores_of_folds_are_exact():
    X, y = problem(32)
    assert gm.LogisticRegression(alphas=ALPHAS).fit(X, y).scores_.exact
    assert gm.LogisticRegression(alphas=ALPHAS, cv="loo").fit(X[:50], y[:50]).scores_.exact


@pytest.mark.parametrize("kind", ["hinge", "three", "absolute", "quantile", "weights", "no intercept"])
def test_scores_of_piecewise_linear_losses_are_those_of_separate_fits(kind):
    """Folds of piecewise-linear losses start where the last alpha ended, and end where a fit from nothing does."""
    rng = np.random.default_rng(41)
    X, y = problem(41, n=420, d=4, k=3 if kind == "three" else 2)
    w = rng.integers(0, 3, len(y)).astype(float) if kind == "weights" else None
    model = gm.SVC(fit_intercept=kind != "no intercept")
    if kind in ("absolute", "quantile"):
        loss = gm.losses.Quantile(0.8) if kind == "quantile" else "absolute"
        y, model = X @ rng.standard_normal(4) + rng.standard_normal(len(y)), gm.Regressor(loss)
    cv = gm.selection.KFold(4)
    fitted = clone(model).set_params(alphas=ALPHAS, cv=cv).fit(X, y, sample_weight=w)
    if isinstance(model, gm.SVC):
        expected = by_hand(model, X, y, ALPHAS, splits_of(cv, X, y), w)
    else:
        expected = np.empty((len(ALPHAS), 4))
        for k, (train, test) in enumerate(cv.split(X)):
            for a, alpha in enumerate(ALPHAS):
                one = clone(model).set_params(alpha=alpha).fit(X[train], y[train])
                e = y[test] - one.predict(X[test])
                expected[a, k] = np.where(e > 0, 0.8 * e, -0.2 * e).mean() if kind == "quantile" else np.abs(e).mean()
    np.testing.assert_allclose(fitted.scores_.folds, expected, rtol=2e-4)


@pytest.mark.parametrize("kind", ["hinge", "absolute", "quantile", "weights", "separable", "ten"])
def test_scores_of_piecewise_linear_losses_on_larger_tables(kind):
    """Compiled: every fold at its own optimum, also where the penalty is weak and the rows are separable."""
    rng = np.random.default_rng(45)
    alphas, cv = np.array([0.3, 1e-2, 3e-4, 1e-5]), KFold(3, shuffle=True, random_state=0)
    X, y = rng.standard_normal((1900, 16)), None
    w = rng.integers(0, 3, len(X)).astype(float) if kind == "weights" else None
    model, f = gm.SVC(), X @ rng.standard_normal(16)
    if kind in ("absolute", "quantile"):
        model = gm.Regressor("absolute" if kind == "absolute" else gm.losses.Quantile(0.8))
        y = f + rng.standard_t(3, size=len(X))
    elif kind == "ten":
        X, y = (part[:700] for part in load_digits(return_X_y=True))
    else:
        y = f + (0 if kind == "separable" else 3.0) * rng.standard_normal(len(X)) > 0
    found = clone(model).set_params(alphas=alphas, cv=cv).fit(X, y, sample_weight=w)
    tight = clone(model).set_params(tol=1e-10)
    if isinstance(model, gm.SVC):
        expected = by_hand(tight, X, y, alphas, splits_of(cv, X, y), w)
    else:
        low, high = (-1.0, 1.0) if kind == "absolute" else (-0.2, 0.8)
        expected = np.empty((len(alphas), 3))
        for k, (train, test) in enumerate(cv.split(X)):
            for a, alpha in enumerate(alphas):
                e = y[test] - clone(tight).set_params(alpha=alpha).fit(X[train], y[train]).predict(X[test])
                expected[a, k] = np.maximum(low * e, high * e).mean()
    np.testing.assert_allclose(found.scores_.folds, expected, rtol=1e-5)


def test_few_folds_of_piecewise_linear_losses_are_fitted_alone(monkeypatch):
    """Newton's method from the model of all rows ends at nearly every alpha and fold."""
    X, y = load_breast_cancer(return_X_y=True)
    alone, count = FoldTask.fit_subset, []
    monkeypatch.setattr(FoldTask, "fit_subset", lambda *args: (count.append(1), alone(*args))[1])
    gm.SVC(alphas=np.geomspace(1, 1e-5, 12)).fit(X, y)
    assert len(count) <= 4


def test_piecewise_linear_losses_of_parts_without_a_class():
    X, y = problem(42, n=80)
    y = (np.arange(80) < 20).astype(int)
    assert np.isfinite(gm.SVC(alphas=ALPHAS, cv=KFold(4)).fit(X, y).scores_.folds).all()


def test_fold_scores_are_those_of_exact_solutions():
    """On a flat path a choice would else hang on what the solver left over."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6)) * (rng.random((120, 6)) < 0.4)
    y = X @ np.arange(6.0) + rng.standard_normal(120)
    model = gm.Regressor(alphas=4, cv=3).fit(X, y)
    exact = gm.Ridge(alphas=model.scores_.alphas, cv=3).fit(X, y)
    np.testing.assert_allclose(model.scores_.folds, exact.scores_.folds, rtol=1e-11)


@pytest.mark.parametrize("kind", ["plain", "weights", "no intercept", "rows left out", "outliers", "units"])
def test_scores_of_huber_are_those_of_separate_fits(kind):
    """The folds share their passes, and each has the coefficients and the scale of its own fit."""
    rng = np.random.default_rng(43)
    X = rng.normal([0, 5, 0, 0], size=(310, 4))
    y = X @ rng.standard_normal(4) + rng.standard_t(2, size=310)
    w = rng.integers(0, 3, 310).astype(float) if kind == "weights" else np.ones(310)
    if kind == "outliers":
        y[::7] += 1e4 * rng.standard_normal(45)
        X[3] *= 1e3
    if kind == "units":
        X, y = X * [1e-8, 1e6, 1, 1e3], 1e-5 * y
    cv = ShuffleSplit(5, test_size=0.2, random_state=0) if kind == "rows left out" else gm.selection.KFold(4)
    model = gm.Regressor(gm.losses.Huber(1.1), fit_intercept=kind != "no intercept")
    alphas = np.geomspace(10.0, 1e-6, 8)
    with forbidden_refits():
        found = clone(model).set_params(alphas=alphas, cv=cv).fit(X, y, sample_weight=w).scores_.folds
    for k, (train, test) in enumerate(cv.split(X)):
        for a, alpha in enumerate(alphas):
            one = clone(model).set_params(alpha=alpha, tol=1e-11).fit(X[train], y[train], sample_weight=w[train])
            u = np.abs(y[test] - one.predict(X[test])) / one.scale_
            loss = np.where(u <= 1.1, u**2, 2.2 * u - 1.1**2)
            assert found[a, k] == pytest.approx(one.scale_ * (1.0 + w[test] @ loss / w[test].sum()), rel=1e-7)


def test_scores_of_huber_without_noise():
    """Where the scale vanishes, each fold is fitted alone."""
    X = np.random.default_rng(44).standard_normal((60, 3))
    y = X @ [1.0, 2.0, 3.0]
    scores = gm.Regressor("huber", alphas=[1e-3, 1e-13], cv=3).fit(X, y).scores_
    assert np.isfinite(scores.folds).all()
    assert (scores.folds[1] < 1e-6).all()


@pytest.mark.parametrize(
    ("penalty", "k", "kind"),
    [
        ("l1", 2, "plain"),
        ("l1", 4, "plain"),
        ("l1", 4, "wide"),
        ("l1", 3, "weights"),
        ("l1", 2, "sparse"),
        ("l1", 2, "rows left out"),
        ("l1", 3, "no intercept"),
        ("elastic_net", 2, "weights"),
        ("elastic_net", 4, "plain"),
        (gm.penalties.GroupL1((0, 0, 1, 1, 2)), 2, "plain"),
        (gm.penalties.GroupL1((0, 0, 1, 1, 2)), 3, "plain"),
        (gm.penalties.Box(-0.3, 0.7, gm.penalties.ElasticNet()), 2, "far"),
    ],
)
def test_scores_with_zeros_are_those_of_tight_fits(penalty, k, kind):
    """The folds share their passes and their models of the loss, and each ends at its own optimum."""
    d = 40 if kind == "wide" else 5
    X, y = problem(51, n=260, d=d, k=k)
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    rng = np.random.default_rng(51)
    w = rng.integers(0, 4, len(y)).astype(float) if kind == "weights" else None
    cv = ShuffleSplit(4, test_size=0.3, random_state=2) if kind == "rows left out" else gm.selection.KFold(4)
    if kind == "sparse":
        X = sp.csr_array(np.where(rng.random(X.shape) < 0.5, 0.0, X))
    elif kind == "far":
        X = X * [1.0, 1e3, 1.0, 1e-3, 1.0] + 1e4
    model = gm.LogisticRegression(penalty=penalty, fit_intercept=kind != "no intercept")
    alphas = np.geomspace(0.3, 3e-4, 7)
    with forbidden_refits():
        fitted = clone(model).set_params(alphas=alphas, cv=cv).fit(X, y, sample_weight=w)
    tight = clone(model).set_params(tol=1e-10)
    expected = by_hand(tight, X, y, alphas, splits_of(cv, X, y), w)
    np.testing.assert_allclose(fitted.scores_.folds, expected, rtol=2e-6)


@pytest.mark.parametrize("loss", ["poisson", "squared_hinge"])
def test_scores_with_zeros_of_other_losses(loss):
    rng = np.random.default_rng(52)
    X = rng.standard_normal((2600, 6))
    f = X @ [0.5, -0.5, 0.2, 0.0, 0.0, 0.0]
    cv, alphas = gm.selection.KFold(4), np.geomspace(0.1, 1e-4, 5)
    y = rng.poisson(np.exp(f)).astype(float) if loss == "poisson" else (f + rng.logistic(size=2600) > 0).astype(int)
    model = gm.Regressor(loss, "l1") if loss == "poisson" else gm.Classifier(loss, "l1")
    with forbidden_refits():
        found = clone(model).set_params(alphas=alphas, cv=cv).fit(X, y).scores_.folds
    tight = clone(model).set_params(tol=1e-10)
    if loss == "squared_hinge":
        expected = by_hand(tight, X, y, alphas, splits_of(cv, X, y))
    else:
        expected = np.empty((5, 4))
        for k, (train, test) in enumerate(cv.split(X)):
            for a, alpha in enumerate(alphas):
                mean = clone(tight).set_params(alpha=alpha).fit(X[train], y[train]).predict(X[test])
                expected[a, k] = (mean - y[test] * np.log(mean)).mean()
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_grids_agree_on_nearly_separated_classes():
    """A forecast that is led astray by alphas far apart is no solution."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = (X**2).sum(axis=1) + 0.3 * rng.standard_normal(200) > 1.5
    kernel = gm.kernels.RBF(6.576755301280129)
    few, many = (gm.LogisticRegression(kernel=kernel, rank=27, alphas=count).fit(X, y) for count in (10, 20))
    assert max(few.scores_.mean.max(), many.scores_.mean.max()) < 5.0
    assert 0.5 < few.alpha_ / many.alpha_ < 2.0
    assert few.scores_.mean.min() == pytest.approx(many.scores_.mean.min(), rel=1e-3)


def test_kernels_are_compared_by_the_losses_of_their_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X**2).sum(axis=1) + 0.3 * rng.standard_normal(60) > 1.5
    model = gm.LogisticRegression(kernel=gm.kernels.RBF("auto")).fit(X, y)
    for kernel, loss in model.kernel_losses_.items():
        kernel = eval(kernel, {"RBF": gm.kernels.RBF})
        rank = searched_rank(kernel, X, None)
        exact = gm.LogisticRegression(kernel=kernel, rank=rank, alphas=10).fit(X, y).scores_.mean.min()
        assert loss == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_folds_of_small_tables_equal_refits(loss):
    """Every model has a Hessian of its own, of as many columns as rows."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 2))
    y = (X**2).sum(axis=1) + 0.3 * rng.standard_normal(60) > 1.5
    w = rng.uniform(0.2, 2.0, 60)
    tight = gm.Classifier(loss, kernel=gm.kernels.Matern(3.0), tol=1e-12)
    folds = KFold(4, shuffle=True, random_state=0)
    alphas = [1.0, 1e-2, 1e-4, 1e-6]
    scores = clone(tight).set_params(alphas=alphas, cv=folds).fit(X, y, sample_weight=w).scores_
    sign = np.where(y, 1.0, -1.0)
    for k, (train, test) in enumerate(folds.split(X)):
        for a, alpha in enumerate(alphas):
            model = clone(tight).set_params(alpha=alpha).fit(X[train], y[train], sample_weight=w[train])
            margin = sign[test] * model.decision_function(X[test])
            value = np.logaddexp(0.0, -margin) if loss == "logistic" else np.maximum(1.0 - margin, 0.0) ** 2
            assert scores.folds[a, k] == pytest.approx(np.average(value, weights=w[test]), rel=5e-6)


def test_folds_with_a_singular_hessian_are_fitted_alone():
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, 60).astype(float)
    X = np.column_stack([x, x])
    y = x + rng.standard_normal(60) > 0
    model = gm.SVC(alphas=[1e-3, 1e-30], cv=3).fit(X, y)
    assert np.isfinite(model.scores_.mean).all()

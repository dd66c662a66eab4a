"""Several classes: codes and their decisions, each reduction against its own binary fits, and joint losses."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC

import gramian as gm
from gramian.models.base.output_codes import code_matrix, confidences
from gramian.objective.losses import Hinge, Logistic, MultiHinge, Softmax, SquaredHinge

LOSSES = {"logistic": Logistic(), "hinge": Hinge(), "squared_hinge": SquaredHinge()}


def problem(seed, n=90, d=3, k=4):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    return rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((k, d))[y], y


def scores(model, X):
    return X @ model.coef_.T + model.intercept_


# codes


@pytest.mark.parametrize("k", [3, 4, 5, 7])
def test_exhaustive_codes_have_every_cut_once(k):
    code = code_matrix("code", k, "exhaustive", None)
    assert code.shape == (k, 2 ** (k - 1) - 1)
    check_columns(code)
    cuts = {frozenset(map(frozenset, (np.flatnonzero(c > 0), np.flatnonzero(c < 0)))) for c in code.T}
    assert len(cuts) == code.shape[1]
    far = {int((code[i] != code[j]).sum()) for i, j in combinations(range(k), 2)}
    assert far == {2 ** (k - 2)}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("k", [3, 4, 6, 12])
def test_random_codes_are_usable(kind, k):
    for seed in range(3):
        code = code_matrix("code", k, kind, seed)
        assert len({tuple(row) for row in code}) == k
        check_columns(code)
        assert set(np.unique(code)) <= ({-1.0, 1.0} if kind == "dense" else {-1.0, 0.0, 1.0})
        assert code.shape[1] <= np.ceil((15 if kind == "sparse" else 10) * np.log2(k))
        np.testing.assert_array_equal(code, code_matrix("code", k, kind, seed))


def check_columns(code):
    """Both sides in every column, and no two columns that ask the same."""
    assert ((code == 1).any(axis=0) & (code == -1).any(axis=0)).all()
    for i, j in combinations(range(code.shape[1]), 2):
        assert (code[:, i] != code[:, j]).any()
        assert (code[:, i] != -code[:, j]).any()


def test_seeds_of_random_codes():
    one, two = (code_matrix("code", 9, "dense", s) for s in (1, 2))
    assert one.shape != two.shape or (one != two).any()
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(*(code_matrix("code", 9, "sparse", make(5)) for _ in range(2)))
    assert code_matrix("code", 7, "auto", None).shape == (7, 63)
    assert code_matrix("code", 8, "auto", None).shape[1] <= 30


def test_pairs_and_rests():
    np.testing.assert_array_equal(code_matrix("ovr", 4, "auto", None), 2 * np.eye(4) - 1)
    code = code_matrix("ovo", 5, "auto", None)
    assert code.shape == (5, 10)
    assert (np.abs(code).sum(axis=0) == 2).all()
    assert (code.sum(axis=0) == 0).all()
    for word in ("ovr", "ovo", "code"):
        np.testing.assert_array_equal(code_matrix(word, 2, "auto", None), [[-1.0], [1.0]])


def test_too_many_classes_for_all_cuts():
    with pytest.raises(ValueError, match='needs 4095 binary problems for 13 classes: use "dense"'):
        code_matrix("code", 13, "exhaustive", None)


# reductions


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code"])
def test_each_bit_is_its_own_binary_fit(loss, multiclass):
    X, y = problem(1)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = gm.Classifier(loss, alpha=0.02, multiclass=multiclass).fit(X, y, sample_weight=w)
    assert model.coef_.shape == (model.code_.shape[1], X.shape[1])
    for bit, word in enumerate(model.code_.T):
        side = word[y]
        some = side != 0
        alone = gm.Classifier(loss, alpha=0.02).fit(X[some], side[some], sample_weight=w[some])
        np.testing.assert_allclose(model.coef_[bit], alone.coef_[0], atol=1e-6)
        np.testing.assert_allclose(model.intercept_[bit], alone.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_one_against_the_rest_takes_the_largest_distance(loss):
    X, y = problem(2)
    model = gm.Classifier(loss, alpha=0.02, multiclass="ovr").fit(X, y)
    norms = np.linalg.norm(model.coef_, axis=1)
    norms[norms < 1e-3 * norms.max()] = norms.max()  # a class that no direction tells from the rest is at no distance
    distance = scores(model, X) / norms
    np.testing.assert_allclose(model.decision_function(X), distance, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), distance.argmax(axis=1))


@pytest.mark.parametrize("loss", list(LOSSES))
def test_one_against_one_votes(loss):
    X, y = problem(3, k=5)
    model = gm.Classifier(loss, alpha=0.02, multiclass="ovo").fit(X, y)
    many = np.random.default_rng(0).uniform(-4, 4, (500, 3))
    f = scores(model, many)
    norms = np.linalg.norm(model.coef_, axis=1)
    expected, ties = [], 0
    for row in f:
        votes, sums = np.zeros(5), np.zeros(5)
        for bit, (i, j) in enumerate(combinations(range(5), 2)):
            votes[i if row[bit] > 0 else j] += 1
            sums[i] += row[bit] / norms[bit]
            sums[j] -= row[bit] / norms[bit]
        winners = np.flatnonzero(votes == votes.max())
        ties += len(winners) > 1
        expected.append(winners[sums[winners].argmax()])
    np.testing.assert_array_equal(model.predict(many), expected)
    assert ties > 0
    f = model.decision_function(many)
    assert (np.abs(f - np.round(f)) <= 1 / 3 + 1e-12).all()  # votes, and less than half a vote for distances


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("code", ["exhaustive", "dense", "sparse"])
def test_codes_are_decoded_by_their_loss(loss, code):
    X, y = problem(4)
    model = gm.Classifier(loss, alpha=0.02, multiclass="code", code=code, random_state=3).fit(X, y)
    f, table = scores(model, X), np.zeros((len(y), 4))
    for c in range(4):
        for bit in range(model.code_.shape[1]):
            m = model.code_[c, bit] * f[:, bit]
            table[:, c] += {
                "logistic": np.logaddexp(0, -m),
                "hinge": np.maximum(0, 1 - m),
                "squared_hinge": np.maximum(0, 1 - m) ** 2,
            }[loss]
    np.testing.assert_allclose(model.decision_function(X), -table, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), table.argmin(axis=1))


def test_random_codes_follow_the_seed():
    X, y = problem(5, k=5)
    fits = [
        gm.Classifier("squared_hinge", alpha=0.1, multiclass="code", code="dense", random_state=s) for s in (0, 0, 1)
    ]
    codes = [model.fit(X, y).code_ for model in fits]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert codes[0].shape != codes[2].shape or (codes[0] != codes[2]).any()


def test_a_class_without_coefficients_is_at_no_distance():
    """f over nothing would be infinite: the largest norm stands in, and where all are zero f is itself."""
    code = code_matrix("ovr", 3, "auto", None)
    f = np.array([[-1.0, 2.0, -0.5]])
    found = confidences("ovr", code, Hinge(), f, np.array([0.0, 2.0, 1.0]))
    np.testing.assert_allclose(found, [[-0.5, 1.0, -0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = confidences("ovr", code, Hinge(), f, np.zeros(3))
    np.testing.assert_array_equal(found.argsort(), f.argsort())
    assert np.abs(found).max() < 1e6


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code"])
def test_two_classes_are_one_problem(multiclass):
    X, y = problem(6, k=2)
    base = gm.SVC(alpha=0.02).fit(X, y)
    model = gm.SVC(alpha=0.02, multiclass=multiclass).fit(X, y)
    assert model.coef_.shape == (1, 3)
    np.testing.assert_allclose(model.coef_, base.coef_, atol=1e-9)
    assert model.decision_function(X).shape == (len(y),)


# all classes at once


def test_auto_is_joint_for_the_logistic_loss_alone():
    X, y = problem(7)
    assert gm.LogisticRegression(alpha=0.1).fit(X, y).multiclass_ == "joint"
    assert gm.SVC(alpha=0.1).fit(X, y).multiclass_ == "ovr"
    assert gm.Classifier("squared_hinge", alpha=0.1).fit(X, y).multiclass_ == "ovr"


def test_joint_logistic_is_the_softmax():
    X, y = problem(8)
    one = gm.LogisticRegression(alpha=0.02, multiclass="joint").fit(X, y)
    two = gm.Classifier("softmax", alpha=0.02).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_allclose(one.predict_proba(X), Softmax().probabilities(scores(one, X)))


def test_joint_logistic_of_two_classes_is_half_as_penalised():
    """c₁ = −c₀: the penalty of both is half that of their difference."""
    X, y = problem(9, k=2)
    joint = gm.LogisticRegression(alpha=0.04, multiclass="joint").fit(X, y)
    binary = gm.LogisticRegression(alpha=0.02).fit(X, y)
    assert joint.coef_.shape == (2, 3)
    np.testing.assert_allclose(joint.coef_[1] - joint.coef_[0], binary.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(joint.decision_function(X), binary.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(joint.predict_proba(X), binary.predict_proba(X), atol=1e-7)


def crammer_singer(X, y, alpha, k, w, intercept=True):
    """The programme with slacks, by SciPy: min Σ w ξ / Σw + α ‖W‖², f_y − f_j ≥ 1 − ξ."""
    n, d = X.shape
    p = d + intercept
    Z = np.column_stack([X, np.ones(n)]) if intercept else X
    A = []
    for i in range(n):
        for j in range(k):
            if j != y[i]:
                row = np.zeros((k, p))
                row[y[i]], row[j] = Z[i], -Z[i]
                A.append(np.concatenate([row.reshape(-1), np.eye(n)[i]]))
    A = np.array(A)

    def value(t):
        W = t[: k * p].reshape(k, p)
        return w @ t[k * p :] / w.sum() + alpha * (W[:, :d] ** 2).sum()

    def slope(t):
        W = np.zeros((k, p))
        W[:, :d] = 2 * alpha * t[: k * p].reshape(k, p)[:, :d]
        return np.concatenate([W.reshape(-1), w / w.sum()])

    return minimize(
        value,
        np.concatenate([np.zeros(k * p), np.ones(n)]),
        jac=slope,
        bounds=[(None, None)] * (k * p) + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda t: A @ t - 1.0, "jac": lambda t: A},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_joint_hinge_against_its_quadratic_programme(intercept, alpha):
    X, y = problem(10, n=30, d=2, k=3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 30)
    model = gm.SVC(alpha=alpha, multiclass="joint", fit_intercept=intercept).fit(X, y, sample_weight=w)
    slow = crammer_singer(X, y, alpha, 3, w, intercept)
    loss = MultiHinge().value(y.astype(float), scores(model, X))
    mine = w @ loss / w.sum() + alpha * (model.coef_**2).sum()
    assert model.certificate_.holds
    assert model.objective_ == pytest.approx(mine, rel=1e-10)
    assert mine <= slow.fun * (1 + 1e-7)
    assert mine == pytest.approx(slow.fun, rel=1e-5)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-5)


def test_joint_hinge_is_scikit_learns():
    """Without an intercept, which theirs penalises. Theirs: ½ ‖W‖² + C Σ ξ."""
    X, y = load_iris(return_X_y=True)
    alpha = 0.01
    ours = gm.SVC(alpha=alpha, multiclass="joint", fit_intercept=False).fit(X, y)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=1 / (2 * len(y) * alpha), fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(X, y)
    value = {}
    for name, coef in (("ours", ours.coef_), ("theirs", theirs.coef_)):
        value[name] = MultiHinge().value(y.astype(float), X @ coef.T).mean() + alpha * (coef**2).sum()
    assert value["ours"] <= value["theirs"] * (1 + 1e-7)
    assert value["ours"] == pytest.approx(value["theirs"], rel=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.01)


def test_joint_hinge_of_two_classes_is_the_hinge():
    """f₁ − f₀ = 2 f with a margin of 1: the binary hinge of (f₁ − f₀), half as penalised."""
    X, y = problem(11, k=2)
    joint = gm.SVC(alpha=0.04, multiclass="joint").fit(X, y)
    binary = gm.SVC(alpha=0.02).fit(X, y)
    np.testing.assert_allclose(joint.decision_function(X), binary.decision_function(X), atol=1e-3)
    assert joint.objective_ == pytest.approx(binary.objective_, rel=1e-6)


def test_joint_hinge_on_a_larger_table_is_certified():
    X, y = problem(12, n=200, d=6, k=4)
    for alpha in (1e-1, 1e-3):
        assert gm.SVC(alpha=alpha, multiclass="joint").fit(X, y).certificate_.holds


def test_joint_perceptron_is_its_loss_with_no_margin():
    X, y = problem(13, n=30)
    model = gm.Classifier(MultiHinge(0.0), alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
    assert model.objective_ == pytest.approx(0.0, abs=1e-9)
    assert model.certificate_.claim == "global optimum"
    assert "gm.Perceptron" in model.certificate_.note


# refusals


def test_refusals_name_alternatives():
    X, y = problem(14, n=40)
    with pytest.raises(ValueError, match=r"SquaredHinge has no joint form .* use multiclass='ovr', 'ovo' or 'code'"):
        gm.Classifier("squared_hinge", alpha=0.1, multiclass="joint").fit(X, y)
    with pytest.raises(ValueError, match="Softmax is for all classes at once: use multiclass='joint'"):
        gm.Classifier("softmax", alpha=0.1, multiclass="ovr").fit(X, y)
    with pytest.raises(ValueError, match="a hard margin, which is not defined for all classes at once"):
        gm.SVC(alpha=0.0, multiclass="joint").fit(X, y)
    with pytest.raises(ValueError, match="RootHinge has no joint form"):
        gm.Classifier("root_hinge", alpha=0.1, multiclass="joint").fit(X, y)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_joint_hinge_with_absolute_values_is_a_linear_programme(alpha):
    X, y = problem(14, n=40)
    model = gm.SVC(alpha=alpha, penalty="l1", multiclass="joint").fit(X, y)
    assert model.certificate_.claim == "global optimum"
    n, d, k = *X.shape, len(model.classes_)
    # coefficients as differences of positive parts, intercepts, and a slack for each row
    cost = np.concatenate([np.full(2 * k * d, alpha), np.zeros(k), np.full(n, 1.0 / n)])
    A, bounds = [], [(0, None)] * (2 * k * d) + [(None, None)] * k + [(0, None)] * n
    for i in range(n):
        for other in set(range(k)) - {y[i]}:
            lead = np.zeros((k, d + 1))
            lead[y[i]], lead[other] = np.append(X[i], 1.0), -np.append(X[i], 1.0)
            part = lead[:, :d].ravel()
            A.append(-np.concatenate([part, -part, lead[:, d], np.eye(n)[i]]))
    least = linprog(cost, np.array(A), -np.ones(len(A)), bounds=bounds).fun
    f = model.decision_function(X)
    own = f[np.arange(n), y]
    f[np.arange(n), y] = -np.inf
    value = np.maximum(1.0 - (own - f.max(axis=1)), 0.0).mean() + alpha * np.abs(model.coef_).sum()
    assert value == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code", "joint"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_rare_classes_and_small_tables(multiclass, loss):
    """A class of one row, with n barely above k."""
    rng = np.random.default_rng(15)
    X, y = rng.standard_normal((7, 2)), np.array([0, 0, 1, 1, 2, 3, 3])
    model = gm.Classifier(loss, alpha=0.1, multiclass=multiclass).fit(X, y)
    assert model.certificate_.holds
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


def test_pairs_without_common_folds():
    """Refits on folds serve probabilities: a pair of single rows is missing from most of them."""
    X, y = np.random.default_rng(16).standard_normal((9, 3)), np.array([0, 1, 2, 3, 4, 5, 0, 1, 2])
    for model in (
        gm.LogisticRegression(alpha=0.1, penalty="l1", multiclass="ovo"),
        gm.SVC(alpha=0.1, penalty="l1", multiclass="ovo"),
        gm.Perceptron(multiclass="ovo"),
    ):
        p = model.fit(X, y).predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code", "joint"])
def test_strength_is_chosen_for_every_reduction(multiclass):
    X, y = problem(16, n=80, k=3)
    model = gm.LogisticRegression(multiclass=multiclass, alphas=[0.3, 0.1, 0.03]).fit(X, y)
    assert model.scores_.folds.shape[1] == 5
    assert model.alpha_ == model.scores_.alphas[model.scores_.chosen]
    again = clone(model).set_params(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-9)

"""Every certificate claims what its evidence shows of an objective of that kind, and no more."""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import gramian as gm
from checks.members import estimators, members
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import Penalty
from gramian.solvers.certificate import ALTERNATION, OPTIMALITY, Certificate

X_COLUMNS = 3
CLAIMS = {
    "global optimum", "stationary point", "local optimum of the alternation", "converged within tolerance",
    "not converged", "no optimum exists",
}  # fmt: skip
CERTIFIED = [e for e in estimators() if not hasattr(e, "estimator")]


def fitted(estimator):
    rng = np.random.default_rng(5)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 3)) + 2.0 * np.eye(3)[y]
    target = rng.poisson(2.0, 60) + 0.5 * X[:, 0] if is_regressor(estimator) else y
    return clone(estimator).fit(X, target)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", CERTIFIED, ids=lambda e: type(e).__name__)
def test_every_claim_follows_from_its_evidence(estimator):
    model = fitted(estimator)
    if not hasattr(model, "certificate_"):
        return
    c = model.certificate_
    assert c.claim in CLAIMS
    assert c.claim in str(c) or not c.holds or type(c) is not Certificate
    assert c.rank is None or 0 <= c.rank <= X_COLUMNS + 1
    assert c.condition is None or c.condition >= 1.0
    assert np.isfinite(c.value)
    if c.claim == "global optimum":
        assert c.convex
        assert c.kind in OPTIMALITY
        assert c.value <= c.tolerance
    if hasattr(model, "structures_"):
        assert c.claim != "global optimum"


@pytest.mark.parametrize(
    ("kind", "convex", "expected"),
    [
        ("gradient", True, "global optimum"),
        ("duality gap", True, "global optimum"),
        ("KKT residual", False, "stationary point"),
        ("change of the objective", True, "converged within tolerance"),
        ("eigen-residual", None, "converged within tolerance"),
        (ALTERNATION, False, "local optimum of the alternation"),
    ],
)
def test_claims_of_each_kind_of_evidence(kind, convex, expected):
    c = Certificate(kind, 1e-12, 1e-9, True, None, None, "rows", convex=convex)
    assert c.claim == expected
    assert expected in str(c)
    for bad in (
        Certificate(kind, 1.0, 1e-9, False, None, None, "rows", convex=convex),
        Certificate(kind, float("nan"), 1e-9, True, None, None, "rows", convex=convex),
    ):
        assert not bad.holds
        assert bad.claim == "not converged"
    none = Certificate(kind, 1e-12, 1e-9, True, None, None, "rows", convex=convex, attained=False)
    assert (none.claim, none.holds) == ("no optimum exists", False)


def test_a_residual_that_does_not_certify_is_not_called_an_optimum():
    c = Certificate("gradient", 1e-12, 1e-9, False, 2, 1e17, "moments", convex=True)
    assert c.claim == "not converged"
    assert "does not certify" in str(c)
    assert "optimum" not in str(c)


def test_k_means_at_a_poor_local_optimum_says_so():
    """Two starting centres in one cluster and one between two: the alternation stays there."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(place, 0.1, 40) for place in (0.0, 10.0, 20.0)])[:, None]
    poor = gm.KMeans(3, init=np.array([[-0.1], [0.1], [15.0]]), n_init=1).fit(X)
    assert poor.objective_ > 10 * gm.KMeans(3, random_state=0).fit(X).objective_
    assert poor.certificate_.holds
    assert poor.certificate_.claim == "local optimum of the alternation"


PAIRS = [
    (loss, penalty) for loss in members(Loss) if loss.targets in ("numbers", "signs") for penalty in members(Penalty)
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("loss", "penalty"), PAIRS, ids=lambda part: repr(part)[:30])
def test_pairs_claim_a_global_optimum_only_where_both_are_convex(loss, penalty):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40, 1))
    f = X[:, 0] + 0.5 * rng.standard_normal(40)
    kind = gm.Regressor if loss.targets == "numbers" else gm.Classifier
    model = kind(loss, penalty, 0.1).fit(X, f if loss.targets == "numbers" else f > 0)
    if not (loss.convex and penalty.convex):
        assert model.certificate_.claim != "global optimum"
    elif model.certificate_.claim != "global optimum":
        assert model.certificate_.kind not in OPTIMALITY or not model.certificate_.holds


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("step", [0.01, "bold_driver"])
def test_gradient_descent_on_a_loss_with_a_breakpoint_claims_no_optimum(step):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((50, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(50) > 0
    solver = gm.solvers.GradientDescent(step, max_iter=3000, tol=1e-3)
    model = gm.Classifier("hinge", "l2", 0.1, solver=solver).fit(X, y)
    assert model.certificate_.claim in ("converged within tolerance", "not converged")

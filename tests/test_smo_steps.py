"""Working sets of few variables, solved in NumPy and by compiled loops."""

import numpy as np
import pytest

from gramian.solvers.kernel import smo_loops, smo_steps


@pytest.mark.parametrize("kind", ["normal", "duplicates", "grid", "flat", "indefinite"])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 150, 300])
@pytest.mark.parametrize("most", [3, 2000])
@pytest.mark.parametrize("loop", ["pairs", "singles"])
def test_plain_steps_are_those_of_the_compiled_loops(loop, most, n, kind):
    rng = np.random.default_rng([n, most])
    X = rng.standard_normal((n, 3))
    if kind == "duplicates":
        X = X[rng.integers(0, max(n // 4, 1), n)]
    K = X @ X.T + np.eye(n) * rng.random()
    if kind == "grid":
        K = np.rint(4.0 * K) / 4.0
    elif kind == "flat":
        K = np.ones((n, n))
    elif kind == "indefinite":
        K -= 2.0 * np.eye(n)
    c = np.rint(4.0 * rng.standard_normal(n)) / 4.0
    low, high = -rng.integers(0, 3, n).astype(float), rng.random(n)
    answers = []
    for take in (getattr(smo_steps, f"plain_{loop}"), getattr(smo_loops, loop)):
        beta = np.clip(np.zeros(n), low, high)
        G = K @ beta - c
        answers.append((take(K, G, beta, low, high, 1e-6, 1e-12, most), G, beta))
    assert answers[0][0] == answers[1][0]
    np.testing.assert_array_equal(answers[0][1], answers[1][1])
    np.testing.assert_array_equal(answers[0][2], answers[1][2])

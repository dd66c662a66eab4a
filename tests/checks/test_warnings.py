"""Every warning points at the line of the user's code that led to it; `tests/conftest.py` holds it of all tests."""

import ast
import pathlib
import threading
import warnings

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.warnings import muted, warn_user

SOURCE = pathlib.Path(gm.__file__).parent


def test_one_helper_issues_every_warning():
    elsewhere = []
    for path in SOURCE.rglob("*.py"):
        if path == SOURCE / "warnings.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("warn", "warn_explicit"):
                elsewhere.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not elsewhere


def problem(n=60, d=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, "yes", "no")


SHORT = gm.LogisticRegression(alpha=1e-6, max_iter=1)
CALLS = {
    "fit": lambda X, y: SHORT.fit(X, y),
    "decorated fit": lambda X, y: gm.KMeans(3, max_iter=1, n_init=1, random_state=0).fit(X),
    "mixture": lambda X, y: gm.GaussianMixture(3, max_iter=1, n_init=1, random_state=0).fit(X),
    "pipeline": lambda X, y: make_pipeline(StandardScaler(), SHORT).fit(X, y),
    "search": lambda X, y: GridSearchCV(SHORT, {"alpha": [1e-6, 1e-5]}, cv=3).fit(X, y),
    "scores": lambda X, y: cross_val_score(SHORT, X, y, cv=3),
    "evaluate": lambda X, y: gm.selection.evaluate(SHORT, X, y, outer=3),
    "integers beyond float64": lambda X, y: gm.LinearRegression().fit(np.arange(10).reshape(5, 2) + 2**60, np.ones(5)),
    "predict": lambda X, y: gm.LinearRegression().fit(X, X[:, 0]).predict(np.arange(8).reshape(2, 4) + 2**60),
    "metric": lambda X, y: gm.metrics.mse(np.array([1, 2**60 + 1]), np.array([1.0, 2.0])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_warnings_are_located_at_the_users_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*problem())
    assert caught
    for warning in caught:
        assert warning.filename == __file__
        assert warning.lineno == call.__code__.co_firstlineno


def test_warnings_of_joblib_threads_are_located_where_the_main_thread_waits():
    with warnings.catch_warnings(record=True) as caught, parallel_backend("threading", n_jobs=2):
        warnings.simplefilter("always")
        cross_val_score(SHORT, *problem(), cv=3)
    assert len(caught) == 3
    assert {warning.filename for warning in caught} == {__file__}


def test_a_category_is_muted_in_one_thread_alone():
    entered, left = threading.Event(), threading.Event()

    def quietly():
        with muted(gm.PrecisionWarning):
            warn_user("Not shown.", gm.PrecisionWarning)
            entered.set()
            left.wait(10)

    thread = threading.Thread(target=quietly)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread.start()
        assert entered.wait(10)
        warn_user("Shown.", gm.PrecisionWarning)
        left.set()
        thread.join()
    assert [str(warning.message) for warning in caught] == ["Shown."]

"""Every public estimator gives the same bits in any thread, in several at once, and for any number of BLAS threads."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from threadpoolctl import ThreadpoolController, threadpool_limits

import gramian as gm
from checks.members import estimators
from gramian.rows import parallel_map, single_threaded_blas
from gramian.rows.blas_threads import BlasLimit

METHODS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


def table(n=400, d=24):
    """Rows for which OpenBLAS uses several threads where it may (a matrix–vector product of more than 9216 numbers)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, d)) + 2.0 * np.eye(3, d)[y]
    return X, X[:, :5].sum(axis=1) + rng.standard_normal(n), np.array(["a", "b", "c"])[y]


def bits(value, path=""):
    """Every number that an object of the package holds, by where it is."""
    if isinstance(value, np.ndarray | np.generic):
        return {path: (value.dtype.str, value.tolist() if value.dtype == object else value.tobytes())}
    if sp.issparse(value):
        return bits(value.toarray(), path)
    if isinstance(value, int | float | complex | str | bytes | None):
        return {path: repr(value)}
    if isinstance(value, dict):
        parts = {f"{path}.{key}": part for key, part in value.items() if isinstance(key, str)}
    elif isinstance(value, list | tuple):
        parts = {f"{path}[{i}]": part for i, part in enumerate(value)}
    elif type(value).__module__.startswith("gramian") and hasattr(value, "__dict__") and path.count(".") < 8:
        parts = {f"{path}.{name}": part for name, part in vars(value).items()}
    else:
        return {}
    return {where: number for name, part in parts.items() for where, number in bits(part, name).items()}


def fitted_bits(estimator: BaseEstimator) -> dict:
    X, y, labels = table()
    model = clone(estimator).fit(X, labels if is_classifier(estimator) else y)
    answers = {name: getattr(model, name)(X[:390]) for name in METHODS if hasattr(model, name)}
    return bits(model, "model") | bits(answers, "answers")


def variants():
    """Every estimator, and with a kernel where it takes one; cheap, for each is fitted nine times."""
    cheap = {"random_state": 0, "alphas": 2, "cv": 2, "max_iter": 3}
    for estimator in estimators():
        own = estimator.get_params()
        known = {name: value for name, value in cheap.items() if name in own}
        if isinstance(estimator, gm.TSNE):
            del known["max_iter"]
        yield clone(estimator).set_params(**known)
        if own.get("kernel", "") is None:
            alpha = {"alpha": 0.01} if "alpha" in own else {}
            yield clone(estimator).set_params(kernel=gm.kernels.RBF(3.0), **known, **alpha)


@pytest.mark.filterwarnings("ignore")  # of fits that need more iterations than a check has time for
@pytest.mark.parametrize("estimator", list(variants()), ids=lambda estimator: type(estimator).__name__)
def test_threads_alone_and_at_once_give_the_bits_of_one(estimator):
    with threadpool_limits(1, user_api="blas"):
        expected = fitted_bits(estimator)
    assert expected
    with threadpool_limits(4, user_api="blas"), ThreadPoolExecutor(6) as pool:
        alone = [fitted_bits(estimator), pool.submit(fitted_bits, estimator).result()]
        for found in [*alone, *pool.map(fitted_bits, [estimator] * 6)]:
            assert found.keys() == expected.keys()
            different = [name for name, value in expected.items() if found[name] != value]
            assert not different, different[:10]


class Library:
    """A BLAS that counts its threads for the process, as OpenBLAS on threads of its own, or by thread, as on OpenMP."""

    internal_api = "openblas"

    def __init__(self, threading_layer):
        self.threading_layer = threading_layer
        self.kept = threading.local() if threading_layer == "openmp" else type("", (), {})()

    def get_num_threads(self):
        return getattr(self.kept, "count", 8)

    def set_num_threads(self, count):
        self.kept.count = count


@pytest.mark.parametrize("layer", ["pthreads", "openmp"])
def test_limits_of_overlapping_threads_nest(layer):
    library = Library(layer)
    limit = BlasLimit(lambda: [library])
    steps = threading.Barrier(2, timeout=10)
    inside = []

    def overlapping():
        steps.wait()  # the other thread is inside
        limit.acquire()
        limit.acquire()
        steps.wait()
        steps.wait()  # the other thread has left
        inside.append(library.get_num_threads())
        limit.release()
        inside.append(library.get_num_threads())
        limit.release()
        inside.append(library.get_num_threads())

    thread = threading.Thread(target=overlapping)
    thread.start()
    limit.acquire()
    assert library.get_num_threads() == 1
    steps.wait()
    steps.wait()  # both are inside
    assert library.get_num_threads() == 1
    limit.release()
    assert library.get_num_threads() == (8 if layer == "openmp" else 1)
    steps.wait()
    thread.join()
    assert inside == [1, 1, 8]
    assert library.get_num_threads() == 8


def test_threads_of_a_pass_are_kept_to_one_where_each_has_its_own_number():
    library = Library("openmp")
    limit = BlasLimit(lambda: [library])
    with ThreadPoolExecutor(1, initializer=limit.pin) as pool:
        assert pool.submit(library.get_num_threads).result() == 1
    assert library.get_num_threads() == 8


def test_a_fork_leaves_no_limit_of_other_threads():
    library = Library("pthreads")
    limit = BlasLimit(lambda: [library])
    with ThreadPoolExecutor(1) as pool:
        pool.submit(limit.acquire).result()
        assert library.get_num_threads() == 1
        limit.after_fork()  # in the child, which has this thread alone
    assert library.get_num_threads() == 8
    limit.acquire()
    limit.after_fork()
    assert library.get_num_threads() == 1
    limit.release()
    assert library.get_num_threads() == 8


def test_the_limit_holds_in_threads_that_threadpoolctl_ignores():
    controller = ThreadpoolController().select(user_api="blas")
    before = [each["num_threads"] for each in controller.info()]

    def inside():
        with single_threaded_blas():
            return [each["num_threads"] for each in controller.info()]

    controller.limit(limits=None, user_api="blas")  # the main thread claims the number of threads
    with single_threaded_blas():
        pass
    with ThreadPoolExecutor(1) as pool:
        assert set(pool.submit(inside).result()) == {1}
    assert [each["num_threads"] for each in controller.info()] == before


def test_settings_of_the_caller_hold_in_the_threads_of_a_pass():
    def overflow(_):
        return np.float64(1e300) * np.float64(1e300)

    with gm.threads(2), np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parallel_map(overflow, [0, 1, 2]) == [np.inf] * 3

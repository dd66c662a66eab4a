"""The package as a whole: names, doctest examples, import cost."""

import inspect
import pathlib
import re

import pytest
from sklearn.base import BaseEstimator

import gramian
from checks.members import public_classes, public_modules
from gramian._core.estimator import _entries
from processes import output_of


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_all_is_sorted_and_complete(module):
    names = [name for name in module.__all__ if not name.startswith("__")]
    assert names == sorted(names) or module.__name__.endswith(("losses", "penalties"))  # ruff puts L1 before ElasticNet
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = gramian.Nothing


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_public_members_have_an_example_that_runs(module):
    for name in module.__all__:
        member = getattr(module, name)
        if isinstance(member, type) and issubclass(member, BaseEstimator):
            assert ">>>" in (member.__doc__ or ""), f"{name} has no example"


def test_import_is_lazy():
    code = (
        "import sys, gramian; "
        "heavy = {'numpy', 'sklearn', 'scipy', 'numba', 'pandas', 'polars', 'altair', 'typer', 'torch', 'dask'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert output_of(code).strip() == "[]"


def test_a_first_fit_leaves_scipy_stats_alone_and_whole():
    code = (
        "import sys, gramian as gm; gm.LinearRegression().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.5]); "
        "assert 'scipy.stats' not in sys.modules; "
        "from sklearn.utils.fixes import _mode; print(_mode([1, 2, 2]).mode[0], end=' '); "
        "import scipy.stats; print(scipy.stats.norm.cdf(0.0))"
    )
    assert output_of(code).split() == ["2", "0.5"]


def test_least_squares_needs_no_compiler_and_no_extra():
    code = (
        "import sys, gramian as gm; gm.LinearRegression().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.5]); "
        "print(sorted({'numba', 'polars', 'altair', 'typer', 'rich'} & set(sys.modules)))"
    )
    assert output_of(code).strip() == "[]"


def test_functions_are_compiled_by_one_decorator():
    """`gramian._core.numerics.compiled.njit` compiles a function once; Numba's own compiles it again for constants."""
    root = pathlib.Path(gramian.__file__).parent
    elsewhere = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if path.name != "compiled.py"
        and re.search(r"numba import .*njit|numba\.njit", path.read_text(encoding="utf-8"))
    ]
    assert not elsewhere


def test_a_first_lasso_compiles_each_function_once():
    code = (
        "import numpy as np, gramian as gm; from gramian.solvers.sparse import active_set; "
        "r = np.random.default_rng(0); X = r.normal(size=(400, 150)); "  # small tables compile nothing
        "gm.Lasso().fit(X, X[:, 0] + r.normal(size=400)); "
        "print(sorted({len(f.signatures) for f in vars(active_set).values() if hasattr(f, 'signatures')}))"
    )
    assert output_of(code).strip() == "[0, 1]"  # coordinate descent is compiled when the active set fails


def test_every_parameter_of_an_estimator_is_described():
    for kind in public_classes(BaseEstimator):
        described = {name for names in _entries(inspect.cleandoc(kind.__doc__)) for name in names}
        missing = set(inspect.signature(kind).parameters) - described
        assert not missing, f"{kind.__name__} does not describe {sorted(missing)}"

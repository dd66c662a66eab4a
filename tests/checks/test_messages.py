"""Errors are sentences of the package: what is wrong, where, what to do; never those of NumPy, SciPy or Python."""

import contextlib
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

import gramian as gm
from checks.members import estimators

RNG = np.random.default_rng(0)
X, Y, LABELS = RNG.standard_normal((12, 3)), RNG.standard_normal(12), np.array(["a", "b"] * 6)
TABLES = {
    "None": (None, "X is None"),
    "a path": ("file.csv", "'file.csv'.*Files are not read yet.*read_csv"),
    "bytes": (b"file.csv", "Files are not read yet"),
    "a number": (3.0, "X is 3.0, of type float; a table of n rows"),
    "a set": ({1, 2}, "of type set; a table of n rows"),
    "a function": (len, "a table of n rows"),
    "complex": (X + 1j, "Complex data not supported: X holds complex numbers. Give their real"),
    "complex, sparse": (sp.csr_array(X + 1j), "Complex data not supported: X holds complex numbers"),
    "complex objects": (X.astype(object) + 1j, "Column 0 of X holds .* at row 0, and a number is needed"),
    "ragged": ([[1.0, 2.0], [3.0]], "row 0 has 2 values and row 1 has 1"),
    "text": (np.array([["a", "b", "c"]] * 12), "Column 0 of X holds .*'a'.* at row 0.*Encode it"),
    "objects": (np.array([[object()] * 3] * 12), "Column 0 of X holds .* and a number is needed"),
    "one column": (X[:, 0], r"X has shape \(\d+,\). Reshape your data: X.reshape\(-1, 1\)"),
    "three dimensions": (X.reshape(12, 3, 1), r"X has shape \(\d+, 3, 1\)"),
    "integers beyond float64": ([[10**400] * 3] * 12, "Column 0 of X holds .* beyond the range of float64"),
    "lengths of time": (np.full((12, 3), np.timedelta64(3, "s")), "X holds lengths of time .*give them in a unit"),
    "dates": (np.full((12, 3), np.datetime64("2020-01-01")), "X holds dates .*give them in a unit"),
    "a column of dates": (
        pd.DataFrame({"day": pd.date_range("2020", periods=12), "size": range(12)}),
        "Column 'day' holds dates or times .*give it in a unit",
    ),
    "records": (np.zeros(12, dtype=[("a", float), ("b", float)]), "records with the fields 'a', 'b'"),
}


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_what_is_no_table_is_named(estimator):
    for name, (given, message) in TABLES.items():
        if isinstance(estimator, gm.SpectralClustering) and name in ("ragged", "a set"):
            continue  # points of a kernel are any collection
        with pytest.raises((TypeError, ValueError)) as caught:
            clone(estimator).fit(given, LABELS if is_classifier(estimator) else Y)
        text = str(caught.value)
        assert re.search(message, text), f"{name}: {text}"
        assert "\n" not in text, f"{name}: {text}"


WEIGHTS = [
    Y + 1j,
    LABELS,
    "x",
    object(),
    [[1.0], [2.0, 3.0]],
    {},
    np.full(12, np.datetime64("2020-01-01")),
    [10**400] * 12,
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_weights_that_are_no_numbers_are_named(estimator):
    if not has_fit_parameter(estimator, "sample_weight"):
        pytest.skip("takes no weights")
    for weight in WEIGHTS:
        with pytest.raises((TypeError, ValueError), match="sample_weight must hold one number per row"):
            clone(estimator).fit(X, LABELS if is_classifier(estimator) else Y, sample_weight=weight)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["huber", "student_t", "squared", "absolute"])
def test_tiny_targets_are_refused_or_fitted_without_a_warning(loss):
    with contextlib.suppress(ValueError):
        gm.Regressor(loss).fit(X, 1e-320 * Y)


ABSURD = ["nonsense", object(), 1j, b"x", {}, np.zeros((2, 2, 2))]  # no parameter takes any of them
FOREIGN = re.compile(
    r"truth value of an array|convert string to float|argument must be|has no attribute|has no len|not subscriptable|"
    r"unhashable|unsupported operand|cannot be interpreted|inhomogeneous|invalid literal|not iterable|SeedSequence"
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_absurd_parameters_are_named(estimator):
    names = [name for name in estimator.get_params(deep=False) if name not in ("estimator", "tol", "callbacks")]
    for name in names:
        for value in ABSURD:
            model = clone(estimator)
            setattr(model, name, value)
            text = ""
            try:
                model.fit(X, LABELS if is_classifier(estimator) else Y)
            except (TypeError, ValueError) as error:
                text = str(error)
            assert not FOREIGN.search(text), f"{name}={value!r}: {text}"


@pytest.mark.parametrize("source", ["file.csv", "/dev/null", b"x", b"\0"])
def test_files_are_not_read_yet(source):
    with pytest.raises(TypeError, match="Files are not read yet") as caught:
        gm.scan(source)
    assert ("the path of a file;" in str(caught.value)) == (source == "/dev/null")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1], [2, 3]], r"written as groups=\(0, 0, 1, 1\)"),
        ([[0, 2], [1]], r"written as groups=\(0, 1, 0\)"),
        ([(0, 1), "b"], "one label per coefficient, not a list for each group.$"),
        ([[0, 1], [1, 2]], "not a list for each group.$"),
        ("ab", "one label per coefficient, such as"),
        (3, "one label per coefficient, such as"),
        ([0.0, np.nan, 1.0, 1.0], r"no label \(NaN\) for coefficient 1"),
    ],
)
def test_groups_that_are_no_labels(groups, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gm.penalties.GroupL1(groups).value(np.ones(4))

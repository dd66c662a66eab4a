import numpy as np
import pytest

from gramian._core.summary import Summary
from gramian._core.text import aligned, plus_minus


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3030.66, 208.4, "3031 ± 208"),
        (3030.66, 9.6, "3030.7 ± 9.6"),
        (0.12345, 0.00456, "0.1235 ± 0.0046"),
        (-4.5e-13, 0.02, "0.000 ± 0.020"),
        (2.5e8, 1.2e7, "2.5e+08 ± 1.2e+07"),
        (1e-9, 1e-10, "1e-09 ± 1e-10"),
        (np.nan, 1.0, "nan ± 1"),
        (1.0, np.inf, "1 ± inf"),
    ],
)
def test_values_have_the_digits_of_their_error(value, error, text):
    assert plus_minus(value, error) == text


def test_estimates_that_are_round_off_beside_their_error_are_zero():
    columns = {
        "name": np.array(["intercept", "x"]),
        "estimate": np.array([-4.5e-13, 2.0]),
        "error": np.array([0.3, 0.1]),
    }
    assert "e-13" not in str(Summary("Ridge", columns, {}))
    columns["error"] = np.array([np.inf, np.nan])
    assert "-4.5e-13" in str(Summary("Ridge", columns, {}))


def test_tables_are_aligned_on_the_right_but_for_one_column():
    assert aligned([["a", "bbb"], ["cc", "d"]]) == ["a   bbb", "cc    d"]
    assert aligned([["a", "bbb"], ["cc", "d"]], left=-1) == [" a  bbb", "cc    d"]

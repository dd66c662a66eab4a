"""Text for people: numbers with their errors, and tables of aligned columns."""

from collections.abc import Sequence

import numpy as np

ROUND_OFF = 1e-9  # relative to the standard error: an estimate below it is 0 but for rounding


def plus_minus(value: float, error: float) -> str:
    """A value and its standard error, to the second digit of the error and never beyond the decimal point.

    >>> plus_minus(3030.66, 208.4), plus_minus(0.02, 0.0108), plus_minus(-4.5e-13, 0.31), plus_minus(2.0, 0.0)
    ('3031 ± 208', '0.020 ± 0.011', '0.00 ± 0.31', '2 ± 0')
    """
    if not (np.isfinite(value) and np.isfinite(error) and error > 0):
        return f"{value:.6g} ± {error:.2g}"
    decimals = max(1 - int(np.floor(np.log10(error))), 0)
    if max(abs(value), error) >= 1e6 or decimals > 6:
        return f"{value:.6g} ± {error:.2g}"
    return f"{without_round_off(value, error):.{decimals}f} ± {error:.{decimals}f}"


def without_round_off(value: float, scale: float) -> float:
    """The value, or 0 where it is round-off beside quantities of this scale.

    >>> without_round_off(-4.5e-13, 1.0), without_round_off(-4.5e-13, 1e-12)
    (0.0, -4.5e-13)
    """
    return 0.0 if abs(value) <= ROUND_OFF * scale < np.inf else float(value)


def percentage(share: float) -> str:
    """A share as a percentage of two digits, 0 where it is round-off.

    >>> percentage(0.0123), percentage(2e-12)
    ('1.2 %', '0 %')
    """
    return f"{100.0 * without_round_off(share, 1e-2):.2g} %"


def aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """The lines of a table, its columns aligned on the right, but that at place `left` (−1: none) on the left.

    >>> aligned([["", "mean"], ["r2", "0.5"]])
    ['    mean', 'r2   0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]

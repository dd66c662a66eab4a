"""Text on charts: names without control characters, short numbers, percentages, ticks of a logarithmic axis."""

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from gramian._core.types import Estimator
from gramian.charts.declaration import has

MAX_NAME_LENGTH = 30
NO_BREAK = "\u00a0"  # a space at which no line ends
_JOINER = "\u200d"  # the zero-width joiner of emoji, which str.isprintable rejects
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(name: object) -> str:
    """A name on one line, without control characters; everything else stays as it is.

    >>> plain("blood\\npressure [mm.Hg] <b>")
    'blood pressure [mm.Hg] <b>'
    """
    text = " ".join(str(name).split())
    return "".join(c if c.isprintable() or c == _JOINER else "\ufffd" for c in text) or "(no name)"


def feature_names(model: Estimator) -> list[str]:
    """Names of the columns that a model was fitted on; x0, x1, … if they had none."""
    if has(model, "feature_names_in_"):
        return [plain(name) for name in model.feature_names_in_]
    return [f"x{j}" for j in range(model.n_features_in_)]


def labels(names: Iterable[object], max_length: int = MAX_NAME_LENGTH) -> list[str]:
    """Names cut to a length that an axis has room for, and still different from each other.

    >>> labels(["a", "a", "b" * 40])
    ['a', 'a #2', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbb…']
    """
    used_labels: set[str] = set()
    unique = []
    for name in names:
        text = plain(name)
        short = text if len(text) <= max_length else text[: max_length - 1] + "…"
        label, count = short, 1
        while label in used_labels:
            count += 1
            label = f"{short} #{count}"
        used_labels.add(label)
        unique.append(label)
    return unique


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, in full where that is short.

    >>> number(3031.2), number(0.07543), number(-2.5e-9)
    ('3,031', '0.0754', '−2.5 × 10⁻⁹')
    """
    value = float(value)
    if value == 0 or not np.isfinite(value):
        return "0" if value == 0 else "?"
    power = int(np.floor(np.log10(abs(value))))
    if -4 <= power < 6:
        text = f"{value:,.{max(digits - 1 - power, 0)}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
    else:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return text.replace("-", "−")


def share(value: float) -> str:
    """A number from 0 to 1 with three digits, and more where it would be rounded to 1.

    >>> share(0.98765), share(0.99994), share(1.0)
    ('0.988', '0.99994', '1')
    """
    return number(value, 3 if value <= 0.999 or value >= 1.0 else -int(np.floor(np.log10(1.0 - value))))


def percent(value: float) -> str:
    """A share as a percentage, on one line; only 0 and 1 themselves are written as 0 % and 100 %.

    >>> [percent(value).replace(NO_BREAK, " ") for value in (0.9652, 0.99996, 0.00004, 1.0)]
    ['96.5 %', 'over 99.9 %', 'under 0.1 %', '100 %']
    """
    text = "over 99.9" if 0.9995 <= value < 1.0 else number(round(100.0 * value, 1))
    return ("under 0.1" if 0.0 < value < 0.0005 else text) + NO_BREAK + "%"


def percent_interval(low: float, high: float, level: float = 0.95) -> str:
    """The ends of an interval of a share, as subtitles have them.

    >>> percent_interval(0.81234, 0.9).replace(NO_BREAK, " ")
    '95 % interval 81.2 % to 90 %'
    """
    return f"{100 * level:g} % interval {percent(low)} to {percent(high)}".replace(" ", NO_BREAK)


def shown_text(shown: int, n: float, noun: str = "row") -> list[str]:
    """A note that a random sample is drawn; none where everything is.

    >>> shown_text(2000, 3000), shown_text(10, 10)
    (['2,000 of 3,000 rows are shown, drawn at random'], [])
    """
    return [f"{shown:,} of {counted(n, noun)} are shown, drawn at random"] if shown < n else []


def interval_text(low: float, high: float, level: float = 0.95) -> str:
    """The ends of an interval, as subtitles have them.

    >>> interval_text(0.81234, 0.9).replace(NO_BREAK, " ")
    '95 % interval 0.812 to 0.9'
    """
    ends = f"{share(low) if low > 0 else number(low)} to {share(high)}"
    return f"{100 * level:g} % interval {ends}".replace(" ", NO_BREAK)


def counted(count: float, singular: str, plural: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{count:,.10g} {singular if count == 1 else plural or singular + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def used(count: int, of: int, clearly: str = "") -> str:
    """How many coefficients are not zero, as a sentence; with `clearly=" clearly"` by their intervals.

    >>> used(2, 3), used(0, 3), used(1, 1, " clearly")
    ('2 of 3 coefficients are not zero', 'Every coefficient is zero', 'The one coefficient is clearly not zero')
    """
    if count == 0:
        return "No coefficient is clearly different from zero" if clearly else "Every coefficient is zero"
    if of == 1:
        return f"The one coefficient is{clearly} not zero"
    if count == of:
        return f"All {of:,} coefficients are clearly not zero" if clearly else "No coefficient is zero"
    return f"{count:,} of {of:,} coefficients {'is' if count == 1 else 'are'}{clearly} not zero"


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most a width, about equally long.

    >>> wrapped("Two lines of about the same length", 30)
    ['Two lines of about', 'the same length']
    """
    lines = textwrap.wrap(text, width) or [""]
    for narrower in range(width - 1, len(text) // len(lines), -1):
        narrow_lines = textwrap.wrap(text, narrower)
        if len(narrow_lines) > len(lines):
            break
        lines = narrow_lines or lines
    return lines


def ticks(low: float, high: float, max_ticks: int = 9) -> list[float]:
    """Round numbers between two positive ones: powers of ten, or finer where there are few of these.

    >>> ticks(0.03, 40.0), ticks(1.0, 4.0)
    ([0.1, 1.0, 10.0], [1.0, 2.0, 3.0, 4.0])
    """
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    if last - first >= 2:
        step = -(-(last - first + 1) // max_ticks)
        return [float(f"1e{power}") for power in range(first, last + 1, step)]
    for steps in ((1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        candidates = [float(f"{s}e{power}") for power in range(first - 1, last + 1) for s in steps]
        inside = [tick for tick in candidates if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) >= 3:
            return inside
    return [low, high] if high > low * 1.001 else [low]


def tick_text(value: float) -> str:
    """A tick of a logarithmic axis.

    >>> tick_text(0.01), tick_text(1e-7), tick_text(2e6)
    ('0.01', '10⁻⁷', '2 × 10⁶')
    """
    return number(value).removeprefix("1 × ")


def tick_format(low: float, high: float) -> str:
    """How a linear axis writes its ticks: in full, or with an exponent where that would be long."""
    return ",f" if 1e-3 <= max(abs(low), abs(high)) < 1e6 else "~e"

"""A small table of a fit: coefficients and facts, as text and as HTML."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from gramian._core.text import aligned, without_round_off

HEADINGS = {
    "target": "target",
    "name": "",
    "estimate": "estimate",
    "least_squares": "least squares",
    "error": "std. error",
    "low": "95 % low",
    "high": "95 % high",
    "p": "p-value",
}


@dataclass(frozen=True, eq=False)
class Summary:
    """Coefficients (dict of arrays, intercept first) and facts (dict) of a fit.

        >>> import numpy as np

    from gramian._core.text import aligned, without_round_off
        >>> print(Summary("Ridge", {"name": np.array(["x0"]), "estimate": np.array([2.0])}, {"r2": 0.5}))
        Ridge
            estimate
        x0         2
        r2 0.5
    """

    title: str
    coefficients: dict[str, Any]
    facts: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        columns = dict(self.coefficients)
        if "estimate" in columns and "error" in columns:
            pairs = zip(columns["estimate"], columns["error"], strict=True)
            columns["estimate"] = [without_round_off(value, error) for value, error in pairs]
        keys = list(columns)
        rows = zip(*columns.values(), strict=True)
        return [HEADINGS.get(key, key) for key in keys], [
            [_text(key, value) for key, value in zip(keys, row, strict=True)] for row in rows
        ]

    def _facts(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), _text(name, value)) for name, value in self.facts.items()]

    def __str__(self) -> str:
        head, body = self._cells()
        lines = [line.rstrip() for line in aligned([head, *body], head.index("") if "" in head else -1)]
        facts = " · ".join(f"{name} {value}" for name, value in self._facts())
        return "\n".join([self.title, *lines, facts, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, body = self._cells()
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        facts = " · ".join(f"{escape(name)} {escape(value)}" for name, value in self._facts())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{facts}</p>{notes}"
        )


def _text(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(_text(key, item) for item in value) + "]"
    if key == "p":
        return "< 1e-16" if value < 1e-16 else f"{value:.3g}"
    return f"{value:.5g}"

"""Structures that no single pass determines ask for sums over their rows, one after the other."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
Question = Callable[[Any, Floats], Any]  # of rows and their weights; the answers of blocks are added up
PassRequest = Generator[Question, Any, T]


class Answers:
    """What several structures asked for, one answer each; None where a structure has no rows or no question."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def _absorb(self, other: "Answers") -> "Answers":
        pairs = zip(self.parts, other.parts, strict=True)
        self.parts = [b if a is None else a if b is None else a + b for a, b in pairs]
        return self


def concluded(askings: list[Any], totals: list[Any], ask: Callable[[list[Question | None]], Answers]) -> list[Any]:
    """What every one of `askings` returns in the end, None for None.

    `totals` answer their first questions, which are always `gather`; `ask` answers the next ones of all in one pass.
    """
    found: list[Any] = [None] * len(askings)
    questions: list[Question | None] = [None] * len(askings)

    def tell(j: int, total: Any) -> None:
        try:
            questions[j] = askings[j].send(total)
        except StopIteration as end:
            questions[j], found[j] = None, end.value

    for j, (asking, total) in enumerate(zip(askings, totals, strict=True)):
        if asking is not None:
            next(asking)
            tell(j, total)
    while any(question is not None for question in questions):
        answers = ask(questions).parts
        for j, question in enumerate(list(questions)):
            if question is not None:
                tell(j, answers[j])
    return found


def answered(asking: PassRequest[T], ask: Callable[[Question], Any]) -> T:
    """What one asking returns in the end."""
    question = next(asking)
    while True:
        try:
            question = asking.send(ask(question))
        except StopIteration as end:
            return end.value

"""Refits that need several passes: structures request sums over their rows, one pass after the other."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from gramian._core.types import Floats

T = TypeVar("T")
BlockStatistic = Callable[[Any, Floats], Any]  # of the rows of a block and their weights; blocks are added up
PassRequest = Generator[BlockStatistic, Any, T]


class StructureTotals:
    """The totals of one pass, one for each structure; None where a structure has no rows or requested nothing."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def _absorb(self, other: "StructureTotals") -> "StructureTotals":
        self.parts = add_present(self.parts, other.parts)
        return self


def add_present(first: list[Any], second: list[Any]) -> list[Any]:
    """Sums in pairs; None counts as nothing."""
    return [b if a is None else a if b is None else a + b for a, b in zip(first, second, strict=True)]


def run_requests(
    requests: list[Any], totals: list[Any], run_pass: Callable[[list[BlockStatistic | None]], StructureTotals]
) -> list[Any]:
    """What each of several requests returns in the end, None for None.

    `totals` are those of their first statistics, which are always `Structure.statistics`; `run_pass` adds up the next
    ones of all in one pass.
    """
    results: list[Any] = [None] * len(requests)
    pending: list[BlockStatistic | None] = [None] * len(requests)

    def advance(j: int, total: Any) -> None:
        try:
            pending[j] = requests[j].send(total)
        except StopIteration as end:
            pending[j], results[j] = None, end.value

    for j, (request, total) in enumerate(zip(requests, totals, strict=True)):
        if request is not None:
            next(request)
            advance(j, total)
    while any(statistic is not None for statistic in pending):
        sums = run_pass(pending).parts
        for j, statistic in enumerate(list(pending)):
            if statistic is not None:
                advance(j, sums[j])
    return results


def run_request(request: PassRequest[T], total: Callable[[BlockStatistic], Any]) -> T:
    """What one request returns in the end; `total` adds a statistic up over all rows."""
    statistic = next(request)
    while True:
        try:
            statistic = request.send(total(statistic))
        except StopIteration as end:
            return end.value

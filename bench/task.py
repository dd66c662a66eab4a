"""A task: data, the peers that work on it, and what counts as good. Read from a module of bench/tasks."""

import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import bench.tasks

Data = dict[str, Any]
Result = dict[str, Any] | None
Quality = dict[str, float]


@dataclass(frozen=True)
class Task:
    """What a module of bench/tasks says, with defaults for what it leaves out."""

    name: str
    title: str  # first line of the module's docstring
    about: str  # the rest of it: what was set, so that all rows reach the same quality
    data: Callable[[float], Data]
    peers: dict[str, Callable[[Data], Result]]  # rows: "gramian…" are ours, "LIMIT…" a physical limit
    quality: Callable[[Data, dict[str, Any]], Quality]  # lower is better for every judged figure
    targets: list[tuple[str, float]]  # (peer, r): the peer takes at least r times our seconds
    ceilings: dict[str, float]  # row: it takes at most so many seconds
    memory_mb: float | None  # our peak beyond the data is at most so much
    judge: dict[str, tuple[float, float]]  # figure: (factor, floor); worse when above max(floor, factor · ours)
    warm: float  # scale of the warm-up
    shows_memory: bool  # False where the work is done in other processes

    @classmethod
    def load(cls, name: str) -> "Task":
        module = import_module(f"bench.tasks.{name}")
        title, _, about = (inspect.getdoc(module) or name).partition("\n")
        return cls(
            name=name,
            title=title,
            about=" ".join(about.split()),
            data=module.data,
            peers=module.peers,
            quality=module.quality,
            targets=module.targets,
            ceilings=getattr(module, "ceilings", {}),
            memory_mb=getattr(module, "memory_mb", None),
            judge=getattr(module, "judge", {}),
            warm=getattr(module, "warm", 0.01),
            shows_memory=getattr(module, "shows_memory", True),
        )

    def rows(self, wanted: Iterable[str] = ()) -> list[str]:
        """The rows to run: ours first, limits last; `wanted` names a row or the first word of several."""
        chosen = [
            row
            for row in self.peers
            if not wanted or is_limit(row) or any(row == word or row.startswith(word + "_") for word in wanted)
        ]
        return sorted(chosen, key=lambda row: (not is_ours(row), is_limit(row)))

    def settings(self, row: str) -> str:
        """What was set for this row: the docstring of its function."""
        return " ".join((inspect.getdoc(self.peers[row]) or "").split())

    def worse(self, quality: Quality, than: Quality) -> list[str]:
        """The judged figures in which `quality` is worse than `than` by more than the stated factor."""
        return [
            figure
            for figure, (factor, floor) in self.judge.items()
            if figure in quality and figure in than and not quality[figure] <= max(floor, factor * than[figure])
        ]


def is_ours(row: str) -> bool:
    return row.startswith("gramian")


def is_limit(row: str) -> bool:
    return row.startswith("LIMIT")


def names() -> list[str]:
    """Every task there is."""
    return sorted(module.name for module in pkgutil.iter_modules(bench.tasks.__path__))


def scaled(full: int, scale: float, least: int = 50) -> int:
    """A number of rows or columns at this scale: a multiple of 5, so that five folds are equal."""
    return max(least, round(full * scale / 5) * 5)

"""Ratios of ours to the peers, and whether the targets of a task are reached."""

from dataclasses import dataclass

from bench.runner import Row
from bench.task import Task, is_limit

OURS = "gramian"


@dataclass(frozen=True)
class Verdict:
    target: str
    measured: str
    reached: bool | None  # None: not measured

    @property
    def word(self) -> str:
        return {True: "reached", False: "not reached", None: "not measured"}[self.reached]


def ratio(ours: Row | None, row: Row) -> float | None:
    """Seconds of the row for one second of ours; a lower bound when the row was stopped."""
    seconds = row.over or row.median
    if ours is None or ours.median is None or seconds is None:
        return None
    return seconds / ours.median


def times(ours: Row | None, row: Row) -> str:
    """The ratio in words, always ≥ 1 in the direction it is said."""
    value = ratio(ours, row)
    if value is None:
        return ""
    if ours is row:
        return "1"
    if row.over:
        return f"over {value:.3g} × slower" if value > 1 else "unknown"
    return f"{value:.3g} × slower" if value >= 1 else f"{1 / value:.3g} × faster"


def verdicts(task: Task, rows: list[Row]) -> list[Verdict]:
    """Every target of the task, judged on these rows."""
    found = {row.peer: row for row in rows}
    ours = found.get(OURS)
    answers = [_against(task, ours, found.get(peer), peer, least) for peer, least in task.targets]
    for peer, most in task.ceilings.items():
        row = found.get(peer)
        seconds = row.median if row else None
        measured = f"{seconds:.3g} s" if seconds is not None else "no figure"
        measured += ", disturbed" if row and row.disturbed else ""
        answers.append(Verdict(f"{peer} ≤ {most:g} s", measured, None if seconds is None else seconds <= most))
    if task.memory_mb is not None:
        for row in rows:
            if row.peer.startswith(OURS):
                peak = row.peak_mb
                measured = f"{peak:.0f} MB" if peak is not None else "no figure"
                reached = None if peak is None else peak <= task.memory_mb
                answers.append(Verdict(f"{row.peer}: peak ≤ data + {task.memory_mb:g} MB", measured, reached))
    return answers


def _against(task: Task, ours: Row | None, row: Row | None, peer: str, least: float) -> Verdict:
    if is_limit(peer):
        target = f"≤ {1 / least:.3g} × the time of {peer}"
    elif least == 1:
        target = f"faster than {peer}"
    else:
        target = f"≥ {least:g} × faster than {peer}"
    value = ratio(ours, row) if row else None
    if ours is None or row is None or value is None:
        return Verdict(target, "no figure", None)
    measured = f"{1 / value:.3g} × its time" if is_limit(peer) else f"{'over ' if row.over else ''}{value:.3g} ×"
    if ours.disturbed or row.disturbed:
        measured += ", disturbed"
    if row.over and value < least:
        return Verdict(target, measured, None)
    worse = task.worse(ours.quality, row.quality)
    if worse:
        return Verdict(target, f"{measured}, but our {', '.join(worse)} is worse", False)
    return Verdict(target, measured, value >= least)

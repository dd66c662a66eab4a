"""The table of a task: on the terminal, as Markdown, and as JSON."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import machine
from bench.runner import Row
from bench.task import Task
from bench.verdict import OURS, times, verdicts

RESULTS = Path(__file__).resolve().parent / "results"
WORSE = " ‡"


def table(task: Task, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and cells, the same for every form of the report."""
    ours = next((row for row in rows if row.peer == OURS), None)
    figures = list(dict.fromkeys(figure for row in rows for figure in row.quality))
    header = ["row", "median s", "min s", "runs", "against ours", *figures]
    header += ["peak MB"] if task.shows_memory else []
    cells = []
    for row in rows:
        worse = task.worse(row.quality, ours.quality) if ours and row is not ours else []
        cells.append(
            [
                row.peer,
                f"over {row.over:g} s" if row.over else _seconds(row.median),
                _seconds(row.fastest),
                str(len(row.seconds) or ""),
                times(ours, row),
                *(_figure(row.quality, name) + (WORSE if name in worse else "") for name in figures),
                *([f"{row.peak_mb:.0f}" if row.peak_mb is not None else ""] if task.shows_memory else []),
                "; ".join(part for part in (task.settings(row.peer), *row.notes) if part),
            ]
        )
    return [*header, "set, and heard"], cells


def legend(task: Task, rows: list[Row], scale: float) -> list[str]:
    """What the columns and marks mean."""
    lines = [task.about] if task.about else []
    if task.judge:
        rules = "; ".join(
            f"{name} above {factor:.10g} × ours" + (f" and above {floor:g}" if floor else "")
            for name, (factor, floor) in task.judge.items()
        )
        lines.append(f"‡ worse quality than ours: {rules}. The harness computes every figure from what a row returns.")
    if task.shows_memory:
        lines.append("peak MB: most memory during the first run, beyond what was resident just before it (the data).")
    disturbed = [f"{row.peer} ({row.busy:.0%})" for row in rows if row.disturbed]
    if disturbed:
        lines.append(f"DISTURBED: other processes were using the cores just before {', '.join(disturbed)}; time again.")
    if scale != 1:
        lines.append(f"Scale {scale:g}: this run tests the harness; the targets are meant for scale 1.")
    return lines


def show(console: Console, task: Task, rows: list[Row], scale: float) -> None:
    header, cells = table(task, rows)
    grid = Table(title=f"{task.name}: {task.title}", title_justify="left", show_lines=False)
    for index, name in enumerate(header):
        grid.add_column(name, justify="left" if index in (0, len(header) - 1) else "right", overflow="fold")
    for row, texts in zip(rows, cells, strict=True):
        grid.add_row(*texts, style="bold" if row.peer == OURS else None)
    console.print(grid)
    for line in legend(task, rows, scale):
        console.print(line, style="dim", highlight=False)
    for verdict in verdicts(task, rows):
        colour = {True: "green", False: "red", None: "yellow"}[verdict.reached]
        console.print(f"  [{colour}]{verdict.word:12}[/] {verdict.target}: {verdict.measured}", highlight=False)
    console.print()


def write(task: Task, rows: list[Row], facts: dict[str, object], scale: float, whole: bool) -> Path:
    """Write <task>.json and <task>.md; runs at another scale or of some peers only go to results/partial."""
    folder = RESULTS if whole and scale == 1 else RESULTS / "partial"
    folder.mkdir(parents=True, exist_ok=True)
    judged = verdicts(task, rows)
    document = {
        "task": task.name,
        "title": task.title,
        "about": task.about,
        "scale": scale,
        "machine": facts,
        "judge": task.judge,
        "rows": [asdict(row) | {"median": row.median, "settings": task.settings(row.peer)} for row in rows],
        "targets": [asdict(verdict) for verdict in judged],
    }
    (folder / f"{task.name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    header, cells = table(task, rows)
    lines = [f"# {task.name}: {task.title}", "", _line(header), _line(["---"] * len(header)), *map(_line, cells), ""]
    lines += [line + "\n" for line in legend(task, rows, scale)]
    lines += [f"- {verdict.target}: {verdict.measured} — **{verdict.word}**" for verdict in judged]
    lines += ["", machine.sentence(facts)]
    path = folder / f"{task.name}.md"
    path.write_text("\n".join(lines) + "\n")
    return path


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _figure(quality: dict[str, float], name: str) -> str:
    return f"{quality[name]:.7g}" if name in quality else ""

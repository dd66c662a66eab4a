"""python -m bench [task …] [--peers gramian,sklearn] [--repeats 3] [--scale 1] [--limit 300]"""

import argparse

from rich.console import Console

from bench import machine, report
from bench.runner import run
from bench.task import Task, names


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Gramian against its peers.")
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"any of {', '.join(names())}; all when none is named")
    parser.add_argument("--peers", default="", help="rows to run, by name or first word; limits always run")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs of a row, fewer when one takes over 5 s")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size, for trying the harness")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a row is stopped")
    options = parser.parse_args()
    unknown = sorted(set(options.tasks) - set(names()))
    if unknown:
        parser.error(f"no such task: {', '.join(unknown)}; there are {', '.join(names())}")
    if options.repeats < 1 or options.scale <= 0 or options.limit <= 0:
        parser.error("--repeats, --scale and --limit must be positive")
    wanted = [word for word in options.peers.split(",") if word]

    console = Console()
    if not console.is_terminal:
        console = Console(width=180)
    for name in options.tasks or names():
        task = Task.load(name)
        facts = machine.facts()
        rows = []
        for peer in task.rows(wanted):
            with console.status(f"{name}: {peer}"):
                rows.append(run(task, peer, scale=options.scale, repeats=options.repeats, limit=options.limit))
        report.show(console, task, rows, options.scale)
        console.print(f"written to {report.write(task, rows, facts, options.scale, not wanted)}\n", highlight=False)


if __name__ == "__main__":
    main()

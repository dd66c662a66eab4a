"""How a result looks in a terminal, wide or narrow, with colours or without."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gramian.app.learn import Outcome, Result

UNBOUNDED = 10_000
ASCII = {"±": "+/-", "✓": "ok", "✗": "NO", "–": "-", "·": "-", "×": "x"}


def show(result: Result, console: Console) -> None:
    """The table of errors and what it means."""
    heading = (
        f"{result.training_rows} training rows, {result.test_rows} test rows, "
        f"root mean squared errors of {result.target}"
    )
    say(console, heading, style="dim")
    table = _table(result, console)
    if console.measure(table, options=console.options.update(width=UNBOUNDED)).maximum <= console.width:
        console.print(table)
    else:  # too narrow for a table: one block of lines per model
        for outcome in result.outcomes:
            _block(outcome, outcome is result.best, console)
    console.print()
    say(console, verdict(result))


def say(console: Console, text: str, *, style: str | None = None, wrap: bool = True) -> None:
    """A line of plain text in the console's alphabet, wrapped to its width unless it is to be copied."""
    console.print(_written(text, console), style=style, markup=False, highlight=False, soft_wrap=not wrap)


def verdict(result: Result) -> str:
    """One sentence: the best, and which of the others are as good."""
    best, equals = result.best, result.equals
    text = f"{best.name} has the smallest cross-validated error ({best.validation:.1f} ± {best.validation_error:.1f})"
    if not equals:
        return f"{text}, by more than one standard error."
    names = [outcome.name for outcome in equals]
    listed = f"{names[0]} is" if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]} are"
    text += f", but differences below one standard error mean nothing: {listed} as good"
    simplest = min(equals, key=lambda outcome: outcome.nonzero)
    if simplest.nonzero < best.nonzero:
        text += f", and {simplest.name} needs only {simplest.nonzero} of {simplest.features} features"
    return text + "."


def _table(result: Result, console: Console) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("model", no_wrap=True)
    for name in ("alpha", "non-zero", "cross-validated", "test", "certificate", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in result.outcomes:
        cells = [outcome.name, *_cells(outcome).values()]
        style = "bold" if outcome is result.best else None
        table.add_row(*(escape(_written(cell, console)) for cell in cells), style=style)
    return table


def _block(outcome: Outcome, best: bool, console: Console) -> None:
    console.print()
    say(console, outcome.name, style="bold" if best else None)
    for name, cell in _cells(outcome).items():
        say(console, f"  {name:<15} {cell}")


def _cells(outcome: Outcome) -> dict[str, str]:
    certificate = outcome.model.certificate_
    value = f"{certificate.value:.0e}" if certificate.value else "0"
    return {
        "alpha": "–" if outcome.alpha is None else f"{outcome.alpha:.3g}",
        "non-zero": f"{outcome.nonzero} of {outcome.features}",
        "cross-validated": f"{outcome.validation:.1f} ± {outcome.validation_error:.1f}",
        "test": f"{outcome.test:.1f}",
        "certificate": f"{'✓' if certificate.holds else '✗'} {value}",
        "seconds": f"{outcome.seconds:.2f}",
    }


def _written(text: str, console: Console) -> str:
    """The text in letters that the console's encoding has."""
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        for sign, plain in ASCII.items():
            text = text.replace(sign, plain)
    return text

"""The table of a result in a terminal, wide or narrow, with colours or without."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gramian.app.learn import ModelErrors, Result

UNBOUNDED = 10_000
ASCII = {"±": "+/-", "✓": "ok", "✗": "NO", "–": "-", "·": "-", "×": "x"}


def show(result: Result, console: Console) -> None:
    """Print the table of errors and its summary in one sentence."""
    heading = (
        f"{result.training_rows} training rows, {result.test_rows} test rows, "
        f"root mean squared errors of {result.target}"
    )
    print_line(console, heading, style="dim")
    table = _table(result, console)
    if console.measure(table, options=console.options.update(width=UNBOUNDED)).maximum <= console.width:
        console.print(table)
    else:  # too narrow for a table: one block of lines per model
        for one in result.models:
            _block(one, one is result.best, console)
    console.print()
    print_line(console, verdict(result))


def print_line(console: Console, text: str, *, style: str | None = None, wrap: bool = True) -> None:
    """Print a line of plain text in the console's encoding, wrapped to its width unless it is to be copied."""
    console.print(_encodable(text, console), style=style, markup=False, highlight=False, soft_wrap=not wrap)


def verdict(result: Result) -> str:
    """One sentence: the best model, and those within one standard error of it."""
    best, others = result.best, result.within_one_se
    text = f"{best.name} has the smallest cross-validated error ({best.validation:.1f} ± {best.validation_error:.1f})"
    if not others:
        return f"{text}, by more than one standard error."
    names = [one.name for one in others]
    listed = f"{names[0]} is" if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]} are"
    text += f", but differences within one standard error are not clear: {listed} as good"
    simplest = min(others, key=lambda one: one.nonzero)
    if simplest.nonzero < best.nonzero:
        text += f", and {simplest.name} needs only {simplest.nonzero} of {simplest.features} features"
    return text + "."


def _table(result: Result, console: Console) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("model", no_wrap=True)
    for name in ("alpha", "non-zero", "cross-validated", "test", "certificate", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in result.models:
        cells = [one.name, *_cells(one).values()]
        style = "bold" if one is result.best else None
        table.add_row(*(escape(_encodable(cell, console)) for cell in cells), style=style)
    return table


def _block(one: ModelErrors, best: bool, console: Console) -> None:
    console.print()
    print_line(console, one.name, style="bold" if best else None)
    for name, cell in _cells(one).items():
        print_line(console, f"  {name:<15} {cell}")


def _cells(one: ModelErrors) -> dict[str, str]:
    certificate = one.model.certificate_
    value = f"{certificate.value:.0e}" if certificate.value else "0"
    return {
        "alpha": "–" if one.alpha is None else f"{one.alpha:.3g}",
        "non-zero": f"{one.nonzero} of {one.features}",
        "cross-validated": f"{one.validation:.1f} ± {one.validation_error:.1f}",
        "test": f"{one.test:.1f}",
        "certificate": f"{'✓' if certificate.holds else '✗'} {value}",
        "seconds": f"{one.seconds:.2f}",
    }


def _encodable(text: str, console: Console) -> str:
    """The text in characters of the console's encoding."""
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        for sign, plain in ASCII.items():
            text = text.replace(sign, plain)
    return text

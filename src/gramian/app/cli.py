"""`gramian`: the command line."""

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

from gramian._version import __version__

INSTALL = 'The command line needs Typer and Rich, which are not installed: pip install "gramian[app]"'

try:
    import typer
    from rich.console import Console
except ImportError:
    sys.exit(f"gramian: {INSTALL}")

BAD_USAGE, FAILURE, INTERRUPTED = 2, 1, 130


@dataclass
class Settings:
    """Options of every command."""

    debug: bool = False


class UserError(Exception):
    """A failure that one sentence explains."""


app = typer.Typer(
    help="Gramian: classical machine learning from sums of inner products.",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"gramian {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Options before the command."""
    _remember(context, debug)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_USAGE)


@app.command("learn")
def learn_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder for the charts; created if it does not exist.")] = Path(
        "learn"
    ),
    debug: Debug = False,
) -> None:
    """Fit the linear models on the diabetes data, compare their errors, and write a chart."""
    _remember(context, debug)
    _make_folder(out)
    console, messages = Console(), Console(stderr=True)
    status = messages.status("Compiling on the first run, about 10 s") if messages.is_terminal else None
    with status or nullcontext():
        from gramian.app.example import load_example
        from gramian.app.learn import learn, warm_up

        warm_up()
        if status is not None:
            status.update("Fitting the linear models")
        result = learn(load_example())
    from gramian.app.show import print_line, show

    show(result, console)
    with messages.status("Drawing") if messages.is_terminal else nullcontext():
        written = _write(result.named("Lasso (one_se)").model.chart(), out)
    print_line(console, "The path of the lasso as an image and as an HTML page that works offline:")
    for path in written:
        print_line(console, f"  {path}", wrap=False)


def _remember(context: typer.Context, debug: bool) -> None:
    settings = context.ensure_object(Settings)
    settings.debug |= debug


def _make_folder(out: Path) -> None:
    """Create the folder and check that it is writable, before the fits."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f".gramian-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(_unwritable(out, error)) from error


def _write(chart: Any, out: Path) -> list[Path]:
    from gramian.charts import save_html, save_png

    try:
        return [save_png(chart, out / "lasso.png"), save_html(chart, out / "lasso.html", title="Lasso")]
    except OSError as error:
        raise UserError(_unwritable(out, error)) from error


def _unwritable(out: Path, error: OSError) -> str:
    return f"Cannot write to {out}: {error.strerror or error}. Give another folder with --out."


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code: 0, 1 for a failure, 2 for bad usage, 130 for Ctrl-C."""
    settings = Settings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # characters that the terminal cannot encode do not end the run
    try:
        code = app(arguments, prog_name="gramian", obj=settings, standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    except Exception as error:
        if settings.debug:
            raise
        usage = getattr(error, "format_message", None)  # what Typer raises for arguments it cannot read
        if usage is not None:
            _fail(f"{usage().rstrip('.')}. See gramian --help.", getattr(error, "exit_code", BAD_USAGE))
        sentence = str(error) or type(error).__name__
        _fail(sentence if isinstance(error, UserError) else f"{sentence} (--debug shows where)", FAILURE)
    if code == INTERRUPTED:  # newer versions of Typer turn Ctrl-C into this code
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(sentence: str, code: int) -> NoReturn:
    print(f"gramian: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)

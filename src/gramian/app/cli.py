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
    """What holds for every command."""

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


def _version(wanted: bool) -> None:
    if wanted:
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
    """Options that stand before the command."""
    _remember(context, debug)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_USAGE)


@app.command("learn")
def learn_command(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder for the charts; made if it is not there.")] = Path("learn"),
    debug: Debug = False,
) -> None:
    """Fit the linear family on the diabetes data, compare the errors, and write a chart."""
    _remember(context, debug)
    _make_folder(out)
    console, notes = Console(), Console(stderr=True)
    status = notes.status("Getting ready: the first run compiles once, about 10 s") if notes.is_terminal else None
    with status or nullcontext():
        from gramian.app.example import load_example
        from gramian.app.learn import learn, warm_up

        warm_up()
        if status is not None:
            status.update("Fitting the linear family")
        result = learn(load_example())
    from gramian.app.show import say, show

    show(result, console)
    with notes.status("Drawing") if notes.is_terminal else nullcontext():
        written = _write(result.named("Lasso (one_se)").model.chart(), out)
    say(console, "The path of the lasso, as a picture and as a page that opens without a network:")
    for path in written:
        say(console, f"  {path}", wrap=False)


def _remember(context: typer.Context, debug: bool) -> None:
    settings = context.ensure_object(Settings)
    settings.debug |= debug


def _make_folder(out: Path) -> None:
    """Make the folder and try it, before any work is done for it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        trial = out / f".gramian-{os.getpid()}"
        trial.touch()
        trial.unlink()
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
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot write is no reason to stop
    try:
        code = app(arguments, prog_name="gramian", obj=settings, standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader, such as head, has enough
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

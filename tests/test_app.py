"""The command line: what it prints, what it writes, and how it fails."""

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from typer.testing import CliRunner

import gramian as gm
from gramian import charts
from gramian.app import cli
from gramian.app.example import load_example
from gramian.app.learn import ModelErrors, Result, learn
from gramian.app.show import show, verdict


@pytest.fixture(scope="module")
def result():
    return learn(load_example())


@pytest.fixture
def quick_charts(monkeypatch):
    """Files of charts without the drawing, which tests/test_charts.py tests."""
    for name in ("save_png", "save_html"):
        monkeypatch.setattr(charts, name, lambda chart, path, **_: Path(path).write_text("drawn") and Path(path))


def run(*arguments, **options):
    """A real process, as a user starts it."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "gramian", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        timeout=300,
        **options,
    )


def leave(*arguments):
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    return left.value.code


def test_example_is_the_diabetes_data():
    example = load_example()
    theirs = load_diabetes(scaled=False)
    np.testing.assert_allclose(example.X, theirs.data, rtol=1e-9)
    np.testing.assert_array_equal(example.y, theirs.target)
    assert len(set(example.names)) == 10
    assert gm.LinearRegression().fit(example.rows()).feature_names_in_.tolist() == list(example.names)


def test_errors_are_those_of_separate_fits(result):
    assert [one.name for one in result.models] == [
        "LinearRegression",
        "Ridge",
        "Lasso",
        "Lasso (one_se)",
        "ElasticNet",
    ]
    example = load_example()
    train, test = next(gm.selection.KFold(4, random_state=1).split(example.X))
    assert (result.training_rows, result.test_rows) == (len(train), len(test))
    X, y = example.X[train], example.y[train]
    plain = LinearRegression().fit(X, y)
    losses = -cross_val_score(plain, X, y, cv=gm.selection.KFold(5), scoring="neg_mean_squared_error")
    first = result.models[0]
    assert first.validation == pytest.approx(np.sqrt(losses.mean()), rel=1e-9)
    assert first.validation_error == pytest.approx(losses.std(ddof=1) / np.sqrt(5) / (2 * first.validation), rel=1e-9)
    errors = example.y[test] - plain.predict(example.X[test])
    assert first.test == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-9)
    for one in result.models[1:]:
        scores = one.model.scores_
        assert one.validation == pytest.approx(np.sqrt(scores.mean[scores.chosen]))
        assert one.alpha == one.model.alpha_
    assert all(one.model.certificate_.holds for one in result.models)
    assert result.best.validation == min(one.validation for one in result.models)


def errors_of(name, validation, error=1.0, nonzero=10, holds=True):
    model = SimpleNamespace(certificate_=SimpleNamespace(holds=holds, value=0.0))
    return ModelErrors(name, model, None, nonzero, 10, validation, error, 50.0, 0.1)


def test_verdict_names_models_within_one_standard_error():
    alone = Result([errors_of("A", 10.0), errors_of("B", 12.0)], "y", 3, 1)
    assert verdict(alone) == "A has the smallest cross-validated error (10.0 ± 1.0), by more than one standard error."
    two = Result([errors_of("A", 10.0), errors_of("B", 10.9, nonzero=2), errors_of("C", 12.0)], "y", 3, 1)
    assert verdict(two).endswith("are not clear: B is as good, and B needs only 2 of 10 features.")
    three = Result([errors_of("A", 10.0), errors_of("B", 10.9), errors_of("C", 10.5)], "y", 3, 1)
    assert verdict(three).endswith("are not clear: B and C are as good.")


@pytest.mark.parametrize("width", [20, 40, 60, 78, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_any_width_and_alphabet(result, width, encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show(result, Console(file=stream, width=width))
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "?" not in text
    assert ("✓" if encoding == "utf-8" else "ok") in text
    if width >= 40:
        for one in result.models:
            assert f"{one.validation:.1f}" in text
            assert one.name in text


def test_a_broken_certificate_shows():
    stream = io.StringIO()
    show(Result([errors_of("A", 10.0, holds=False)], "y", 3, 1), Console(file=stream, width=100))
    assert "✗ 0" in stream.getvalue()


def test_learn_in_a_real_process(tmp_path):
    done = run("learn", "--out", "deep/er", cwd=tmp_path, env={"NO_COLOR": "1", "COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert re.search(r"^Lasso \(one_se\) +[\d.]+ +\d of 10 +[\d.]+ ± [\d.]+ +[\d.]+ +✓ \S+ +[\d.]+$", done.stdout, re.M)
    assert "differences within one standard error are not clear" in " ".join(done.stdout.split())
    assert str(Path("deep/er/lasso.png")) in done.stdout
    folder = tmp_path / "deep" / "er"
    assert sorted(path.name for path in folder.iterdir()) == ["lasso.html", "lasso.png"]
    assert (folder / "lasso.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "lasso.html").read_text(encoding="utf-8")
    assert "vegaEmbed" in page
    assert not re.search(r"<(script|link)[^>]*\b(src|href)=", page)


def test_learn_on_a_narrow_terminal(tmp_path, quick_charts):
    done = CliRunner().invoke(cli.app, ["learn", "--out", str(tmp_path)], env={"COLUMNS": "40"})
    assert done.exit_code == 0
    lines = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 40
    assert str(tmp_path / "lasso.html") in done.stdout  # in one piece, to be copied


def test_progress_is_shown_to_a_terminal_only(tmp_path, quick_charts, monkeypatch):
    from gramian.app import learn as module

    monkeypatch.setattr(module, "warm_up", lambda: time.sleep(0.5))
    told = CliRunner().invoke(cli.app, ["learn", "--out", str(tmp_path)], env={"FORCE_COLOR": "1"})
    assert "Compiling on the first run, about 10 s" in told.stderr
    quiet = CliRunner().invoke(cli.app, ["learn", "--out", str(tmp_path)])
    assert quiet.stderr == ""


def test_version_and_help():
    assert CliRunner().invoke(cli.app, ["--version"]).stdout == f"gramian {gm.__version__}\n"
    done = CliRunner().invoke(cli.app, ["learn", "--help"])
    assert done.exit_code == 0
    assert "--out" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn", "--nope"], "--nope"),
        (["fly"], "fly"),
        (["learn", "here"], "here"),
        (["learn", "--out"], "--out"),
    ],
)
def test_bad_usage(capsys, arguments, words):
    assert leave(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(rf"gramian: [^\n]*{words}[^\n]*\. See gramian --help\.\n", said.err)


def test_no_command_is_bad_usage_with_help(capsys):
    assert leave() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "learn" in said.err


def test_success_leaves_with_zero(capsys):
    assert leave("--version") == 0
    assert capsys.readouterr().out.startswith("gramian ")


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("in the way")
    for out in (file, file / "below"):
        assert leave("learn", "--out", str(out)) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert f"Cannot write to {out}" in said
        assert "--out" in said
    for arguments in (["--debug", "learn"], ["learn", "--debug"]):
        with pytest.raises(cli.UserError):
            cli.main([*arguments, "--out", str(file)])


def test_a_chart_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(charts, "save_png", full)
    assert leave("learn", "--out", str(tmp_path)) == 1
    assert f"Cannot write to {tmp_path}: No space left on device." in capsys.readouterr().err


def test_failures_are_one_line(tmp_path, capsys, monkeypatch):
    from gramian.app import learn as module

    def broken(_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(module, "learn", broken)
    assert leave("learn", "--out", str(tmp_path)) == 1
    assert capsys.readouterr().err == "gramian: two lines (--debug shows where)\n"
    with pytest.raises(RuntimeError, match="two"):
        cli.main(["--debug", "learn", "--out", str(tmp_path)])

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "learn", interrupted)
    assert leave("learn", "--out", str(tmp_path)) == 130
    assert capsys.readouterr().err.strip() == "gramian: interrupted"


def test_a_closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gramian", "--version"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""


def test_without_typer():
    code = "import sys; sys.modules['typer'] = None; import gramian.app.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.strip() == f"gramian: {cli.INSTALL}"

"""Code in the README, the guide and the examples runs, and prints what it says it prints."""

import doctest
import re
import runpy
import sys
from pathlib import Path

import pytest

from gramian.charts.registry import chart_modules

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/guide.md",
        "docs/classification.md",
        "docs/clustering.md",
        "docs/embedding.md",
        "docs/graphs_and_trees.md",
        "docs/kernels.md",
        "docs/reduction.md",
    ],
)
def test_code_of_a_page(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    charts = chart_modules()
    before = dict(charts)
    request.addfinalizer(lambda: (charts.clear(), charts.update(before)))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {"__name__": "page"}
    for block in blocks:
        if ">>>" not in block:
            exec(compile(block, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
        report = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
        names = test.globs


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_example(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert capsys.readouterr().out


def test_pictures_are_there(tmp_path):
    make = runpy.run_path(str(ROOT / "docs" / "make_pictures.py"))
    make["main"](tmp_path)
    for page in ("README.md", "docs/architecture.md", "docs/guide.md", "docs/clustering.md", "docs/reduction.md"):
        for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert ((ROOT / page).parent / picture).exists()
            assert (tmp_path / Path(picture).name).exists()


def test_links_and_tests_exist():
    for page in (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/guide.md",
        "docs/glossary.md",
        "docs/classification.md",
        "docs/clustering.md",
        "docs/coverage.md",
        "docs/embedding.md",
        "docs/graphs_and_trees.md",
        "docs/reduction.md",
    ):
        text = (ROOT / page).read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert link.startswith("https://") or ((ROOT / page).parent / link).exists(), (page, link)
        for name in re.findall(r"`(tests/[\w/]+\.py)`", text):
            assert (ROOT / name).exists(), (page, name)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_of_the_source_that_are_named_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("[!.]*/**/*.py")}
    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert any(f"/{path}".endswith(f"/{name}") for path in files), (page, name)
    for folder in re.findall(r"`([\w/]+/)`", text):
        assert any(f"/{folder}" in f"/{path}" for path in files), (page, folder)


def test_a_fit_can_be_traced(capsys):
    runpy.run_path(str(ROOT / "docs" / "trace_fit.py"))["main"](["ridge", "--calls"])
    counts, *calls = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"ridge: \d+ files, \d+ functions, depth \d+", counts)
    assert any("models/linear/ridge.py Ridge.fit" in call for call in calls)

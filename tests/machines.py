"""The tests on other machines: BLAS kernels, a generic CPU, numbers of threads, oldest and newest dependencies.

    python tests/machines.py [cell ...] [-- pytest arguments]

One table of passed and failed for each cell; the exit code is 1 where any failed. Without cells all are run, one by
one; `haswell+threads-1` is a machine that has both, so that a few runs of the suite visit every cell.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ("Haswell", "Zen", "SkylakeX", "Nehalem")
CELLS = {
    **{kernel.lower(): {"OPENBLAS_CORETYPE": kernel} for kernel in KERNELS},
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    **{f"threads-{count}": {"GRAMIAN_THREADS": str(count)} for count in (1, 2, 4)},
    "oldest": {},
    "newest": {},
}
TOOLS = ("ruff", "mypy", "import-linter")  # they run no code of the package


def oldest(requirement: str) -> str:
    """`name>=1.2,<2` as `name==1.2.*`: the last patch of the oldest minor version that is allowed."""
    name, bound = re.match(r"([\w.\[\]-]+)\s*>=\s*([\d.]+)", requirement).groups()
    return f"{name}=={bound}" if bound.count(".") >= 2 else f"{name}=={bound}.*"


def requirements() -> list[str]:
    """What the package and its tests need, without tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *extras["app"], *extras["test"]]
    return [line for line in listed if not line.startswith(("gramian", *TOOLS))]


def environment(kind: str) -> Path:
    """A virtual environment with the oldest or newest dependencies, made where it is not there yet."""
    home = ROOT / f".venv-{kind}"
    python = home / "bin" / "python"
    if not (home / ".made").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        wanted = [oldest(line) for line in requirements()] if kind == "oldest" else requirements()
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", *wanted], check=True)
        (home / ".made").touch()
    return python


def run(cells: list[str], arguments: list[str]) -> tuple[int, int, list[str]]:
    """Passed, failed, and the names of what failed, on a machine that is all of these cells."""
    python = next((environment(cell) for cell in cells if cell in ("oldest", "newest")), Path(sys.executable))
    with tempfile.TemporaryDirectory() as cache:
        variables = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}/tests"}
        for cell in cells:
            variables |= CELLS[cell]
        if not {"generic", "oldest", "newest"}.isdisjoint(cells):  # whose compiled code is not that of this machine
            variables["NUMBA_CACHE_DIR"] = cache
        command = [python, "-m", "pytest", "-q", "-n", "2", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    counts = {
        word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", lines[-1] if lines else "")
    }
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if done.returncode and not failed:
        failed = 1
    named = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return counts.get("passed", 0), failed, (named or lines)[-30:] + done.stderr.splitlines()[-10:] if failed else []


def main() -> int:
    given = sys.argv[1:]
    cut = given.index("--") if "--" in given else len(given)
    cells, arguments = given[:cut] or list(CELLS), given[cut + 1 :]
    unknown = [cell for joined in cells for cell in joined.split("+") if cell not in CELLS]
    if unknown:
        print(f"No cell {unknown[0]!r}; there are {', '.join(CELLS)}.")
        return 2
    table = []
    for cell in cells:
        passed, failed, lines = run(cell.split("+"), arguments)
        table.append(f"{cell:24} {passed:7} {failed:7}")
        print("\n".join([table[-1], *lines]), flush=True)
    print("\n".join(["", f"{'cell':24} {'passed':>7} {'failed':>7}", *table]))
    return int(any(int(line.split()[2]) for line in table))


if __name__ == "__main__":
    sys.exit(main())

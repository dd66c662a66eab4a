"""What the figures were measured on."""

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

PACKAGES = (
    "gramian",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "celer",
    "skglm",
    "mlxtend",
    "statsmodels",
)


def facts() -> dict[str, object]:
    """The processor, its cores, memory, versions, and the commit."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": CORES,
        "memory": _field("/proc/meminfo", "MemTotal"),
        "python": platform.python_version(),
        "blas": _blas(),
        "commit": _commit(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def sentence(machine: dict[str, object]) -> str:
    """The facts in one line."""
    versions = machine["versions"]
    assert isinstance(versions, dict)
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"{machine['when']}; {machine['cpu']}, {machine['cores']} cores, {machine['memory']}, "
        f"Python {machine['python']}, {machine['blas']}; {listed}; "
        f"commit {machine['commit'] or 'none'}"
    )


def busy(seconds: float = 0.5) -> float:
    """Share of all processor time in use during the next moment, by whoever; 0 where there is no /proc."""
    before = _ticks()
    time.sleep(seconds)
    used, total = (after - then for after, then in zip(_ticks(), before, strict=True))
    return used / total if total else 0.0


def _ticks() -> tuple[int, int]:
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0, 0
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # all but idle and waiting for the disk


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> str:
    import numpy  # noqa: F401  loads the BLAS that is asked about
    from threadpoolctl import threadpool_info

    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip() for pool in found
    )


def _commit() -> str:
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else ""

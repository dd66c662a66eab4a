"""Trace what a fit calls inside the package: python docs/trace_fit.py [ridge logistic svc kmeans chart] [--calls].

Prints the files and functions of src/gramian that one call enters, and the depth of its stack; with --calls every
function at its first call, indented by depth. Each call is run once before, so that nothing is imported or compiled
in the one that is traced. Comprehensions and lambdas are not counted.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import gramian as gm

ROOT = Path(gm.__file__).parent


class Trace(NamedTuple):
    """Functions of the package in the order of their first calls: (depth, file, name); and the depth of the stack."""

    calls: list[tuple[int, str, str]]
    depth: int

    @property
    def files(self) -> list[str]:
        """Files in the order in which they are entered."""
        return list(dict.fromkeys(file for _, file, _ in self.calls))


def trace(call: Callable[[], Any]) -> Trace:
    """What `call` enters, on one thread."""
    first: dict[tuple[str, str], int] = {}
    depth = deepest = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(ROOT)) or code.co_name[0] == "<":
            return
        if event == "return":
            depth -= 1
            return
        depth += 1
        deepest = max(deepest, depth)
        first.setdefault((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname), depth)

    with gm.threads(1):
        call()
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
    return Trace([(depth, file, name) for (file, name), depth in first.items() if name != "threads"], deepest)


def main(arguments: list[str]) -> None:
    numbers, classes, flowers = (load(return_X_y=True) for load in (load_diabetes, load_breast_cancer, load_iris))
    ridge = gm.Ridge().fit(*numbers)
    calls = {
        "ridge": lambda: gm.Ridge().fit(*numbers),
        "logistic": lambda: gm.LogisticRegression().fit(*classes),
        "svc": lambda: gm.SVC(kernel="rbf").fit(*flowers),
        "kmeans": lambda: gm.KMeans(8, random_state=0).fit(flowers[0]),
        "chart": ridge.chart,
    }
    names = [name for name in arguments if name in calls] or list(calls)
    for name in names:
        found = trace(calls[name])
        print(f"{name}: {len(found.files)} files, {len(found.calls)} functions, depth {found.depth}")
        if "--calls" in arguments:
            print("\n".join(f"{'  ' * depth}{file} {function}" for depth, file, function in found.calls))


if __name__ == "__main__":
    main(sys.argv[1:])

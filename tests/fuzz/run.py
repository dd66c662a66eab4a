"""`python -m fuzz.run [cases] [seed] [family …]`: counts by family, and every counter-example with its seed."""

import importlib
import pkgutil
import sys
import time
import traceback
import warnings
from collections import Counter

from fuzz import families
from fuzz.verdict import Verdict


def registry():
    found = {}
    for module in pkgutil.iter_modules(families.__path__):
        family = importlib.import_module(f"fuzz.families.{module.name}")
        found |= getattr(family, "FAMILIES", None) or {module.name: one_case(family.case)}
    return found


def one_case(case):
    """A family of a function that gives None, or what is false."""

    def family(seed):
        false = case(seed)
        return Verdict("right" if false is None else "wrong", false or "")

    return family


def judged(family, seed):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return family(seed)
    except Exception:
        return Verdict("wrong", traceback.format_exc(limit=-2).replace("\n", " | "))


def main(arguments):
    cases = int(arguments[0]) if arguments else 2000
    first = int(arguments[1]) if len(arguments) > 1 else 0
    chosen = {name: family for name, family in registry().items() if not arguments[2:] or name in arguments[2:]}
    wrong = 0
    for name, family in chosen.items():
        counts, started = Counter(), time.time()
        for seed in range(first, first + -(-cases // len(chosen))):
            began = time.time()
            verdict = judged(family, seed)
            counts[verdict.outcome] += 1
            if time.time() - began > 20:
                counts["over 20 s"] += 1
                print(f"{name} seed {seed}: slow, {time.time() - began:.0f} s: {verdict.text}", flush=True)
            if verdict.outcome == "wrong":
                wrong += 1
                print(f"{name} seed {seed}: {verdict.text}", flush=True)
        counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
        print(f"{name}: {sum(counts.values())} cases, {counted}; {time.time() - started:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

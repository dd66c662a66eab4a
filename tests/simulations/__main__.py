"""Print every simulation beside what it must hold, and exit with 1 where one does not."""

import argparse
import sys

from simulations import coverage, spectra

SIMULATIONS = {"coverage": coverage.results, "spectra": spectra.results}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SIMULATIONS, []], help="which; all by default")
    parser.add_argument("--repetitions", type=int, default=2000)
    given = parser.parse_args()
    failed = 0
    for name in given.names or SIMULATIONS:
        print(f"\n{name}: {given.repetitions} repetitions")
        for result in SIMULATIONS[name](given.repetitions):
            print(result, flush=True)
            failed += not result.holds
    print(f"\n{failed} of the statements above do not hold." if failed else "\nAll of the statements above hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

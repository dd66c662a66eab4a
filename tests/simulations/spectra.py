"""How often `spectrum_test` finds something in independent columns, and how often a direction that is there."""

from collections.abc import Iterator

import numpy as np

import gramian as gm
from simulations.result import Result

COLUMNS = {
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "exponential": lambda rng, n, d: rng.standard_exponential((n, d)),
    "t4": lambda rng, n, d: rng.standard_t(4, (n, d)),
    "rare binary": lambda rng, n, d: (rng.random((n, d)) < 0.03).astype(float),
    "unequal variances": lambda rng, n, d: rng.standard_normal((n, d)) * np.linspace(0.3, 3.0, d),
}
HEAVY = {  # without variances, or with few rows that are not zero: the level holds where columns are permuted
    "Cauchy": lambda rng, n, d: rng.standard_cauchy((n, d)),
    "Pareto": lambda rng, n, d: rng.pareto(0.8, (n, d)),
}
SIZES = ((100, 20), (40, 60), (6000, 40))  # the last has more cells than are permuted


def results(repetitions: int) -> Iterator[Result]:
    """Level of independent columns (at most 5 %), and power for one direction of all columns (at least 90 %); how often
    there is more than two directions beside noise of every kind (at most 15 %: the level, and what is estimated).

    Every repetition compares with other tables: one seed for all would give the level of that seed alone.
    """
    for n, d in SIZES:
        some = repetitions if n * d <= 10_000 else repetitions // 5
        for name, draw in COLUMNS.items():
            rng = np.random.default_rng([n, d, len(name)])
            level = power = 0
            for seed in range(some):
                X = draw(rng, n, d)
                level += gm.spectrum_test(X, scrambles=0, random_state=seed).significant > 0
                spike = np.outer(rng.standard_normal(n), X.std(axis=0).max() * 4.0 / np.sqrt(d) * np.ones(d))
                power += gm.spectrum_test(X + spike, scrambles=0, random_state=seed).significant > 0
            yield Result(f"level, {name}, n={n}, d={d}", level / some, some, at_most=0.05)
            yield Result(f"power, {name}, n={n}, d={d}", power / some, some, at_least=0.9)

    for n, d in SIZES[:2]:
        for name, draw in HEAVY.items():
            rng = np.random.default_rng([n, d, len(name), 3])
            level = sum(
                gm.spectrum_test(draw(rng, n, d), scrambles=0, random_state=seed).significant > 0
                for seed in range(repetitions)
            )
            yield Result(f"level, {name}, n={n}, d={d}", level / repetitions, repetitions, at_most=0.05)

    for n, d in SIZES[:2]:
        some = repetitions // 5
        for name, draw in COLUMNS.items():
            rng = np.random.default_rng([n, d, len(name), 2])
            more = fewer = 0
            for seed in range(some):
                X = draw(rng, n, d)
                axes = np.linalg.qr(rng.standard_normal((d, 2)))[0]
                common = 2.0 * X.std() * np.sqrt(d) * rng.standard_normal((n, 2)) @ axes.T
                count = gm.spectrum_test(X + common, scrambles=0, random_state=seed).significant
                more, fewer = more + (count > 2), fewer + (count < 2)
            yield Result(f"beyond two directions, {name}, n={n}, d={d}", more / some, some, at_most=0.15)
            yield Result(f"both of two directions, {name}, n={n}, d={d}", 1.0 - fewer / some, some, at_least=0.9)

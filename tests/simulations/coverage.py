"""How often the 95 % intervals of `summary()` contain the coefficients that made the data."""

import warnings
from collections.abc import Iterator

import numpy as np

import gramian as gm
from simulations.result import Result

TARGETS = {(30, 5): 0.92, (12, 3): 0.88}  # (rows, columns): least coverage of robust regression
MODELS = {
    "Huber": lambda: gm.Regressor(gm.losses.Huber(), None, 0.0),
    "StudentT": lambda: gm.Regressor(gm.losses.StudentT(), None, 0.0),
    "LinearRegression": gm.LinearRegression,
    "Ridge, alpha chosen (its bias is not in the interval)": gm.Ridge,
}


def results(repetitions: int) -> Iterator[Result]:
    """Coverage of every model at every size, with normal noise and Student's t of 3 degrees of freedom."""
    for name, make in MODELS.items():
        for (n, d), least in TARGETS.items():
            for noise in ("normal", "t3"):
                asked = 0.0 if name.startswith("Ridge") else least
                share = coverage(make, n, d, noise, repetitions)
                yield Result(f"{name}, n={n}, d={d}, {noise} noise", share, repetitions, at_least=asked)


def coverage(make: object, n: int, d: int, noise: str, repetitions: int) -> float:
    rng = np.random.default_rng([n, d, noise == "normal"])
    hits = 0
    for _ in range(repetitions):
        X = rng.standard_normal((n, d))
        e = rng.standard_normal(n) if noise == "normal" else rng.standard_t(3, n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            table = make().fit(X, X.sum(axis=1) + e).summary().coefficients
        hits += int(((table["low"][1:] <= 1.0) & (table["high"][1:] >= 1.0)).sum())
    return hits / (repetitions * d)

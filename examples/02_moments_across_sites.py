"""Sites that may not share rows share sums: the fit is the one of all rows together."""

import tempfile
from pathlib import Path

import numpy as np

import gramian as gm

rng = np.random.default_rng(0)
truth = np.array([2.0, -0.5, 0.1])


def rows_of_a_site(n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(shift, 1.0, (n, len(truth)))
    return X, 3.0 + X @ truth + rng.normal(0.0, 0.5, n)


sites = [rows_of_a_site(n, shift) for n, shift in ((5_000, 0.0), (800, 2.0), (20_000, -1.0))]

with tempfile.TemporaryDirectory() as folder:
    for number, (X, y) in enumerate(sites):  # at each site: one pass, one small file
        gm.moments(X, y).save(Path(folder) / f"site{number}.moments")
    files = sorted(Path(folder).glob("*.moments"))
    total = sum((gm.Moments.load(file) for file in files[1:]), gm.Moments.load(files[0]))
    print(f"{len(files)} files of {files[0].stat().st_size} bytes for {total.n} rows")

together = gm.LinearRegression().fit(total)
everything = gm.LinearRegression().fit(np.vstack([X for X, _ in sites]), np.concatenate([y for _, y in sites]))
print(together.summary())
print("largest difference from a fit of all rows:", np.abs(together.coef_ - everything.coef_).max())

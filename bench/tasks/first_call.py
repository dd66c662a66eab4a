"""The first call: a fresh Python that imports the library and fits least squares on 100 × 5.

Seconds of the whole process. gramian and sklearn: with what earlier processes left on disk; gramian_cold: with an
empty Numba cache; …_import: the import alone. LIMIT is a Python that imports NumPy.
"""

import os
import subprocess
import sys
import tempfile

DATA = "import numpy as np; r = np.random.default_rng(0); X, y = r.normal(size=(100, 5)), r.normal(size=100);"


def data(scale):
    return {}


def python(code, **environment):
    asked = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise RuntimeError((asked.stderr.strip().splitlines() or ["no message"])[-1])


def gramian(data):
    python(f"import gramian as gm; {DATA} gm.LinearRegression().fit(X, y)")


def gramian_cold(data):
    with tempfile.TemporaryDirectory() as folder:
        python(f"import gramian as gm; {DATA} gm.LinearRegression().fit(X, y)", NUMBA_CACHE_DIR=folder)


def gramian_import(data):
    python("import gramian")


def sklearn(data):
    python(f"from sklearn.linear_model import LinearRegression; {DATA} LinearRegression().fit(X, y)")


def sklearn_import(data):
    python("import sklearn.linear_model")


def limit(data):
    python("import numpy")


def quality(data, result):
    return {}


peers = {
    "gramian": gramian,
    "gramian_cold": gramian_cold,
    "gramian_import": gramian_import,
    "sklearn": sklearn,
    "sklearn_import": sklearn_import,
    "LIMIT": limit,
}
targets = []
ceilings = {"gramian": 1.5, "gramian_cold": 15, "gramian_import": 0.5}
shows_memory = False

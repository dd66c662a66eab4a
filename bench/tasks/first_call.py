"""The first call: a fresh Python that imports the library and fits least squares on 100 × 5.

Seconds of the whole process. gramian and sklearn: with what earlier processes left on disk; gramian_cold and the rows
named for an estimator: with an empty Numba cache, these on a table of 150 × 4 in three groups (as iris) and with
defaults; …_import: the import alone. LIMIT is a Python that imports NumPy.
"""

import os
import subprocess
import sys
import tempfile

DATA = "import numpy as np; r = np.random.default_rng(0); X, y = r.normal(size=(100, 5)), r.normal(size=100);"
GROUPS = (
    "import numpy as np; r = np.random.default_rng(0); y = np.repeat([0, 1, 2], 50);"
    "X = r.normal(size=(150, 4)) + 2.0 * y[:, None];"
)
MODELS = {  # those that took longest, and those that still compile
    "agglomerative": "Agglomerative()",
    "best_subset": "selection.BestSubset()",
    "divisive": "Divisive()",
    "gmm": "GaussianMixture(3)",
    "kcircles": "KCircles()",
    "kellipses": "KEllipses()",
    "kmeans": "KMeans(3)",
    "lasso": "Lasso()",
    "one_class": "OneClassSVM()",
    "perceptron": "Perceptron()",
    "ridge_rbf": "Ridge(kernel='rbf')",
    "spectral": "SpectralClustering(3)",
    "svc": "SVC()",
    "svc_rbf": "SVC(kernel='rbf')",
    "svr": "SVR()",
    "tsne": "TSNE()",
}


def data(scale):
    return {}


def python(code, **environment):
    asked = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise RuntimeError((asked.stderr.strip().splitlines() or ["no message"])[-1])


def cold(code):
    with tempfile.TemporaryDirectory() as folder:
        python(code, NUMBA_CACHE_DIR=folder)


def gramian(data):
    python(f"import gramian as gm; {DATA} gm.LinearRegression().fit(X, y)")


def gramian_cold(data):
    cold(f"import gramian as gm; {DATA} gm.LinearRegression().fit(X, y)")


def gramian_import(data):
    python("import gramian")


def of_model(model):
    def peer(data):
        cold(f"import gramian as gm, gramian.selection; {GROUPS} gm.{model}.fit(X, y)")

    return peer


def sklearn(data):
    python(f"from sklearn.linear_model import LinearRegression; {DATA} LinearRegression().fit(X, y)")


def sklearn_import(data):
    python("import sklearn.linear_model")


def limit(data):
    python("import numpy")


def quality(data, result):
    return {}


models = {f"gramian_{name}": of_model(model) for name, model in MODELS.items()}
peers = {
    "gramian": gramian,
    "gramian_cold": gramian_cold,
    "gramian_import": gramian_import,
    **models,
    "sklearn": sklearn,
    "sklearn_import": sklearn_import,
    "LIMIT": limit,
}
targets = []
ceilings = {"gramian": 1.5, "gramian_cold": 1.5, "gramian_import": 0.5} | dict.fromkeys(models, 1.5)
shows_memory = False

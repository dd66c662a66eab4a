"""Every public member of a kind, found by walking the package: what is added later is checked on arrival."""

import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import gramian

SHORT = (gramian.Classifier, gramian.LogisticRegression, gramian.Regressor, gramian.SVC, gramian.SVR)


def public_modules() -> list[Any]:
    """The package and every room of it that names its public members."""
    found = [gramian]
    for info in pkgutil.walk_packages(gramian.__path__, "gramian."):
        if any(part.startswith("_") for part in info.name.split(".")) or ".app" in info.name:
            continue
        module = importlib.import_module(info.name)
        if hasattr(module, "__all__"):
            found.append(module)
    return found


def public_classes(base: type) -> list[type]:
    """Concrete public classes derived from a base, in order of name."""
    found: dict[str, type] = {}
    for module in public_modules():
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member) and issubclass(member, base) and not inspect.isabstract(member):
                found[member.__qualname__] = member
    return [found[name] for name in sorted(found)]


def estimators() -> list[Any]:
    """One instance of every public estimator; wrappers get an inner estimator."""
    found = []
    for kind in public_classes(BaseEstimator):
        needs = [
            parameter.name
            for parameter in inspect.signature(kind).parameters.values()
            if parameter.default is inspect.Parameter.empty
        ]
        inner = gramian.LogisticRegression(alpha=0.01) if _classifies(kind) else gramian.LinearRegression()
        given: dict[str, Any] = {name: inner for name in needs if name == "estimator"}
        if kind is gramian.TunedThreshold:
            given["cv"] = 3  # one check has a class of three rows
        if issubclass(kind, SHORT):  # still chosen, from fewer: the checks fit hundreds of times
            given |= {"alphas": 4, "cv": 3}
        if (
            kind is gramian.SpectralClustering
        ):  # tables of ten rows have no eigengap; further starts draw rows at random
            given |= {"n_clusters": 3, "n_init": 1}
        if kind is gramian.LLE:  # the checks have tables of ten rows
            given["n_neighbors"] = 5
        if kind is gramian.TSNE:
            given |= {"perplexity": 2, "max_iter": 300}
        if kind in (gramian.KCircles, gramian.KEllipses):  # refits of shapes are dear
            given |= {"n_init": 2, "tol": 1e-4}
        found.append(kind(**given))
    return found


def _classifies(kind: type) -> bool:
    return issubclass(kind, ClassifierMixin)


def members(base: type, variants: dict[str, list[dict[str, Any]]] | None = None) -> list[Any]:
    """Instances of every public class of a base: the default one, and the variants named for it."""
    return [
        kind(**arguments)
        for kind in public_classes(base)
        for arguments in [{}, *(variants or {}).get(kind.__name__, [])]
    ]


def table(seed: int, n: int = 60, d: int = 4, t: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A random regression problem."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t)) + 1.0
    return X, Y[:, 0] if t == 1 else Y

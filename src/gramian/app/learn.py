"""`gramian learn`: fit the linear models on one data set, with a test set that is used once."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score

import gramian as gm
from gramian._core.types import Estimator
from gramian.app.example import Example
from gramian.selection.cv.splits import KFold

TEST_FOLDS = 4  # one fold of these is the test set
FOLDS = 5


@dataclass(frozen=True, eq=False)
class ModelErrors:
    """One fitted model and its errors, as root mean squares in the units of the target."""

    name: str
    model: Any
    alpha: float | None
    nonzero: int
    features: int
    validation: float
    validation_error: float
    test: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Result:
    """All models on the same training and test rows."""

    models: list[ModelErrors]
    target: str
    training_rows: int
    test_rows: int

    @property
    def best(self) -> ModelErrors:
        """The smallest cross-validated error; the test set is not used."""
        return min(self.models, key=lambda one: one.validation)

    @property
    def within_one_se(self) -> list[ModelErrors]:
        """Models other than the best within one standard error of it."""
        limit = self.best.validation + self.best.validation_error
        return [one for one in self.models if one is not self.best and one.validation <= limit]

    def named(self, name: str) -> ModelErrors:
        return next(one for one in self.models if one.name == name)


def family() -> dict[str, Any]:
    """The models by their names in the table."""
    return {
        "LinearRegression": gm.LinearRegression(),
        "Ridge": gm.Ridge(standardize=True),
        "Lasso": gm.Lasso(standardize=True),
        "Lasso (one_se)": gm.Lasso(standardize=True, rule="one_se"),
        "ElasticNet": gm.ElasticNet(standardize=True),
    }


def warm_up() -> None:
    """Compile the functions of the fits, or load them from the cache."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    gm.Lasso().fit(X, X @ np.ones(3))


def learn(data: Example) -> Result:
    """Fit every model of the family on three quarters of the rows and test it on the rest.

    >>> from gramian.app.example import load_example
    >>> result = learn(load_example())
    >>> len(result.models), result.training_rows, result.test_rows
    (5, 331, 111)
    """
    training, test = (data.subset(part) for part in next(KFold(TEST_FOLDS, random_state=1).split(data.X)))
    scale = training.X.std(axis=0)
    training, test = training.scaled(scale), test.scaled(scale)
    models = [_errors(name, model, training, test) for name, model in family().items()]
    return Result(models, data.target, len(training.y), len(test.y))


def _errors(name: str, model: Estimator, training: Example, test: Example) -> ModelErrors:
    start = perf_counter()
    model.fit(training.rows())
    seconds = perf_counter() - start
    if hasattr(model, "scores_"):
        loss, error = float(model.scores_.mean[model.scores_.chosen]), float(model.scores_.se[model.scores_.chosen])
    else:
        losses = -cross_val_score(model, training.X, training.y, cv=KFold(FOLDS), scoring="neg_mean_squared_error")
        loss, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(FOLDS))
    errors = test.y - model.predict(test.rows())
    return ModelErrors(
        name=name,
        model=model,
        alpha=getattr(model, "alpha_", None),
        nonzero=int(np.count_nonzero(model.coef_)),
        features=len(model.coef_),
        validation=float(np.sqrt(loss)),
        validation_error=error / (2.0 * float(np.sqrt(loss))),  # of a root, to first order
        test=float(np.sqrt((errors**2).mean())),
        seconds=seconds,
    )

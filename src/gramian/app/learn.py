"""What `gramian learn` does: fit the linear family on one data set, with a test set that is opened once."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_score

import gramian as gm
from gramian.app.example import Example
from gramian.selection.cv.splits import KFold

Floats = NDArray[np.float64]
TEST_SHARE = 4  # one row in so many is kept for the test
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Outcome:
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

    outcomes: list[Outcome]
    target: str
    training_rows: int
    test_rows: int

    @property
    def best(self) -> Outcome:
        """The smallest cross-validated error; the test set has no say in it."""
        return min(self.outcomes, key=lambda outcome: outcome.validation)

    @property
    def equals(self) -> list[Outcome]:
        """Models other than the best within one standard error of it."""
        limit = self.best.validation + self.best.validation_error
        return [o for o in self.outcomes if o is not self.best and o.validation <= limit]

    def named(self, name: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.name == name)


def family() -> dict[str, Any]:
    """The models by the names that the table gives them."""
    return {
        "LinearRegression": gm.LinearRegression(),
        "Ridge": gm.Ridge(standardize=True),
        "Lasso": gm.Lasso(standardize=True),
        "Lasso (one_se)": gm.Lasso(standardize=True, rule="one_se"),
        "ElasticNet": gm.ElasticNet(standardize=True),
    }


def warm_up() -> None:
    """Compile what the fits will need; quick when that is done already."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    gm.Lasso().fit(X, X @ np.ones(3))


def learn(data: Example) -> Result:
    """Fit every model of the family on three quarters of the rows and test it on the rest.

    >>> from gramian.app.example import load_example
    >>> result = learn(load_example())
    >>> len(result.outcomes), result.training_rows, result.test_rows
    (5, 331, 111)
    """
    training, test = (data.take(part) for part in next(KFold(TEST_SHARE, random_state=1).split(data.X)))
    scale = training.X.std(axis=0)
    training, test = training.scaled(scale), test.scaled(scale)
    outcomes = [_outcome(name, model, training, test) for name, model in family().items()]
    return Result(outcomes, data.target, len(training.y), len(test.y))


def _outcome(name: str, model: Any, training: Example, test: Example) -> Outcome:
    start = perf_counter()
    model.fit(training.rows())
    seconds = perf_counter() - start
    if hasattr(model, "scores_"):
        loss, error = float(model.scores_.mean[model.scores_.chosen]), float(model.scores_.se[model.scores_.chosen])
    else:
        losses = -cross_val_score(model, training.X, training.y, cv=KFold(FOLDS), scoring="neg_mean_squared_error")
        loss, error = float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(FOLDS))
    errors = test.y - model.predict(test.rows())
    return Outcome(
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

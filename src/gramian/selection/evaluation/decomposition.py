"""Where the error of a model comes from: bias, variance and noise."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from gramian._core.fitted.charted import Drawn
from gramian._core.random import seed_from
from gramian._core.types import Array, Estimator, Floats, Matrix, RandomState, Table, Values, Weights
from gramian._core.validation import is_number
from gramian.selection.evaluation.noise import noise_rate, noise_variance
from gramian.selection.evaluation.sample import check_model, read
from gramian.selection.evaluation.training_sets import PARTS, Predictions

LOSSES = ("squared", "zero_one")
FULL = 0.99  # of the error rate of pure chance: what noise may be
ROUNDING = 1e-12  # share of the total below which a part is shown as 0


@dataclass(frozen=True, eq=False)
class RowDecomposition:
    """The decomposition row by row: `loss` = `bias` + `variance` + `noise`, and their means are the totals.

    Single rows are rough: where the noise is known only on average, their bias may be below 0.

    Attributes
    ----------
    prediction : array (n,) or (n, t)
        Mean prediction, or the most frequent one for 0/1 loss.
    loss, bias, variance, noise : array (n,)
    """

    prediction: Array
    loss: Floats
    bias: Floats
    variance: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class BiasVariance(Drawn):
    """Bias, variance and noise of a model; they add up to `total`.

    Attributes
    ----------
    bias : float
        Squared bias, or the error rate of the most frequent prediction.
    variance : float
        Variance of the prediction, or for 0/1 loss the net variance `variance_unbiased` − `variance_biased`.
    noise : float
        What no model could predict: its variance, or for 0/1 loss what it adds to the error rate.
    total : float
        Expected loss of the model: bias + variance + noise.
    noise_rate : float or None
        For 0/1 loss, the share of rows whose class is not the most probable one.
    variance_unbiased, variance_biased : float or None
        For 0/1 loss, the variance where the most frequent prediction is right, where it does harm, and where that is
        wrong, where it does good.
    loss : str
    repeats, rows : int
        Training sets, and rows in each (on average).
    noise_source : str
        Where the noise is known from.
    points : RowDecomposition
    notes : list of str
        What had to be changed for the parts to add up.
    """

    own_charts: ClassVar[tuple[str, ...]] = ("decomposition",)
    model: str
    loss: str
    bias: float
    variance: float
    noise: float
    total: float
    repeats: int
    rows: int
    noise_source: str
    points: RowDecomposition
    noise_rate: float | None = None
    variance_unbiased: float | None = None
    variance_biased: float | None = None
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        squared = self.loss == "squared"
        named = {"bias²" if squared else "bias": self.bias, "variance": self.variance, "noise": self.noise}
        lines = [f"{self.model}: {self.loss} loss over {self.repeats} training sets of {self.rows} rows"]
        for name, value in {**named, "total": self.total}.items():
            value = value if abs(value) > ROUNDING * abs(self.total) else 0.0
            share = f"  {value / self.total:6.1%}" if self.total else ""
            lines.append(f"{name:<8}  {value:>10.4g}{share}")
        if self.variance_unbiased is not None:
            lines.append(f"variance {self.variance_unbiased:.4g} where right − {self.variance_biased:.4g} where wrong")
        return "\n".join([*lines, f"noise from {self.noise_source}", *self.notes])

    __repr__ = __str__


def bias_variance(
    model: Estimator,
    X: Table,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    loss: str = "auto",
    sets: str | Callable[[np.random.Generator], tuple[Table, Values]] = "disjoint",
    repeats: int = 100,
    noise: float | str = "auto",
    truth: Callable[[Matrix], Array] | None = None,
    random_state: RandomState = 0,
) -> BiasVariance:
    """Split the expected loss of a model into bias, variance and noise.

    Squared loss. With f̂ fitted to a random training set, E(y − f̂(x))² = (f(x) − E f̂(x))² + Var f̂(x) + σ², averaged
    over the rows. By default every row is predicted by pairs of models fitted to two training sets that share no row
    with each other and do not hold the row. For such a pair a, b the mean of (f̂_a − f̂_b)²/2 is the variance and that of
    (y − f̂_a)(y − f̂_b) is bias² + noise, both without a bias of their own, and they add up to the loss.

    0/1 loss, after Domingos. y* is the best prediction of a row and m the most frequent one of the model:
    P(f̂ ≠ y) = c₁ N + B + c₂ V with noise N = P(y ≠ y*), bias B = [m ≠ y*] and variance V = P(f̂ ≠ m), where c₂ is 1 if
    m = y* and −P(f̂ = y* | f̂ ≠ m) otherwise (−1 for two classes): a model that is wrong by bias gains from variance.
    `noise` is c₁ N and `variance` is c₂ V. Unless `truth` gives y*, the noise rate N = p is taken to be the same
    everywhere and to hit all other classes alike, so that an error rate e against y follows from one against y* and
    back: e* = (e − p) / (1 − p k/(k − 1)).

    Parameters
    ----------
    model : estimator
    X, y, sample_weight
        Data, or `Rows` with their target. Weights count in the fits and in the means; a row is never torn apart.
    loss : "auto", "squared" or "zero_one"
        "auto" is squared for regressors and zero_one for classifiers.
    sets : "disjoint", "bootstrap" or function
        The training sets. "disjoint": two fifths of the rows each, in pairs without a common row, tested on the last
        fifth, so what is measured is a model of 0.4 n rows. "bootstrap": n rows drawn with replacement, tested on those
        left out; models that share rows are alike, so a part of the variance is counted as bias. A function draws a
        new training set (X, y) from a generator, for simulations; it is tested on the rows of X. Classes keep their
        shares.
    repeats : int
        Training sets, that is fits. Disjoint ones come in tens.
    noise : "auto" or float
        σ², or the noise rate p; "auto" estimates it from rows that are alike (`gramian.selection.evaluation.noise`).
    truth : function, optional
        f(x), or the best class, of the rows of a table; then noise and bias are known row by row.
    random_state : int, Generator or RandomState

    Returns
    -------
    BiasVariance
        `.bias`, `.variance`, `.noise`, `.total`, `.points`; `print` shows a table.

    Notes
    -----
    Cost: `repeats` fits. Noise that is estimated can exceed what is left of the loss; it is then lowered to that, the
    bias is 0, and `notes` say so. With truth, `total` is bias + variance + noise, the loss expected of new observations
    in the same rows.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> x = generator.uniform(-1, 1, (300, 1))
    >>> y = np.sin(3 * x[:, 0]) + 0.1 * generator.standard_normal(300)
    >>> line = gm.selection.bias_variance(gm.LinearRegression(), x, y)
    >>> line.bias > 10 * line.variance, round(float(line.noise), 2)
    (True, 0.01)
    """
    classifier = check_model(model)
    if loss == "auto":
        loss = "zero_one" if classifier else "squared"
    if loss not in LOSSES:
        raise ValueError(f'loss is {loss!r}; it must be "auto", "squared" or "zero_one".')
    if classifier != (loss == "zero_one"):
        kind, other = ("a classifier", "zero_one") if classifier else ("not a classifier", "squared")
        raise ValueError(f"loss is {loss!r} and {type(model).__name__} is {kind}: use loss={other!r}.")
    if not isinstance(repeats, int | np.integer) or repeats < 2:
        raise ValueError(f"repeats is {repeats!r}; it must be a whole number of at least 2.")
    if not (callable(sets) or sets in ("disjoint", "bootstrap")):
        raise ValueError(f'sets is {sets!r}; it must be "disjoint", "bootstrap" or a function that draws (X, y).')
    amount = _amount(noise)
    if truth is not None and noise != "auto":
        raise ValueError("Give either noise= or truth=: where the truth is known, so is the noise.")
    sample = read(X, y, sample_weight, classifier=classifier)
    seed = seed_from(random_state, default=None)
    predictions = Predictions(model, sample, seed)
    if callable(sets):
        predictions.drawn(sets, int(repeats))
    elif sets == "disjoint":
        predictions.disjoint(-(-int(repeats) // (2 * PARTS)))
    else:
        predictions.bootstrap(int(repeats))
    return (_zero_one if classifier else _squared)(predictions, amount, truth)


def _amount(noise: float | str) -> float | None:
    if isinstance(noise, str) and noise == "auto":
        return None
    if not is_number(noise) or not 0.0 <= float(noise) < np.inf:
        raise ValueError(f'noise is {noise!r}; it must be "auto" or a number of at least 0.')
    return float(noise)


def _squared(predictions: Predictions, amount: float | None, truth: Callable[[Matrix], Array] | None) -> BiasVariance:
    sample = predictions.sample
    y = np.asarray(sample.y, dtype=np.float64).reshape(sample.n, -1)
    values = predictions.values.reshape(*predictions.there.shape, -1)
    there = predictions.there[..., None]
    count = there.sum(axis=1)
    mean = np.where(there, values, 0.0).sum(axis=1) / count
    deviations = np.where(there, values - mean[:, None], 0.0)
    variance = (deviations**2).sum(axis=1) / (count - 1)
    # The mean of J models has a variance of its own, 1/J of theirs, that is no bias.
    target = y if truth is None else predictions.truth(truth).reshape(y.shape)
    rest = ((target - mean) ** 2 - variance / count).mean(axis=(0, 2))
    spread = variance.mean(axis=(0, 2))
    prediction = mean.mean(axis=0).reshape(sample.y.shape)
    w, notes = sample.weight, []
    limit = float(np.average(rest, weights=w))
    if limit < 0:
        notes.append("The variance measured exceeded the loss; it was lowered to that. More repeats would help.")
        spread, rest = spread + limit, rest - limit
        limit = 0.0
    if truth is not None:
        noise = ((y - target) ** 2).mean(axis=1)
        parts = {"bias": rest, "variance": spread, "noise": noise}
        return _finished(predictions, parts, limit, prediction, "squared", "the truth given", notes=notes)
    value, source = (amount, "the number given") if amount is not None else noise_variance(sample)
    if value > limit:
        notes.append(f"The noise was lowered from {value:.5g} to {limit:.5g}: all of the loss that is not variance.")
        value = limit
    parts = {"bias": rest - value, "variance": spread, "noise": np.full(sample.n, value)}
    return _finished(predictions, parts, limit - value, prediction, "squared", source, notes=notes)


def _zero_one(predictions: Predictions, amount: float | None, truth: Callable[[Matrix], Array] | None) -> BiasVariance:
    sample = predictions.sample
    classes, w = sample.classes, sample.weight
    assert classes is not None
    values = predictions.values.reshape(-1, sample.n)
    there = predictions.there.reshape(-1, sample.n)
    counts = np.stack([((values == code) & there).sum(axis=0) for code in range(len(classes))], axis=1)
    votes = counts / there.sum(axis=0)[:, None]
    rows = np.arange(sample.n)
    main = votes.argmax(axis=1)
    spread = 1.0 - votes[rows, main]
    seen = np.searchsorted(classes, sample.y)
    loss = 1.0 - votes[rows, seen]
    k = max(len(classes), 2)
    notes: list[str] = []
    if truth is not None:
        best = predictions.truth(truth).astype(np.int64)
        wrong = 1.0 - votes[rows, best]
        bias = (main != best).astype(np.float64)
        mean_bias = float(np.average(bias, weights=w))
        unbiased = spread * (main == best)
        rate, source = float(np.average(seen != best, weights=w)), "the truth given"
    else:
        rate, source = (amount, "the number given") if amount is not None else noise_rate(sample)
        if amount is not None and amount >= (k - 1) / k:
            raise ValueError(
                f"noise is {amount:g}; an error rate of the best of {k} classes is below {(k - 1) / k:.3g}."
            )
        missed = float(np.average(main != seen, weights=w))
        most = min(missed, FULL * (k - 1) / k)
        if rate > most:
            notes.append(f"The noise rate was lowered from {rate:.5g} to {most:.5g}, so that the bias is not below 0.")
            rate = most
        whole = 1.0 - rate * k / (k - 1)
        wrong = (loss - rate) / whole
        bias, mean_bias = ((main != seen) - rate) / whole, (missed - rate) / whole
        unbiased = spread * ((main == seen) - rate / (k - 1)) / whole
    parts = {"bias": bias, "variance": wrong - bias, "noise": loss - wrong}
    harm = float(np.average(unbiased, weights=w))
    good = harm - float(np.average(parts["variance"], weights=w))
    details = {"noise_rate": rate, "variance_unbiased": harm, "variance_biased": good, "notes": notes}
    return _finished(predictions, parts, mean_bias, classes[main], "zero_one", source, **details)


def _finished(
    found: Predictions, parts: dict[str, Floats], bias: float, prediction: Array, loss: str, source: str, **more: Any
) -> BiasVariance:
    """Weighted means of the parts, and the parts for all rows given; `bias` is a difference of means, exact at 0."""
    sample = found.sample
    variance, noise = (float(np.average(parts[name], weights=sample.weight)) for name in ("variance", "noise"))
    every = np.arange(sample.n)
    points = RowDecomposition(
        sample.spread(prediction, every),
        sample.spread(parts["bias"] + parts["variance"] + parts["noise"], every),
        *(sample.spread(parts[name], every) for name in parts),
    )
    rows = round(float(np.mean(found.sizes)))
    name, total = type(found.model).__name__, bias + variance + noise
    return BiasVariance(name, loss, bias, variance, noise, total, len(found.sizes), rows, source, points, **more)

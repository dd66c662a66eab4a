"""Every metric: blocks equal the whole, merging is associative and commutative, weights equal repetition."""

import inspect
import pickle
from functools import reduce
from itertools import product

import numpy as np
import pytest

import gramian as gm
from checks.members import public_classes
from gramian import metrics
from gramian.metrics import METRICS, Statistic

PUBLIC = ["accuracy", "average_precision", "balanced_accuracy", "brier", "calibration", "confusion", "f1", "fpr"]
PUBLIC += ["log_loss", "mae", "matthews", "median_absolute_error", "mse", "pr_curve", "precision", "r2", "recall"]
PUBLIC += ["rmse", "roc_auc", "roc_curve", "zero_one"]


def rows(needs, kind, seed=0, n=120):
    """y and a prediction that is neither perfect nor hopeless."""
    rng = np.random.default_rng(seed)
    if needs == "numbers":
        y = rng.standard_normal((n, 3) if kind == "several" else n) * 2.0 + 100.0
        return y, y + rng.standard_normal(y.shape)
    k = 4 if kind == "several" else 2
    codes = rng.permutation(np.arange(n) % k)
    names = np.array(["ant", "bee", "cat", "dog"])[codes]
    if needs == "labels":
        return names, np.where(rng.random(n) < 0.7, names, rng.choice(np.unique(names), n))
    table = rng.dirichlet(np.ones(k), n) + np.eye(k)[codes] * 0.5
    table = np.round(table / table.sum(axis=1, keepdims=True), 2)  # ties
    table[:, -1] = 1.0 - table[:, :-1].sum(axis=1)
    table = np.clip(table, 0.0, 1.0)
    return names, table if kind == "several" else table[:, 1]


def options(metric, kind):
    """What blocks need to know, whatever classes they happen to hold."""
    names = ["ant", "bee", "cat", "dog"] if kind == "several" else ["ant", "bee"]
    found = {"labels": names} if "labels" in metric.options else {}
    if kind == "several" and metric.name in ("roc_curve", "pr_curve", "calibration"):
        found["positive"] = "cat"
    return found


def numbers(found):
    """All the numbers of an answer, one after another."""
    parts = found if isinstance(found, tuple) else [found]
    return np.concatenate([np.atleast_1d(np.asarray(part, dtype=float)).ravel() for part in parts])


def same(a, b):
    for one, other in ((a.value, b.value), (a.interval(0.9), b.interval(0.9))):
        np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-10, atol=1e-12)


CASES = [(name, kind) for name in METRICS for kind in ("one", "several")]


def test_every_name_of_the_contract_is_there():
    assert sorted(METRICS) == PUBLIC
    assert set(PUBLIC) < set(metrics.__all__)


def test_every_statistic_is_behind_a_metric():
    used = {
        type(metrics.statistic(name, **options(METRICS[name], kind))(*rows(METRICS[name].needs, kind)).statistic)
        for name, kind in CASES
    }
    assert used | {metrics.Measurement} == set(public_classes(Statistic))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented_and_declared(name):
    metric = METRICS[name]
    assert metric.function is getattr(metrics, name)
    assert ">>>" in metric.function.__doc__
    signature = inspect.signature(metric.function).parameters
    assert list(signature)[:2] == ["y", "prediction"]
    assert {"sample_weight", "interval"} <= set(signature)
    assert all(signature[other].kind is inspect.Parameter.KEYWORD_ONLY for other in list(signature)[2:])
    assert metric.needs in ("labels", "scores", "probabilities", "numbers")


def test_levels_are_between_0_and_1():
    for (name, kind), level in product(CASES, (0, 1, 95, -0.5, True, "wide", np.nan)):
        metric = METRICS[name]
        with pytest.raises(ValueError, match=r"between 0 and 1, such as 0\.95"):
            metric(*rows(metric.needs, kind), interval=level, **options(metric, kind))


@pytest.mark.parametrize(("name", "kind"), CASES)
class TestMetric:
    def test_function_and_statistic_agree(self, name, kind):
        metric = METRICS[name]
        y, prediction = rows(metric.needs, kind)
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
        chosen = options(metric, kind)
        for given in (None, weight):
            found = metrics.statistic(name, **chosen)(y, prediction, given)
            np.testing.assert_array_equal(
                numbers(found.value), numbers(metric(y, prediction, sample_weight=given, **chosen))
            )
            np.testing.assert_array_equal(
                numbers(found.interval(0.8)),
                numbers(metric(y, prediction, sample_weight=given, interval=0.8, **chosen)),
            )

    def test_blocks_equal_the_whole(self, name, kind):
        metric = METRICS[name]
        y, prediction = rows(metric.needs, kind, seed=2)
        weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
        for cuts, given in product(([1, 2], [7, 60], [119], [30, 31, 31, 100]), (np.ones(len(y)), weight)):
            build = metrics.statistic(name, **options(metric, kind))
            parts = [build(*part) for part in zip(*(np.split(x, cuts) for x in (y, prediction, given)), strict=True)]
            same(reduce(lambda a, b: a + b, parts), build(y, prediction, given))
            same(sum(parts[::-1]), build(y, prediction, given))

    def test_merging_is_associative_commutative_and_leaves_its_parts(self, name, kind):
        metric = METRICS[name]
        build = metrics.statistic(name, **options(metric, kind))
        a, b, c = (build(*rows(metric.needs, kind, seed=seed, n=20 + 4 * seed)) for seed in range(3))
        before = pickle.dumps(a.statistic)
        same((a + b) + c, a + (b + c))
        same(a + b, b + a)
        assert pickle.dumps(a.statistic) == before

    def test_weights_equal_repetition(self, name, kind):
        metric = METRICS[name]
        y, prediction = rows(metric.needs, kind, seed=4)
        weight = np.random.default_rng(5).integers(0, 4, len(y))
        build = metrics.statistic(name, **options(metric, kind))
        same(build(y, prediction, weight), build(np.repeat(y, weight, axis=0), np.repeat(prediction, weight, axis=0)))

    def test_blocks_without_rows_add_nothing(self, name, kind):
        metric = METRICS[name]
        y, prediction = rows(metric.needs, kind, seed=6)
        for chosen in ({}, options(metric, kind)):
            build = metrics.statistic(name, **chosen)
            nothing = build(y, prediction, np.zeros(len(y)))
            none = build(y[:0], prediction[:0])
            whole = metrics.statistic(name, **options(metric, kind))(y, prediction)
            for empty in (nothing, none):
                with pytest.raises(ValueError, match="no rows of positive weight"):
                    _ = empty.value
                if chosen == options(metric, kind):
                    same(empty + whole, whole)
                    same(whole + empty, whole)

    def test_the_interval_holds_the_value(self, name, kind):
        metric = METRICS[name]
        for seed in range(5):
            y, prediction = rows(metric.needs, kind, seed=seed, n=12)
            found = metric(y, prediction, interval=0.9, **options(metric, kind))
            if name in ("roc_curve", "pr_curve", "calibration"):
                value = {"roc_curve": "tpr", "pr_curve": "precision", "calibration": "observed"}[name]
                low, value, high = found.low, getattr(found, value), found.high
            else:
                value, low, high = found
                assert isinstance(value, float) or name == "confusion"
            assert (np.asarray(low) <= value).all()
            assert (np.asarray(value) <= high).all()
            wide = metric(y, prediction, interval=0.99, **options(metric, kind))
            assert (np.asarray(wide.low) <= low).all()
            assert (np.asarray(wide.high) >= high).all()

    def test_values_and_intervals_are_within_the_declared_range(self, name, kind):
        metric = METRICS[name]
        if metric.greater_is_better is None:
            return
        for seed in range(5):
            found = metric(*rows(metric.needs, kind, seed=seed, n=12), interval=0.99, **options(metric, kind))
            assert metric.range[0] <= found.low <= found.high <= metric.range[1]

    def test_means_over_rows_are_declared(self, name, kind):
        """The mean of the metric over two halves of the weight is the metric of both, for means over rows alone."""
        metric = METRICS[name]
        if metric.greater_is_better is None:
            return
        y, prediction = rows(metric.needs, kind, seed=7)
        chosen = options(metric, kind)
        halves = [metric(y[part], prediction[part], **chosen) for part in (slice(0, 60), slice(60, 120))]
        whole = metric(y, prediction, **chosen)
        assert (abs(np.mean(halves) - whole) < 1e-12) == metric.is_row_mean

    def test_losses_of_rows_are_averaged(self, name, kind):
        metric = METRICS[name]
        if metric.row_losses is None:
            return
        assert metric.is_row_mean
        y, prediction = rows(metric.needs, kind, seed=10)
        shape = (len(y), -1) if metric.needs == "numbers" else (len(y),)
        losses = metric.row_losses(y.reshape(shape), prediction.reshape(shape))
        assert losses.shape == (len(y),)
        mean = metric(y, prediction)
        np.testing.assert_allclose(losses.mean(), 1.0 - mean if metric.greater_is_better else mean, rtol=1e-12)

    def test_counts_of_classes_give_the_metric(self, name, kind):
        metric = METRICS[name]
        if metric.of_counts is None:
            return
        y, prediction = rows(metric.needs, kind, seed=8)
        weight = np.random.default_rng(9).uniform(0.5, 2.0, len(y))
        table = metrics.confusion(y, prediction, sample_weight=weight)
        positive = 1 if kind == "one" else None
        found = metric.of_counts(np.diag(table), table.sum(axis=1), table.sum(axis=0), positive)
        expected = metric(y, prediction, sample_weight=weight, **options(metric, kind))
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_statistics_are_values(self, name, kind):
        metric = METRICS[name]
        build = metrics.statistic(name, **options(metric, kind))
        found = build(*rows(metric.needs, kind))
        same(pickle.loads(pickle.dumps(found)), found)
        assert repr(found.statistic).startswith(f"<{type(found.statistic).__name__}: ")
        with pytest.raises(TypeError):
            found + "rows"
        with pytest.raises(TypeError):
            1 + found

    def test_lengths_weights_and_missing_values_are_refused(self, name, kind):
        metric = METRICS[name]
        y, prediction = rows(metric.needs, kind)
        chosen = options(metric, kind)
        with pytest.raises(ValueError, match=r"y has 120 rows and .* 119"):
            metric(y, prediction[1:], **chosen)
        with pytest.raises(ValueError, match="y has 120 rows and sample_weight 119"):
            metric(y, prediction, sample_weight=np.ones(119), **chosen)
        weight = np.ones(120)
        weight[7] = -1.0
        with pytest.raises(ValueError, match=r"negative at row 7 \(-1\)"):
            metric(y, prediction, sample_weight=weight, **chosen)
        for bad, kind_of_bad in ((np.nan, "NaN"), (np.inf, "infinity")):
            if metric.needs != "labels":
                broken = prediction.copy()
                broken[11] = bad
                with pytest.raises(ValueError, match=f"contains {kind_of_bad}, first at row 11"):
                    metric(y, broken, **chosen)
        broken = y.astype(object)
        broken[13] = None
        with pytest.raises(ValueError, match=r"NaN.* first at row 13"):
            metric(broken, prediction, **chosen)


def test_over_the_blocks_of_rows_with_any_number_of_threads():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40_000, 3)), rng.integers(0, 2, 40_000)
    w, score = rng.uniform(0.5, 2.0, 40_000), X.sum(axis=1)
    data = gm.scan(X, y, sample_weight=w)
    for name, predict in (("roc_auc", lambda s: s), ("accuracy", lambda s: s > 0), ("r2", lambda s: s)):
        build = metrics.statistic(name)
        found = []
        for count in (1, 2, 4):
            with gm.threads(count):
                found.append(
                    data.sum(lambda block, b=build, p=predict: b(block.y, p(block.X.sum(axis=1)), block.weight))
                )
        assert len({tuple(part.interval(0.9)) for part in found}) == 1
        whole = METRICS[name](y, predict(score), sample_weight=w)
        np.testing.assert_allclose(found[0].value, whole, rtol=1e-11)

"""Metrics against scikit-learn's, their intervals against brute force, derivatives and simulation."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit, ndtri, stdtrit
from scipy.stats import norm
from sklearn.calibration import calibration_curve

import gramian as gm
from gramian import metrics
from gramian.metrics.statistics.counts import _cells

Z95 = ndtri(0.975)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def weights(n, seed, kind):
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    return rng.integers(0, 4, n) + (np.arange(n) > n - 10) if kind == "whole" else rng.uniform(0.1, 3.0, n)


def labelled(n=200, k=2, seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return y, np.where(rng.random(n) < share, y, rng.integers(0, k, n))


def ranked(n=200, seed=0, digits=None, distance=1.0, share=0.4):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    s = rng.standard_normal(n) + distance * y
    return y, s if digits is None else np.round(s, digits)


def probable(n=200, k=3, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(k), n)
    return (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), P


KINDS = ["none", "whole", "real"]


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("seed", range(3))
    def test_two_classes(self, kind, seed):
        y, p = labelled(seed=seed)
        w = weights(200, seed, kind)
        for a, b in ((y, p), (y * 2 - 1, p * 2 - 1), (y.astype(bool), p.astype(bool)), (y.astype(float), p)):
            close(metrics.accuracy(a, b, sample_weight=w), sk.accuracy_score(a, b, sample_weight=w))
            close(metrics.precision(a, b, sample_weight=w), sk.precision_score(a, b, sample_weight=w))
            close(metrics.recall(a, b, sample_weight=w), sk.recall_score(a, b, sample_weight=w))
            close(metrics.f1(a, b, sample_weight=w), sk.f1_score(a, b, sample_weight=w))
            close(metrics.confusion(a, b, sample_weight=w), sk.confusion_matrix(a, b, sample_weight=w))
            close(metrics.balanced_accuracy(a, b, sample_weight=w), sk.balanced_accuracy_score(a, b, sample_weight=w))
            close(metrics.zero_one(a, b, sample_weight=w), sk.zero_one_loss(a, b, sample_weight=w))
            close(metrics.matthews(a, b, sample_weight=w), sk.matthews_corrcoef(a, b, sample_weight=w))
            (tn, fp), _ = sk.confusion_matrix(a, b, sample_weight=w)
            close(metrics.fpr(a, b, sample_weight=w), fp / (fp + tn))
        names = np.array(["no", "yes"])
        for positive in ("no", "yes"):
            found = metrics.f1(names[y], names[p], positive=positive, sample_weight=w)
            close(found, sk.f1_score(names[y], names[p], pos_label=positive, sample_weight=w))
        assert metrics.f1(names[y], names[p]) == metrics.f1(y, p)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("k", [2, 3, 5])
    @pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
    def test_averages(self, kind, k, average):
        y, p = labelled(k=k, seed=k)
        p[p == 1] = 0  # one class that is never decided for
        y, p = np.append(y, 0), np.append(p, k)  # and one that is never true
        w = weights(201, k, kind)
        for mine, theirs in (
            (metrics.precision, sk.precision_score),
            (metrics.recall, sk.recall_score),
            (metrics.f1, sk.f1_score),
        ):
            expected = theirs(y, p, average=average, sample_weight=w, zero_division=0)
            close(mine(y, p, average=average, sample_weight=w), expected)
        table = sk.confusion_matrix(y, p, sample_weight=w).astype(float)
        close(metrics.confusion(y, p, sample_weight=w), table)
        false, others = table.sum(axis=0) - np.diag(table), table.sum() - table.sum(axis=1)
        expected = {
            "macro": (false / others).mean(),
            "micro": false.sum() / others.sum(),
            "weighted": false / others @ table.sum(axis=1) / table.sum(),
            None: false / others,
        }[average]
        close(metrics.fpr(y, p, average=average, sample_weight=w), expected)
        close(metrics.matthews(y, p, sample_weight=w), sk.matthews_corrcoef(y, p, sample_weight=w))
        recalls = metrics.recall(y, p, average=None, sample_weight=w)
        close(metrics.balanced_accuracy(y, p, sample_weight=w), recalls[:k].mean())

    def test_more_than_two_classes_are_macro_averaged_and_one_can_be_asked_for(self):
        y, p = labelled(k=4)
        assert metrics.f1(y, p) == metrics.f1(y, p, average="macro")
        assert metrics.recall(y, p, positive=2) == metrics.recall(y, p, average=None)[2]

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("digits", [None, 1, 0])
    @pytest.mark.parametrize("seed", range(3))
    def test_order(self, kind, digits, seed):
        y, s = ranked(seed=seed, digits=digits)
        w = weights(200, seed, kind)
        close(metrics.roc_auc(y, s, sample_weight=w), sk.roc_auc_score(y, s, sample_weight=w))
        close(metrics.average_precision(y, s, sample_weight=w), sk.average_precision_score(y, s, sample_weight=w))
        curve = metrics.roc_curve(y, s, sample_weight=w)
        for mine, theirs in zip(curve, sk.roc_curve(y, s, sample_weight=w, drop_intermediate=False), strict=True):
            close(mine, theirs)
        for mine, theirs in zip(
            metrics.pr_curve(y, s, sample_weight=w), sk.precision_recall_curve(y, s, sample_weight=w), strict=True
        ):
            close(mine, theirs)
        close(metrics.roc_auc(y, s.astype(np.float32)), sk.roc_auc_score(y, s.astype(np.float32)))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("k", [3, 5])
    def test_order_of_several_classes(self, kind, k):
        y, P = probable(k=k, seed=k)
        w = weights(200, k, kind)
        for scores in (P, np.round(P, 1)):
            each = [sk.roc_auc_score(y == j, scores[:, j], sample_weight=w) for j in range(k)]
            close(metrics.roc_auc(y, scores, sample_weight=w), np.mean(each))
            expected = sk.average_precision_score(y, scores, sample_weight=w)
            close(metrics.average_precision(y, scores, sample_weight=w), expected)
            close(metrics.roc_auc(y, scores, positive=1, sample_weight=w), each[1])
        close(
            metrics.roc_auc(y, P, sample_weight=w),
            sk.roc_auc_score(y, P, multi_class="ovr", sample_weight=w),
        )
        order = [2, 0, 1, *range(3, k)]
        close(metrics.roc_auc(y, P[:, order], labels=order), metrics.roc_auc(y, P))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("k", [2, 3, 6])
    def test_probabilities(self, kind, k):
        y, P = probable(k=k, seed=k)
        P[0] = np.eye(k)[(y[0] + 1) % k]  # certain, and wrong
        P[1] = np.eye(k)[y[1]]
        w = weights(200, k, kind)
        close(metrics.log_loss(y, P, sample_weight=w), sk.log_loss(y, P, sample_weight=w))
        close(metrics.brier(y, P, sample_weight=w), sk.brier_score_loss(y, P, sample_weight=w))
        names = np.array(["a", "b", "c", "d", "e", "f"])
        order = np.random.default_rng(k).permutation(k)
        for f in (metrics.log_loss, metrics.brier):
            close(f(names[y], P[:, order], labels=names[order], sample_weight=w), f(y, P, sample_weight=w))
        if k == 2:
            close(metrics.log_loss(y, P[:, 1], sample_weight=w), sk.log_loss(y, P[:, 1], sample_weight=w))
            close(metrics.brier(y, P[:, 1], sample_weight=w), sk.brier_score_loss(y, P[:, 1], sample_weight=w))
            close(metrics.brier(y, P[:, [1]]), metrics.brier(y, P))
            close(metrics.log_loss(y, P[:, 0], positive=0), metrics.log_loss(y, P))
            close(metrics.log_loss(y, P[:, 0], labels=[1, 0]), metrics.log_loss(y, P))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("t", [1, 3])
    def test_numbers(self, kind, t):
        rng = np.random.default_rng(t)
        y = rng.standard_normal((150, t)) * 3.0 + 1e3
        p = y + rng.standard_normal((150, t))
        w = weights(150, t, kind)
        for a, b in ((y, p), (y[:, 0], p[:, 0]), (y[:, :1], p[:, 0])):
            close(metrics.mse(a, b, sample_weight=w), sk.mean_squared_error(a, b, sample_weight=w))
            close(metrics.mae(a, b, sample_weight=w), sk.mean_absolute_error(a, b, sample_weight=w))
            close(metrics.r2(a, b, sample_weight=w), sk.r2_score(a, b, sample_weight=w))
            close(metrics.rmse(a, b, sample_weight=w), sk.root_mean_squared_error(a, b, sample_weight=w))
            if kind != "real":  # their quantiles of other weights are of another kind
                each = np.ones(len(a), int) if w is None else w.astype(int)
                expected = sk.median_absolute_error(np.repeat(a, each, axis=0), np.repeat(b, each, axis=0))
                close(metrics.median_absolute_error(a, b, sample_weight=w), expected)

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    @pytest.mark.parametrize("bins", [1, 3, 10])
    @pytest.mark.parametrize("digits", [12, 2, 1])
    def test_calibration(self, strategy, bins, digits):
        y, P = probable(k=2, n=311)
        p = np.round(P[:, 1], digits)
        found = metrics.calibration(y, p, bins=bins, strategy=strategy)
        observed, predicted = calibration_curve(y, p, n_bins=bins, strategy=strategy)
        close(found.observed, observed)
        close(found.predicted, predicted)
        assert found.count.sum() == 311
        close(found.error, found.count @ np.abs(observed - predicted) / 311)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_any_ranking_against_all_pairs(rows):
    y, s, w = (np.array(column) for column in zip(*rows, strict=True))
    if not (w[y].any() and w[~y].any()):
        with pytest.raises(ValueError, match=r"undefined|no rows"):
            metrics.roc_auc(y, s, sample_weight=w, positive=True)
        return
    pairs = (s[y][:, None] > s[~y]) + 0.5 * (s[y][:, None] == s[~y])
    expected = w[y] @ pairs @ w[~y] / w[y].sum() / w[~y].sum()
    close(metrics.roc_auc(y, s, sample_weight=w, positive=True), expected)
    close(
        metrics.average_precision(y, s, sample_weight=w, positive=True),
        sk.average_precision_score(y, s, sample_weight=w),
    )


def logit_error(found):
    """The standard error that a 95 % interval on the logit scale was made of."""
    return (logit(found.high) - logit(found.low)) / (2 * Z95) * found.value * (1 - found.value)


def influence_error(f, w):
    """Standard error by numerical derivatives of a metric in the weights of the rows: the infinitesimal jackknife."""
    slopes, h = np.zeros(len(w)), 1e-4
    for i in range(len(w)):
        up, down = w.copy(), w.copy()
        up[i] += h
        down[i] -= h
        slopes[i] = (f(up) - f(down)) / (2 * h)
    total = w.sum()
    return np.sqrt(w @ slopes**2 * total / (total - 1.0))


class TestIntervals:
    def test_wilson_solves_its_equation(self):
        y, p = labelled(n=60)
        found = metrics.accuracy(y, p, interval=0.9)
        for end in (found.low, found.high):  # |value − end| is z standard errors at the end itself
            close(abs(found.value - end), ndtri(0.95) * np.sqrt(end * (1 - end) / 60))
        for name in ("precision", "recall", "fpr"):
            (tn, fp), (fn, tp) = metrics.confusion(y, p)
            count = {"precision": tp + fp, "recall": tp + fn, "fpr": fp + tn}[name]
            found = getattr(metrics, name)(y, p, interval=0.9)
            for end in (found.low, found.high):
                close(abs(found.value - end), ndtri(0.95) * np.sqrt(end * (1 - end) / count))

    def test_every_cell_and_every_class(self):
        y, p = labelled(n=90, k=3)
        table = metrics.confusion(y, p, interval=0.95)
        each = metrics.recall(y, p, average=None, interval=0.95)
        assert table.value.dtype == np.int64
        close(np.diag(table.low) / table.value.sum(axis=1), each.low)
        close(np.diag(table.high) / table.value.sum(axis=1), each.high)
        for j in range(3):
            one = metrics.recall(y, p, positive=j, interval=0.95)
            close([one.value, one.low, one.high], [each.value[j], each.low[j], each.high[j]])

    @pytest.mark.parametrize("digits", [None, 0])
    def test_delong_by_all_pairs(self, digits):
        y, s = ranked(n=80, digits=digits)
        pairs = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
        variance = pairs.mean(axis=1).var(ddof=1) / y.sum() + pairs.mean(axis=0).var(ddof=1) / (1 - y).sum()
        found = metrics.roc_auc(y, s, interval=0.95)
        close(found.value, pairs.mean())
        step = Z95 * np.sqrt(variance) / (found.value * (1 - found.value))
        close([found.low, found.high], expit(logit(found.value) + np.array([-step, step])))

    @pytest.mark.parametrize("digits", [None, 0])
    def test_average_precision_by_derivatives(self, digits):
        y, s = ranked(n=60, digits=digits)
        w = np.random.default_rng(0).uniform(0.5, 2.0, 60)
        error = influence_error(lambda v: sk.average_precision_score(y, s, sample_weight=v), w)
        close(logit_error(metrics.average_precision(y, s, sample_weight=w, interval=0.95)), error, 1e-6)

    @pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
    def test_several_classes_by_derivatives(self, name):
        y, P = probable(n=50, k=3)
        w = np.random.default_rng(0).uniform(0.5, 2.0, 50)
        theirs = {
            "roc_auc": lambda v: sk.roc_auc_score(y, P, multi_class="ovr", sample_weight=v),
            "average_precision": lambda v: sk.average_precision_score(y, P, sample_weight=v),
        }[name]
        found = getattr(metrics, name)(y, P, sample_weight=w, interval=0.95)
        close(logit_error(found), influence_error(theirs, w), 1e-6)

    @pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
    @pytest.mark.parametrize("name", ["precision", "recall", "f1", "fpr"])
    def test_averages_by_derivatives(self, name, average):
        y, p = labelled(n=60, k=3)
        w = np.random.default_rng(0).uniform(0.5, 2.0, 60)

        def theirs(v):
            if name != "fpr":
                return getattr(sk, f"{name}_score")(y, p, average=average, sample_weight=v)
            table = sk.confusion_matrix(y, p, sample_weight=v)
            false, others = table.sum(axis=0) - np.diag(table), table.sum() - table.sum(axis=1)
            if average == "micro":
                return false.sum() / others.sum()
            return np.average(false / others, weights=table.sum(axis=1) if average == "weighted" else None)

        found = getattr(metrics, name)(y, p, average=average, sample_weight=w, interval=0.95)
        error = influence_error(theirs, w)
        if average == "micro":  # Wilson's, near the same width
            close((found.high - found.low) / (2 * Z95), error, 0.1)
        else:
            close(logit_error(found), error, 1e-6)

    @pytest.mark.parametrize("t", [1, 3])
    def test_r2_by_derivatives(self, t):
        rng = np.random.default_rng(t)
        y = rng.standard_normal((50, t)) + 20.0
        p = y + 0.7 * rng.standard_normal((50, t))
        w = rng.uniform(0.5, 2.0, 50)
        found = metrics.r2(y, p, sample_weight=w, interval=0.95)
        lost, quantile = 1.0 - found.value, stdtrit(w.sum() - 1, 0.975)
        error = influence_error(lambda v: sk.r2_score(y, p, sample_weight=v), w)
        for end, sign in ((found.low, 1.0), (found.high, -1.0)):
            close(1.0 - end, lost * np.exp(sign * quantile * error / lost), 1e-6)

    @pytest.mark.parametrize("name", ["mse", "mae", "log_loss", "brier"])
    def test_means_by_students_interval(self, name):
        rng = np.random.default_rng(0)
        y, p = rng.integers(0, 2, 40), rng.uniform(0.05, 0.95, 40)
        losses = {
            "mse": (y - p) ** 2,
            "brier": (y - p) ** 2,
            "mae": np.abs(y - p),
            "log_loss": -np.log(np.where(y == 1, p, 1 - p)),
        }[name]
        found = getattr(metrics, name)(y, p, interval=0.9)
        half = stdtrit(39, 0.95) * losses.std(ddof=1) / np.sqrt(40)
        close(list(found), [losses.mean(), losses.mean() - half, losses.mean() + half])

    def test_f1_is_monotone_in_the_share_of_hits(self):
        y, p = labelled(n=60)
        (_, fp), (fn, tp) = metrics.confusion(y, p)
        found = metrics.f1(y, p, interval=0.95)
        hits = np.r_[np.ones(tp, int), np.zeros(fp + fn, int)]
        share = metrics.accuracy(np.ones_like(hits), hits, interval=0.95)
        close(list(found), [2 * j / (1 + j) for j in share])

    def test_bands(self):
        y, s = ranked(n=50, digits=1)
        band = metrics.roc_curve(y, s, interval=0.9)
        for i in (1, 7, len(band.tpr) - 1):
            one = metrics.recall(y, (s >= band.thresholds[i]).astype(int), interval=0.9)
            close([band.tpr[i], band.low[i], band.high[i]], list(one))
        band = metrics.pr_curve(y, s, interval=0.9)
        for i in (0, 7, len(band.thresholds) - 1):
            one = metrics.precision(y, (s >= band.thresholds[i]).astype(int), interval=0.9)
            close([band.precision[i], band.low[i], band.high[i]], list(one))
        assert (band.low[-1], band.precision[-1], band.high[-1]) == (0.0, 1.0, 1.0)
        shares = metrics.calibration([0, 1, 1], [0.2, 0.3, 0.9], bins=2, interval=0.9)
        one = metrics.accuracy([1, 1], [0, 1], interval=0.9)
        close([shares.observed[0], shares.low[0], shares.high[0]], list(one))
        usual = metrics.calibration([0, 1, 1], [0.2, 0.3, 0.9], bins=2)
        close(usual.low, metrics.calibration([0, 1, 1], [0.2, 0.3, 0.9], bins=2, interval=0.95).low)


def coverage(draw, measure, truth, repeats=400):
    """How often the interval of nominally 95 % holds the truth."""
    held = 0
    for seed in range(repeats):
        found = measure(*draw(np.random.default_rng(seed)))
        held += found.low <= truth <= found.high
    return held / repeats


class TestCoverage:
    """Loose bounds: of 400 intervals of 95 %, between 91 % and 98.5 % must hold the truth."""

    table = np.array([[0.30, 0.10], [0.15, 0.45]])
    big = np.array([[0.25, 0.05, 0.05], [0.05, 0.20, 0.05], [0.05, 0.10, 0.20]])

    def cells(self, table, n):
        def draw(rng):
            cell = rng.choice(table.size, n, p=table.ravel())
            return cell // len(table), cell % len(table)

        return draw

    @pytest.mark.parametrize(
        ("name", "truth"),
        [("accuracy", 0.75), ("precision", 0.45 / 0.55), ("recall", 0.75), ("f1", 0.9 / 1.15), ("fpr", 0.25)],
    )
    def test_shares(self, name, truth):
        f = getattr(metrics, name)
        found = coverage(self.cells(self.table, 80), lambda y, p: f(y, p, interval=0.95), truth)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
    @pytest.mark.parametrize("name", ["precision", "f1", "fpr"])
    def test_averages(self, name, average):
        row, column, right = self.big.sum(axis=1), self.big.sum(axis=0), np.diag(self.big)
        each = {
            "precision": (right, column),
            "f1": (2 * right, row + column),
            "fpr": (column - right, 1 - row),
        }[name]
        truth = {
            "macro": (each[0] / each[1]).mean(),
            "weighted": each[0] / each[1] @ row,
            "micro": each[0].sum() / each[1].sum(),
        }[average]
        f = getattr(metrics, name)
        found = coverage(self.cells(self.big, 150), lambda y, p: f(y, p, average=average, interval=0.95), truth, 300)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize("distance", [0.5, 1.5, 2.5])
    def test_roc_auc(self, distance):
        def draw(rng):
            y = np.arange(100) % 3 == 0
            return y, rng.standard_normal(100) + distance * y

        found = coverage(draw, lambda y, s: metrics.roc_auc(y, s, interval=0.95), norm.cdf(distance / np.sqrt(2)))
        assert 0.91 <= found <= 0.985

    def test_average_precision(self):
        grid = np.linspace(-8, 10, 200_001)
        recall, rest = norm.sf(grid - 1.5), norm.sf(grid)
        truth = -np.trapezoid(0.4 * recall / (0.4 * recall + 0.6 * rest + 1e-300), recall)

        def draw(rng):
            y = rng.random(200) < 0.4
            return y, rng.standard_normal(200) + 1.5 * y

        found = coverage(draw, lambda y, s: metrics.average_precision(y, s, interval=0.95), truth)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
    def test_several_classes(self, name):
        f = getattr(metrics, name)

        def draw(rng, n=150):
            y = rng.integers(0, 3, n)
            return y, rng.standard_normal((n, 3)) + 1.2 * np.eye(3)[y]

        if name == "roc_auc":
            truth = norm.cdf(1.2 / np.sqrt(2))
        else:
            grid = np.linspace(-8, 10, 200_001)
            recall, rest = norm.sf(grid - 1.2), norm.sf(grid)
            truth = -np.trapezoid(recall / (recall + 2 * rest + 1e-300), recall)
        found = coverage(draw, lambda y, s: f(y, s, interval=0.95), truth, 300)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize("name", ["balanced_accuracy", "matthews", "zero_one"])
    @pytest.mark.parametrize(("table", "n"), [(table, 80), (big, 150)])
    def test_metrics_of_the_whole_table(self, name, table, n):
        row, column, right = table.sum(axis=1), table.sum(axis=0), np.trace(table)
        truth = {
            "balanced_accuracy": (np.diag(table) / row).mean(),
            "matthews": (right - row @ column) / np.sqrt((1 - row @ row) * (1 - column @ column)),
            "zero_one": 1 - right,
        }[name]
        f = getattr(metrics, name)
        found = coverage(self.cells(table, n), lambda y, p: f(y, p, interval=0.95), truth)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize(
        ("name", "truth"),
        [
            ("mse", 1.0),
            ("mae", np.sqrt(2 / np.pi)),
            ("r2", 0.8),
            ("rmse", 1.0),
            ("median_absolute_error", norm.ppf(0.75)),
        ],
    )
    def test_numbers(self, name, truth):
        f = getattr(metrics, name)

        def draw(rng):
            p = 2.0 * rng.standard_normal(120)
            return p + rng.standard_normal(120), p

        found = coverage(draw, lambda y, p: f(y, p, interval=0.95), truth)
        assert 0.91 <= found <= 0.985

    @pytest.mark.parametrize("name", ["log_loss", "brier"])
    def test_probabilities(self, name):
        grid = (np.arange(100_000) + 0.5) / 100_000  # uniform probabilities that are right
        each = {"log_loss": -grid * np.log(grid) - (1 - grid) * np.log1p(-grid), "brier": grid * (1 - grid)}[name]
        f = getattr(metrics, name)

        def draw(rng):
            p = rng.random(120)
            return (rng.random(120) < p).astype(int), p

        found = coverage(draw, lambda y, p: f(y, p, interval=0.95), each.mean())
        assert 0.91 <= found <= 0.985


class TestUndefined:
    def test_metrics_of_the_whole_table(self):
        for y, p in (([1, 1], [1, 0]), ([1, 0], [1, 1]), ([1, 1], [1, 1])):
            assert metrics.matthews(y, p, interval=0.9) == (0.0, -1.0, 1.0)
        right = metrics.matthews([0, 1] * 20, [0, 1] * 20, interval=0.95)
        assert right.value == right.high == 1.0
        assert 0.5 < right.low < 1.0
        assert metrics.balanced_accuracy(["a"], ["a"], interval=0.95)[::2] == (1.0, 1.0)

    def test_root_and_median_of_a_few_errors(self):
        assert metrics.rmse([1.0, 2.0], [1.0, 2.0], interval=0.9) == (0.0, 0.0, 0.0)
        assert metrics.rmse([1.0], [3.0], interval=0.9) == (2.0, 0.0, np.inf)
        assert metrics.rmse([1e200, 0.0], [-1e200, 2e200]) == 2e200
        assert metrics.median_absolute_error([1.0] * 5, range(5), interval=0.95) == (1.0, 0.0, np.inf)
        assert metrics.median_absolute_error(np.zeros(6), range(6), interval=0.95) == (2.5, 0.0, 5.0)
        assert metrics.median_absolute_error([0.0, 0.0], [1.0, 3.0], sample_weight=[0.5, 0.7]) == 3.0
        with pytest.raises(OverflowError, match="exceed the range of float64"):
            metrics.rmse([1.7e308, 0.0], [-1.7e308, 0.0])
        with pytest.raises(OverflowError, match="error of row 1 exceeds the range"):
            metrics.median_absolute_error([0.0, 1e308], [0.0, -1e308])

    def test_zero_over_zero_is_zero_without_a_warning(self):
        y, p = [0, 1, 1], [0, 0, 0]
        assert metrics.precision(y, p, interval=0.95) == (0.0, 0.0, 1.0)
        assert metrics.f1(y, p) == 0.0
        assert metrics.recall([0, 0], [0, 1], interval=0.95) == (0.0, 0.0, 1.0)
        assert metrics.fpr([1, 1], [1, 1], interval=0.95) == (0.0, 0.0, 1.0)
        assert metrics.recall([0, 1], [0, 1], labels=[0, 1, 2], average=None).tolist() == [1.0, 1.0, 0.0]

    @pytest.mark.parametrize(("label", "value"), [(0, 0.0), (-1, 0.0), (False, 0.0), (1, 1.0), (True, 1.0)])
    def test_only_one_class_seen(self, label, value):
        assert metrics.precision([label] * 3, [label] * 3) == value
        assert metrics.recall([label] * 3, [label] * 3) == value
        assert metrics.accuracy([label] * 3, [label] * 3) == 1.0

    def test_only_one_class_seen_that_could_be_either(self):
        for f in (metrics.precision, metrics.f1, metrics.fpr):
            with pytest.raises(ValueError, match=r"only the class 'ham'.*positive="):
                f(["ham"], ["ham"])
        assert metrics.precision(["ham"], ["ham"], positive="spam") == 0.0
        assert metrics.precision(["ham"], ["ham"], positive="ham") == 1.0
        assert metrics.precision(["ham"], ["ham"], labels=["ham", "spam"]) == 0.0
        assert metrics.precision(["ham"], ["ham"], average="macro") == 1.0
        assert metrics.fpr(["ham"], ["ham"], average="micro", interval=0.9).value == 0.0
        with pytest.raises(ValueError, match="only the class 'ham'"):
            metrics.log_loss(["ham"], [0.2])
        close(metrics.log_loss(["ham"], [0.2], labels=["ham", "spam"]), -np.log(0.8))
        close(metrics.log_loss(["ham"], [0.2], positive="ham"), -np.log(0.2))
        close(metrics.brier([0, 0], [0.2, 0.4]), 0.1)

    def test_one_class_has_no_curve(self):
        for f in (metrics.roc_auc, metrics.roc_curve):
            with pytest.raises(ValueError, match="only one class, every row is of class 1"):
                f([1, 1], [0.2, 0.3])
            with pytest.raises(ValueError, match="no row of the positive class 1"):
                f([0, 0], [0.2, 0.3])
        for f in (metrics.average_precision, metrics.pr_curve):
            with pytest.raises(ValueError, match="no row of the positive class 'c'"):
                f(["a", "b"], [0.2, 0.3], positive="c")
        assert metrics.average_precision([1, 1], [0.2, 0.3]) == sk.average_precision_score([1, 1], [0.2, 0.3])
        scores = np.eye(3)
        for f in (metrics.roc_auc, metrics.average_precision):
            with pytest.raises(ValueError, match="no row of class 2"):
                f([0, 1, 0], scores, labels=[0, 1, 2])
            with pytest.raises(ValueError, match=r"no row of class 'a'|every row is of class 'a'"):
                f(["a", "a", "a"], scores, labels=["a", "b", "c"])

    def test_constant_targets(self):
        assert metrics.r2([0.1] * 7, [0.1] * 7) == 1.0
        assert metrics.r2([0.1] * 7, [0.1] * 6 + [0.2]) == 0.0
        assert metrics.r2([0.1] * 7, [0.2] * 7, interval=0.95) == (0.0, -np.inf, 1.0)
        assert metrics.r2([3.0], [3.0]) == 1.0
        assert metrics.r2([3.0], [2.0], interval=0.9) == (0.0, -np.inf, 1.0)
        parts = [metrics.Explained.of([0.1] * n, [0.1] * n) for n in (3, 5, 7)]
        assert sum(parts).r2() == 1.0
        y, p = np.c_[np.full(5, 0.1), np.arange(5.0)], np.c_[np.full(5, 0.3), np.arange(5.0) + 0.1]
        close(metrics.r2(y, p), sk.r2_score(y, p))
        assert metrics.r2(np.arange(5.0), np.arange(5.0), interval=0.95) == (1.0, 1.0, 1.0)

    def test_one_row_does_not_determine_the_spread(self):
        assert metrics.mse([1.0], [3.0], interval=0.95) == (4.0, 0.0, np.inf)
        assert metrics.brier([1], [0.5], interval=0.95) == (0.25, 0.0, 1.0)
        assert metrics.brier([1], [[0.2, 0.5, 0.3]], labels=[0, 1, 2], interval=0.95).high == 2.0
        found = metrics.f1(["a"], ["a"], average="macro", interval=0.95)
        assert found.high == 1.0
        close(found.low, metrics.accuracy(["a"], ["a"], interval=0.95).low)

    @pytest.mark.parametrize(("y", "s"), [([0, 0, 0, 1, 1], [1, 2, 3, 4, 5]), ([0, 1, 1, 1, 1], [3, 1, 4, 5, 6])])
    def test_an_area_without_a_variance_has_an_interval(self, y, s):
        found = metrics.roc_auc(y, s, interval=0.95)
        fewer = min(sum(y), len(y) - sum(y))
        z2 = Z95**2
        half = Z95 / (fewer + z2) * np.sqrt(fewer * found.value * (1 - found.value) + z2 / 4)
        close(found.low, (fewer * found.value + z2 / 2) / (fewer + z2) - half)
        assert found.low < found.value <= found.high <= 1.0
        assert metrics.roc_auc([0, 1] * 10, np.zeros(20), interval=0.9).low < 0.4

    def test_perfect_and_single_positives_in_average_precision(self):
        found = metrics.average_precision([0, 0, 1, 1], [1, 2, 3, 4], interval=0.95)
        assert found.value == found.high == 1.0
        close(found.low, 2 / (2 + Z95**2))
        found = metrics.average_precision([0, 1, 0, 0], [1, 2, 3, 4], interval=0.95)
        assert 0.0 < found.low < found.value < found.high < 1.0

    def test_certain_and_wrong_is_finite(self):
        assert metrics.log_loss([1], [0.0]) == sk.log_loss([1], [0.0], labels=[0, 1])
        assert np.isfinite(metrics.log_loss([1, 0], expit(np.array([-1e4, 1e4]))))
        low, high = metrics.log_loss([1, 0], [0.0, 0.9], interval=0.95)[1:]
        assert low == 0.0
        assert high <= 36.05


class TestLargeAndSmall:
    def test_more_pairs_than_64_bits(self):
        y, s, w = [0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9], [4e9, 5e9, 6e9, 7e9]
        expected = (5 * 4 + 0.5 * 5 * 6 + 7 * 4 + 7 * 6) / (12 * 10)
        close(metrics.roc_auc(y, s, sample_weight=w), expected)
        found = metrics.roc_auc(y, s, sample_weight=w, interval=0.95)
        assert 0.0 < found.high - found.low < 1e-3

    @pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300, 1e-290])
    def test_r2_knows_no_units(self, scale):
        rng = np.random.default_rng(0)
        y = rng.standard_normal(40)
        p = y + 0.5 * rng.standard_normal(40)
        close(list(metrics.r2(y * scale, p * scale, interval=0.9)), list(metrics.r2(y, p, interval=0.9)))
        parts = [metrics.Explained.of(y[i : i + 9] * scale, p[i : i + 9] * scale) for i in range(0, 40, 9)]
        close(list(sum(parts).r2(interval=0.9)), list(metrics.r2(y, p, interval=0.9)), 1e-11)

    def test_r2_of_blocks_of_different_sizes(self):
        big = metrics.Explained.of([1e200, 3e200], [1e200, 2e200])
        small = metrics.Explained.of([1e-200, 3e-200, 0.0], [0.0, 0.0, 0.0])
        zero = metrics.Explained.of([0.0, 0.0], [0.0, 0.0])
        close((big + small).r2(), (small + big).r2())
        close((zero + big).r2(), metrics.r2([0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 1.0, 2.0]))
        close((zero + small).r2(), metrics.r2([0.0, 0.0, 1.0, 3.0, 0.0], [0.0] * 5))

    def test_r2_far_from_zero_by_blocks(self):
        rng = np.random.default_rng(0)
        y = rng.standard_normal(300)
        p = y + rng.standard_normal(300)
        parts = [metrics.Explained.of(1e6 + y[i : i + 10], 1e6 + p[i : i + 10]) for i in range(0, 300, 10)]
        close(list(sum(parts).r2(interval=0.9)), list(metrics.r2(y, p, interval=0.9)), 1e-8)

    def test_errors_beyond_the_float_range(self):
        with pytest.raises(OverflowError, match=r"1e\+200.*mse exceeds the range"):
            metrics.mse([1e200, 0.0], [0.0, 0.0])
        with pytest.raises(OverflowError, match="mae exceeds the range"):
            metrics.mae([1e308], [-1e308])
        with pytest.raises(OverflowError, match="r2 exceeds"):
            metrics.r2([0.0, 1e-200], [1e200, 1e200])
        found = metrics.mae([1e200, 3e200], [0.0, 0.0], interval=0.9)
        close(np.array(found) / 1e200, list(metrics.mae([1.0, 3.0], [0.0, 0.0], interval=0.9)))
        found = metrics.mae([1.5e308, 1.7e308] * 50, np.zeros(100), interval=0.9)
        close(found.value / 1e308, 1.6)

    def test_many_classes_need_no_table(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10**9, 3000)
        p = np.where(rng.random(3000) < 0.5, y, y + 1)
        close(metrics.accuracy(y, p), (y == p).mean())
        close(metrics.f1(y, p), sk.f1_score(y, p, average="macro", zero_division=0))
        found = metrics.recall(y, p, interval=0.95)
        assert found.low < found.value < found.high
        pairs = rng.integers(0, 40, (2, 50))
        for k in (40, 10**6):  # by a table, and without one
            truth, decided, weight = _cells(*pairs, np.ones(50), k)
            expected = sorted(set(zip(*pairs.tolist(), strict=True)))
            assert list(zip(truth.tolist(), decided.tolist(), strict=True)) == expected
            assert weight.sum() == 50


class TestSources:
    def test_every_kind_of_labels(self):
        y, p = labelled(n=30, k=3)
        names = np.array(["x", "yy", "zzz"])
        expected = metrics.confusion(y, p).tolist()
        for a, b in (
            (y.tolist(), p.tolist()),
            (y.astype(np.uint8), p.astype(np.float32)),
            (names[y], names[p].tolist()),
            (names[y].astype(object), names[p]),
            (pd.Series(names[y]), pd.Series(names[p], dtype="category")),
            (pd.Series(y, dtype="Int64"), pl.Series(p)),
            (pl.Series(names[y]), pl.Series(names[p], dtype=pl.Categorical)),
            (pa.chunked_array([names[y].tolist()]), names[p]),
            (y[:, None], pd.DataFrame({"class": p})),
            (names[y].astype(np.dtypes.StringDType()), names[p]),
            (tuple(y.tolist()), [np.int64(v) for v in p]),
            ([[v] for v in y.tolist()], iter(p.tolist())),
        ):
            assert metrics.confusion(a, b).tolist() == expected
        assert metrics.accuracy([True, False], [1, 0]) == 1.0

    def test_every_kind_of_numbers(self):
        rng = np.random.default_rng(0)
        y, p = rng.integers(0, 9, 20), rng.integers(0, 9, 20)
        expected = metrics.mse(y.astype(float), p.astype(float))
        for a, b in (
            (y.tolist(), p.astype(np.int8)),
            (pd.Series(y), pl.Series(p)),
            (pd.Series(y, dtype="Int64"), pa.chunked_array([p])),
            ([Decimal(int(v)) for v in y], pl.Series(p, dtype=pl.Decimal(10, 2))),
            (y.astype(np.float32)[:, None], pd.DataFrame({"p": p})),
            (y.astype(object), np.asfortranarray(p[:, None])),
        ):
            assert metrics.mse(a, b) == expected
        given = y.astype(float)
        given.flags.writeable = False
        assert metrics.mse(given[::-1], p[::-1]) == expected

    def test_wide_integers_are_reported_as_rounded(self):
        with pytest.warns(gm.PrecisionWarning, match="prediction holds integers beyond 2"):
            assert metrics.mae([0, 0], [2**60 + 1, 0]) == 2.0**59
        assert metrics.accuracy([2**60, 2**60 + 1], [2**60, 2**60]) == 0.5

    def test_frames_of_probabilities_and_targets(self):
        y, P = probable(k=3)
        close(metrics.log_loss(pl.Series(y), pl.DataFrame(P)), metrics.log_loss(y, P))
        close(metrics.roc_auc(pd.Series(y), pd.DataFrame(P)), metrics.roc_auc(y, P))
        close(metrics.mse(pd.DataFrame(P), P[:, ::-1]), metrics.mse(P, P[:, ::-1]))
        close(metrics.log_loss(y, P.astype(np.float32)), metrics.log_loss(y, P), 1e-6)

    def test_two_columns_are_two_classes(self):
        y, P = probable(k=2)
        for f in (metrics.roc_auc, metrics.average_precision):
            assert f(y, P) == f(y, P[:, 1])
            assert f(y, P, positive=0) == f(1 - y, P[:, 0])
        assert metrics.roc_auc(y, P, labels=[1, 0]) == metrics.roc_auc(1 - y, P[:, 1])

    def test_counts_are_whole_and_weights_are_not(self):
        assert metrics.confusion([0, 1], [0, 1]).dtype == np.int64
        assert metrics.confusion([0, 1], [0, 1], sample_weight=[0.5, 2]).tolist() == [[0.5, 0.0], [0.0, 2.0]]
        assert metrics.confusion(["a", "b"], ["a", "a"], labels=["b", "a"]).tolist() == [[0, 1], [0, 1]]

    def test_quantile_bins_with_any_weights(self):
        y, P = probable(k=2, n=60)
        for scale in (1.0, 0.01):  # edges by the inverse distribution do not depend on the unit of the weights
            w = np.random.default_rng(0).uniform(0.5, 2.0, 60) * scale
            found = metrics.calibration(y, P[:, 1], bins=4, strategy="quantile", sample_weight=w)
            assert len(found.count) == 4
            np.testing.assert_allclose(found.count / w.sum(), 0.25, atol=0.05)


class TestRefusals:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([0.5, 1.0], "holds 0.5 at row 0; class labels are text"),
            ([1.0, np.inf], "holds inf at row 1"),
            ([1.0, np.nan], "NaN or null, first at row 1"),
            (np.array([1.0, np.nan]), "holds nan at row 1"),
            (["a", None], "NaN or null, first at row 1"),
            (["a", 1], r"holds 1 \(int\) at row 1 next to others such as 'a'|holds 'a' \(str\) at row 0"),
            ([1, "a"], r"holds 'a' \(str\) at row 1"),
            (pd.Series(["a", None]), "NaN or null, first at row 1"),
            (pl.Series([1, None]), "NaN or null, first at row 1"),
            ([2**70, 1], "beyond 2\\^63"),
            (np.array([2**63, 1], dtype=np.uint64), "beyond 2\\^63"),
            (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "holds datetime64"),
            (pd.Series([pd.Timestamp(0), pd.Timestamp(1)]), "Timestamp"),
            (np.eye(2), r"shape \(2, 2\); it must hold one class label per row"),
            ([[0, 1], [1, 0]], r"shape \(2, 2\); it must hold one class label per row"),
            ([[0], [1, 0]], "not a table"),
            ("ab", "is 'ab'; it must hold one class label per row"),
            (1, "is 1; it must hold one class label per row"),
        ],
    )
    def test_labels(self, values, message):
        for a, b in ((values, [0, 1]), ([0, 1], values)):
            with pytest.raises(ValueError, match=message):
                metrics.accuracy(a, b)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1j, 2], "holds complex128 values"),
            (["1", "2"], "holds <U1 values; real numbers"),
            (np.array([1, "2"], dtype=object), "holds '2' at row 1"),
            (np.array([[1, 2], ["3", 4]], dtype=object), "holds '3' at row 1"),
            (np.zeros((2, 1, 1)), "one axis, or two"),
            (3.0, "one axis, or two"),
            (None, "one axis, or two"),
            (np.zeros((2, 0)), "no columns"),
            (pd.DataFrame(index=[0, 1]), "no columns"),
            ([[1.0], [1.0, 2.0]], "not a table"),
            ([1.0, None], "contains NaN, first at row 1"),
            ([[1.0, 2.0], [1.0, np.inf]], "contains infinity, first at row 1"),
        ],
    )
    def test_numbers(self, values, message):
        for f in (metrics.mse, metrics.r2):
            with pytest.raises(ValueError, match=message):
                f([0.0, 1.0], values)

    def test_targets_and_weights(self):
        with pytest.raises(ValueError, match="y has 2 targets and prediction 3 columns"):
            metrics.mae(np.zeros((4, 2)), np.zeros((4, 3)))
        for weight, message in (
            (np.ones((2, 2)), r"shape \(2, 2\); it must have one weight per row"),
            ([1e200, 1.0], "between 1e-100 and 1e100"),
            ([1.0, np.nan], "sample_weight contains NaN, first at row 1"),
            ([0.0, 0.0], "no rows of positive weight"),
        ):
            with pytest.raises(ValueError, match=message):
                metrics.mse([0.0, 1.0], [0.0, 1.0], sample_weight=weight)
        for f in (metrics.mse, metrics.accuracy, metrics.r2, metrics.roc_auc, metrics.log_loss, metrics.calibration):
            with pytest.raises(ValueError, match="no rows of positive weight"):
                f([], [])

    def test_classes(self):
        y, p = ["a", "b", "c"], ["a", "b", "b"]
        for options, message in (
            ({"average": "mean"}, 'must be "auto", None, "macro"'),
            ({"average": "macro", "positive": "a"}, "asks for one class and average='macro' for all"),
            ({"positive": "d"}, "positive='d' is not a class; the classes are 'a', 'b', 'c'"),
            ({"positive": 1}, "positive holds labels such as 1 and y such as 'a'"),
            ({"labels": ["a", "b"]}, "y holds 'c', which is not among the labels 'a', 'b'"),
            ({"labels": ["a", "b", "b", "c"]}, "labels holds a class twice"),
            ({"labels": [0, 1, 2]}, "y holds labels such as 'a' and labels such as 0"),
        ):
            with pytest.raises(ValueError, match=message):
                metrics.precision(y, p, **options)
        with pytest.raises(ValueError, match="y holds labels such as 'a' and prediction such as 0"):
            metrics.accuracy(y, [0, 1, 1])
        with pytest.raises(ValueError, match=r"prediction holds 7, which is not among the labels 0, 1, 2, 3, 4, …"):
            metrics.confusion([0], [7], labels=range(6))

    def test_scores(self):
        y = ["a", "b", "c"]
        for f in (metrics.roc_auc, metrics.average_precision, metrics.roc_curve, metrics.pr_curve):
            with pytest.raises(ValueError, match=r"y has 3 classes \('a', 'b', 'c'\).*or positive="):
                f(y, [0.1, 0.2, 0.3])
            with pytest.raises(ValueError, match="scores has 2 columns and y has 3 classes"):
                f(y, np.zeros((3, 2)))
            with pytest.raises(ValueError, match="scores has 2 columns and labels has 3 classes"):
                f(y, np.zeros((3, 2)), labels=y)
            with pytest.raises(ValueError, match="labels has 3 classes, and scores of one column are for two"):
                f(y, [0.1, 0.2, 0.3], labels=y)
            with pytest.raises(ValueError, match="y holds 'c', which is not among"):
                f(y, [0.1, 0.2, 0.3], labels=["a", "b"])
            with pytest.raises(ValueError, match=r"positive='z' is not among labels=\['a', 'b'\]"):
                f(y[:2], [0.1, 0.2], labels=["a", "b"], positive="z")
            with pytest.raises(ValueError, match="positive holds 'z', which is not among the labels 'a', 'b', 'c'"):
                f(y, np.zeros((3, 3)), positive="z")
        for f in (metrics.roc_curve, metrics.pr_curve):
            with pytest.raises(ValueError, match="scores has 3 columns: say with positive="):
                f(y, np.eye(3))
        with pytest.raises(ValueError, match="OneVsRest needs one per class"):
            metrics.OneVsRest.of(y, [0.1, 0.2, 0.3])

    def test_probabilities(self):
        y = ["a", "b", "c"]
        for f in (metrics.log_loss, metrics.brier):
            with pytest.raises(ValueError, match=r"A probability is 1\.5 at row 1"):
                f([0, 1], [0.5, 1.5])
            with pytest.raises(ValueError, match=r"A probability is -0\.5 at row 0"):
                f([0, 1], [[-0.5, 1.5], [0.0, 1.0]])
            with pytest.raises(ValueError, match=r"row 1 add up to 0\.9"):
                f([0, 1], [[0.5, 0.5], [0.5, 0.4]])
            with pytest.raises(ValueError, match="positive= is for probabilities of one column"):
                f([0, 1], [[0.5, 0.5], [0.5, 0.5]], positive=1)
            with pytest.raises(ValueError, match="probabilities has 2 columns and y has 3 classes"):
                f(y, np.full((3, 2), 0.5))
            with pytest.raises(ValueError, match=r"y has 3 classes \('a', 'b', 'c'\).*give one column per class\."):
                f(y, [0.1, 0.2, 0.3])
            with pytest.raises(ValueError, match="y has the classes 'a', 'b', and positive is 'c'"):
                f(["a", "b"], [0.1, 0.2], positive="c")

    def test_bins(self):
        for bins in (0, 2.5, True, "auto"):
            with pytest.raises(ValueError, match=r"bins is .* a whole number of at least 1"):
                metrics.calibration([0, 1], [0.1, 0.9], bins=bins)
        with pytest.raises(ValueError, match='strategy is \'kmeans\'; it must be "uniform" or "quantile"'):
            metrics.calibration([0, 1], [0.1, 0.9], strategy="kmeans")
        with pytest.raises(ValueError, match="A probability is 3"):
            metrics.calibration([0, 1], [0.1, 3.0])

    def test_parts_that_do_not_belong_together(self):
        one, two = metrics.statistic("f1"), metrics.statistic("f1", average="macro")
        with pytest.raises(ValueError, match="only parts of the same one can be added"):
            one([0, 1], [0, 1]) + two([0, 1], [0, 1])
        with pytest.raises(ValueError, match="only parts of the same one can be added"):
            one([0, 1], [0, 1]) + metrics.statistic("recall")([0, 1], [0, 1])
        with pytest.raises(ValueError, match="positive class of one part is 1 and of the other 2"):
            metrics.Ranking.of([1, 1], [0.1, 0.2]) + metrics.Ranking.of([1, 2], [0.1, 0.2])
        build = metrics.statistic("brier")
        with pytest.raises(ValueError, match="class of one part"):
            build([1, 1], [0.1, 0.2]) + build([1, 2], [0.1, 0.2])
        with pytest.raises(ValueError, match="loss of one part is 'mse' and of the other 'mae'"):
            metrics.MeanLoss.of([1.0], loss="mse") + metrics.MeanLoss.of([1.0], loss="mae")
        with pytest.raises(ValueError, match="none of them negative"):
            metrics.MeanLoss.of([-1.0], loss="mse")
        with pytest.raises(ValueError, match="One part has 1 targets and the other 2"):
            metrics.Explained.of([1.0], [1.0]) + metrics.Explained.of([[1.0, 2.0]], [[1.0, 2.0]])
        with pytest.raises(ValueError, match=r"labels of one part are .* give labels="):
            metrics.Confusion.of([0], [0], labels=[0, 1]) + metrics.Confusion.of([0], [2])
        with pytest.raises(ValueError, match="one part holds labels such as 'a' and the other such as 0"):
            metrics.Confusion.of(["a"], ["a"]) + metrics.Confusion.of([0], [0])
        with pytest.raises(ValueError, match="variances=False"):
            metrics.Explained.of([1.0, 2.0], [1.0, 2.0], variances=False).r2(interval=0.9)
        parts = [metrics.Explained.of([1.0, 2.0], [1.0, 2.5], variances=with_them) for with_them in (True, False)]
        close(sum(parts).r2(), metrics.r2([1.0, 2.0] * 2, [1.0, 2.5] * 2))

    def test_names_and_options(self):
        with pytest.raises(ValueError, match="needs is 'classes'; it must be one of 'labels'"):
            metrics.define_metric(metrics.Confusion.of, needs="classes", greater_is_better=True)
        with pytest.raises(TypeError, match="positive"):
            metrics.accuracy([0, 1], [0, 1], positive=1)
        parts = [metrics.AbsoluteErrors.of(*[np.ones((2, t))] * 2) for t in (1, 2)]
        with pytest.raises(ValueError, match="One part has 1 targets and the other 2"):
            parts[0] + parts[1]
        with pytest.raises(ValueError, match=r"no metric 'roc-auc'; did you mean 'roc_auc'\?.*accuracy, precision"):
            metrics.metric("roc-auc")
        with pytest.raises(ValueError, match="no metric 7; The metrics are"):
            metrics.metric(7)
        with pytest.raises(TypeError, match="f1 has no option 'pos_label'; its options are: positive, average, labels"):
            metrics.statistic("f1", pos_label=1)
        with pytest.raises(TypeError, match="mse has no option 'average'; its options are: none"):
            metrics.statistic("mse", average="macro")
        found = metrics.metric("mse")
        assert metrics.metric(found) is found
        assert found([1.0], [3.0]) == 4.0
        assert metrics.statistic(found)([1.0], [3.0]).value == 4.0

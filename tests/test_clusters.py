"""Clusters: k structures, the rules that divide rows among them, how many there are, and what fits nothing."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans as Reference
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

import gramian as gm
from gramian.structures import Circle, FrequencySensitive, Gaussian, Line, Point, RivalPenalised
from gramian.structures.cluster_quality import co_membership, silhouette
from gramian.structures.loop.alternation import Loop
from gramian.structures.loop.assignments import Nearest
from gramian.structures.loop.means import MeansLoop
from gramian.structures.loop.state import LoopState
from gramian.structures.number_of_clusters import CRITERIA

BLOBS, OWNERS = make_blobs(300, n_features=2, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)


def separated(seed, k, d=2, apart=10.0):
    """Clusters of different sizes whose centres are at least `apart` standard deviations from each other."""
    rng = np.random.default_rng(seed)
    centers = []
    while len(centers) < k:
        center = rng.uniform(-1.5, 1.5, d) * apart * k ** (1 / d)
        if all(np.linalg.norm(center - other) > apart for other in centers):
            centers.append(center)
    return np.concatenate([center + rng.standard_normal((rng.integers(50, 150), d)) for center in centers])


class TestMeans:
    @pytest.mark.parametrize("seed", range(3))
    def test_same_as_the_reference_from_the_same_start(self, seed):
        rng = np.random.default_rng(seed)
        X, w = rng.standard_normal((400, 5)), rng.uniform(0.5, 2, 400)
        start = X[:6]
        ours = gm.KMeans(6, init=start).fit(X, sample_weight=w)
        theirs = Reference(6, init=start, n_init=1, tol=0, max_iter=300).fit(X, sample_weight=w)
        assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-8)
        np.testing.assert_allclose(ours.centers_, theirs.cluster_centers_, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
        assert ours.certificate_.holds
        assert ours.certificate_.value <= 1e-12

    def test_restarts_reach_the_global_optimum_of_small_data(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((9, 2))
        best = np.inf
        for code in range(2**9):  # every division into two
            mine = np.array([code >> i & 1 for i in range(9)], dtype=bool)
            if 0 < mine.sum() < 9:
                parts = (X[mine], X[~mine])
                best = min(best, sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
        assert gm.KMeans(2, n_init=20, random_state=0).fit(X).objective_ == pytest.approx(best)

    @pytest.mark.parametrize("init", ["k-means++", "farthest", "random"])
    def test_starts(self, init):
        model = gm.KMeans(4, init=init, random_state=0).fit(BLOBS)
        assert adjusted_rand_score(model.labels_, OWNERS) > 0.99

    def test_empty_clusters_are_reseeded(self):
        start = np.array([[0.0, 0.0], [100.0, 100.0], [101.0, 100.0], [102.0, 100.0]])
        model = gm.KMeans(4, init=start).fit(BLOBS)
        assert model.n_clusters_ == 4
        values = [value for _, value, _ in model.history_]
        assert (np.diff(values) <= 1e-9).all()

    def test_more_clusters_than_rows(self):
        with pytest.raises(ValueError, match="n_clusters is 5, and X has 3 rows"):
            gm.KMeans(5).fit(BLOBS[:3])
        X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
        with pytest.warns(gm.ConvergenceWarning, match="Only 2 of 4 clusters have rows"):
            model = gm.KMeans(4, random_state=0).fit(X)
        assert set(model.labels_) == {0, 1}
        assert np.isfinite(model.centers_).all()

    def test_sparse_rows(self):
        S = sp.random(200, 30, 0.2, random_state=0, format="csr")
        for kind in (gm.KMeans, gm.KMedians):
            a, b = kind(3, random_state=0).fit(S), kind(3, init="farthest").fit(S.toarray())
            c = kind(3, init="farthest").fit(S)
            assert c.objective_ == pytest.approx(b.objective_, rel=1e-9)
            np.testing.assert_array_equal(c.predict(S), b.predict(S.toarray()))
            np.testing.assert_allclose(c.transform(S), b.transform(S.toarray()), atol=1e-9)
            assert np.isfinite(a.centers_).all()
        for kind in (gm.KLines, gm.GaussianMixture):
            with pytest.raises(TypeError, match="sparse"):
                kind(2).fit(S)

    def test_weights_equal_repetition(self):
        rng = np.random.default_rng(0)
        w = rng.integers(0, 4, len(BLOBS))
        order = rng.permutation(int(w.sum()))
        repeated = np.repeat(BLOBS, w, axis=0)[order]
        for model in (gm.KMeans(5), gm.KMedians(5), gm.KLines(3), gm.KCircles(2), gm.KGaussians(3)):
            model.set_params(random_state=3, n_init=2)
            a = type(model)(**model.get_params()).fit(BLOBS, sample_weight=w)
            b = type(model)(**model.get_params()).fit(repeated)
            np.testing.assert_allclose(a.score_samples(BLOBS), b.score_samples(BLOBS), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("tol", [0.0, 1e-6, 1e-3, 1e-1])
    @pytest.mark.parametrize("kind", [np.float64, np.float32])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_compiled_loop_is_the_general_one(self, tol, kind, weighted):
        rng = np.random.default_rng(7)
        X = (2.0 * rng.standard_normal((9, 4))[rng.integers(0, 9, 1500)] + rng.standard_normal((1500, 4))).astype(kind)
        weight = rng.integers(0, 3, 1500).astype(float) if weighted else None
        variance = float(np.cov(X.T.astype(float), aweights=weight, ddof=0).diagonal().mean())
        rows = gm.scan(X, sample_weight=weight)
        start = LoopState([Point().moved_to(x) for x in X[:9]], np.full(9, 1 / 9))
        compiled, general = MeansLoop(rows, Nearest(), variance), Loop(rows, Nearest(), variance)
        a = compiled.run(start, max_iter=300, tol=tol)
        b = general.run(start, max_iter=300, tol=tol)
        for each, loop in ((a, compiled), (b, general)):
            loop.certify(each)
            assert each.converged
        centers = [np.stack([point.center_ for point in each.state.structures]) for each in (a, b)]
        np.testing.assert_allclose(*centers, atol=1e-10)
        np.testing.assert_array_equal(compiled.labels, general.labels)
        np.testing.assert_allclose(compiled.scores, general.scores, atol=1e-9)
        np.testing.assert_allclose(a.mass, b.mass)
        assert a.value == pytest.approx(b.value, rel=1e-12)
        assert a.change == pytest.approx(b.change, abs=1e-11)
        assert b.iterations - a.iterations in (0, 1)  # when no row moved, the general one looks once more
        same = [value for _, value, _ in b.history][: len(a.history)]
        np.testing.assert_allclose([value for _, value, _ in a.history], same, rtol=1e-10)
        model = gm.KMeans(9, init=X[:9], tol=tol).fit(X, sample_weight=weight)
        np.testing.assert_allclose(model.centers_, centers[1], atol=1e-10)
        assert model.n_iter_ == a.iterations
        assert model.certificate_.holds

    @pytest.mark.parametrize("n", [2000, 12_000])
    @pytest.mark.parametrize("init", ["k-means++", "farthest", "random"])
    def test_starts_of_few_and_many_rows(self, n, init):
        X, owners = make_blobs(n, n_features=3, centers=6, cluster_std=0.3, random_state=1)
        model = gm.KMeans(6, init=init, n_init=20, random_state=0, tol=1e-9).fit(X)
        assert adjusted_rand_score(model.labels_, owners) == 1
        if init == "farthest":
            np.testing.assert_array_equal(gm.KMeans(6, init=init, random_state=5).fit(X).labels_, model.labels_)
        np.testing.assert_allclose(model.score_samples(X[:9]), -((X - model.centers_[model.labels_]) ** 2).sum(1)[:9])

    def test_threads_give_the_same_bits(self):
        X = np.random.default_rng(0).standard_normal((40_000, 3))
        for model in (
            gm.KMeans(3, init=X[:3], max_iter=5),
            gm.GaussianMixture(3, init=X[:3], max_iter=5, random_state=0),
        ):
            found = []
            for count in (1, 2):
                with gm.threads(count), warnings.catch_warnings():
                    warnings.simplefilter("ignore", gm.ConvergenceWarning)
                    found.append(model.fit(X).score_samples(X[:100]))
            np.testing.assert_array_equal(*found)

    def test_parameters(self):
        for given, message in (
            ({"n_clusters": 0}, "n_clusters is 0"),
            ({"n_clusters": "many"}, "n_clusters is 'many'"),
            ({"n_clusters": 3, "init": "middle"}, "init is 'middle'"),
            ({"n_clusters": 3, "init": BLOBS[:2]}, r"init has shape \(2, 2\)"),
            ({"n_clusters": 2, "init": [[0.0, np.nan], [1.0, 1.0]]}, "NaN"),
            ({"n_clusters": "auto", "criterion": "luck"}, "criterion is 'luck'"),
            ({"n_clusters": "auto", "init": BLOBS[:2]}, "fixed number"),
            ({"n_clusters": "auto", "penalty": -1.0}, "penalty is -1"),
            ({"n_clusters": "auto", "kernel": "rbf", "criterion": "bic"}, "which a feature space does not determine"),
            ({"n_clusters": "auto", "kernel": "rbf", "criterion": "luck"}, "criterion is 'luck'"),
            ({"n_clusters": "many", "kernel": "rbf"}, "n_clusters is 'many'"),
            ({"n_clusters": 301, "kernel": "rbf"}, "300 points"),
        ):
            with pytest.raises(ValueError, match=message):
                gm.KMeans(**given).fit(BLOBS)
        with pytest.raises(ValueError, match="own weights"):
            gm.KMeans(2).fit(gm.scan(BLOBS), sample_weight=np.ones(300))
        with pytest.warns(gm.ConvergenceWarning, match="max_iter=1"):
            gm.KMeans(5, init=BLOBS[:5], max_iter=1).fit(BLOBS)


class TestShapes:
    def test_crossing_lines(self):
        rng = np.random.default_rng(0)
        t = rng.uniform(-5, 5, 100)
        X = np.concatenate([np.column_stack([t, t]), np.column_stack([t, -t])]) + 0.05 * rng.standard_normal((200, 2))
        model = gm.KLines(2, random_state=0).fit(X)
        slopes = sorted(line.direction_[1] / line.direction_[0] for line in model.structures_)
        np.testing.assert_allclose(slopes, [-1, 1], atol=0.02)

    def test_two_planes(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-3, 3, (200, 3))
        X[:100, 2], X[100:, 0] = 0.01 * X[:100, 2], 0.01 * X[100:, 0]
        model = gm.KPlanes(2, random_state=0).fit(X)
        assert sorted(int(np.abs(plane.normal_).argmax()) for plane in model.structures_) == [0, 2]

    def test_circles_that_cross_and_ellipses(self):
        rng = np.random.default_rng(0)
        t = rng.uniform(0, 6.28, 100)
        ring = np.column_stack([np.cos(t), np.sin(t)])
        X = np.concatenate([2 * ring, ring + np.array([1.5, 0.5])]) + 0.02 * rng.standard_normal((200, 2))
        model = gm.KCircles(2, random_state=0).fit(X)
        np.testing.assert_allclose(sorted(c.radius_ for c in model.structures_), [1, 2], atol=0.03)
        X = np.concatenate([ring * [3, 1], ring * [1, 2] + [5, 0]]) + 0.02 * rng.standard_normal((200, 2))
        model = gm.KEllipses(2, random_state=0).fit(X)
        axes = np.array(sorted(tuple(e.axes_) for e in model.structures_))
        np.testing.assert_allclose(axes, [[2, 1], [3, 1]], atol=0.05)

    def test_mixed_structures(self):
        rng = np.random.default_rng(1)
        line = np.column_stack([np.linspace(0, 9, 60), np.linspace(0, 9, 60)])
        X = np.concatenate([line, rng.normal([0, 8], 0.2, (40, 2)), rng.normal([8, 0], 0.2, (40, 2))])
        for rule in ("nearest", "soft"):
            model = gm.Structures([Line(), Point(), Point()], rule, random_state=0).fit(X)
            np.testing.assert_allclose(np.abs(model.structures_[0].direction_), 0.5**0.5, atol=0.02)
            assert [type(each).__name__ for each in model.structures_] == ["Line", "Point", "Point"]
        for structures, message in (
            ([Line(), Gaussian()], "Distances and densities"),
            ([Point(), Point("absolute")], "Squared and absolute"),
            ([], "empty list"),
            (["ball"], "structure is 'ball'"),
        ):
            with pytest.raises(ValueError, match=message):
                gm.Structures(structures).fit(X)
        with pytest.raises(ValueError, match="leave it out"):
            gm.Structures([Line(), Point()], n_clusters=3).fit(X)

    def test_named_structures_equal_named_estimators(self):
        for word, named in (("point", gm.KMeans), ("line", gm.KLines), ("gaussian", gm.KGaussians)):
            a = gm.Structures(word, n_clusters=3, random_state=0, tol=0.0).fit(BLOBS)
            b = named(3, random_state=0, tol=0.0).fit(BLOBS)
            assert a.objective_ == pytest.approx(b.objective_)
        a = gm.Structures("gaussian", "soft", 4, init=BLOBS[[0, 1, 2, 3]]).fit(BLOBS)
        b = gm.GaussianMixture(4, init=BLOBS[[0, 1, 2, 3]], tol=1e-6).fit(BLOBS)
        assert a.objective_ == pytest.approx(b.objective_)
        np.testing.assert_allclose(a.weights_, b.weights_)
        np.testing.assert_allclose(a.predict_proba(BLOBS), b.predict_proba(BLOBS), atol=1e-9)
        shared = gm.Structures("line", "soft", 2, random_state=0, n_init=2).fit(BLOBS)
        np.testing.assert_allclose(shared.predict_proba(BLOBS).sum(axis=1), 1.0)
        np.testing.assert_array_equal(shared.predict_proba(BLOBS).argmax(axis=1), shared.predict(BLOBS))
        assert not hasattr(gm.Structures("point"), "predict_proba")
        assert gm.Structures("point").fit(BLOBS).n_clusters_ == 2

    def test_a_kernel_takes_the_default_too(self):
        choice = (
            gm.KMeans("auto", kernel=gm.kernels.RBF(2.0), random_state=0, max_clusters=5, n_init=2).fit(BLOBS).choice_
        )
        assert choice.criterion == "prediction_strength"
        assert choice.chosen == 4

    def test_init_from_fitted_structures(self):
        start = [Circle().fit(BLOBS[:20]), Circle().fit(BLOBS[20:40])]
        before = [each.radius_ for each in start]
        model = gm.KCircles(2, init=start).fit(BLOBS)
        assert [each.radius_ for each in start] == before
        assert model.n_clusters_ == 2
        with pytest.raises(ValueError, match="init has 2 structures"):
            gm.KCircles(3, init=start).fit(BLOBS)
        with pytest.raises(TypeError, match=r"Circle.*where the model has Line"):
            gm.KLines(2, init=start).fit(BLOBS)


class TestCompetition:
    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
    def test_rival_penalised_learning_chooses_k(self, k, d):
        for seed in range(9):
            model = gm.CompetitiveLearning(2 * k, rule="rival", random_state=seed).fit(separated(seed, k, d))
            assert model.n_clusters_ == k, seed
            assert set(model.labels_) == set(range(k))

    def test_frequency_sensitive_learning_uses_all_points(self):
        start = np.random.default_rng(0).normal([0, 0], 0.3, (4, 2)) - 30.0  # all far away: one would win every row
        start[0] += 30.0
        model = gm.CompetitiveLearning(4, rule="frequency", init=start).fit(BLOBS)
        assert adjusted_rand_score(model.labels_, OWNERS) > 0.99

    def test_plain_is_k_means(self):
        a = gm.CompetitiveLearning(4, rule="plain", init=BLOBS[:4]).fit(BLOBS)
        b = gm.KMeans(4, init=BLOBS[:4]).fit(BLOBS)
        np.testing.assert_array_equal(a.centers_, b.centers_)

    def test_inapplicable_rules_are_refused(self):
        for structure, rule, message in (
            ("line", "rival", "moves points, and"),
            ("gaussian", "frequency", "is a density"),
            ("point", RivalPenalised(0.0), "strength is 0"),
            ("point", FrequencySensitive(0), "passes is 0"),
            ("point", "loudest", "assignment is 'loudest'"),
        ):
            with pytest.raises(ValueError, match=message):
                gm.Structures(structure, rule, 3).fit(BLOBS)
        with pytest.raises(ValueError, match="chooses the number of clusters itself"):
            gm.Structures("point", "rival", "auto").fit(BLOBS)
        lines = gm.Structures("line", "frequency", 2, random_state=0).fit(BLOBS)
        assert lines.certificate_.holds


class TestNumber:
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_four_blobs_are_four(self, criterion):
        model = gm.KMeans("auto", criterion=criterion, max_clusters=7, n_init=2, random_state=0).fit(BLOBS)
        assert model.n_clusters_ == model.choice_.chosen == 4
        assert model.choice_.criterion == criterion
        assert len(model.choice_.values) == len(model.choice_.n_clusters) == 7
        assert (np.diff(model.choice_.objectives) <= 1e-9).all()
        assert str(model.choice_) in str(model.summary())

    def test_bic_counts_the_mixing_proportions(self):
        with pytest.warns(gm.ConvergenceWarning, match="is max_clusters"):
            model = gm.KMeans("auto", criterion="bic", max_clusters=3, random_state=0).fit(BLOBS)
        for k, value, objective in zip(
            model.choice_.n_clusters, model.choice_.values, model.choice_.objectives, strict=True
        ):
            labels = gm.KMeans(int(k), random_state=0).fit(BLOBS).labels_
            n, d = BLOBS.shape
            counts = np.bincount(labels)
            noise = objective / (n * d)
            likelihood = counts @ np.log(counts / n) - 0.5 * n * d * (np.log(2 * np.pi * noise) + 1)
            assert value == pytest.approx(-2 * likelihood + (k * d + k - 1 + 1) * np.log(n), rel=1e-6)

    def test_silhouettes_are_those_of_the_reference(self):
        from sklearn.metrics import pairwise_distances

        labels = gm.KMeans(3, random_state=0).fit(BLOBS).labels_
        found = silhouette(pairwise_distances(BLOBS), labels, np.ones(300))
        assert found == pytest.approx(silhouette_score(BLOBS, labels))

    def test_penalty_as_given(self):
        model = gm.KMeans("auto", criterion="penalty", penalty=1e9, random_state=0).fit(BLOBS)
        assert model.n_clusters_ == 1
        np.testing.assert_allclose(model.choice_.values, model.choice_.objectives + 1e9 * model.choice_.n_clusters)

    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("k", [1, 3, 6])
    def test_auto_penalty_is_the_most_persistent(self, k, d):
        for seed in range(3):
            X = separated(seed, k, d)
            model = gm.KMeans("auto", criterion="penalty", n_init=3, random_state=0).fit(X)
            assert model.n_clusters_ == k
            choice = model.choice_
            np.testing.assert_allclose(choice.values, choice.objectives + choice.penalty * choice.n_clusters)
            assert choice.values.argmin() == k - 1
            # half or twice the penalty would choose the same, and so would other units
            for factor in (0.5, 2.0) if k > 1 else (2.0,):
                assert (choice.objectives + factor * choice.penalty * choice.n_clusters).argmin() == k - 1
            other = gm.KMeans("auto", criterion="penalty", n_init=3, random_state=0).fit(1e-6 * X)
            assert other.choice_.penalty == pytest.approx(1e-12 * choice.penalty, rel=1e-6)
        assert gm.KMeans("auto", random_state=0).fit(BLOBS).choice_.penalty is None

    def test_mixtures_and_lines(self):
        assert gm.GaussianMixture("auto", max_clusters=6, random_state=0).fit(BLOBS).n_clusters_ == 4
        with pytest.raises(ValueError, match="compares distances"):
            gm.GaussianMixture("auto", criterion="gap").fit(BLOBS)
        rng = np.random.default_rng(0)
        t = rng.uniform(-5, 5, 150)
        X = np.concatenate([np.column_stack([t, t]), np.column_stack([t, -t])]) + 0.1 * rng.standard_normal((300, 2))
        assert gm.KLines("auto", max_clusters=4, random_state=0).fit(X).n_clusters_ == 2

    @pytest.mark.parametrize("seed", range(2))
    def test_known_groups(self, seed):
        wine, iris = (X.data for X in (load_wine(), load_iris()))
        wine, iris = ((X - X.mean(axis=0)) / X.std(axis=0) for X in (wine, iris))
        assert gm.KMeans("auto", max_clusters=6, random_state=seed).fit(wine).n_clusters_ == 3
        assert gm.KMeans("auto", max_clusters=6, random_state=seed).fit(iris).n_clusters_ in (2, 3)  # two species touch

    @pytest.mark.parametrize("model", [gm.KMeans("auto"), gm.KMedians("auto", n_init=2)], ids=repr)
    def test_rows_without_clusters_are_one_cluster(self, model):
        rng = np.random.default_rng(0)
        clouds = {
            "normal": rng.standard_normal((200, 2)),
            "long": rng.standard_normal((200, 2)) * [6.0, 1.0],
            "even": rng.uniform(size=(200, 2)),
            "equal": np.ones((20, 2)),
        }
        for name, X in clouds.items():
            assert clone(model).set_params(random_state=0, max_clusters=6).fit(X).n_clusters_ == 1, name

    def test_shapes_and_densities_take_the_bic(self):
        for model in (gm.KLines("auto"), gm.GaussianMixture("auto"), gm.Structures("point", "soft", "auto")):
            model.set_params(max_clusters=2, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gm.ConvergenceWarning)
                assert model.fit(BLOBS).choice_.criterion == "bic"

    def test_choice_at_max_clusters_warns(self):
        for model in (gm.KMeans("auto"), gm.KMeans("auto", kernel="linear"), gm.GaussianMixture("auto")):
            with pytest.warns(gm.ConvergenceWarning, match="chosen, 3, is max_clusters: more clusters might be better"):
                model.set_params(max_clusters=3, random_state=0).fit(separated(0, 3))
            assert model.choice_.at_boundary
            assert "is max_clusters" in str(model.certificate_)
            assert not model.set_params(max_clusters=4).fit(separated(0, 3)).choice_.at_boundary

    def test_the_largest_number_tried_is_named(self):
        """Ten numbers of clusters tell little of 75: what was tried is said, and where the criterion still improved."""
        centers = 10.0 * np.stack(np.meshgrid(np.arange(5), np.arange(5), np.arange(3)), axis=-1).reshape(-1, 3)
        X = np.repeat(centers, 12, axis=0) + 0.3 * np.random.default_rng(0).normal(size=(900, 3))
        model = gm.KMeans("auto", criterion="bic", random_state=0).fit(X)
        assert model.n_clusters_ < 10
        said = f"{model.n_clusters_} clusters by bic of 1 to 10 (max_clusters); the criterion was still improving at 10"
        assert said in str(model.summary())
        assert "still improving at 10 clusters, the largest number tried" in str(model.certificate_)
        values = model.choice_.values
        assert model.choice_.improving_at_end == (values[-1] < values[-2])
        assert str(gm.KMeans("auto", random_state=0, max_clusters=4).fit(separated(0, 3)).choice_).endswith(
            "3 clusters by prediction_strength of 1 to 4 (max_clusters)"
        )
        few = gm.KMeans("auto", criterion="bic", max_clusters=9).fit(np.arange(6.0)[:, None] ** 3)
        assert not few.choice_.limited

    def test_prediction_strength_by_its_definition(self):
        rng = np.random.default_rng(0)
        own, predicted = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
        weight = rng.integers(1, 4, 40).astype(float)
        a, b = np.repeat(own, weight.astype(int)), np.repeat(predicted, weight.astype(int))
        shares = []
        for j in range(3):
            pairs = [b[i] == b[m] for i in np.flatnonzero(a == j) for m in np.flatnonzero(a == j) if i != m]
            shares.append(np.mean(pairs))
        assert co_membership(predicted, own, weight) == pytest.approx(min(shares))
        assert co_membership(np.array([0, 0, 1]), np.array([0, 0, 1]), np.ones(3)) == 0.0  # one row predicts nothing

    def test_the_elbow_of_many_clusters(self):
        X = np.concatenate([[8.0 * i, 8.0 * j] + BLOBS[:20] / 20 for i in range(4) for j in range(3)])
        model = gm.KMeans("auto", criterion="elbow", max_clusters=24, random_state=0).fit(X)
        assert model.n_clusters_ == 12
        np.testing.assert_allclose(model.choice_.values, np.log(model.choice_.objectives))

    def test_few_distinct_rows(self):
        X = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 1.0]], 5, axis=0)
        assert gm.KMeans("auto", criterion="silhouette", random_state=0).fit(X).n_clusters_ == 3


class TestOutliers:
    def test_far_rows_are_outliers_of_clusterings(self):
        X = np.concatenate([BLOBS, [[30.0, 30.0], [-20.0, 4.0], [4.0, -25.0]]])
        for model in (gm.KMeans(4, init="random"), gm.StudentTMixture(4)):
            model.set_params(random_state=1)
            start = np.array([[0, 0], [8, 0], [0, 8], [8, 8.0]])
            found = model.set_params(init=start).fit(X).outliers(share=0.01)
            assert set(np.flatnonzero(found)) == {300, 301, 302}
            np.testing.assert_array_equal(model.outliers(X, share=0.01), found)
        assert not model.outliers(share=0.0).any()
        with pytest.raises(ValueError, match="share is 2"):
            model.outliers(share=2.0)


class TestKernel:
    def test_linear_kernel_is_k_means(self):
        start = gm.KMeans(4, random_state=0).fit(BLOBS)
        model = gm.KMeans(4, kernel="linear", random_state=0).fit(BLOBS)
        assert model.objective_ == pytest.approx(start.objective_)
        assert adjusted_rand_score(model.labels_, start.labels_) == 1
        np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
        centers = np.array([BLOBS[model.labels_ == j].mean(axis=0) for j in range(4)])
        far = np.linalg.norm(BLOBS[:, None] - centers, axis=2)
        np.testing.assert_allclose(model.transform(BLOBS), far, atol=1e-6)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_features_give_the_same(self, weighted):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((120, 2))
        w = rng.integers(1, 4, 120) if weighted else None
        kernel = gm.kernels.Polynomial(2)
        a = gm.KMeans(3, kernel=kernel, random_state=0).fit(X, sample_weight=w)
        weight, F = np.ones(120) if w is None else w, kernel.features(X)
        means = [np.average(F[a.labels_ == j], axis=0, weights=weight[a.labels_ == j]) for j in range(3)]
        b = gm.KMeans(3, init=np.array(means)).fit(F, sample_weight=w)
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
        assert a.certificate_.holds
        values = [value for _, value, _ in a.history_]
        assert (np.diff(values) <= 1e-9).all()

    @pytest.mark.parametrize("criterion", ["elbow", "gap", "penalty", "silhouette", "stability"])
    @pytest.mark.parametrize("kernel", ["linear", gm.kernels.RBF(3.0)])
    def test_four_blobs_are_four(self, criterion, kernel):
        model = gm.KMeans("auto", kernel=kernel, criterion=criterion, max_clusters=6, n_init=2, random_state=0)
        model.fit(BLOBS)
        assert model.n_clusters_ == model.choice_.chosen == 4
        assert adjusted_rand_score(model.labels_, OWNERS) > 0.99
        assert model.choice_.n_clusters.tolist() == [1, 2, 3, 4, 5, 6]
        assert (np.diff(model.choice_.objectives) <= 1e-9).all()
        assert model.objective_ == pytest.approx(model.choice_.objectives[3])
        assert str(model.choice_) in str(model.summary())
        assert not hasattr(model.set_params(n_clusters=3).fit(BLOBS), "choice_")

    def test_criteria_are_those_of_distances_in_the_feature_space(self):
        kernel = gm.kernels.RBF(3.0)
        K = kernel(BLOBS)
        model = gm.KMeans("auto", kernel=kernel, criterion="silhouette", max_clusters=5, random_state=0).fit(BLOBS)
        apart = np.sqrt(np.maximum(2.0 - 2.0 * K, 0.0))
        np.fill_diagonal(apart, 0.0)
        want = silhouette_score(apart, model.labels_, metric="precomputed")
        assert model.choice_.values[3] == pytest.approx(want, rel=1e-4)
        for k, objective in zip(model.choice_.n_clusters, model.choice_.objectives, strict=True):
            best = gm.KMeans(int(k), kernel=kernel, random_state=0).fit(BLOBS).objective_
            assert objective <= 1.05 * best
        rng = np.random.default_rng(0)
        w = rng.integers(1, 3, 300)
        given = {"kernel": "linear", "criterion": "gap", "max_clusters": 5, "random_state": 0}
        a = gm.KMeans("auto", **given).fit(BLOBS, sample_weight=w).choice_
        b = gm.KMeans("auto", **(given | {"kernel": None})).fit(BLOBS, sample_weight=w).choice_
        assert a.chosen == b.chosen == 4
        np.testing.assert_allclose(a.values, b.values, atol=0.15)

    def test_the_number_for_strings_a_matrix_and_samples(self, monkeypatch):
        words = ["aaaa", "aaab", "abaa", "cccc", "cccd", "ccdc"]
        kernel = gm.kernels.Spectrum(2)
        model = gm.KMeans("auto", kernel=kernel, criterion="silhouette", max_clusters=4, random_state=0).fit(words)
        assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1
        with pytest.raises(ValueError, match="are not rows of numbers"):
            gm.KMeans("auto", kernel=kernel, criterion="gap").fit(words)
        with pytest.raises(ValueError, match="sparse rows do not fill"):
            gm.KMeans("auto", kernel="linear", criterion="gap", max_clusters=2).fit(sp.csr_array(BLOBS))
        monkeypatch.setattr("gramian.structures.loop.kernel_means.MAX_SAMPLE", 100)
        K = gm.kernels.RBF(3.0)(BLOBS)
        given = {"criterion": "stability", "max_clusters": 5, "random_state": 0}
        assert gm.KMeans("auto", kernel=gm.kernels.Precomputed(), **given).fit(K).n_clusters_ == 4
        X = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 1.0]], 5, axis=0)
        few = gm.KMeans("auto", kernel="linear", criterion="silhouette", random_state=0).fit(X)
        assert few.n_clusters_ == len(few.choice_.values) == 3
        same = gm.KMeans("auto", kernel="rbf", criterion="silhouette", random_state=0).fit(np.ones((5, 2)))
        assert same.n_clusters_ == 1

    def test_panels_give_the_same_as_the_matrix(self, monkeypatch):
        a = gm.KMeans(3, kernel=gm.kernels.RBF(2.0), random_state=0).fit(BLOBS)
        monkeypatch.setattr("gramian.structures.loop.kernel_means.MAX_KEPT_POINTS", 10)
        b = gm.KMeans(3, kernel=gm.kernels.RBF(2.0), random_state=0).fit(BLOBS)
        assert b.certificate_.through == "kernel panels"
        assert a.objective_ == pytest.approx(b.objective_)
        np.testing.assert_array_equal(a.predict(BLOBS[:9] + 0.1), b.predict(BLOBS[:9] + 0.1))

    def test_a_given_matrix_and_strings(self):
        kernel = gm.kernels.RBF(2.0)
        a = gm.KMeans(3, kernel=kernel, random_state=0).fit(BLOBS)
        b = gm.KMeans(3, kernel=gm.kernels.Precomputed(), random_state=0).fit(kernel(BLOBS))
        assert a.objective_ == pytest.approx(b.objective_)
        np.testing.assert_array_equal(b.predict(kernel(BLOBS[:20], BLOBS)), a.predict(BLOBS[:20]))
        words = ["aaaa", "aaab", "abaa", "cccc", "cccd", "ccdc"]
        model = gm.KMeans(2, kernel=gm.kernels.Spectrum(2), random_state=0).fit(words)
        assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1
        assert model.predict(["aaba"]) == model.labels_[0]

    def test_duplicates_and_farthest(self):
        X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
        model = gm.KMeans(3, kernel="linear", init="farthest").fit(X)
        assert model.n_clusters_ == 2
        assert gm.KMeans(2, kernel="linear", init="random", random_state=0).fit(X).objective_ == pytest.approx(0)

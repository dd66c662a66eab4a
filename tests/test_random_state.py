import numpy as np
import pytest

import gramian as gm
from gramian._core.random import MAX_SEED, generator_from, legacy_generator_from, seed_from, validate_random_state


def test_seed_from_whole_number_is_that_number():
    assert [seed_from(value) for value in (0, 5, np.int32(9), 2**40)] == [0, 5, 9, 2**40]


def test_seed_from_generators_is_their_next_draw():
    assert seed_from(np.random.default_rng(1)) == np.random.default_rng(1).integers(2**31)
    assert seed_from(np.random.default_rng(1), below=MAX_SEED - 1) == np.random.default_rng(1).integers(2**31 - 1)
    assert seed_from(np.random.RandomState(1)) == np.random.RandomState(1).randint(2**31 - 1)


def test_seed_from_none_is_the_default_or_fresh_entropy():
    assert seed_from(None) == 0
    assert seed_from(None, default=3) == 3
    assert seed_from(None, default=None) != seed_from(None, default=None)


def test_generator_from_keeps_generators_and_starts_seeds():
    rng = np.random.default_rng(4)
    assert generator_from(rng) is rng
    assert generator_from(4).random() == np.random.default_rng(4).random()
    expected = np.random.default_rng(np.random.RandomState(4).randint(2**31 - 1)).random()
    assert generator_from(np.random.RandomState(4)).random() == expected


def test_legacy_generator_from_matches_scikit_learn():
    from sklearn.utils import check_random_state

    rng = np.random.RandomState(2)
    assert legacy_generator_from(rng) is check_random_state(rng)
    assert legacy_generator_from(None) is check_random_state(None)
    assert legacy_generator_from(2).rand() == check_random_state(2).rand()
    assert (
        legacy_generator_from(np.random.default_rng(2)).rand() == legacy_generator_from(np.random.default_rng(2)).rand()
    )


@pytest.mark.parametrize("random_state", [-1, True, 1.5, "x", [1]])
def test_readers_refuse_what_is_no_random_state(random_state):
    for reader in (validate_random_state, seed_from, generator_from, legacy_generator_from):
        with pytest.raises(ValueError, match=r"random_state is .*; it must be None, a whole number of at least 0"):
            reader(random_state)


@pytest.mark.parametrize(
    "model",
    [
        gm.RadialBasisFeatures(3, random_state=-1),
        gm.RandomFourier(random_state=-1),
        gm.Nystroem(random_state=-1),
        gm.PCA(random_state=-1),
        gm.MDS(method="smacof", init="random", random_state=-1),
        gm.TSNE(perplexity=5, init="random", random_state=-1),
        gm.KMeans(2, random_state=-1),
        gm.SpectralClustering(2, random_state=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_refuse_a_negative_random_state_in_the_same_words(model):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="random_state is -1; it must be None, a whole number of at least 0"):
        model.fit(X)


def test_estimators_of_legacy_generators_accept_a_generator():
    X = np.random.default_rng(0).standard_normal((20, 3))
    first, again = (gm.RandomFourier(n_components=4, random_state=np.random.default_rng(1)).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.frequencies_, again.frequencies_)

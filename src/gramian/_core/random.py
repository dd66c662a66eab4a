"""The one reader of `random_state`: seeds and generators from integers, NumPy's generators, and None."""

from types import ModuleType

import numpy as np

from gramian._core.types import RandomState
from gramian._core.validation import is_integer

MAX_SEED = 2**31  # seeds that are drawn from a Generator lie below it


def validate_random_state(random_state: object) -> None:
    """Raise unless `random_state` is None, a whole number of at least 0, a Generator or a RandomState.

    >>> validate_random_state(-1)
    Traceback (most recent call last):
    ValueError: random_state is -1; it must be None, a whole number of at least 0, a Generator or a RandomState.
    """
    if random_state is None or isinstance(random_state, np.random.Generator | np.random.RandomState):
        return
    if not is_integer(random_state) or random_state < 0:
        raise ValueError(
            f"random_state is {random_state!r}; it must be None, a whole number of at least 0, a Generator or a "
            "RandomState."
        )


def seed_from(random_state: RandomState, *, default: int | None = 0, below: int = MAX_SEED) -> int:
    """A seed: the whole number itself, one drawn from a generator, or `default` for None (fresh entropy without one).

    >>> seed_from(7), seed_from(None), seed_from(np.random.default_rng(0)) < 2**31
    (7, 0, True)
    """
    validate_random_state(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(below)) if default is None else default
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(below))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state)


def generator_from(random_state: RandomState) -> np.random.Generator:
    """A Generator: the one passed in, or a new one from a seed; None is seed 0.

    >>> bool(generator_from(None).integers(100) == generator_from(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_from(random_state))


def legacy_generator_from(random_state: RandomState | ModuleType) -> np.random.RandomState:
    """A RandomState as scikit-learn's `check_random_state` returns it (None is NumPy's global one); of a Generator too.

    >>> bool(legacy_generator_from(3).randint(100) == np.random.RandomState(3).randint(100))
    True
    """
    if random_state is None or isinstance(random_state, ModuleType):  # numpy.random, as scikit-learn takes it
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(seed_from(random_state))

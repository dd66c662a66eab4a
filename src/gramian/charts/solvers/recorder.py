"""A callback that records the iterates of a solver."""

from typing import Any

import numpy as np

from gramian._core.types import Floats


class Recorder:
    """Records the iterates of a solver: give it to a model as `callbacks=[Recorder()]`.

    A later fit with the same recorder replaces the earlier one.

    Parameters
    ----------
    most : int
        Maximum number of iterates; beyond it every second one is dropped, and from there on only
        every second one is recorded.

    Attributes
    ----------
    iterations : list of int
    thetas : list of array (outputs, p)
        Coefficients of the centred and scaled columns, then the intercept.
    values : list of float
        The objective.

    Examples
    --------
    >>> import gramian as gm
    >>> recorder = gm.charts.Recorder()
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = gm.LogisticRegression(alpha=0.1, callbacks=[recorder]).fit(X, y)
    >>> recorder.iterations[-1] == model.n_iter_, recorder.thetas[-1].shape
    (True, (1, 2))
    """

    def __init__(self, most: int = 1000) -> None:
        if isinstance(most, bool) or not isinstance(most, int) or most < 2:
            raise ValueError(f"most is {most!r}; it must be a whole number of at least 2.")
        self.most = most
        self._start()

    def _start(self) -> None:
        self.iterations: list[int] = []
        self.thetas: list[Floats] = []
        self.values: list[float] = []
        self._every = 1
        self._last = 0

    def __call__(self, iteration: int, state: Any) -> None:
        """Record an iterate."""
        if iteration <= self._last:
            self._start()
        self._last = iteration
        if iteration % self._every:
            return
        self.iterations.append(iteration)
        self.thetas.append(np.array(state.theta, dtype=np.float64))
        self.values.append(float(state.value))
        if len(self.iterations) > self.most:
            self._every *= 2
            kept = [at for at, number in enumerate(self.iterations) if number % self._every == 0]
            self.iterations = [self.iterations[at] for at in kept]
            self.thetas = [self.thetas[at] for at in kept]
            self.values = [self.values[at] for at in kept]

    def __repr__(self) -> str:
        return f"<Recorder: {len(self.iterations)} points>"

"""`TSNE`: a map on which neighbours stay neighbours."""

from dataclasses import KW_ONLY
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.random import legacy_generator_from
from gramian._core.types import Floats, Matrix, RandomState, Table, Values
from gramian._core.validation import array, choice, number, whole
from gramian.rows import single_threaded_blas, thread_count
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.spectral.embedding.base import Embedding
from gramian.spectral.embedding.classical import of_rows, power_of_two

ENGINES = ("auto", "exact", "sklearn", "opentsne")
STARTS = ("pca", "random")
MAX_EXACT_ROWS = 10_000  # rows up to which all pairs are cheaper than a tree
SMALL = 1e-4  # spread of the start
EVERY = 10  # steps of openTSNE between two looks at the clock
INSTALL = 'engine="opentsne" needs openTSNE, which is not installed: pip install "gramian[embedding]"'


def _maps_new_rows(model: "TSNE") -> bool:
    if getattr(model, "engine_", model.engine) == "opentsne":
        return True
    raise AttributeError(
        "This t-SNE embedding has no place for new rows: coordinates follow from all rows at once, not from columns. "
        'Fit all rows together, give engine="opentsne", which fits new rows into a map, or use PCA, MDS or LLE.'
    )


@estimator
class TSNE(Embedding):
    """t-SNE: a map of rows in which those near to each other stay near; far ones are only kept apart.

    Minimises KL(P ‖ Q) = Σ p_ij log(p_ij / q_ij), with p_ij Gaussian similarities of rows, whose widths give each row
    `perplexity` neighbours, and q_ij ∝ (1 + ‖y_i − y_j‖²)⁻¹. Distances between clusters, their sizes and the axes mean
    nothing; and there are many local minima, of which this is one, stopped after `max_iter` steps.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    perplexity : float
        Neighbours of a row that count, at least 1 and below the number of rows.
    early_exaggeration : float
        Factor of the similarities in the first 250 steps.
    learning_rate : "auto" or float
        "auto": n / (4 early_exaggeration), at least 50; that of openTSNE with its engine.
    max_iter : int
    tol : float
        Ends where the norm of the gradient is `tol` of that of its pulling half (engine "exact").
    init : "pca", "random" or array (n, r)
        The start: the principal components in a small size, which keeps the large outline; normal numbers; or given.
    engine : "auto", "exact", "sklearn" or "opentsne"
        "exact": the forces of all pairs, compiled, n² a step; "sklearn": scikit-learn's Barnes–Hut tree, which groups
        far rows; "opentsne": openTSNE (extra `embedding`), which also places new rows, and whose sums depend on the
        number of threads; "auto": exact up to 10,000 rows and with `time`, else scikit-learn.
    random_state : int, RandomState or Generator, optional
        For the random start.
    time : float, optional
        Seconds after which the descent ends where it is, with a `ConvergenceWarning` and a certificate that does not
        hold; at most half of them are for exaggeration (engine "exact"). scikit-learn's descent cannot be ended.

    Attributes
    ----------
    embedding_ : array (n, r)
    kl_ : float
        KL(P ‖ Q) of the map, all pairs counted, whatever the engine.
    certificate_ : the gradient of the divergence relative to its pulling half. It seldom holds: t-SNE is stopped, not
        solved.
    engine_, solver_, n_iter_, history_ (step, divergence, norm of the gradient)

    Notes
    -----
    n log n for neighbours, then n² (exact) or n log n a step; the memory is that of 6 × perplexity numbers a row.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 5)) + 8.0 * np.repeat(np.eye(3, 5), 20, axis=0)
    >>> model = gm.TSNE(perplexity=10, max_iter=400).fit(X)
    >>> model.embedding_.shape, model.kl_ < 0.5
    ((60, 2), True)
    """

    n_components: int = 2
    perplexity: float = 30.0
    _: KW_ONLY
    early_exaggeration: float = 12.0
    learning_rate: float | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    init: str | Values = "pca"
    engine: str = "auto"
    random_state: RandomState = None
    time: float | None = None

    axes_have_units: ClassVar[bool] = False

    @timed
    def fit(self, X: Table, y: Values | None = None) -> "TSNE":
        """Lay out the rows of X; y is ignored, as pipelines give it."""
        r = whole("n_components", self.n_components, low=1)
        perplexity = number("perplexity", self.perplexity, low=0.0, open_low=True)
        exaggeration = number("early_exaggeration", self.early_exaggeration, low=1.0)
        steps = whole("max_iter", self.max_iter, low=250)
        tol = number("tol", self.tol, low=0.0)
        rate = self.learning_rate
        if not isinstance(rate, str):
            number("learning_rate", rate, low=0.0, open_low=True)
        elif rate != "auto":
            raise ValueError(f'learning_rate is {rate!r}; it must be "auto" or a number above 0.')
        engine = choice("engine", self.engine, ENGINES)
        if engine == "sklearn" and self.time is not None:
            raise ValueError(
                f'time is {self.time!r}, and engine="sklearn" cannot be ended before max_iter steps: give '
                'engine="exact" or "opentsne".'
            )
        values, _ = self._read(X, fitting=True)
        n = values.shape[0]
        if n == 1:
            raise ValueError("X has n_samples = 1: an embedding of neighbours needs more rows than one.")
        if not 1.0 <= perplexity < n:
            raise ValueError(
                f"perplexity is {perplexity:g} and X has n_samples = {n}: it is the number of neighbours of a row, at "
                f"least 1 and below {n}. Give another perplexity, or more rows."
            )
        rate = max(n / exaggeration / 4.0, 50.0) if isinstance(rate, str) else float(rate)
        self.engine_ = _engine("exact" if engine == "auto" and self.time is not None else engine, n, r, perplexity)
        # Squares of distances stay in range, and keep their digits where the mean is far from zero.
        self._size = power_of_two(float(np.abs(values).max()))
        self._mean = 0.0 if sp.issparse(values) else (values / self._size).mean(axis=0)
        values = self._centred(values)
        with single_threaded_blas():
            start = self._start(values, n, r)
        run = {"exact": self._exact, "sklearn": self._sklearn, "opentsne": self._opentsne}[self.engine_]
        run(values, start, perplexity, exaggeration, rate, steps, tol)
        return self

    def transform(self, X: Table) -> Floats:
        """Places of new rows among those of the fit; with engine "opentsne" alone."""
        check_is_fitted(self)
        values, _ = self._read(X, fitting=False)
        places = np.array(self._map.transform(self._centred(values)), dtype=np.float64)
        # To place rows, openTSNE moves the middle of its own map to zero.
        return places - (np.asarray(self._map) - self.embedding_).mean(axis=0)

    def _centred(self, values: Matrix) -> Matrix:
        values = values / self._size
        return values if sp.issparse(values) else values - self._mean

    def _start(self, values: Matrix, n: int, r: int) -> Floats:
        if not isinstance(self.init, str):
            init = array("init", self.init, f"finite numbers of shape ({n}, {r})")
            if init.shape != (n, r) or not np.isfinite(init).all():
                raise ValueError(f"init has shape {init.shape}; it must be finite numbers of shape ({n}, {r}).")
            return init
        if choice("init", self.init, STARTS) == "random":
            return SMALL * np.asarray(legacy_generator_from(self.random_state).standard_normal((n, r)))
        coordinates = of_rows(values, None, r).places
        spread = float(coordinates[:, 0].std())
        start = coordinates * (SMALL / spread) if spread > 0 else coordinates
        flat = start.std(axis=0) == 0  # an axis that rows do not have would never be used
        start[:, flat] = 1e-2 * SMALL * np.random.default_rng(0).standard_normal((n, int(flat.sum())))
        return start

    def _exact(
        self, values: Matrix, start: Floats, perplexity: float, exaggeration: float, rate: float, steps: int, tol: float
    ) -> None:
        from gramian.spectral.embedding.tsne_descent import lay_out

        with single_threaded_blas():
            forces = self._forces(values, perplexity)
            descent = lay_out(forces, start, exaggeration=exaggeration, rate=rate, max_iter=steps, tol=tol)
        self.solver_ = SolverInfo("gradient descent on all pairs", f"{len(start)} rows: no tree is needed")
        self._keep(descent.places, forces, descent.steps, descent.history, tol)

    def _sklearn(
        self, values: Matrix, start: Floats, perplexity: float, exaggeration: float, rate: float, steps: int, tol: float
    ) -> None:
        from sklearn.manifold import TSNE as Tree

        method = "barnes_hut" if start.shape[1] <= 3 else "exact"
        inner = Tree(
            n_components=start.shape[1], perplexity=perplexity, early_exaggeration=exaggeration, learning_rate=rate,
            max_iter=steps, init=start.astype(np.float32), method=method, n_jobs=thread_count(),
        )  # fmt: skip
        places = inner.fit_transform(values)
        self.solver_ = SolverInfo(f"scikit-learn, {method}", f"engine for {len(start)} rows")
        self._keep(np.asarray(places, dtype=np.float64), None, int(inner.n_iter_) + 1, [], tol, values, perplexity)

    def _opentsne(
        self, values: Matrix, start: Floats, perplexity: float, exaggeration: float, rate: float, steps: int, tol: float
    ) -> None:
        from gramian.spectral.embedding.tsne_descent import EARLY

        steps_done = [0]

        def check_deadline(*_: object) -> bool:
            steps_done[0] += EVERY
            return deadline.passed()

        ending = {} if self.time is None else {"callbacks": [check_deadline], "callbacks_every_iters": EVERY}
        inner = import_module("openTSNE").TSNE(
            n_components=start.shape[1], perplexity=perplexity, early_exaggeration=exaggeration,
            # its gradient lacks the factor 4; its own choice grows when the exaggeration ends
            learning_rate="auto" if self.learning_rate == "auto" else 4.0 * rate, early_exaggeration_iter=EARLY,
            n_iter=steps - EARLY, initialization=start,
            neighbors="exact", n_jobs=thread_count(), random_state=0, **ending,
        )  # fmt: skip
        self._map = inner.fit(values)
        self.solver_ = SolverInfo("openTSNE", "chosen by engine=; it embeds new rows too")
        steps = steps_done[0] if deadline.ended() else steps
        self._keep(np.array(self._map, dtype=np.float64), None, steps, [], tol, values, perplexity)

    def _forces(self, values: Matrix, perplexity: float) -> Any:
        from gramian.spectral.embedding.affinities import affinities
        from gramian.spectral.embedding.tsne_gradient import Forces

        return Forces.of(affinities(values, perplexity))

    def _keep(
        self, places: Floats, forces: Any, steps: int, history: list[Any], tol: float, values: Matrix = None,
        perplexity: float = 0.0,
    ) -> None:  # fmt: skip
        with single_threaded_blas():
            forces = self._forces(values, perplexity) if forces is None else forces
            self.kl_, gradient, pull = forces.exact(places)
        self.embedding_, self.n_iter_ = places, steps
        self.history_ = history or [(steps, self.kl_, float(np.linalg.norm(gradient)))]
        value = float(np.linalg.norm(gradient)) / pull if pull > 0 else 0.0
        self.certificate_ = Certificate(
            "gradient", value, tol, value <= tol, None, None, "all pairs",
            note=f"The divergence is {self.kl_:.4g} after {steps} steps; other starts may end lower.",
            convex=False,
        )  # fmt: skip

    def _facts(self) -> dict[str, object]:
        return {"kl": self.kl_, "steps": self.n_iter_}


# After the class, because scikit-learn wraps the methods of a transformer and would lose the condition.
TSNE.transform = available_if(_maps_new_rows)(TSNE.transform)  # type: ignore[method-assign]


def _engine(engine: str, n: int, r: int, perplexity: float) -> str:
    if engine == "auto":
        return "exact" if n <= MAX_EXACT_ROWS or r > 3 else "sklearn"
    if engine == "opentsne":
        if r > 2:
            raise ValueError(f'n_components is {r}; engine="opentsne" has at most 2 dimensions.')
        if find_spec("openTSNE") is None:
            raise ImportError(INSTALL)
        if 3.0 * perplexity > n - 1:
            raise ValueError(
                f'perplexity is {perplexity:g} and X has n_samples = {n}: engine="opentsne" takes a third of n - 1 at '
                f'most, {(n - 1) / 3.0:.4g}. Give a smaller perplexity, or engine="exact".'
            )
    return engine

"""Named clusterings: a structure, the nearest of which owns a row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from gramian.structures.base import ClusterModel, DistanceModel
from gramian.structures.components.base import Structure
from gramian.structures.components.circle import Circle
from gramian.structures.components.ellipse import Ellipse
from gramian.structures.components.flat import Line, Plane
from gramian.structures.components.gaussian import Gaussian
from gramian.structures.components.point import Point
from gramian.structures.components.student import StudentT
from gramian.structures.loop.assignments import Assignment, Nearest, assignment_of

Floats = NDArray[np.float64]

WORDS: dict[str, Structure] = {
    "point": Point(),
    "line": Line(),
    "plane": Plane(),
    "circle": Circle(),
    "ellipse": Ellipse(),
    "gaussian": Gaussian(),
    "student": StudentT(),
}

PARAMETERS = """
    Parameters
    ----------
    n_clusters : int or "auto"
        k; "auto" chooses by `criterion` among 1 to `max_clusters`.
    init : "k-means++", "farthest", "random", array (k, d) or list of fitted structures
        Where to start: where rows fit what there is badly (the best of several trials), at the row that fits worst, at
        any rows, or at centres.
    n_init : int
        Starts, of which the best is kept; one where starts cannot differ.
    max_iter : int
    tol : float
        The fall of the objective by one pass that ends it, relative to the objective.
    criterion : "auto", "bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette" or "stability"
        What chooses k: by default the prediction strength, of densities the BIC.
    penalty : "auto" or float
        λ of the criterion objective + λk: what one more cluster must lower the objective by. By default that in the
        middle of the longest stretch of log λ over which k stays the same (`choice_.penalty` is what was used).
    max_clusters : int
        The most tried.
    random_state : int, Generator, RandomState or None
    time : float, optional
        Seconds after which the fit ends at the best so far, and the choice of k with the numbers it has come to, with a
        `ConvergenceWarning`; the certificate says so, and holds only where the passes had ended before.
"""
ATTRIBUTES = """
    Attributes
    ----------
    labels_ : array (n,)
        The cluster of every row.
    structures_ : list
        The fitted structures; `centers_` are theirs.
    objective_ : float
        Σw times the squared distance of every row from its structure.
    n_clusters_ : int
        Clusters that own rows.
    choice_ : Choice
        The criterion along k, where k was chosen.
    history_ : list of (pass, objective, fall of the objective)
    certificate_ : Certificate
        By how much one more pass would lower the objective.
    n_iter_, solver_, n_features_in_, feature_names_in_
"""


class _Named(DistanceModel):
    """Structures of one kind, the nearest of which owns a row."""

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        criterion: str = "auto",
        penalty: Any = "auto",
        max_clusters: int = 10,
        random_state: Any = None,
        time: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.criterion = criterion
        self.penalty = penalty
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.time = time


class KMedians(_Named):
    __doc__ = f"""k medians: Σw ‖x − c‖₁ at its least, so that rows far away pull little.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [90.0, 9.0]]
    >>> KMedians(2, random_state=0).fit(X).objective_
    35.0
    """

    def _parts(self) -> tuple[Any, Assignment]:
        return Point("absolute"), Nearest()


class KLines(_Named):
    __doc__ = f"""k lines, each by total least squares: local principal components.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [0.0, 5.0], [1.0, 4.0], [4.0, 1.0], [5.0, 0.0]]
    >>> model = KLines(2, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-20)
    True
    """

    def _parts(self) -> tuple[Any, Assignment]:
        return Line(), Nearest()


class KPlanes(_Named):
    __doc__ = f"""k planes (hyperplanes, or flats of dimension q), each by total least squares.

    Of many planes through few rows it takes the one whose normal is nearest to a coordinate axis.
    {PARAMETERS}    q : int, optional
        Dimension of the flats; by default that of the data less one.
    {ATTRIBUTES}
    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (100, 3))
    >>> X[:50, 0], X[50:, 2] = 2.0, -3.0
    >>> model = KPlanes(2, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-20)
    True
    """

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        q: int | None = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        criterion: str = "auto",
        penalty: Any = "auto",
        max_clusters: int = 10,
        random_state: Any = None,
        time: float | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol, criterion=criterion, penalty=penalty,
            max_clusters=max_clusters, random_state=random_state, time=time,
        )  # fmt: skip
        self.q = q

    def _parts(self) -> tuple[Any, Assignment]:
        return Plane(self.q), Nearest()


class KCircles(_Named):
    __doc__ = f"""k circles (spheres), each by geometric fit.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6, 30)
    >>> ring = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = KCircles(2, random_state=0).fit(np.concatenate([ring, 3 * ring + 1]))
    >>> sorted(round(circle.radius_, 3) for circle in model.structures_)
    [1.0, 3.0]
    """

    def _parts(self) -> tuple[Any, Assignment]:
        return Circle(), Nearest()


class KEllipses(_Named):
    __doc__ = f"""k ellipses (ellipsoids), each by geometric fit of orthogonal distances.

    Of many ellipsoids through few rows it takes the roundest one.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6, 30)
    >>> X = np.concatenate([np.column_stack([3 * np.cos(t), np.sin(t)]), np.column_stack([np.cos(t), np.sin(t) + 5])])
    >>> model = KEllipses(2, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-9)
    True
    """

    def _parts(self) -> tuple[Any, Assignment]:
        return Ellipse(), Nearest()


class KGaussians(ClusterModel):
    __doc__ = f"""k normal densities, the largest of which owns a row: hard clustering with shapes.

    Minimises −Σw log N(x; mean, covariance) of the owner.
    {PARAMETERS.replace("relative to the objective", "per row")}    covariance, regularization
        As of `gm.structures.Gaussian`.
    {ATTRIBUTES.replace("Σw times the squared distance of every row from its structure", "−Σw log density of owners")}
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = KGaussians(3, random_state=0).fit(load_iris().data)
    >>> model.n_clusters_
    3
    """

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        covariance: str = "full",
        regularization: float = 1e-6,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        criterion: str = "auto",
        max_clusters: int = 10,
        random_state: Any = None,
        time: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance = covariance
        self.regularization = regularization
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.criterion = criterion
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.time = time

    def _parts(self) -> tuple[Any, Assignment]:
        return Gaussian(self.covariance, self.regularization), Nearest()


class Structures(DistanceModel):
    """Clustering by any structures and any assignment rule: every other estimator of clusters is one such pair.

    Parameters
    ----------
    structure : str, Structure, or a list of them
        "point", "line", "plane", "circle", "ellipse", "gaussian", "student", or an object of `gm.structures`. A list is
        one structure for each cluster, and `n_clusters` is left out.
    assignment : "nearest", "soft", "frequency", "rival" or Assignment
        Who owns a row.
    n_clusters : int, "auto" or None
        k; "auto" chooses by `criterion` among 1 to `max_clusters`. By default as many as structures are listed, and 2
        of one.
    init, n_init, max_iter, tol, criterion, penalty, max_clusters, random_state, time
        As of `KLines`; of rules and structures with a likelihood, `tol` is per row.

    Attributes
    ----------
    labels_, structures_, n_clusters_, choice_, history_, certificate_, n_iter_, solver_
    objective_ : float
        Σw times the loss of every row with its owner, or −Σw log density.
    weights_ : array (k,)
        Shares of the structures, where rows are shared.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.structures import Line, Point
    >>> rng = np.random.default_rng(0)
    >>> line = np.column_stack([np.linspace(0, 9, 30), np.linspace(0, 9, 30)])
    >>> X = np.concatenate([line, rng.normal([0, 8], 0.1, (20, 2)), rng.normal([8, 0], 0.1, (20, 2))])
    >>> model = Structures([Line(), Point(), Point()], random_state=0).fit(X)
    >>> model.structures_[0].direction_.round(2)
    array([0.71, 0.71])
    """

    def __init__(
        self,
        structure: Any = "point",
        assignment: Any = "nearest",
        n_clusters: Any = None,
        *,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        criterion: str = "auto",
        penalty: Any = "auto",
        max_clusters: int = 10,
        random_state: Any = None,
        time: float | None = None,
    ) -> None:
        self.structure = structure
        self.assignment = assignment
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.criterion = criterion
        self.penalty = penalty
        self.max_clusters = max_clusters
        self.random_state = random_state
        self.time = time

    @available_if(lambda self: assignment_of(self.assignment).soft)
    def predict_proba(self, X: Any) -> Floats:
        """Shares of the clusters in each row, (n, k); of the rule "soft"."""
        return self._responsibilities(X)

    def _counts(self, structure: Any) -> int | None:
        if self.n_clusters is None and not isinstance(structure, list):
            return 2
        return super()._counts(structure)

    def _parts(self) -> tuple[Any, Assignment]:
        given = self.structure
        if isinstance(given, list | tuple):
            return [structure_of(each) for each in given], assignment_of(self.assignment)
        return structure_of(given), assignment_of(self.assignment)


def structure_of(value: Any) -> Structure:
    """A structure from its word or itself."""
    if isinstance(value, Structure):
        return value
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    raise ValueError(
        f"structure is {value!r}; it must be one of {', '.join(map(repr, WORDS))}, an object of gm.structures such as "
        "Line(), or a list of these."
    )

"""Named compositions of a structure and an assignment rule, and `Structures` for any such pair."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, field

from sklearn.utils.metaestimators import available_if

from gramian._core.estimator import estimator
from gramian._core.types import Floats, RandomState, Table
from gramian.structures.base import ClusteringParameters, ClusterModel, Composition, DistanceModel
from gramian.structures.components.base import Structure
from gramian.structures.components.densities.gaussian import Gaussian
from gramian.structures.components.densities.student import StudentT
from gramian.structures.components.direction import Direction
from gramian.structures.components.flat import Line, Plane
from gramian.structures.components.point import Point
from gramian.structures.components.quadrics.circle import Circle
from gramian.structures.components.quadrics.ellipse import Ellipse
from gramian.structures.loop.assignments import Assignment, Nearest, assignment_of

STRUCTURES: dict[str, Structure] = {
    "point": Point(),
    "line": Line(),
    "plane": Plane(),
    "circle": Circle(),
    "ellipse": Ellipse(),
    "direction": Direction(),
    "gaussian": Gaussian(),
    "student": StudentT(),
}

PARAMETERS = """
    Parameters
    ----------
    n_clusters : int or "auto"
        k; "auto" chooses by `criterion` among 1 to `max_clusters`.
    init : "k-means++", "farthest", "random", array (k, d) or list of fitted structures
        Initial structures: by greedy k-means++ on the losses, at the rows of largest loss, at random rows, or at given
        centres.
    n_init : int
        Starts, of which the best is kept; one where the start is deterministic.
    max_iter : int
    tol : float
        The decrease of the objective by one pass at which the fit ends, relative to the objective.
    criterion : "auto", "bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette" or "stability"
        How k is chosen: by default the BIC; for points the prediction strength.
    penalty : "auto" or float
        λ of the criterion objective + λk: by how much one more cluster must lower the objective. By default the middle
        of the longest interval of log λ over which k stays the same; `choice_.penalty` is the λ used.
    max_clusters : int
        The largest k tried.
    random_state : int, Generator, RandomState or None
    time : float, optional
        Seconds after which the fit ends at the best result so far, and the choice of k with the numbers tried so far,
        with a `ConvergenceWarning`; the certificate says so, and holds only where the passes had converged before.
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
    history_ : list of (pass, objective, decrease of the objective)
    certificate_ : Certificate
        By how much one more pass would lower the objective.
    n_iter_, solver_, n_features_in_, feature_names_in_
"""


@estimator
class HardClustering(ClusteringParameters, DistanceModel):
    """Structures of one kind, the nearest of which owns a row."""

    penalty: float | str = field(default="auto", kw_only=True)


class KMedians(HardClustering):
    __doc__ = f"""k medians: minimises Σw ‖x − c‖₁, robust to outliers.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [90.0, 9.0]]
    >>> KMedians(2, random_state=0).fit(X).objective_
    35.0
    """

    def _composition(self) -> Composition:
        return Composition([Point("absolute")], Nearest())


class KLines(HardClustering):
    __doc__ = f"""k lines, each by total least squares: local principal components.
    {PARAMETERS}{ATTRIBUTES}
    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [0.0, 5.0], [1.0, 4.0], [4.0, 1.0], [5.0, 0.0]]
    >>> model = KLines(2, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-20)
    True
    """

    def _composition(self) -> Composition:
        return Composition([Line()], Nearest())


@estimator
class KPlanes(HardClustering):
    __doc__ = f"""k planes (hyperplanes, or flats of dimension q), each by total least squares.

    Where many planes pass through few rows, the normal nearest to a coordinate axis is chosen.
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

    q: int | None = field(default=None, kw_only=True)

    def _composition(self) -> Composition:
        return Composition([Plane(self.q)], Nearest())


class KCircles(HardClustering):
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

    def _composition(self) -> Composition:
        return Composition([Circle()], Nearest())


class KEllipses(HardClustering):
    __doc__ = f"""k ellipses (ellipsoids), each by geometric fit of orthogonal distances.

    Where many ellipsoids pass through few rows, the roundest one is chosen.
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

    def _composition(self) -> Composition:
        return Composition([Ellipse()], Nearest())


@estimator
class KGaussians(ClusteringParameters, ClusterModel):
    __doc__ = f"""k normal densities, the largest of which owns a row: classification EM.

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

    covariance: str = field(default="full", kw_only=True)
    regularization: float = field(default=1e-6, kw_only=True)

    def _composition(self) -> Composition:
        return Composition([Gaussian(self.covariance, self.regularization)], Nearest())


@estimator
class Structures(DistanceModel):
    """Clustering by any structures and any assignment rule, of which the named clusterings are special cases.

    Parameters
    ----------
    structure : str, Structure, or a list of them
        "point", "line", "plane", "circle", "ellipse", "direction", "gaussian", "student", or an object of
        `gm.structures`. A list is one structure for each cluster, and `n_clusters` is left out.
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
        Mixing proportions, of the rule "soft".

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

    structure: str | Structure | Sequence[str | Structure] = "point"
    assignment: str | Assignment = "nearest"
    n_clusters: int | str | None = None
    _: KW_ONLY
    init: object = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-6
    criterion: str = "auto"
    penalty: float | str = "auto"
    max_clusters: int = 10
    random_state: RandomState = None
    time: float | None = None

    @available_if(lambda self: assignment_of(self.assignment).soft)
    def predict_proba(self, X: Table) -> Floats:
        """Posterior probabilities (n, k) of the clusters, of the rule "soft"."""
        return self._responsibilities(X)

    def _n_clusters(self, composition: Composition) -> int | None:
        if self.n_clusters is None and not composition.one_per_cluster:
            return 2
        return super()._n_clusters(composition)

    def _composition(self) -> Composition:
        rule = assignment_of(self.assignment)
        if isinstance(self.structure, list | tuple):
            return Composition([structure_of(each) for each in self.structure], rule, True)
        return Composition([structure_of(self.structure)], rule, False)


def structure_of(value: object) -> Structure:
    """A structure by its name, or the structure itself."""
    if isinstance(value, Structure):
        return value
    if isinstance(value, str) and value in STRUCTURES:
        return STRUCTURES[value]
    raise ValueError(
        f"structure is {value!r}; it must be one of {', '.join(map(repr, STRUCTURES))}, an object of gm.structures "
        "such as Line(), or a list of these."
    )

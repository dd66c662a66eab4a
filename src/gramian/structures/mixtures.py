"""Mixtures of densities by EM."""

from dataclasses import KW_ONLY, field

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.random import seed_from
from gramian._core.types import Floats, Ints, Matrix, RandomState, Table, Weights
from gramian.structures.base import ClusteringParameters, ClusterModel, Composition
from gramian.structures.components.densities.gaussian import Gaussian
from gramian.structures.components.densities.student import StudentT
from gramian.structures.information_criteria import parameter_count
from gramian.structures.loop.assignments import Soft


@estimator
class MixtureParameters(ClusteringParameters):
    """The constructor parameters of mixtures."""

    _: KW_ONLY
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-5


class Mixture(MixtureParameters, ClusterModel):
    """Σ_j weight_j density_j(x), fitted by EM."""

    weights_: Floats

    def _set_attributes(self) -> None:
        super()._set_attributes()
        self.means_ = np.array([each.mean_ for each in self.structures_])
        self.covariances_ = np.array([each.covariance_ for each in self.structures_])
        self.log_likelihood_ = -self.objective_
        self._weight = float(len(self.labels_) if self._row_weight is None else self._row_weight.sum())

    def predict_proba(self, X: Table) -> Floats:
        """Probabilities of the clusters given each row, (n, k)."""
        return self._responsibilities(X)

    def log_likelihood(self, X: Table = None, sample_weight: Weights = None) -> float:
        """Σw log density; by default of the rows of the fit."""
        check_is_fitted(self)
        if X is None:
            return self.log_likelihood_
        scores = self.score_samples(X)
        return float(scores.sum() if sample_weight is None else np.asarray(sample_weight) @ scores)

    def _information(self, X: Matrix, penalty: float | None) -> float:
        n = self._weight if X is None else float(len(self.score_samples(X)))
        count = parameter_count(self.structures_, self.n_features_in_)
        return -2.0 * self.log_likelihood(X) + count * (np.log(n) if penalty is None else penalty)

    def bic(self, X: Matrix = None) -> float:
        """−2 log likelihood + parameters · log n; by default of the rows of the fit."""
        return self._information(X, None)

    def aic(self, X: Matrix = None) -> float:
        """−2 log likelihood + 2 · parameters; by default of the rows of the fit."""
        return self._information(X, 2.0)

    def sample(self, n: int = 1, random_state: RandomState = None) -> tuple[Floats, Ints]:
        """Rows drawn from the mixture, and their clusters."""
        check_is_fitted(self)
        rng = np.random.default_rng(seed_from(random_state, default=None))
        clusters = rng.choice(self.n_clusters_, n, p=self.weights_)
        noise = rng.standard_normal((n, self.n_features_in_))
        rows = np.empty_like(noise)
        for j, each in enumerate(self.structures_):
            rows[clusters == j] = each.sampled(noise[clusters == j], rng)
        return rows, clusters


@estimator
class GaussianMixture(Mixture):
    """A mixture of normal densities by EM: Σ_j weight_j N(x; mean_j, covariance_j).

    Minimises −Σw log of that over weights, means and covariances. Missing numbers (NaN) are integrated out: the E-step
    takes their expectation given the observed numbers and the cluster.

    Parameters
    ----------
    n_clusters : int or "auto"
        k; "auto" chooses by `criterion` among 1 to `max_clusters`.
    covariance : "full", "shared", "diagonal" or "spherical"
        A matrix for each cluster; one for all; a diagonal one; one variance for each cluster.
    regularization : float
        The least variance in any direction, in units of the variances of the columns; a warning says where it applies.
    init : "k-means++", "farthest", "random", array (k, d) or list of fitted `gm.structures.Gaussian`
        Initial values: the clusters of k-means from such starts, centres, or densities.
    n_init : int
        Starts, of which that of the highest likelihood is kept.
    max_iter : int
    tol : float
        The increase of the mean log-likelihood by one pass at which the fit ends.
    criterion : "auto", "bic", "elbow", "prediction_strength", "silhouette" or "stability"
        How k is chosen: by default the BIC.
    max_clusters : int
    random_state : int, Generator, RandomState or None
    time : float, optional
        Seconds after which the fit ends at the best result so far, and the choice of k with the numbers tried so far,
        with a `ConvergenceWarning`; the certificate says so, and holds only where the passes had converged before.

    Attributes
    ----------
    weights_, means_ : arrays (k,) and (k, d)
    covariances_ : array (k, d, d), (d, d) if shared, (k, d) if diagonal, (k,) if spherical
    log_likelihood_ : float
        Σw log density; `objective_` is −1 times it.
    labels_, structures_, n_clusters_, choice_, history_, n_iter_, certificate_, solver_

    Notes
    -----
    A pass costs O(n k d²), of "diagonal" and "spherical" O(n k d). Distances and sums are computed in the whitened
    coordinates of each density, so that neither distant nor thin clusters lose digits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = GaussianMixture("auto", random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict_proba(X[:2]).round(3)
    array([[1., 0.],
           [1., 0.]])
    """

    covariance: str = field(default="full", kw_only=True)
    regularization: float = field(default=1e-6, kw_only=True)

    def _set_attributes(self) -> None:
        super()._set_attributes()
        if self.covariance == "shared":
            self.covariances_ = self.covariances_[0]

    def _composition(self) -> Composition:
        return Composition([Gaussian(self.covariance, self.regularization)], Soft())


@estimator
class StudentTMixture(Mixture):
    """A mixture of Student's t densities by EM, robust to outliers.

    Parameters
    ----------
    n_clusters : int or "auto"
    nu : float or "auto"
        Degrees of freedom of all clusters; "auto" estimates those of each, between 0.2 and 1000 (normal).
    regularization, init, n_init, max_iter, tol, criterion, max_clusters, random_state, time
        As of `GaussianMixture`.

    Attributes
    ----------
    weights_, means_, covariances_
        Mixing proportions, centres, and covariances (those of the densities; infinite for nu ≤ 2).
    nus_ : array (k,)
        Degrees of freedom, given or estimated.
    log_likelihood_, objective_, labels_, structures_, n_clusters_, choice_, history_, n_iter_, certificate_, solver_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = StudentTMixture(3, random_state=0).fit(load_iris().data)
    >>> model.means_.shape
    (3, 4)
    """

    nu: float | str = field(default=4.0, kw_only=True)
    regularization: float = field(default=1e-6, kw_only=True)

    def _composition(self) -> Composition:
        return Composition([StudentT(self.nu, self.regularization)], Soft())

    def _set_attributes(self) -> None:
        super()._set_attributes()
        self.nus_ = np.array([each.nu_ for each in self.structures_])

"""Principal components, of rows or in the feature space of a kernel."""

from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.random import MAX_SEED, generator_from
from gramian._core.summary import Summary
from gramian._core.types import Estimator, Floats, Matrix, RandomState, Table, Tags, Values, Weights
from gramian._core.validation import choice, flag, number
from gramian.features.base import is_moments, read
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix
from gramian.kernels.named import kernel_of
from gramian.kernels.representation import Columns, Representation
from gramian.rows import Rows, scan
from gramian.solvers.certificate import SolverInfo
from gramian.spectral.null.permutation import against_independence, column_squares
from gramian.spectral.null.spectrum_test import SpectrumTest, null_of
from gramian.spectral.pca.input import RequestedComponents, sums_or_rows
from gramian.spectral.pca.kernel_pca import KernelAxes, kernel_axes
from gramian.spectral.pca.number_of_components import by_holding_out, by_likelihood, by_share
from gramian.spectral.pca.principal_axes import Principal, principal
from gramian.spectral.pca.probabilistic import Density
from gramian.spectral.pca.projection import coordinates, error_of, points_at

SOLVERS = ("auto", "moments", "dual", "svd", "krylov")
CRITERIA = ("edge", "likelihood", "bcv")
FIRST = 50  # components that are looked at first where all are too many
NAMES = {"rows": "block Krylov", "dual": "dual", "svd": "SVD", "triangle": "SVD", "moments": "moments"}


def _linear(model: Estimator) -> bool:
    if model.kernel is not None:
        raise AttributeError(f"{type(model).__name__} with kernel={model.kernel!r} has no density of rows.")
    return True


@estimator
class PCA(ClassNamePrefixFeaturesOutMixin, Charted, TransformerMixin, BaseEstimator):
    """Principal components: the directions in which rows vary most, and rows in their coordinates.

    The axes are the eigenvectors of C = (1/Σw) Σ w (x − mean)(x − mean)ᵀ with the largest eigenvalues: of all flats of
    dimension r, the one through the mean along the first r has the smallest sum of squared distances from the rows.
    With `kernel`, the same in the feature space of a kernel.

    Parameters
    ----------
    n_components : "auto", int, float or None
        "auto": by `criterion`, at least one. A float between 0 and 1: the fewest with that share of the variance.
        None: all.
    kernel : None, str or Kernel
        Compare rows by a kernel instead of their inner products.
    whiten : bool
        Divide coordinates by their standard deviations.
    criterion : "edge", "likelihood" or "bcv"
        For "auto": components above the edge of noise (see `gm.spectrum_test`), those of the largest evidence under
        probabilistic PCA, or those that predict held-out parts of the table best. With a kernel, components above
        those of the rows with scrambled columns.
    solver : "auto", "moments", "dual", "svd" or "krylov"
        From the products of columns, of rows, without squaring, or from products with the rows; "auto" is the cheapest
        that carries the digits, and `solver_` says why.
    ddof : int or float
        `variances_` are divided by Σw − ddof.
    rank : int, optional
        With a kernel: number of landmark points that approximate the kernel matrix; None is exact.
    random_state : int, RandomState, Generator or None
        For the start of Krylov and for held-out parts; None is seed 0.

    Attributes
    ----------
    components_ : array (r, d)
        The axes; the largest entry of each is positive.
    variances_, variance_shares_ : array (r,)
        Along the axes, and as shares of the whole variance.
    mean_ : array (d,); n_components_ : int
    noise_variance_ : float
        Mean variance of the directions left out.
    null_ : SpectrumTest
        The spectrum beside that of noise: `.edges`, `.noise`, `.p_values`, `.significant`. Of "auto" beside permuted
        columns too, as in `gm.spectrum_test`; of a number given, beside independent columns of the same variances.
    certificate_, solver_
        ‖C v − λ v‖ over the largest λ; the method, and why.
    explained_variance_, explained_variance_ratio_, singular_values_
        As scikit-learn has them, with its divisor Σw − 1.
    kernel_, dual_coef_
        With a kernel: as fitted, and (n, r) with coordinates k(x, ·) dual_coef_ (k centred).
    representation_ : Columns, KernelMatrix or Landmarks
        What the rows look like: their columns; with a kernel the kernel itself, or at `rank` landmark points.
    dual_solution_ : KernelAxes
        With a kernel: the axes, by dual coefficients.

    Notes
    -----
    One pass of O(n d²) and O(d³); O(n² d + n³) for fewer rows than columns; O(n d r) for a few of very many. Sparse
    rows stay sparse. Weights are counts. With a kernel O(n²) numbers of it and their largest eigenvectors.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0, 0.1], [1.0, 0.9], [2.0, 2.1], [3.0, 2.9]]
    >>> pca = gm.PCA(n_components=1).fit(X)
    >>> pca.components_.round(3), pca.variance_shares_.round(3)
    (array([[0.72 , 0.694]]), array([0.998]))
    >>> pca.transform([[4.0, 4.0]]).round(2)
    array([[3.53]])
    """

    n_components: int | float | str | None = "auto"
    kernel: str | Kernel | None = None
    _: KW_ONLY
    whiten: bool = False
    criterion: str = "edge"
    solver: str = "auto"
    ddof: float = 0
    rank: int | None = None
    random_state: RandomState = None
    representation_: Representation = field(init=False)
    dual_solution_: KernelAxes = field(init=False)
    _principal: Principal = field(init=False)
    _squares: Floats | None = field(init=False)
    _deviations: Floats = field(init=False)
    _ddof: float = field(init=False)
    _weight: float = field(init=False)
    _total: float = field(init=False)

    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Self:
        """Fit to rows (array, frame, sparse, `Rows`) or to `Moments`; y is ignored, as pipelines give it."""
        flag("whiten", self.whiten)
        criterion = choice("criterion", self.criterion, CRITERIA)
        solver = choice("solver", self.solver, SOLVERS)
        requested = RequestedComponents.of(self.n_components)
        ddof = number("ddof", self.ddof, low=0.0)
        forget_fit(self)
        if self.kernel is not None:
            return self._fit_kernel(X, requested, sample_weight, ddof)
        if self.rank is not None:
            raise ValueError("rank is for kernels: give kernel= too, or leave rank out.")
        data = sums_or_rows(self, X, sample_weight)
        seed = int(generator_from(self.random_state).integers(MAX_SEED))
        axes, count = self._spectrum(data, requested, criterion, solver, seed)
        self._squares = column_squares(axes)
        axes = axes.first(count)
        divisor = _divisor(axes.weight, ddof)
        self.representation_ = Columns.of(self)
        self._principal, self._ddof = axes, ddof
        self.n_components_, self.n_samples_ = count, axes.n
        self.components_, self.mean_ = np.ascontiguousarray(axes.axes[:count]), axes.mean
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(axes.values[:count], 2 * axes.exponent)
            unexplained = max(axes.total - float(axes.values[:count].sum()), 0.0)
            if axes.complete and count >= axes.rank:
                unexplained = 0.0
            self.variances_ = values / divisor
            self._deviations = np.ldexp(np.sqrt(axes.values[:count] / divisor), axes.exponent)
            self.noise_variance_ = float(np.ldexp(unexplained, 2 * axes.exponent)) / divisor / max(axes.d - count, 1)
        self._total = axes.total
        self.variance_shares_ = axes.values[:count] / axes.total if axes.total > 0 else np.zeros(count)
        self._weight = axes.weight
        self._set_certificate(axes, count)
        return self

    def _spectrum(
        self, data: Any, requested: RequestedComponents, criterion: str, solver: str, seed: int
    ) -> tuple[Principal, int]:
        most = min(data.n, data.d)
        if requested.count is not None:
            if requested.count > most:
                raise ValueError(
                    f"n_components is {requested.count}, but {data.n} rows × {data.d} columns have at most {most} "
                    "components."
                )
            return principal(data, requested.count, solver, seed), requested.count
        if requested.all:
            return principal(data, most, solver, seed), most
        if criterion == "bcv" and requested.automatic and not isinstance(data, Rows):
            raise ValueError(
                "criterion='bcv' needs the rows, but X holds only their sums: give the rows, or criterion='edge'."
            )
        count = FIRST
        while True:
            axes = principal(data, None if count == FIRST else min(count, most), solver, seed)
            chosen = self._chosen(axes, requested, criterion, data, seed)
            if chosen is not None:
                return axes, max(min(chosen, most), 1)
            count *= 4

    def _chosen(
        self, axes: Principal, requested: RequestedComponents, criterion: str, data: Any, seed: int
    ) -> int | None:
        """The number of components by the spectrum; None where more eigenvalues are needed."""
        if requested.share is not None:
            return by_share(axes, requested.share)
        if criterion == "likelihood":
            return by_likelihood(axes)
        if criterion == "bcv":
            chosen, self.bcv_errors_ = by_holding_out(data, axes, seed)
            return chosen
        self.null_ = null_of(axes, ddof=self.ddof)
        if self.null_.significant == len(axes.values) and not axes.complete:
            return None
        self.null_ = against_independence(self.null_, axes, data, seed)
        return self.null_.significant

    def _set_certificate(self, axes: Principal, count: int) -> None:
        rank = axes.rank
        notes = []
        if axes.total <= 0:
            notes.append("All rows are equal: every variance is 0, and the components are arbitrary.")
        elif axes.complete and count > rank:
            notes.append(f"The rows vary in {rank} directions: {count - rank} of {count} components have variance 0.")
        elif axes.through in ("moments", "dual") and axes.blind(count):
            notes.append(
                "Variances below 1e-14 of the largest are rounding errors of the sums of squares: use solver='svd'."
            )
        if axes.total > 0 and not 0 < self.variances_[0] < np.inf:
            notes.append(
                "The variances are beyond the range of float64; axes, shares and standard deviations are valid."
            )
        if self.n_components == "auto" and self.criterion == "edge" and self.null_.significant == 0:
            notes.append("No component is more than noise or independent columns have; one is kept.")
        values = axes.values[:count][: max(rank, 1)]
        condition = float(np.sqrt(values[0] / values[-1])) if len(values) and values[-1] > 0 else 1.0
        self.certificate_ = axes.certificate(condition, " ".join(notes))
        self.solver_ = SolverInfo(NAMES[axes.through], axes.reason)

    def _fit_kernel(self, X: Table, requested: RequestedComponents, sample_weight: Weights, ddof: float) -> Self:
        if is_moments(X):
            raise ValueError("A kernel needs the rows, but Moments hold only their sums: give the data.")
        axes = kernel_axes(self, X, requested, sample_weight)
        self.dual_solution_, self.representation_ = axes, axes.representation
        self.kernel_, self.n_components_, self.n_samples_ = axes.kernel, len(axes.values), axes.n
        self._ddof, self._weight, self._total = ddof, axes.weight, axes.total
        self.variances_ = axes.values / _divisor(axes.weight, ddof)
        self._deviations = np.sqrt(self.variances_)
        self.variance_shares_ = axes.values / axes.total if axes.total > 0 else np.zeros(len(axes.values))
        self.dual_coef_ = axes.dual
        self.certificate_, self.solver_ = axes.certificate, axes.solver
        return self

    @cached_property
    def null_(self) -> SpectrumTest:
        """The spectrum beside that of noise."""
        if "representation_" not in self.__dict__:
            raise AttributeError("null_ is set after fit: call fit first.")
        if self.representation_.kernel is not None:
            raise AttributeError(
                "null_ exists for PCA without a kernel only: the noise edge of a kernel matrix is not known."
            )
        test = null_of(self._principal, ddof=self._ddof)
        return against_independence(test, self._principal, None, 0, self._squares)

    @property
    def explained_variance_(self) -> Floats:
        """Variances with scikit-learn's divisor Σw − 1."""
        factor = (self._weight - self._ddof) / (self._weight - 1.0) if self._weight > 1 else 1.0
        return self.variances_ * factor

    @property
    def explained_variance_ratio_(self) -> Floats:
        """`variance_shares_`."""
        return self.variance_shares_

    @property
    def singular_values_(self) -> Floats:
        """Of the centred rows (times √w)."""
        return self._deviations * np.sqrt(_divisor(self._weight, self._ddof))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Table) -> Matrix:
        """Coordinates (n, r) along the axes."""
        check_is_fitted(self)
        if self.representation_.kernel is not None:
            scores = self.dual_solution_.coordinates(self.dual_solution_.representation.read(self, X))
            return scores / _nonzero(self._deviations) if self.whiten else scores
        rows = read(self, X, fitting=False)
        return coordinates(rows, self.components_, self.mean_, self._scales())

    def inverse_transform(self, X: Table) -> Floats:
        """Points (n, d) at given coordinates: in the flat of the axes; with a kernel, whose features are nearest."""
        check_is_fitted(self)
        rows = scan(X)
        if rows.d != self.n_components_:
            raise ValueError(f"X has {rows.d} columns, and there are {self.n_components_} components.")
        if self.representation_.kernel is not None:
            T = np.asarray(rows.collect().X, dtype=np.float64)
            return self.dual_solution_.points_at(T * _nonzero(self._deviations) if self.whiten else T)
        return points_at(rows, self.components_, self.mean_, self._scales())

    def reconstruction_error(self, X: Table = None) -> float:
        """Mean squared distance between rows and their reconstruction (in the feature space of a kernel).

        Without X, of the rows that were fitted, from the eigenvalues: the variance left out.
        """
        check_is_fitted(self)
        if self.representation_.kernel is not None:
            axes = self.dual_solution_
            return axes.training_error if X is None else axes.error(axes.representation.read(self, X))
        if X is None:
            unexplained = max(self._total - float(self._principal.values[: self.n_components_].sum()), 0.0)
            with np.errstate(over="ignore", under="ignore"):
                return float(np.ldexp(unexplained / self._weight, 2 * self._principal.exponent))
        return error_of(read(self, X, fitting=False), self.components_, self.mean_)

    @available_if(_linear)
    def score_samples(self, X: Table) -> Floats:
        """Log-density of each row under probabilistic PCA."""
        check_is_fitted(self)
        return self._density().of(read(self, X, fitting=False))

    @available_if(_linear)
    def score(self, X: Table, y: Values | None = None) -> float:
        """Mean log-density of rows."""
        return float(np.mean(self.score_samples(X)))

    @available_if(_linear)
    def log_likelihood(self) -> float:
        """Log-likelihood of the rows that were fitted, under probabilistic PCA."""
        check_is_fitted(self)
        with np.errstate(over="ignore", under="ignore"):
            total = float(np.ldexp(self._total, 2 * self._principal.exponent))
        return self._density().of_all(self._weight, total / self._weight, self._weight - self._ddof)

    @available_if(_linear)
    def get_covariance(self) -> Floats:
        """Covariance (d, d) under probabilistic PCA: that of the components, and the noise in all other directions."""
        check_is_fitted(self)
        return self._density().covariance()

    def _density(self) -> Density:
        largest, noise = self._deviations[0], self.noise_variance_
        if largest > 0 and not (0 < self.variances_[0] < np.inf and noise < np.inf):
            raise ValueError("The squares of these rows are beyond the range of float64: give them in other units.")
        return Density(self.components_, self.mean_, self.variances_, self.noise_variance_)

    def _scales(self) -> Floats | None:
        return _nonzero(self._deviations) if self.whiten else None

    def summary(self) -> Summary:
        """Components with their variances, as a table."""
        check_is_fitted(self)
        r = self.n_components_
        columns: dict[str, object] = {
            "name": np.array([f"component {i + 1}" for i in range(r)], dtype=object),
            "variance": self.variances_,
            "share": self.variance_shares_,
            "cumulated": np.cumsum(self.variance_shares_),
        }
        facts: dict[str, object] = {"n": self._weight, "components": r}
        if self.representation_.kernel is None:
            p_values = self.null_.p_values
            columns["p"] = np.concatenate([p_values, np.ones(r)])[:r]
            facts |= {"noise": self.null_.noise, "edge": self.null_.edge, "significant": self.null_.significant}
        return Summary(type(self).__name__, columns, facts, [self.certificate_.note] if self.certificate_.note else [])

    def set_params(self, **params: object) -> Self:
        """Set parameters; those of the kernel, such as `kernel__length_scale`, make a new kernel, for it is frozen."""
        inner = {name[8:]: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            self.kernel = kernel_of(self.kernel).set_params(**inner)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_matrix(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if self.kernel is None else ["float64"]
        return tags


def _divisor(weight: float, ddof: float) -> float:
    if weight - ddof <= 0:
        raise ValueError(f"ddof is {ddof:g}, and the weights add up to {weight:g}; it must be less.")
    return weight - ddof


def _nonzero(deviations: Floats) -> Floats:
    """Standard deviations to divide by; 1 where there is nothing to divide."""
    return np.where(deviations > 0, deviations, 1.0)

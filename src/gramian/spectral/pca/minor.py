"""Minor components: the directions in which rows vary least."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.summary import Summary
from gramian._core.types import Floats, Matrix, Table, Tags, Values, Weights
from gramian._core.validation import whole
from gramian.features.base import read
from gramian.rows import Rows, single_threaded_blas
from gramian.solvers.certificate import SolverInfo
from gramian.spectral.pca.input import sums_or_rows
from gramian.spectral.pca.principal_axes import completed, principal, signed
from gramian.spectral.pca.projection import coordinates, nearest


@estimator
class MinorComponents(ClassNamePrefixFeaturesOutMixin, Charted, TransformerMixin, BaseEstimator):
    """The flat nearest to the rows, by what is constant on it: directions in which rows vary least.

    The components v are the eigenvectors of C = (1/Σw) Σ w (x − mean)(x − mean)ᵀ with the smallest eigenvalues. The
    rows nearly satisfy vᵀx = vᵀmean: one component is the hyperplane of total least squares, k of them a flat of
    dimension d − k, nearest to the rows in the sum of squared distances.

    Parameters
    ----------
    n_components : int
        Equations, k.

    Attributes
    ----------
    components_ : array (k, d)
        Normals of the flat, the one of the smallest variance first; the largest entry of each is positive.
    offsets_ : array (k,)
        vᵀmean: the flat is where components_ · x = offsets_.
    variances_ : array (k,)
        Along the components, divisor Σw.
    objective_ : float
        Mean squared distance of the rows from the flat, the sum of `variances_`.
    mean_ : array (d,)
    certificate_, solver_
        ‖C v − λ v‖ over the largest λ; the method, and why.

    Notes
    -----
    One pass of O(n d²) and O(d³); another for the triangular factor where the smallest variances are below 1e-14 of the
    largest. The answer depends on the units of the columns: give them in units of equal error.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0, 1.0], [1.0, 3.1], [2.0, 4.9], [3.0, 7.0]]  # y = 2 x + 1, nearly
    >>> minor = gm.MinorComponents().fit(X)
    >>> (minor.components_ / -minor.components_[0, 1]).round(2), minor.transform([[1.0, 3.0]]).round(2)
    (array([[ 1.98, -1.  ]]), array([[0.]]))
    """

    n_components: int = 1

    @single_threaded_blas()
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Self:
        """Fit to rows (array, frame, sparse, `Rows`), `Moments` or a `Triangle`; y is ignored."""
        count = whole("n_components", self.n_components, low=1)
        data = sums_or_rows(self, X, sample_weight)
        d = data.d
        if count > d:
            raise ValueError(f"n_components is {count}, but X has {d} columns and so at most {d} directions.")
        # Few rows satisfy many equations exactly: only the products of columns have all of these directions.
        wide = isinstance(data, Rows) and data.n <= d
        axes = principal(data, d, "moments" if wide else "auto", 0)
        rank = axes.rank
        n_exact = d - rank
        values = np.concatenate([axes.values, np.zeros(d)])[:d]
        values[rank:] = 0.0
        order = np.arange(d - 1, d - 1 - count, -1)
        null_directions = completed(axes.axes[:rank], rank + min(n_exact, count))[rank:]
        least_directions = axes.axes[order[n_exact:]] if n_exact < count else axes.axes[:0]
        self.components_ = np.ascontiguousarray(signed(np.vstack([null_directions, least_directions])))
        self.mean_ = axes.mean
        self.offsets_ = self.components_ @ self.mean_
        with np.errstate(over="ignore", under="ignore"):
            self.variances_ = np.ldexp(values[order], 2 * axes.exponent) / axes.weight
        self.objective_ = float(self.variances_.sum())
        self.n_components_ = count
        note = ""
        if n_exact > count:
            note = f"All rows satisfy {n_exact} such equations: these are {count} of them, not the only ones."
        if not np.isfinite(self.objective_):
            note = f"{note} The variances are beyond the range of float64; the equations are valid.".strip()
        condition = float(np.sqrt(values[0] / values[max(rank, 1) - 1])) if rank else 1.0
        self.certificate_ = axes.certificate(condition, note)
        self.solver_ = SolverInfo("SVD" if axes.through == "triangle" else axes.through, axes.reason)
        return self

    def transform(self, X: Table) -> Matrix:
        """Residual coordinates (n, k): how far each row is from satisfying each equation."""
        check_is_fitted(self)
        return coordinates(read(self, X, fitting=False), self.components_, self.mean_)

    def project(self, X: Table) -> Floats:
        """The nearest points of the flat, (n, d)."""
        check_is_fitted(self)
        return nearest(read(self, X, fitting=False), self.components_, self.mean_)

    def summary(self) -> Summary:
        """The equations, as a table."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        columns: dict[str, object] = {"name": np.array([*names, "= offset", "variance"], dtype=object)}
        for i in range(self.n_components_):
            values = [*self.components_[i], self.offsets_[i], self.variances_[i]]
            columns[f"equation {i + 1}"] = np.array(values)
        notes = [self.certificate_.note] if self.certificate_.note else []
        return Summary(type(self).__name__, columns, {"objective": self.objective_}, notes)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

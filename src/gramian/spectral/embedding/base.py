"""The base of embeddings: reading of rows, output columns and summary."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core.fitted.charted import Charted
from gramian._core.summary import Summary
from gramian._core.types import Floats, Matrix, Table, Tags, Values, Weights
from gramian.features.base import read
from gramian.rows import Rows
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.spectral.signs import column_signs


class Embedding(ClassNamePrefixFeaturesOutMixin, Charted, TransformerMixin, BaseEstimator):
    """An estimator of coordinates for the training rows: `embedding_` (n, r)."""

    embedding_: Floats
    certificate_: Certificate
    solver_: SolverInfo

    def _read(self, X: Table, *, fitting: bool, sample_weight: Weights = None) -> tuple[Matrix, Floats | None]:
        """Rows as a float64 array or CSR matrix, all finite, and their weights."""
        rows: Rows = read(self, X, fitting=fitting, sample_weight=sample_weight)
        block = rows.collect()
        values = block.X
        if not np.isfinite(values.data if sp.issparse(values) else values).all():
            rows.refuse_nonfinite()
        if sp.issparse(values):
            values = sp.csr_matrix(values, dtype=np.float64)
            values.sort_indices()
            return values, block.weight
        return np.ascontiguousarray(values, dtype=np.float64), block.weight

    def fit_transform(self, X: Table, y: Values | None = None) -> Floats:
        """Fit, and return the coordinates of the rows: `embedding_`."""
        return self.fit(X).embedding_

    def summary(self) -> Summary:
        """Standard deviation along each axis, and the certificate."""
        check_is_fitted(self)
        size = float(np.abs(self.embedding_).max(initial=0.0)) or 1.0
        spread = (self.embedding_ / size).std(axis=0) * size
        columns: dict[str, object] = {"name": np.array([f"axis {j}" for j in range(len(spread))]), "spread": spread}
        facts = {"n": len(self.embedding_), **self._facts()}
        return Summary(type(self).__name__, columns, facts, [str(self.certificate_)])

    def _facts(self) -> dict[str, object]:
        return {}

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def along_principal_axes(Y: Floats, weight: Floats) -> Floats:
    """A configuration centred and rotated to its principal axes, their signs fixed by the entry farthest from zero."""
    Y = Y - weight @ Y / weight.sum()
    _, _, Vt = np.linalg.svd(np.sqrt(weight)[:, None] * Y, full_matrices=False)
    full = np.zeros((Y.shape[1], Y.shape[1]))
    full[: len(Vt)] = Vt
    return with_fixed_signs(Y @ full.T)


def with_fixed_signs(Y: Floats) -> Floats:
    """The same columns with signs such that the entry farthest from zero is positive."""
    return Y * column_signs(Y)

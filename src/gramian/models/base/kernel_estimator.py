"""Estimators with a parameter `kernel`: what they keep of the kernel, and what is asked of it after a fit."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from gramian._core.text import percentage
from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix
from gramian.kernels.named import kernel_of
from gramian.kernels.points import alone
from gramian.kernels.representation import KernelMatrix, KernelRepresentation, Representation
from gramian.models.kernel.data import KernelData, kernel_features
from gramian.models.kernel.learned_metric import LearnedMetric
from gramian.models.kernel.search import KernelSearch, RefitSearch
from gramian.rows import Rows
from gramian.selection.cv.scores import Scores
from gramian.solvers.certificate import Certificate
from gramian.solvers.kernel.choose import dual_solver
from gramian.warnings import ConvergenceWarning, warn_user

MAX_NEGLECTED = 1e-3  # share of the variation of the rows that a certified fit may leave to rounding


class KernelEstimator:
    """An estimator with a parameter `kernel`, whose `representation_` is of columns or of the kernel's values.

    A function by a kernel is f(x) = b + φ(x) C in features φ of its representation, which is b + k(x, P) B.
    """

    kernel: Any
    rank: Any = None
    kernel_: Kernel
    representation_: Representation
    kernel_losses_: dict[str, float]
    metric_: LearnedMetric
    metric_weights_: Floats
    intercept_: Any
    dual_coef_: Any
    support_: Ints
    support_vectors_: Any
    _coef: Any

    @property
    def coef_(self) -> Any:
        """Coefficients of the columns: without a kernel, or with one that is linear in them."""
        if "_coef" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} has no coef_: it is not fitted, or not linear.")
        representation = self._kernel_function
        if representation is None:
            return self._coef
        if not representation.kernel.is_linear:
            raise AttributeError(
                f"{type(self).__name__} with kernel {representation.kernel!r} has no coef_: its function is not linear "
                "in the columns. dual_coef_ are the coefficients of k(x, ·) at the rows that it is made of."
            )
        names = getattr(self, "feature_names_in_", None)
        coef = representation.coefficients(self._dual(representation), self.n_features_in_, names)  # type: ignore[attr-defined]
        return np.ascontiguousarray(coef[0] if not is_classifier(self) and np.ndim(self._feature_coef) == 1 else coef)

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._coef = value

    @property
    def _feature_coef(self) -> Any:
        """Coefficients of the features of the representation, as scikit-learn shapes coefficients."""
        return self._coef

    def parts(self, X: Any) -> dict[str, Floats]:
        """What each summand of the kernel (or column of an ANOVA kernel) adds to f(x): with the intercept, f(x).

        (n,), or (n, t) of several targets or several functions that decide between classes.
        """
        check_is_fitted(self)
        representation = self._kernel_function
        if representation is None:
            raise ValueError("parts() are those of a function by its kernel: give kernel=, such as RBF() + Linear().")
        points, dual = representation.read(self, X), self._dual(representation)
        parts = representation.parts(points, dual, getattr(self, "n_features_in_", None))
        return {name: part[:, 0] if dual.shape[1] == 1 else part for name, part in parts.items()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of the kernel, such as `kernel__length_scale`, make a new kernel, for it is frozen."""
        inner = {name[8:]: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)  # type: ignore[misc]
        if inner:
            self.kernel = kernel_of(self.kernel).set_params(**inner)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = is_matrix(self.kernel)
        return tags

    @property
    def _kernel_function(self) -> KernelRepresentation | None:
        """The representation of a fitted function by a kernel; None of a function of columns, or of none."""
        representation = self.representation_
        if isinstance(representation, KernelRepresentation) and "_coef" in self.__dict__:
            return representation
        return None

    def _dual(self, representation: KernelRepresentation) -> Floats:
        """B (r, t) with f(x) = b + k(x, P) B."""
        return representation.dual(np.atleast_2d(self._feature_coef).T)

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self.representation_.rows(self, X)

    def _solves_dual(self) -> bool:
        """Whether the fit is by dual variables of the rows, on an exact kernel matrix."""
        if self.kernel is None:
            return False
        loss, penalty = self._parts()  # type: ignore[attr-defined]
        return dual_solver(loss, penalty, self.rank) is not None

    def _refuse_rank(self) -> None:
        if self.kernel is None and self.rank is not None:
            raise ValueError("rank is for kernels: give kernel= too, or leave rank out.")

    def _feature_rows(
        self, X: Any, y: Any, sample_weight: Any, *, penalty: Any = "l2", with_residual: bool = False
    ) -> Rows:
        """The rows of a fit as features of landmark points; sets `kernel_` and `representation_`."""
        options: dict[str, Any] = {"penalty": penalty, "rank": self.rank, "with_residual": with_residual}
        features = kernel_features(self, X, y, sample_weight, **options)
        self._set_kernel(features.data)
        self.representation_ = features.representation
        return features.rows

    def _of_representation(self, certificate: Certificate) -> Certificate:
        """The certificate; it does not hold, and that is warned of, where rounding hides how the points vary."""
        share = getattr(self.representation_, "neglected", 0.0)
        if share <= MAX_NEGLECTED:
            return certificate
        note = (
            f"The values of the kernel are so large next to their differences that {percentage(share)} of the "
            "variation of the rows is lost to rounding: subtract the means of the columns (gm.StandardScaler)."
        )
        warn_user(f"The fit is not certified. {note}", ConvergenceWarning)
        return replace(certificate, holds=False, note=f"{certificate.note} {note}".strip())

    def _set_dual(self) -> None:
        """`dual_coef_` of a function by a kernel."""
        function = self._kernel_function
        if function is not None:
            self.dual_coef_ = self._dual(function).T.reshape(np.shape(self._feature_coef))

    def _set_support(self, beta: Floats, kernel: Kernel, points: Any) -> None:
        """Keep the rows with a dual coefficient; `beta` is (n,), or (functions, n)."""
        self.support_ = np.flatnonzero(np.atleast_2d(beta).any(axis=0))
        self.dual_coef_ = self._coef = np.ascontiguousarray(beta[..., self.support_])
        representation = KernelMatrix(kernel, alone(points[self.support_]), self.support_)
        self.representation_ = representation
        if representation.vectors is not None:
            self.support_vectors_ = representation.vectors

    def _set_kernel(self, data: KernelData) -> None:
        """Keep the kernel, and how it was chosen."""
        self.kernel_ = data.kernel
        if data.losses is not None:
            self.kernel_losses_ = data.losses
        if data.metric is not None:
            self.metric_, self.metric_weights_ = data.metric, data.metric.weights

    def _kernel_search(self) -> KernelSearch:
        """By what kernels are compared where one is to be chosen."""
        return RefitSearch(self)

    def _comparison_scores(self, X: Any, y: Any, sample_weight: Any) -> Scores:
        """The scores of a fit that is for its scores alone."""
        scores: Scores = self.fit(X, y, sample_weight=sample_weight).scores_  # type: ignore[attr-defined]
        return scores

    def _metric_notes(self) -> list[str]:
        """For `summary`: what was learned of the metric, if it was."""
        if "metric_" not in self.__dict__:
            return []
        names = getattr(self, "feature_names_in_", None)
        known = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)  # type: ignore[attr-defined]
        return [self.metric_.note(known)]

    def _intercept_alone(self) -> dict[str, Any]:
        """The table of `summary`: of a function by its kernel, only the intercept is a coefficient."""
        values = np.atleast_1d(self.intercept_)
        return {"name": np.array(["intercept"] * len(values), dtype=object), "estimate": values}

    def _kernel_notes(self) -> tuple[dict[str, Any], list[str]] | None:
        """For `summary`: no table of coefficients, but the kernel and its representation; None without a kernel."""
        representation = self._kernel_function
        if representation is None:
            return None
        return self._intercept_alone(), [
            f"kernel {representation.kernel!r} · {representation.note()}",
            *self._metric_notes(),
        ]

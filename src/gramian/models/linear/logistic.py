"""Logistic regression, binary and multinomial."""

from typing import Any

from gramian._core.estimator import estimator
from gramian.models.base.composed import penalty_of
from gramian.models.kernel.search import RefitSearch
from gramian.models.linear.classifier import PenalisedClassifier
from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import Logistic


@estimator
class LogisticRegression(PenalisedClassifier):
    """Probabilities of classes by a linear model of their log-odds, by Newton's method with the true Hessian.

    Minimises (1/Σw) Σ w log(1 + exp(−y f)) + alpha · penalty(c) for two classes y = ±1, and −log p_y with p ∝ exp(f)
    for more. scikit-learn's C is 1 / (2 n alpha).

    Parameters
    ----------
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation.
    penalty : None, str or Penalty
        "l2", "l1", "elastic_net", … or an object of `gm.penalties`.

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, certificate_, solver_, history_, n_iter_, scores_
    representation_ : Columns or Landmarks
        What the rows look like to the model: their columns, or with a kernel features of landmark points.
    separated_ : bool
        Whether the classes are separated perfectly; without a penalty the fit then has a small one, and says so.
    kernel_losses_ : dict
        Where a kernel or its length scale was chosen, the validation losses of all that were tried: approximate, by
        landmark points that leave at most 1 % of the trace of the kernel matrix. The fit and `scores_` are exact.

    Notes
    -----
    One pass of O(n d²) for each of about five Newton steps; cross-validation takes all folds along in the same passes.
    Standard errors come from the curvature of the likelihood.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gm.LogisticRegression(alpha=0.001).fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.99, 0.01, 0.  ]])
    """

    def _parts(self) -> tuple[Loss, Any]:
        return Logistic(), penalty_of(self.penalty)

    def _kernel_search(self) -> RefitSearch:
        """By a factor of low rank of the kernel matrix: approximate, for the fit itself is exact."""
        return RefitSearch(self, by_landmarks=self.rank is None)

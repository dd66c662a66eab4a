"""Gaussian discriminants: a normal density for every class, and Bayes' rule between them."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.models.base.classifier import ClassifyingModel
from gramian.models.discriminant.conic import Conic, between
from gramian.models.discriminant.covariances import THICKNESS, apply, dense, diagonal, panels, squares, units
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.factor import (
    EPS,
)
from gramian.warnings import PrecisionWarning, warn_user

KINDS = ("full", "shared", "diagonal", "spherical")
TOLERANCE = 1e-8


@estimator
class GaussianDiscriminant(ClassifyingModel):
    """Classes as normal densities: g_i(x) = log π_i + log N(x; μ_i, Σ_i), and the largest wins.

    Means, covariances and priors maximise the likelihood Π π_y N(x; μ_y, Σ_y): those of the class, with divisor Σw.
    Boundaries are conics (`boundary`); with one covariance for all classes they are straight.

    Parameters
    ----------
    covariance : "full", "shared", "diagonal" or "spherical"
        One Σ per class; one for all (pooled, divisor Σw of all rows); variances alone (naive Bayes); one variance for
        all columns.
    shrinkage : float in [0, 1] or "auto"
        Σ becomes (1 − s) Σ + s · (tr Σ/d) · I. "auto" is the share of least expected squared error by Ledoit and Wolf,
        for "diagonal" that of the variances among themselves. A spherical Σ is its own target and stays as it is.
    priors : array (k,), optional
        Probabilities of the classes, in the order of `classes_`; by default their shares of the weight.
    class_weight : None, "balanced" or dict
        Factors for the weights of the rows of each class.
    cost : array (k, k), optional
        cost[true, decided]; `predict` then decides at the least expected cost.

    Attributes
    ----------
    classes_, class_totals_, priors_, certificate_, solver_
    means_ : array (k, d)
    covariances_ : array (k, d, d), (d, d) if shared, (k, d) if diagonal, (k,) if spherical
    shrinkage_ : array (k,), or a number if shared
        The shares used.
    ranks_ : array (k,), or a number if shared
        Directions in which the class varies.

    Notes
    -----
    One pass, O(n d²) for "full" and "shared", O(n d) for the others; one more where columns are nearly dependent (the
    triangular factor of the rows keeps the digits that squaring would lose), and one of O(n d) for "auto".

    The certificate is the largest entry of the gradient of the mean log-likelihood in coordinates in which Σ is I,
    |Σ⁻¹S − I| with S the moments of the data, shrunk if asked for.

    A class that does not vary in some direction has no likeliest Σ: its likelihood has no upper end. Such directions
    get 1e-6 of the variance within all classes, a `PrecisionWarning` says so, and the certificate does not hold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianDiscriminant().fit(X[:, :2], y)
    >>> model.predict_proba([[5.0, 3.0]]).round(3)
    array([[0.91 , 0.061, 0.029]])
    >>> model.boundary(1, 2).kind
    'ellipse'
    """

    covariance: str = "full"
    _: KW_ONLY
    shrinkage: str | float = 0
    priors: Any = None
    class_weight: Any = None
    cost: Any = None

    certificate_: Certificate = field(init=False)
    solver_: SolverInfo = field(init=False)

    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "GaussianDiscriminant":
        """Fit to (X, y) or to `Rows` with their classes as the target."""
        self._kind = kind = validation.choice("covariance", self.covariance, KINDS)
        share: float | None = None
        if not isinstance(self.shrinkage, str):
            share = validation.number("shrinkage", self.shrinkage, low=0.0, high=1.0)
        elif self.shrinkage != "auto":
            raise ValueError(f'shrinkage is {self.shrinkage!r}; it must be "auto" or a number from 0 to 1.')
        rows = self._labelled(X, y, sample_weight)
        self.priors_ = self._checked_priors()
        self._costs()
        with np.errstate(under="ignore"):
            estimate = dense if kind in ("full", "shared") else diagonal
            self.means_, weights, found = estimate(rows, len(self.classes_), kind, share)
        self._shapes = [part.shape for part in found]
        one = kind == "shared"
        self.shrinkage_: Any = found[0].share if one else np.array([part.share for part in found])
        self.ranks_: Any = found[0].rank if one else np.array([part.rank for part in found])
        # E log N = −½ (d log 2π + log|Σ| + tr Σ⁻¹S) with S the moments of the data
        terms = [0.5 * part.trace + part.shape.log_volume + np.log(2.0) * part.shape.exponents.sum() for part in found]
        terms = np.log(self.priors_) - 0.5 * rows.d * np.log(2.0 * np.pi) - np.array(terms)
        self._log_likelihood = float(weights @ terms)
        note = self._singular(rows.d)
        value, condition = max(part.gradient for part in found), max(part.condition for part in found)
        through = "triangle" if any(part.through == "triangle" for part in found) else "moments"
        self.certificate_ = Certificate(
            kind="gradient",
            value=value,
            tolerance=TOLERANCE,
            holds=value <= TOLERANCE and not note,
            rank=int(np.min(self.ranks_)),
            condition=condition,
            through=through,
            digits=max(0, int(-np.log10(EPS * condition ** (1 if through == "triangle" else 2)))),
            note=note,
            convex=True,  # the log-likelihood is concave in the natural parameters of the normal distribution
        )
        reasons = {
            "moments": "the moments of the classes maximise the likelihood",
            "triangle": "columns are nearly dependent within a class: its rows were factored, not squared",
        }
        self.solver_ = SolverInfo("closed form", reasons[through])
        if note:
            warn_user(note, PrecisionWarning)
        return self

    def _checked_priors(self) -> Floats:
        if self.priors is None:
            return self.class_totals_ / self.class_totals_.sum()
        k = len(self.classes_)
        priors = validation.array("priors", self.priors, f"one number per class, shape ({k},)")
        if priors.shape != (k,):
            raise ValueError(
                f"priors has shape {priors.shape}; with {k} classes it needs shape ({k},), in the order "
                f"{self.classes_.tolist()[:10]}."
            )
        if not (priors > 0).all() or not abs(priors.sum() - 1.0) <= 1e-8:
            raise ValueError(f"priors is {priors.tolist()}; priors must be numbers above 0 that add up to 1.")
        return priors / priors.sum()

    def _singular(self, d: int) -> str:
        """What to say where the likelihood has no maximum."""
        ranks = np.atleast_1d(self.ranks_)
        low = np.flatnonzero(ranks < d)
        if not low.size:
            return ""
        rank, more = ranks[low[0]], ""
        which = "The shared covariance"
        if self._kind != "shared":
            which = f"The covariance of class {self.classes_.tolist()[low[0]]!r}"
            more = "" if low.size == 1 else f" ({low.size - 1} more classes have one below {d})"
        better = "more rows" if self._kind == "shared" else 'covariance="shared"'
        if self._kind != "spherical" and self.shrinkage != "auto" and rank > 0:
            better = 'shrinkage="auto"'
        return (
            f"{which} has rank {rank} of {d}{more}: the likelihood has no maximum. Directions without variance were "
            f"given {THICKNESS:g} of the variance within the classes; {better} would be better founded."
        )

    @property
    def covariances_(self) -> Floats:
        found = [shape.covariance() for shape in self._shapes]
        if self._kind == "spherical":
            return np.array([variances[0] for variances in found])
        return found[0] if self._kind == "shared" else np.stack(found)

    def log_likelihood(self) -> float:
        """Σ w (log π_y + log N(x; μ_y, Σ_y)) of the rows fitted."""
        check_is_fitted(self)
        return self._log_likelihood

    @single_threaded_blas()
    def boundary(self, i: Any, j: Any) -> Conic:
        """The points where g_i = g_j, for two labels i and j: a line or conic of two features, a quadric of more.

        Memory O(d²).
        """
        check_is_fitted(self)
        known = self.classes_.tolist()
        for name in (i, j):
            if name not in known:
                raise ValueError(f"{name!r} is not a class; the classes are {known[:10]}.")
        if i == j:
            raise ValueError(f"A boundary is between two classes, and both are {i!r}.")
        pair = [known.index(i), known.index(j)]
        shapes = [self._shapes[c if len(self._shapes) > 1 else 0] for c in pair]
        odds = self._constants()[pair]
        return between(
            (known[pair[0]], known[pair[1]]),
            self.means_[pair],
            [shape.inverse for shape in shapes],
            [shape.exponents for shape in shapes],
            np.stack([shape.deviations for shape in shapes]),
            float(odds[0] - odds[1]),
        )

    def _constants(self) -> Floats:
        """log π_i − ½ log|Σ_i| + ½ log|2^2e| with e the units of the first class: the same bits in any such units."""
        units = self._shapes[0].exponents
        volumes = [s.log_volume + np.log(2.0) * float((s.exponents - units).sum()) for s in self._shapes]
        return np.asarray(np.log(self.priors_) - np.array(volumes))

    @single_threaded_blas()
    def _relative(self, rows: Rows) -> Floats:
        """g_i(x), (n, k), but for a number that is the same for all classes."""
        constants = self._constants()
        if len(self._shapes) > 1:
            return constants - 0.5 * squares(rows, self.means_, self._shapes)
        # With one Σ the squares of x cancel: g_i − g_0 is linear, and taken about the middle of all means.
        shape, middle = self._shapes[0], self.priors_ @ self.means_
        slopes = shape.inverse @ (units(self.means_, self.means_[0], shape) @ shape.inverse).T
        ends = 0.5 * (units(self.means_, middle, shape) + units(self.means_[0], middle, shape))
        constants = constants - np.einsum("ij,ji->i", ends, slopes)

        def of_block(block: Block) -> list[Floats]:
            return [apply(rows, part, middle, shape, lambda Z: Z @ slopes) for _, part in panels(block)]

        return np.concatenate(rows.sum(of_block)) + constants

    def _joint(self, rows: Rows) -> Floats:
        """g_i(x), (n, k)."""
        d, shape = self.n_features_in_, self._shapes[0]
        found = self._relative(rows) - (0.5 * d * np.log(2.0 * np.pi) + np.log(2.0) * float(shape.exponents.sum()))
        if len(self._shapes) == 1:
            found -= 0.5 * squares(rows, self.means_[:1], [shape])
        return found

    def _decisions(self, rows: Rows) -> Floats:
        if len(self.classes_) > 2:
            return self._joint(rows)
        found = self._relative(rows)
        return found[:, 1] - found[:, 0]

    def _probabilities(self, rows: Rows) -> Floats:
        found = self._relative(rows)
        found -= found.max(axis=1, keepdims=True)
        np.exp(found, out=found)
        found /= found.sum(axis=1, keepdims=True)
        return found

    def log_density(self, X: Any) -> Floats:
        """log Σ_i π_i N(x; μ_i, Σ_i) of each row, (n,): how much of the data is near it."""
        check_is_fitted(self)
        return np.asarray(logsumexp(self._joint(self._rows(X)), axis=1))

    def summary(self) -> Summary:
        """Priors, weights and ranks of the classes, and facts of the fit."""
        check_is_fitted(self)
        known = self.classes_.tolist()
        columns = {
            "name": np.array([str(name) for name in known], dtype=object),
            "prior": self.priors_,
            "weight": self.class_totals_,
            "shrinkage": np.broadcast_to(self.shrinkage_, len(known)),
            "rank": np.broadcast_to(self.ranks_, len(known)),
        }
        facts = {
            "covariance": self._kind,
            "n": float(self.class_totals_.sum()),
            "log_likelihood": self._log_likelihood,
            "condition": self.certificate_.condition,
        }
        notes = [self.certificate_.note] if self.certificate_.note else []
        if len(known) == 2 and self.n_features_in_ <= 2:
            notes.append(str(self.boundary(*known)))
        return Summary(type(self).__name__, columns, facts, notes)

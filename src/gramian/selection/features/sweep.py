"""Validation losses of least squares and ridge on growing or shrinking sets of columns, from moments, without refits.

For a set S of columns in the model let r_j be what S leaves of column j, and r_y what it leaves of the target, with the
coefficients of the training rows. Entering column s changes every remainder by the same rule,

    r_k ← r_k − (A_sk / A_ss) r_s,       A_jk = Σ r_j r_k over the training rows,

so the products A of the training rows and T of the test rows follow by one elimination each, O(d²), and the loss of
every candidate is a closed form: T_yy − 2 w T_jy + w² T_jj with w = A_jy / A_jj. A column that leaves obeys the same
rule with the inverse Gram matrix B in the place of A, −w in that of A_jy, and X B in that of the remainders.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from gramian._core.numerics.float_range import NOTHING, magnitude
from gramian._core.types import Bools, Floats, Ints
from gramian.statistics import Moments

DEPENDENT = 1e-12  # a pivot below this share of its diagonal: the column adds nothing to those in the model
ROUNDING = 1e-13  # differences of losses below this share of the mean-only loss are none
RENEW = 1e4  # a column whose variance the others explain to this factor takes as many digits along when it leaves
LARGEST = 1e200


@dataclass(frozen=True, eq=False)
class Products:
    """Products of [X, y] about the training mean for K splits, columns divided by 2**exponents.

    Attributes
    ----------
    train : array (K, p, p)
        Sums over the training rows, the ridge on the diagonal of the features.
    test : array (K, p, p)
        Means over the test rows.
    floor : array (K, d)
        Pivots that are none; infinite for columns that do not vary.
    unit : int
        Exponent of the targets: true losses are times 4**unit.
    """

    train: Floats
    test: Floats
    floor: Floats
    d: int
    unit: int

    @property
    def rounding(self) -> Floats:
        """Differences of losses (K,) that are none, measured by the loss of predicting the training mean."""
        return ROUNDING * _target_losses(self.test, self.d)


def products(splits: list[tuple[Moments, Moments]], *, alpha: float, intercept: bool) -> Products:
    """Products of (training, test) moments; alpha is per row: the Gram matrix gets alpha · W · I."""
    given = splits
    if not intercept:
        splits = [(train.second_moments(), test.second_moments()) for train, test in splits]
    d = splits[0][0].d
    # Half the difference is a float even where the difference itself is beyond the float range.
    halves = [
        (0.5 * test.mean_high - 0.5 * train.mean_high) + (0.5 * test.mean_low - 0.5 * train.mean_low)
        for train, test in splits
    ]
    exponents = _common_exponents(splits, halves)
    exponents[d:] = exponents[d:].max()
    with np.errstate(under="ignore", over="ignore"):
        ridge = np.minimum(alpha * np.exp2(-2.0 * exponents[:d]), LARGEST) if alpha else np.zeros(d)
        train = np.stack([_scaled(sums, exponents) for sums, _ in splits])
        shifts = np.stack([np.ldexp(half, 1 - exponents) for half in halves])
        test = np.stack([_scaled(sums, exponents) / sums.weight for _, sums in splits])
        test += shifts[:, :, None] * shifts[:, None, :]
        floor = np.empty((len(splits), d))
        for k, (sums, _) in enumerate(given):
            spread = np.sqrt(np.diagonal(train[k])[:d])
            offset = np.ldexp(np.abs(sums.mean[:d]), -exponents[:d]) if intercept else np.zeros(d)
            # What rounding of the column itself leaves is not variation: half a unit in the last place, per row.
            constant = spread <= 2 * sums.precision * offset * np.sqrt(sums.weight)
            train[k][:d][constant] = 0.0
            train[k][:, :d][:, constant] = 0.0
            train[k][range(d), range(d)] += ridge * sums.weight
            floor[k] = np.where(constant, np.inf, DEPENDENT * np.diagonal(train[k])[:d])
    return Products(train, test, floor, d, int(exponents[d]))


def _common_exponents(splits: list[tuple[Moments, Moments]], halves: list[Floats]) -> Ints:
    sizes = [magnitude(half, np.ones(len(half), dtype=np.int64)) for half in halves]
    sizes += [magnitude(np.sqrt(np.diagonal(s.scaled)), s.exponents) for split in splits for s in split]
    largest = np.max(sizes, axis=0)
    return np.where(largest == NOTHING, 0, largest).astype(np.int64)


def _scaled(sums: Moments, exponents: Ints) -> Floats:
    factor = np.ldexp(1.0, sums.exponents - exponents)
    return sums.scaled * factor[:, None] * factor[None, :]


def _target_losses(T: Floats, d: int) -> Floats:
    return np.diagonal(T, axis1=1, axis2=2)[:, d:].mean(axis=1)


class Forward:
    """Columns enter a model that begins with the mean alone."""

    def __init__(self, sums: Products) -> None:
        self.sums = sums
        self.unit, self.rounding = sums.unit, sums.rounding
        self.A = sums.train[:, : sums.d].copy()
        self.T = sums.test.copy()

    def start(self) -> Floats:
        """Losses (K,) of the model as it is."""
        return _target_losses(self.T, self.sums.d)

    def idle(self) -> Bools:
        """Columns that change nothing in any split."""
        return np.asarray(~self._alive().any(axis=0))

    def losses(self, candidates: Ints) -> Floats:
        """Losses (K, c) after each candidate's entry."""
        d = self.sums.d
        pivots = np.where(self._alive(), _diagonal(self.A), np.inf)[:, candidates]
        T = self.T[:, candidates]
        own = T[:, np.arange(len(candidates)), candidates]
        return _losses(self.A[:, candidates, d:], pivots, self.T, T[:, :, d:], own)

    def take(self, j: int) -> None:
        """Let a column enter."""
        pivots = np.where(self._alive()[:, j], self.A[:, j, j], np.inf)
        _eliminate(self.A, self.T, j, self.A[:, j] / pivots[:, None])

    def _alive(self) -> Bools:
        return _diagonal(self.A) > self.sums.floor


class Backward:
    """Columns leave a model that begins with all of them.

    In a split whose training columns are dependent the coefficients are those of a basis, entered from the last column
    to the first; the others have coefficient 0, and one of them takes the place of a basis column that leaves.
    """

    def __init__(self, sums: Products) -> None:
        self.sums = sums
        self.unit, self.rounding = sums.unit, sums.rounding
        splits, p = sums.train.shape[:2]
        self.inside = np.ones(sums.d, dtype=bool)
        self.basis = np.zeros((splits, sums.d), dtype=bool)
        self.A = np.zeros((splits, sums.d, p))
        self.T = np.zeros((splits, p, p))
        for k in range(splits):
            self._renew(k)

    def start(self) -> Floats:
        """Losses (K,) of the model as it is."""
        return _target_losses(self.T, self.sums.d)

    def idle(self) -> Bools:
        """Columns of the model that change nothing in any split."""
        return self.inside & ~self.basis.any(axis=0)

    def losses(self, candidates: Ints) -> Floats:
        """Losses (K, c) after each candidate's removal."""
        d = self.sums.d
        partners, pivots = self._partners()
        partners, pivots = partners[:, candidates], pivots[:, candidates]
        split = np.arange(len(self.T))[:, None]
        cross = self.T[split, partners][:, :, d:]
        return _losses(self.A[:, candidates, d:], pivots, self.T, cross, self.T[split, partners, partners])

    def take(self, j: int) -> None:
        """Let a column leave."""
        self.inside[j] = False
        inflation = self.A[:, j, j] * self.sums.train[:, j, j]
        deficient = (self.inside & ~self.basis).any(axis=1)
        renewed = self.basis[:, j] & (deficient | (inflation > RENEW))
        updated = self.basis[:, j] & ~renewed
        pivots = np.where(updated, self.A[:, j, j], np.inf)
        _eliminate(self.A, self.T, j, self.A[:, j] / pivots[:, None])
        self.basis[:, j] = False
        for k in np.flatnonzero(renewed):
            self._renew(int(k))

    def _partners(self) -> tuple[Ints, Floats]:
        """Whose remainder a removal brings back, and by which pivot: a column's own, or that of its replacement."""
        splits, d = self.basis.shape
        partners = np.tile(np.arange(d), (splits, 1))
        pivots = np.where(self.basis, _diagonal(self.A), np.inf)
        for k in np.flatnonzero((self.inside & ~self.basis).any(axis=1)):
            spare = np.flatnonzero(self.inside & ~self.basis[k])[::-1]
            members = np.flatnonzero(self.basis[k])
            link = self.A[k][np.ix_(members, spare)]
            able = link**2 > self.sums.floor[k, spare] * pivots[k, members][:, None]
            first, found = able.argmax(axis=1), able.any(axis=1)
            partners[k, members[found]] = spare[first[found]]
            pivots[k, members[found]] = link[found, first[found]]
        return partners, pivots

    def _renew(self, k: int) -> None:
        """The products of a split from the beginning: O(d³)."""
        d, G = self.sums.d, self.sums.train[k]
        basis = _independent(G, np.flatnonzero(self.inside)[::-1], self.sums.floor[k])
        self.basis[k] = False
        self.basis[k, basis] = True
        rest = np.concatenate([np.flatnonzero(self.inside & ~self.basis[k]), np.arange(d, len(G))])
        M = np.zeros_like(G)
        M[rest, rest] = 1.0
        if basis.size:
            root = np.linalg.cholesky(G[np.ix_(basis, basis)])
            half = sla.solve_triangular(root, np.eye(len(basis)), lower=True, check_finite=False)
            inverse = half.T @ half
            M[np.ix_(basis, basis)] = inverse
            M[np.ix_(basis, rest)] = -inverse @ G[np.ix_(basis, rest)]
        self.A[k] = M[:d]
        self.T[k] = M.T @ self.sums.test[k] @ M


def _independent(G: Floats, columns: Ints, floor: Floats) -> Ints:
    """The columns that do not depend on those before them."""
    inner = G[np.ix_(columns, columns)]
    try:
        pivots = np.diagonal(np.linalg.cholesky(inner)) ** 2
        if (pivots > floor[columns]).all():
            return columns
    except np.linalg.LinAlgError:
        pass
    found = []
    for i, j in enumerate(columns):
        if inner[i, i] > floor[j]:
            found.append(j)
            inner[i + 1 :, i + 1 :] -= inner[i + 1 :, i, None] * (inner[i, i + 1 :] / inner[i, i])[None, :]
    return np.array(found, dtype=np.int64)


def _losses(links: Floats, pivots: Floats, T: Floats, cross: Floats, own: Floats) -> Floats:
    """T_yy − 2 w T_jy + w² T_jj with w = links / pivots, averaged over targets."""
    d = T.shape[1] - links.shape[2]
    w = links / pivots[:, :, None]
    start = np.diagonal(T, axis1=1, axis2=2)[:, None, d:]
    return np.maximum(start - 2.0 * w * cross + w**2 * own[:, :, None], 0.0).mean(axis=2)


def _eliminate(A: Floats, T: Floats, j: int, b: Floats) -> None:
    """Subtract b times remainder j from every remainder, in place."""
    A -= A[:, :, j, None] * b[:, None, :]
    side = T[:, j] - 0.5 * T[:, j, j, None] * b
    T -= np.stack([b, side], axis=2) @ np.stack([side, b], axis=1)


def _diagonal(A: Floats) -> Floats:
    return np.diagonal(A, axis1=1, axis2=2)

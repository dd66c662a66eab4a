"""Rows in the coordinates of a solver: predictions, sums of gradients and weighted Gram matrices, panel by panel."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Bools, Floats
from gramian.objective.design import Columns, Coordinates
from gramian.objective.penalties import PenaltyTerms
from gramian.rows import Block, Rows, workspace

PANEL_CELLS = 2**18  # numbers worked on at once: two megabytes, which stay in a core's cache


class Table:
    """The rows, their d columns centred and scaled, and an intercept: p numbers for each of m outputs."""

    rows: Rows
    coordinates: Coordinates
    intercept: bool
    d: int
    p: int
    m: int
    cuts: bool  # whether the loss itself goes over rows in pieces

    # coordinates

    @property
    def columns(self) -> Columns:
        return self.coordinates.columns

    @property
    def parts(self) -> PenaltyTerms | None:
        """The terms of the penalty, without alpha, of the coefficients in the units of the data."""
        return self.coordinates.parts

    @property
    def deviations(self) -> Floats | None:
        """Standard deviations of the columns, where the penalty is of columns divided by them."""
        return self.coordinates.deviations

    @property
    def center(self) -> Floats:
        return self.coordinates.center

    @property
    def scale(self) -> Floats:
        return self.coordinates.scale

    @property
    def inverse(self) -> Floats:
        return self.coordinates.inverse

    @property
    def far(self) -> bool:
        """Whether raw products would lose digits."""
        return self.coordinates.far

    @property
    def tame(self) -> bool:
        """Whether differences stay within the float range."""
        return self.coordinates.tame

    def to_original(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d, m) and intercepts (m,) in the units of the data."""
        coef = theta[:, : self.d] * self.inverse
        constant = self.constant
        if constant.any():
            coef[:, constant] = self.of_constants(coef)[:, constant]
        return coef.T, (theta[:, self.d] - coef @ self.center if self.intercept else np.zeros(self.m))

    @property
    def constant(self) -> Bools:
        """Columns that the loss knows nothing of: equal numbers beside an intercept, and zeros."""
        still = self.columns.deviation == 0
        return still if self.intercept else still & (self.columns.mean == 0)

    def of_constants(self, coef: Floats) -> Floats:
        """Coefficients (m, d) with those of constant columns as the penalty has them, given the others: zero."""
        return np.where(self.constant, 0.0, coef)

    def to_standardized(self, coef: Floats, intercept: Floats) -> Floats:
        """θ of coefficients (d, m) and intercepts (m,)."""
        theta = np.empty((self.m, self.p))
        theta[:, : self.d] = coef.T * self.scale
        if self.intercept:
            theta[:, self.d] = intercept + self.center @ coef
        return theta

    # panels

    def panels(self, block: Block, *, whole: bool = False) -> Any:
        """(rows, target, weight) of a block in pieces that stay in the cache; a sparse block is one piece.

        `whole` leaves a block whole that needs no preparation, for losses that cut it themselves.
        """
        y, w = block.y, block.weight
        assert y is not None
        if sp.issparse(block.source):
            X = block.X
            yield X if X.dtype == np.float64 else X.astype(np.float64), y[:, 0], w
            return
        n = len(block)
        size = -(-n // max(round(n * self.p / PANEL_CELLS), 1))
        if whole and self.cuts and not self.far:
            size = n
        for start in range(0, n, size):
            some = slice(start, min(start + size, n))
            yield self.prepared(block.part(some)), y[some, 0], None if w is None else w[some]

    def prepared(self, X: Any) -> Any:
        """Raw rows, or centred ones where raw products would lose digits, in memory of this thread."""
        if not self.far and X.dtype == np.float64 and X.flags.c_contiguous:
            return X
        Z = workspace("panel", *X.shape)
        if not self.far:
            Z[:] = X
            return Z
        if self.tame:
            np.subtract(X, self.center, out=Z)
            Z *= self.inverse
            return Z
        np.multiply(X, self.inverse, out=Z)  # scaled first: the difference itself may be beyond the float range
        Z -= self.center * self.inverse
        return Z

    def standard(self, part: Any) -> Floats:
        """Prepared rows as (n, p): centred, scaled, and with a column of ones where there is an intercept."""
        Z = np.empty((part.shape[0], self.p))
        X = part.toarray() if sp.issparse(part) else part
        Z[:, : self.d] = (X - self.center) * self.inverse if self._raw(part) else X
        if self.intercept:
            Z[:, self.d] = 1.0
        return Z

    def standard_sparse(self, part: Any) -> Any:
        """The same of sparse rows, as a sparse matrix."""
        Z = part @ sp.diags_array(self.inverse)
        ones = sp.csr_array(np.ones((part.shape[0], 1)))
        if self.center.any():
            Z = Z - ones @ sp.csr_array((self.center * self.inverse)[None, :])
        return sp.hstack([Z, ones] if self.intercept else [Z], format="csr")

    def _raw(self, part: Any) -> bool:
        return sp.issparse(part) or not self.far

    def predictions(self, part: Any, theta: Floats) -> Floats:
        """f (n, m) of prepared rows."""
        coef, offset = self._coefficients(part, theta)
        # One output after the other: maxima and sums over outputs run on vectors.
        f = np.asarray(part @ coef.T) if sp.issparse(part) or len(coef) == 1 else (coef @ part.T).T
        f += offset
        return f

    def _coefficients(self, part: Any, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients (M, d) and offsets (M,) for prepared rows."""
        coef = theta[:, : self.d]
        offset = theta[:, self.d] if self.intercept else np.zeros(len(theta))
        if self._raw(part):
            coef = coef * self.inverse
            offset = offset - coef @ self.center
        return np.ascontiguousarray(coef), np.ascontiguousarray(offset)

    def gradient_sums(self, part: Any, g: Floats) -> Floats:
        """Σ g zᵀ over prepared rows: (m, p) for g (n, m)."""
        found = np.empty((self.m, self.p))
        products = np.asarray(part.T @ g).T if sp.issparse(part) else g.T @ part
        total = g.sum(axis=0)
        if self._raw(part):
            products = products - np.outer(total, self.center)
            products *= self.inverse
        found[:, : self.d] = products
        if self.intercept:
            found[:, self.d] = total
        return found

    def settled(self, found: Floats) -> Floats:
        """What `gradient_sums` or `sweep` added up over a pass, as a gradient (m, p) in these coordinates."""
        return found

    def settled_gram(self, H: Floats) -> Floats:
        """What `weighted_gram` added up over a pass, in these coordinates."""
        return H

    def weighted_gram(self, part: Any, h: Floats) -> Floats:
        """Σ h z zᵀ over prepared rows, (p, p); h may be negative."""
        if sp.issparse(part):
            return self._sparse_gram(part, h)
        Z = self._centred(part)
        if (h < 0).any():
            right = workspace("right", len(h), self.p)
            np.multiply(Z, h[:, None], out=right)
            return self._in_units(part, right.T @ Z)
        Z *= np.sqrt(h)[:, None]
        return self._in_units(part, Z.T @ Z)

    def weighted_grams(self, part: Any, h: Floats) -> Floats:
        """The same for several weights h (J, n): (J, p, p)."""
        J, p = len(h), self.p
        if p > 2 * J or sp.issparse(part):
            return np.stack([self.weighted_gram(part, row) for row in h])
        Z = np.ascontiguousarray(self._centred(part).T)
        found = np.empty((J, p, p))
        for low, high in _strips(p, PANEL_CELLS // Z.shape[1]):
            products = workspace("products", sum(p - i for i in range(low, high)), Z.shape[1])
            start = 0
            for i in range(low, high):
                np.multiply(Z[i:], Z[i], out=products[start : start + p - i])
                start += p - i
            sums, start = h @ products.T, 0
            for i in range(low, high):
                found[:, i, i:] = found[:, i:, i] = sums[:, start : start + p - i]
                start += p - i
        return self._in_units(part, found)

    def _centred(self, part: Any) -> Floats:
        """The rows of a Gram matrix, (n, p), in memory of this thread."""
        Z = workspace("gram", part.shape[0], self.p)
        if self._raw(part):
            np.subtract(part, self.center, out=Z[:, : self.d])
        else:
            Z[:, : self.d] = part
        if self.intercept:
            Z[:, self.d] = 1.0
        return Z

    def _in_units(self, part: Any, found: Floats) -> Floats:
        """Gram matrices (…, p, p) of centred rows, in these coordinates."""
        if self._raw(part):
            found[..., : self.d, :] *= self.inverse[:, None]
            found[..., : self.d] *= self.inverse
        return found

    def _sparse_gram(self, X: Any, h: Floats) -> Floats:
        found = np.empty((self.p, self.p))
        S = X @ sp.diags_array(self.inverse)
        H = S.multiply(h[:, None]).tocsr()
        found[: self.d, : self.d] = (S.T @ H).toarray()
        pulled, total, c = S.T @ h, float(h.sum()), self.center * self.inverse
        if c.any():
            found[: self.d, : self.d] -= np.outer(c, pulled - 0.5 * total * c) + np.outer(pulled - 0.5 * total * c, c)
        if self.intercept:
            found[self.d, : self.d] = found[: self.d, self.d] = pulled - total * c
            found[self.d, self.d] = total
        return found


def _strips(p: int, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of the columns that cover them; those of one have at most so many products with later columns, or one."""
    low, count = 0, 0
    for i in range(p):
        if count and count + p - i > most:
            yield low, i
            low, count = i, 0
        count += p - i
    yield low, p

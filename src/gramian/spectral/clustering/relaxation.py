"""The cut of a graph relaxed to an eigenproblem."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.solvers.eigen import Eigen, Times, eigen, krylov
from gramian.spectral.clustering.graph import AffinityGraph

SMALL = 800  # rows up to which a matrix is factored whole
WHOLE = 5000  # up to which it is where products do not lead to the end
BLOCK = 4  # vectors multiplied at once: more would cost more, and fewer miss eigenvalues that repeat
BASIS, ROUNDS = 80, 100
EVEN = 1e-3  # eigenvalues below are alike to `widest_gap`


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The matrix diag(s) K diag(s) + diag(p) of a graph, whose largest eigenvectors are those of a cut.

    It is D^−½ K D^−½ for the normalised cut, and a multiple of the identity less D − K for the ratio cut; with weights
    w, D = diag(K w), and the matrix is that of repeated points, a row for each.
    """

    graph: AffinityGraph
    cut: str

    @cached_property
    def degree(self) -> Floats:
        return self.graph.degree

    @cached_property
    def top(self) -> float:
        """What the largest eigenvalue is, and what residuals are measured in."""
        return 1.0 if self.cut == "normalized" else 2.0 * float(self.degree.max()) or 1.0

    @cached_property
    def scale(self) -> Floats:
        root = np.sqrt(self.graph.weight)
        if self.cut == "normalized":
            root = np.divide(root, np.sqrt(self.degree), out=np.zeros_like(root), where=self.degree > 0)
        return root[:, None]

    @cached_property
    def plus(self) -> Floats:
        # A point alone is a part of its own.
        added = (self.degree == 0).astype(np.float64) if self.cut == "normalized" else self.top - self.degree
        return np.asarray(added[:, None])

    def whole(self, labels: Ints) -> Floats:
        """The eigenvectors of clusters that nothing leaves, a column each."""
        size = self.graph.weight
        if self.cut == "normalized":
            size = size * np.where(self.degree > 0, self.degree, 1.0)
        U = np.eye(int(labels.max()) + 1)[labels] * np.sqrt(size)[:, None]
        return np.asarray(U / np.linalg.norm(U, axis=0))

    def solve(self, parts: Ints, n_vectors: int, tol: float) -> tuple[Floats, Floats, int]:
        """Eigenvalues as users know them, eigenvectors (n, n_vectors), and how many products were made.

        Vectors of whole parts are known, and repeat one eigenvalue: they are sent below all others, which are looked
        for without them.
        """
        indicators = self.whole(parts)
        count = indicators.shape[1]
        values, products = np.full(count, self.top), 0
        U = indicators
        if n_vectors > count:

            def times(V: Floats) -> Floats:
                image = self.image(self.graph.times(self.scale * V), V)
                image -= (2.0 * self.top) * (indicators @ (indicators.T @ V))
                return image

            pairs = _largest(times, self.graph.n, n_vectors - count, tol)
            values, U = np.append(values, pairs.values), np.column_stack([indicators, pairs.vectors])
            products = pairs.products or self.graph.n
        return self.shown(values), U, products

    def image(self, product: Floats, V: Floats) -> Floats:
        """The matrix times V, where K diag(s) V is known."""
        return np.asarray(self.scale * product + self.plus * V)

    def shown(self, theta: Floats) -> Floats:
        """Eigenvalues of D^−½ K D^−½, or of D − K."""
        return theta if self.cut == "normalized" else np.maximum(self.top - theta, 0.0)

    def residual(self, product: Floats, U: Floats, values: Floats) -> float:
        """The largest ‖A u − λ u‖, in units of the largest eigenvalue; `product` is K diag(s) U."""
        theta = values if self.cut == "normalized" else self.top - values
        return float(np.linalg.norm(self.image(product, U) - U * theta, axis=0).max()) / self.top

    def number(self, values: Floats) -> int:
        """How many clusters the eigenvalues speak for."""
        mean = float(self.degree.mean()) or 1.0
        return widest_gap(1.0 - values if self.cut == "normalized" else values / mean)


def _largest(times: Times, n: int, count: int, tol: float) -> Eigen:
    """The largest eigenvalues of a matrix known by its products: all at once where it is small."""
    if n > SMALL and count <= n // 3:
        max_products = max(ROUNDS * (count + BLOCK), n)
        pairs = krylov(times, n, count, tol=0.2 * tol, block=BLOCK, basis=2 * count + BASIS, max_products=max_products)
        if pairs.converged or n > WHOLE or deadline.ended():
            return pairs
    A = times(np.eye(n))
    return eigen(0.5 * (A + A.T), count)


def widest_gap(values: Floats) -> int:
    """The number of eigenvalues, growing from 0, before the largest relative step; at least 2 where there are as many.

    >>> widest_gap(np.array([0.0, 1e-4, 0.2, 0.3, 0.5]))
    2
    """
    if len(values) < 3:
        return len(values)
    shifted = np.maximum(values, 0.0) + EVEN
    return int((shifted[2:] / shifted[1:-1]).argmax()) + 2

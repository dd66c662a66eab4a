"""`ANOVA`: sums over sets of columns of products of one-dimensional kernels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_number
from gramian.kernels.algebra import all_products, refuse_unless_kernel
from gramian.kernels.base import Kernel
from gramian.kernels.points import Together, Vectors, vectors
from gramian.kernels.validity.proof import Validity, proven

MAX_CELLS = 2**20  # numbers of all columns' kernels held at once


@dataclass(frozen=True, eq=False, repr=False)
class ANOVA(Kernel):
    """Functions that are sums of functions of few columns: Σ over sets of `degree` columns of Π k_j(x_j, x'_j).

    Degree 1 is Σ_j k_j(x_j, x'_j): additive models f(x) = Σ_j f_j(x_j). Sums over all sets come from the recursion
    over elementary symmetric polynomials: d · degree products for each pair.

    Parameters
    ----------
    base : Kernel or tuple of Kernels
        The kernel of every column, or one for each.
    degree : int, default 1
        How many columns are multiplied together.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> ANOVA(Linear(), degree=2)([[1.0, 2.0, 3.0]])  # 1·4 + 1·9 + 4·9
    array([[49.]])
    """

    base: Any
    degree: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.base, list):
            object.__setattr__(self, "base", tuple(self.base))
        if self.base == ():
            raise ValueError("base of ANOVA is an empty tuple; give a kernel, or one for each column.")
        for part in self.base if isinstance(self.base, tuple) else (self.base,):
            refuse_unless_kernel(self, "base", part)
        if not (is_number(self.degree) and self.degree >= 1 and float(self.degree).is_integer()):
            raise ValueError(f"degree of ANOVA is {self.degree!r}; it must be a positive integer.")

    def inner_kernels(self) -> dict[str, Kernel]:
        return {} if isinstance(self.base, tuple) else {"base": self.base}

    @property
    def symmetric(self) -> bool:
        return all(part.symmetric for part in self._distinct)

    def waits_for(self) -> str | None:
        return next((text for part in self._distinct if (text := part.waits_for())), None)

    def fitted(self, X: Any, weight: Any = None) -> Kernel:
        """With a parameter to be set from data, every column has its own kernel afterwards."""
        if self.waits_for() is None:
            return self
        A = vectors(X)
        kernels = self._kernels(A.d)
        return replace(self, base=tuple(k.fitted(_column(A, j), weight) for j, k in enumerate(kernels)))

    def points(self, X: Any) -> Together:
        A = vectors(X)
        return Together(*(k.points(_column(A, j)) for j, k in enumerate(self._kernels(A.d))))

    def block(self, A: Together, B: Together) -> Floats:
        d = len(A.parts)
        if d != len(B.parts):
            raise ValueError(f"X has {d} columns and Z has {len(B.parts)}; they must have the same columns.")
        kernels = self._kernels(d)
        if self.degree == 1:
            K = kernels[0].block(A.parts[0], B.parts[0])
            for k, a, b in zip(kernels[1:], A.parts[1:], B.parts[1:], strict=True):
                K += k.block(a, b)
            return K
        from gramian.kernels.numerics.loops import symmetric_sums

        out = np.empty((len(A), len(B)))
        step = max(MAX_CELLS // (d * max(len(B), 1)), 1)
        for start in range(0, len(A), step):
            rows = slice(start, min(start + step, len(A)))
            parts = np.stack([k.block(a[rows], b) for k, a, b in zip(kernels, A.parts, B.parts, strict=True)])
            symmetric_sums(parts, int(self.degree), out[rows])
        return out

    def diag(self, A: Together) -> Floats:
        from gramian.kernels.numerics.loops import symmetric_sums

        out = np.empty((1, len(A)))
        kernels = self._kernels(len(A.parts))
        parts = np.stack([k.diag(a)[None, :] for k, a in zip(kernels, A.parts, strict=True)])
        symmetric_sums(parts, int(self.degree), out)
        return out[0]

    def features(self, X: Any, terms: int | None = None) -> Floats:
        A = vectors(X)
        sums: list[list[Floats]] = [[np.ones((len(A), 1))], *([] for _ in range(int(self.degree)))]
        for j, k in enumerate(self._kernels(A.d)):
            own = k.features(_column(A, j), terms)
            for size in range(int(self.degree), 0, -1):
                sums[size] += [all_products(F, own) for F in sums[size - 1]]
        total = sums[int(self.degree)]
        return np.hstack(total) if total else np.zeros((len(A), 1))

    def summands(self, d: int | None = None) -> tuple[Kernel, ...]:
        """With degree 1 the kernel of each of d columns."""
        if self.degree != 1 or (d is None and not isinstance(self.base, tuple)):
            return (self,)
        count = len(self.base) if d is None else d
        return tuple(k.on(j) for j, k in enumerate(self._kernels(count)))

    def split(self, A: Together, B: Together) -> tuple[Floats, ...]:
        if self.degree != 1:
            return super().split(A, B)
        kernels = self._kernels(len(A.parts))
        return tuple(k.block(a, b) for k, a, b in zip(kernels, A.parts, B.parts, strict=True))

    def proof(self) -> Validity:
        return proven(
            self, "a sum of products of kernels of single columns", *(part.proof() for part in self._distinct)
        )

    @property
    def _distinct(self) -> tuple[Kernel, ...]:
        return self.base if isinstance(self.base, tuple) else (self.base,)

    def _kernels(self, d: int) -> tuple[Kernel, ...]:
        if not isinstance(self.base, tuple):
            return (self.base,) * d
        if len(self.base) != d:
            raise ValueError(f"base of ANOVA has {len(self.base)} kernels, and X has {d} columns; give one for each.")
        return self.base


def _column(A: Vectors, j: int) -> Vectors:
    return Vectors(A.X[:, [j]] if A.is_sparse else np.ascontiguousarray(A.X[:, [j]]))

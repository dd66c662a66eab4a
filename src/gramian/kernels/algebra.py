"""Kernels made of kernels: sums, products, functions of them, and of their points."""

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_number
from gramian.kernels.base import ATOM, POWER, PRODUCT, SUM, Kernel, within
from gramian.kernels.lowrank.feature_maps import MAX_FEATURES
from gramian.kernels.parameters import refuse_unless
from gramian.kernels.points import Together, vectors
from gramian.kernels.validity.proof import Validity, proven, unproven
from gramian.kernels.vectors.inner_products import power


class BinaryKernel(Kernel):
    """A kernel of two kernels on the same points."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            refuse_unless_kernel(self, name, getattr(self, name))

    @property
    def takes_rows(self) -> bool:
        return self.left.takes_rows and self.right.takes_rows

    def points(self, X: Any) -> Any:
        return vectors(X) if self.takes_rows else Together(self.left.points(X), self.right.points(X))

    def parts(self, A: Any) -> tuple[Any, Any]:
        """The points of either kernel."""
        return (A, A) if self.takes_rows else A.parts


class UnaryKernel(Kernel):
    """A kernel of one kernel on the same points."""

    base: Kernel

    def __post_init__(self) -> None:
        refuse_unless_kernel(self, "base", self.base)

    @property
    def takes_rows(self) -> bool:
        return self.base.takes_rows

    def points(self, X: Any) -> Any:
        return self.base.points(X)


class OfMappedPoints(UnaryKernel):
    """A kernel of one kernel at points that `mapped` makes of those given."""

    @abstractmethod
    def mapped(self, X: Any) -> Any:
        """The points that `base` compares."""

    @property
    def takes_rows(self) -> bool:
        return False

    def points(self, X: Any) -> Any:
        return self.base.points(self.mapped(X))

    def block(self, A: Any, B: Any) -> Floats:
        return self.base.block(A, B)

    def diag(self, A: Any) -> Floats:
        return self.base.diag(A)

    def fitted(self, X: Any, weight: Any = None) -> Kernel:
        if self.waits_for() is None:
            return self
        return replace(self, base=self.base.fitted(self.mapped(X), weight))  # type: ignore[type-var]

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return self.base.features(self.mapped(X), terms)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(BinaryKernel):
    """k₁(x, x') + k₂(x, x'): functions that are sums of a function of each kernel. Written `k1 + k2`.

    >>> from gramian.kernels import RBF, Linear
    >>> RBF(1.0) + 0.5 * Linear()
    RBF(length_scale=1.0) + 0.5 * Linear()
    """

    left: Kernel
    right: Kernel

    @property
    def is_linear(self) -> bool:
        return self.left.is_linear and self.right.is_linear

    def block(self, A: Any, B: Any) -> Floats:
        (a, b), (c, d) = self.parts(A), self.parts(B)
        K = self.left.block(a, c)
        K += self.right.block(b, d)
        return K

    def diag(self, A: Any) -> Floats:
        a, b = self.parts(A)
        return self.left.diag(a) + self.right.diag(b)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return np.hstack([self.left.features(X, terms), self.right.features(X, terms)])

    def summands(self, d: int | None = None) -> tuple[Kernel, ...]:
        return (*self.left.summands(d), *self.right.summands(d))

    def split(self, A: Any, B: Any) -> tuple[Floats, ...]:
        (a, b), (c, d) = self.parts(A), self.parts(B)
        return (*self.left.split(a, c), *self.right.split(b, d))

    def proof(self) -> Validity:
        return proven(self, "a sum of kernels", self.left.proof(), self.right.proof())

    def key(self) -> Any:
        return ("Sum", frozenset(Counter(part.key() for part in _flat(self, Sum)).items()))

    def text(self) -> tuple[str, int]:
        right = self.right
        if isinstance(right, Scaled) and right.factor == -1:
            return f"{within(self.left, SUM)} - {within(right.base, PRODUCT)}", SUM
        return f"{within(self.left, SUM)} + {within(right, PRODUCT)}", SUM


@dataclass(frozen=True, eq=False, repr=False)
class Product(BinaryKernel):
    """k₁(x, x') k₂(x, x'): near in both senses. Written `k1 * k2`.

    >>> from gramian.kernels import RBF, Linear
    >>> RBF(1.0).on("age") * Linear().on(["height", "weight"])
    RBF(length_scale=1.0).on('age') * Linear().on(['height', 'weight'])
    """

    left: Kernel
    right: Kernel

    def block(self, A: Any, B: Any) -> Floats:
        (a, b), (c, d) = self.parts(A), self.parts(B)
        K = self.left.block(a, c)
        K *= self.right.block(b, d)
        return K

    def diag(self, A: Any) -> Floats:
        a, b = self.parts(A)
        return self.left.diag(a) * self.right.diag(b)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return all_products(self.left.features(X, terms), self.right.features(X, terms))

    def proof(self) -> Validity:
        return proven(self, "a product of kernels", self.left.proof(), self.right.proof())

    def key(self) -> Any:
        return _product_key(self)

    def text(self) -> tuple[str, int]:
        return f"{within(self.left, PRODUCT)} * {within(self.right, POWER)}", PRODUCT


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(UnaryKernel):
    """factor · k(x, x'). Written `c * k`; a kernel unless the factor is negative.

    >>> from gramian.kernels import Linear
    >>> Scaled(Linear(), 2.0)([[3.0]])
    array([[18.]])
    """

    base: Kernel
    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unless(self, "factor", self.factor, -np.inf, open_=True)

    @property
    def is_linear(self) -> bool:
        return self.base.is_linear

    def block(self, A: Any, B: Any) -> Floats:
        K = self.base.block(A, B)
        K *= float(self.factor)
        return K

    def diag(self, A: Any) -> Floats:
        return self.base.diag(A) * float(self.factor)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        if self.factor < 0:
            return super().features(X, terms)
        return np.sqrt(float(self.factor)) * self.base.features(X, terms)

    def summands(self, d: int | None = None) -> tuple[Kernel, ...]:
        return tuple(Scaled(part, self.factor) for part in self.base.summands(d))

    def split(self, A: Any, B: Any) -> tuple[Floats, ...]:
        return tuple(float(self.factor) * part for part in self.base.split(A, B))

    def proof(self) -> Validity:
        if self.factor >= 0:
            return proven(self, "a kernel times a number that is not negative", self.base.proof())
        return unproven(self, f"the factor is negative ({self.factor:g})", self.base.proof())

    def key(self) -> Any:
        return _product_key(self)

    def text(self) -> tuple[str, int]:
        return f"{float(self.factor)!r} * {within(self.base, POWER)}", PRODUCT


@dataclass(frozen=True, eq=False, repr=False)
class Power(UnaryKernel):
    """k(x, x')ⁿ. Written `k ** n`.

    >>> from gramian.kernels import Linear
    >>> (Linear() + 1) ** 2
    (Linear() + Constant(value=1.0)) ** 2
    """

    base: Kernel
    exponent: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.exponent
        if not (is_number(n) and n >= 0 and float(n).is_integer()):
            raise ValueError(f"exponent of Power is {n!r}; it must be an integer that is not negative.")
        if not isinstance(n, int):
            object.__setattr__(self, "exponent", int(n))

    def block(self, A: Any, B: Any) -> Floats:
        return power(self.base.block(A, B), self.exponent)

    def diag(self, A: Any) -> Floats:
        return power(self.base.diag(A), self.exponent)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        base = self.base.features(X, terms)
        features = np.ones((len(base), 1))
        for _ in range(self.exponent):
            features = all_products(features, base)
        return features

    def proof(self) -> Validity:
        return proven(self, "a product of a kernel with itself", self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)} ** {self.exponent}", POWER


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(UnaryKernel):
    """exp(k(x, x')). Written `k.exp()`.

    >>> from gramian.kernels import Linear
    >>> Linear().exp()([[1.0]]).round(3)
    array([[2.718]])
    """

    base: Kernel

    def block(self, A: Any, B: Any) -> Floats:
        K = self.base.block(A, B)
        return _exponential(K)

    def diag(self, A: Any) -> Floats:
        return _exponential(self.base.diag(A))

    def proof(self) -> Validity:
        return proven(self, "the exponential of a kernel, 1 + k + k²/2! + …", self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.exp()", ATOM


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialOf(UnaryKernel):
    """c₀ + c₁k + c₂k² + …, written `k.polynomial([c0, c1, …])`; a kernel if no coefficient is negative.

    >>> from gramian.kernels import Linear
    >>> Linear().polynomial([1, 0, 2])([[3.0]])
    array([[163.]])
    """

    base: Kernel
    coefficients: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        coefficients = self.coefficients
        if not (
            np.ndim(coefficients) == 1
            and len(coefficients)
            and all(is_number(c) and np.isfinite(c) for c in coefficients)
        ):
            raise ValueError(f"coefficients of PolynomialOf are {coefficients!r}; give finite numbers c₀, c₁, …")
        if not isinstance(coefficients, tuple):
            object.__setattr__(self, "coefficients", tuple(np.asarray(coefficients).tolist()))

    def block(self, A: Any, B: Any) -> Floats:
        return self._of(self.base.block(A, B))

    def diag(self, A: Any) -> Floats:
        return self._of(self.base.diag(A))

    def features(self, X: Any, terms: int | None = None) -> Floats:
        if min(self.coefficients) < 0:
            return super().features(X, terms)
        base = self.base.features(X, terms)
        columns, last = [], np.ones((len(base), 1))
        for i, c in enumerate(self.coefficients):
            last = all_products(last, base) if i else last
            if c > 0:
                columns.append(np.sqrt(float(c)) * last)
        return np.hstack(columns) if columns else np.zeros((len(base), 1))

    def proof(self) -> Validity:
        if min(self.coefficients) >= 0:
            return proven(self, "a polynomial of a kernel with coefficients that are not negative", self.base.proof())
        worst = int(np.argmin(self.coefficients))
        why = f"the coefficient of k^{worst} is negative ({self.coefficients[worst]:g})"
        return unproven(self, why, self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.polynomial({list(self.coefficients)!r})", ATOM

    def _of(self, K: Floats) -> Floats:
        total = np.full_like(K, float(self.coefficients[-1]))
        for c in self.coefficients[-2::-1]:
            total *= K
            total += float(c)
        return total


def all_products(F: Floats, G: Floats) -> Floats:
    """Every feature of the one times every feature of the other, (n, r · s)."""
    if F.shape[1] * G.shape[1] > MAX_FEATURES:
        raise ValueError(
            f"The product has {F.shape[1] * G.shape[1]:,} features, more than {MAX_FEATURES:,}; use the kernel "
            "without them."
        )
    return np.asarray((F[:, :, None] * G[:, None, :]).reshape(len(F), -1))


def refuse_unless_kernel(kernel: Kernel, name: str, value: Any) -> None:
    """Raise unless a parameter is a kernel."""
    if not isinstance(value, Kernel):
        raise TypeError(
            f"{name} of {type(kernel).__name__} is {value!r}; it must be a kernel, such as gm.kernels.RBF()."
        )


def _exponential(K: Floats) -> Floats:
    with np.errstate(over="ignore"):
        np.exp(K, out=K)
    if np.isinf(K).any():
        raise ValueError("exp(k) overflows: k exceeds 709 for some points. Scale k down first, as in (0.01 * k).exp().")
    return K


def _flat(kernel: Kernel, kind: type[BinaryKernel]) -> list[Kernel]:
    if isinstance(kernel, kind):
        return [*_flat(kernel.left, kind), *_flat(kernel.right, kind)]
    return [kernel]


def _product_key(kernel: Kernel) -> Any:
    """The factors in no order, and their numbers multiplied together."""
    factor, parts, waiting = 1.0, [], [kernel]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Scaled):
            factor *= float(one.factor)
            waiting.append(one.base)
        elif isinstance(one, Product):
            waiting += [one.left, one.right]
        else:
            parts.append(one.key())
    if factor == 1.0 and len(parts) == 1:
        return parts[0]
    return ("Product", factor, frozenset(Counter(parts).items()))

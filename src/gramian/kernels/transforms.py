"""Kernels of changed points or changed features: scaled, warped, normalised, centred."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.algebra import OfMappedPoints, UnaryKernel
from gramian.kernels.base import ATOM, PANEL_CELLS, Kernel, within
from gramian.kernels.points import Together, is_table, vectors
from gramian.kernels.validity.proof import Validity, proven
from gramian.rows import parallel_map


class Rescaled(UnaryKernel):
    """A kernel whose features are those of one kernel times a number for each point."""

    @property
    def takes_rows(self) -> bool:
        return False

    def block(self, A: Together, B: Together) -> Floats:
        (a, f), (b, g) = A.parts, B.parts
        K = self.base.block(a, b)
        K *= f[:, None]
        K *= g
        return K


@dataclass(frozen=True, eq=False, repr=False)
class ScaledBy(Rescaled):
    """f(x) k(x, x') f(x'), written `k.scaled_by(f)`. `f` takes all points and gives one number for each.

    >>> from gramian.kernels import Constant
    >>> Constant().scaled_by(lambda X: X[:, 0])([[2.0], [3.0]])
    array([[4., 6.],
           [6., 9.]])
    """

    base: Kernel
    f: Callable[[Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_unless_callable(self, self.f)

    def points(self, X: Any) -> Together:
        X = vectors(X) if self.base.takes_rows else X
        return Together(self.base.points(X), self._numbers(X))

    def diag(self, A: Together) -> Floats:
        a, f = A.parts
        return self.base.diag(a) * f**2

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return self.base.features(X, terms) * self._numbers(X)[:, None]

    def proof(self) -> Validity:
        return proven(self, "f(x) k(x, x') f(x'): the features of a kernel times f(x)", self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.scaled_by({_named(self.f)})", ATOM

    def _numbers(self, X: Any) -> Floats:
        points = _given(X)
        n = _count(points)
        numbers = np.asarray(self.f(points), dtype=np.float64)
        if numbers.size != n or numbers.ndim > 2:
            raise ValueError(
                f"f of scaled_by gives shape {numbers.shape} for {n} points; it must give one number for each."
            )
        numbers = numbers.reshape(n)
        if not np.isfinite(numbers).all():
            raise ValueError(f"f of scaled_by gives NaN or infinity at point {int((~np.isfinite(numbers)).argmax())}.")
        return numbers


@dataclass(frozen=True, eq=False, repr=False)
class Warped(OfMappedPoints):
    """k(f(x), f(x')), written `k.warp(f)`. `f` takes all points and gives as many new ones.

    >>> import numpy as np
    >>> from gramian.kernels import Linear
    >>> Linear().warp(np.log2)([[2.0], [8.0]])
    array([[1., 3.],
           [3., 9.]])
    """

    base: Kernel
    f: Callable[[Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_unless_callable(self, self.f)

    def proof(self) -> Validity:
        return proven(self, "a kernel of points f(x)", self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.warp({_named(self.f)})", ATOM

    def mapped(self, X: Any) -> Any:
        points = _given(X)
        n = _count(points)
        moved = self.f(points)
        if isinstance(moved, np.ndarray) and moved.ndim == 1 and moved.dtype.kind in "fiub":
            moved = moved[:, None]
        m = _count(moved)
        if m != n:
            raise ValueError(f"f of warp gives {m} points for {n}; it must give one for each.")
        return moved


@dataclass(frozen=True, eq=False, repr=False)
class Normalized(Rescaled):
    """k(x, x') / √(k(x, x) k(x', x')), written `k.normalized()`: every point gets length one; 0 where k(x, x) is 0.

    >>> from gramian.kernels import Linear
    >>> Linear().normalized()([[1.0, 0.0], [3.0, 3.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    base: Kernel

    def points(self, X: Any) -> Together:
        A = self.base.points(X)
        size = self.base.diag(A)
        if (size < 0).any():
            raise ValueError(
                f"{self.base!r} is negative at point {int((size < 0).argmax())} with itself, so it is not a kernel and "
                "cannot be normalised."
            )
        positive = size > 0
        return Together(A, np.where(positive, 1.0 / np.sqrt(np.where(positive, size, 1.0)), 0.0))

    def diag(self, A: Together) -> Floats:
        return (A.parts[1] > 0).astype(np.float64)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return self.base.features(X, terms) * self.points(X).parts[1][:, None]

    def proof(self) -> Validity:
        return proven(self, "the features of a kernel, each point's divided by their length", self.base.proof())

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.normalized()", ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Centered(UnaryKernel):
    """The kernel of features less their mean over reference points r, written `k.centered()`.

    k(x, x') − mean_r k(x, r) − mean_r k(r, x') + mean_{r, r'} k(r, r'). The reference are the points given as such, or
    to `fitted`, or X itself in `k(X)`. Every point costs k with all reference points, once.

    Parameters
    ----------
    base : Kernel
    reference : points of `base`, optional
        Whose mean is the centre.
    weight : array, optional
        Weights of the reference points in their mean.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear().centered()([[1.0], [3.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> Centered(Linear(), [[0.0], [4.0]])([[1.0], [3.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    base: Kernel
    reference: Any = field(default=None, repr=False)
    weight: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight is None:
            return
        weight = np.asarray(self.weight, dtype=np.float64)
        if self.reference is None or weight.shape != (_count(self.reference),):
            raise ValueError(f"weight of Centered has shape {weight.shape}; give one number for each reference point.")
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ValueError("weight of Centered must be finite and not negative, and positive somewhere.")
        object.__setattr__(self, "weight", weight)

    @property
    def takes_rows(self) -> bool:
        return False

    def waits_for(self) -> str | None:
        return self.base.waits_for() or ("the centre is set from the data" if self.reference is None else None)

    def fitted(self, X: Any, weight: Any = None) -> Kernel:
        if self.waits_for() is None:
            return self
        base = self.base.fitted(X, weight)
        if self.reference is not None:
            return replace(self, base=base)
        if weight is not None and not np.any(weight):
            weight = None
        centered = Centered(base, X, weight)
        _ = centered._center  # of the points as they are now
        return centered

    @cached_property
    def _center(self) -> tuple[Any, Floats, float]:
        """Reference points that count, their shares of the weight, and the mean of k between them."""
        if self.reference is None:
            raise ValueError("The centre of a centred kernel is not set yet; call k.fitted(X) first and use that.")
        R = self.base.points(self.reference)
        share = np.full(len(R), 1.0 / len(R)) if self.weight is None else self.weight / self.weight.sum()
        if not share.all():
            R, share = R[share > 0], share[share > 0]
        return R, share, float(share @ _means(self.base, R, R, share))

    def points(self, X: Any) -> Together:
        R, share, _ = self._center
        A = self.base.points(X)
        return Together(A, _means(self.base, A, R, share))

    def block(self, A: Together, B: Together) -> Floats:
        (a, f), (b, g) = A.parts, B.parts
        K = self.base.block(a, b)
        K -= f[:, None]
        K -= g
        K += self._center[2]
        return K

    def diag(self, A: Together) -> Floats:
        a, f = A.parts
        return self.base.diag(a) - 2.0 * f + self._center[2]

    def features(self, X: Any, terms: int | None = None) -> Floats:
        features = self.base.features(X, terms)
        if self.reference is None:
            return features - features.mean(axis=0)
        if not self.base.takes_rows:
            return super().features(X, terms)
        R, share, _ = self._center
        return features - share @ self.base.features(R, terms)

    def proof(self) -> Validity:
        return proven(self, "the features of a kernel less their mean", self.base.proof())

    def key(self) -> Any:
        if self.reference is None:
            return ("Centered", self.base.key(), None)
        if self.base.waits_for() is not None:
            return ("Centered", self.base.key(), id(self.reference))
        R, share, mean = self._center
        return ("Centered", self.base.key(), (self.base.diag(R).tobytes(), share.tobytes(), mean))

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.centered()", ATOM


@dataclass(frozen=True, eq=False, repr=False)
class Trusted(UnaryKernel):
    """A function accepted as a kernel without proof, written `k.trusted()`: models do not refuse it.

    Where it is none, objectives are no longer convex and certificates need not hold; `validity()` still says what is
    known. A matrix is better repaired: `gm.kernels.repaired`.

    >>> from gramian.kernels import Sigmoid
    >>> Sigmoid(0.1).trusted(), Sigmoid(0.1).trusted().on_trust
    (Sigmoid(slope=0.1, offset=0.0).trusted(), True)
    """

    base: Kernel

    @property
    def on_trust(self) -> bool:
        return True

    @property
    def is_linear(self) -> bool:
        return self.base.is_linear

    def block(self, A: Any, B: Any) -> Floats:
        return self.base.block(A, B)

    def diag(self, A: Any) -> Floats:
        return self.base.diag(A)

    def features(self, X: Any, terms: int | None = None) -> Floats:
        return self.base.features(X, terms)

    def summands(self, d: int | None = None) -> tuple[Kernel, ...]:
        return self.base.summands(d)

    def split(self, A: Any, B: Any) -> tuple[Floats, ...]:
        return self.base.split(A, B)

    def proof(self) -> Validity:
        return replace(self.base.proof(), kernel=repr(self))

    def text(self) -> tuple[str, int]:
        return f"{within(self.base, ATOM)}.trusted()", ATOM


def _means(kernel: Kernel, A: Any, R: Any, share: Floats) -> Floats:
    """The mean of k(x, r) over r, which have shares of the weight, for every x."""
    step = max(PANEL_CELLS // len(R), 16)
    starts = range(0, len(A), step)
    return np.concatenate(parallel_map(lambda i: kernel.block(A[i : i + step], R) @ share, starts))


def _given(X: Any) -> Any:
    """What functions of the points get: rows of numbers as an array, whatever table they came in; else X as it is."""
    return vectors(X).X if is_table(X) else X


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _refuse_unless_callable(kernel: Kernel, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"f of {type(kernel).__name__} is {f!r}; it must be a function of the points.")


def _named(f: Any) -> str:
    return str(getattr(f, "__name__", None) or repr(f))

"""`Kernel`: what every kernel is. A kernel is its formula; matrix, diagonal, threads and algebra are here."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_number
from gramian.kernels.points import vectors
from gramian.rows import parallel_map, single_threaded_blas

if TYPE_CHECKING:
    from gramian.kernels.validity.proof import Validity


PANEL_CELLS = 2**18  # numbers of a panel: it stays in the cache while it is computed
SQUARE = 512  # rows and columns of a piece of a product
_SMALLEST = 16  # rows of a panel
PANEL_ROWS = 128  # rows of a panel of half a matrix
SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly an expression binds


class Kernel(ABC):
    """A function k(x, x') of two points that is an inner product φ(x)ᵀφ(x') of some features.

    Every kernel is a frozen dataclass whose fields are its parameters. A new one needs `block`, and `points` where its
    points are not rows of numbers; `diag` and `proof` where more is known; `symmetric` where it may not be. Kernels are
    called: `k(X)`, `k(X, Z)`. Operators: `k1 + k2`, `k1 * k2`, `c * k`, `k ** n`, `k1 - k2`, `sum([...])`.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from gramian.kernels import Kernel, RBF
    >>> @dataclass(frozen=True, eq=False, repr=False)
    ... class Ordered(Kernel):
    ...     start: float = 0.0
    ...
    ...     def block(self, A, B):
    ...         return np.minimum(A.X - self.start, B.X.T - self.start)
    >>> k = Ordered(1.0) + 2 * RBF(3.0)
    >>> k
    Ordered(start=1.0) + 2.0 * RBF(length_scale=3.0)
    >>> k([[2.0], [5.0]]).round(3)
    array([[3.   , 2.213],
           [2.213, 6.   ]])
    """

    # What a kernel class says.

    def points(self, X: Any) -> Any:
        """Input read and checked once: something with `len()` that takes slices and index arrays. Rows of numbers."""
        return vectors(X)

    @abstractmethod
    def block(self, A: Any, B: Any) -> Floats:
        """k of prepared points, (len(A), len(B))."""

    def times(self, A: Any, B: Any, weight: Floats) -> Floats:
        """k(A, B) · weight of prepared points, (len(A),) or (len(A), t), panel by panel: no matrix is kept."""
        parts = [(B[j : j + SQUARE], weight[j : j + SQUARE]) for j in range(0, len(B), SQUARE)]

        def panel(start: int) -> Floats:
            rows = A[start : start + SQUARE]
            nothing = np.zeros((len(rows), *weight.shape[1:]))
            return np.asarray(sum((self.block(rows, some) @ w for some, w in parts), nothing))

        return np.concatenate(parallel_map(panel, range(0, max(len(A), 1), SQUARE)))

    def times_among(self, A: Any, weight: Floats) -> Floats:
        """k(A, A) · weight of prepared points, (len(A),); only points with a weight are summed over."""
        support = np.flatnonzero(weight)
        return self.times(A, A[support], weight[support]) if len(support) else np.zeros(len(A))

    def diag(self, A: Any) -> Floats:
        """k(x, x) of prepared points, (len(A),)."""
        step = 32
        parts = [self.block(A[i : i + step], A[i : i + step]).diagonal() for i in range(0, len(A), step)]
        return np.concatenate(parts)

    def proof(self) -> "Validity":
        """What is known of validity without trying points; unknown unless a class says more."""
        from gramian.kernels.validity.proof import unproven

        return unproven(self, "no rule tells of a function whose formula is not known")

    @property
    def symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x) is known, so that half of a matrix is enough."""
        return all(part.symmetric for part in self.inner_kernels().values())

    @property
    def is_linear(self) -> bool:
        """Whether k(x, z) is known to be linear in the columns of x, so that functions by it have coefficients."""
        return False

    @property
    def on_trust(self) -> bool:
        """Whether it, or a kernel that it is made of, is to be taken for one without proof."""
        return any(part.on_trust for part in self.inner_kernels().values())

    @property
    def takes_rows(self) -> bool:
        """Whether its points are the rows of numbers themselves, which several kernels can then share."""
        return type(self).points is Kernel.points

    def waits_for(self) -> str | None:
        """The parameter that must be set from data before points can be compared, in words; None if there is none."""
        return next((text for part in self.inner_kernels().values() if (text := part.waits_for())), None)

    def fitted(self, X: Any, weight: Any = None) -> "Kernel":
        """The same kernel with what waits for data (`"auto"` parameters, the centre of `centered()`) set from X.

        With `weight`, one number for each point: it does what repeating the point would do, and zero leaves it out.
        """
        parts = {name: part.fitted(X, weight) for name, part in self.inner_kernels().items() if part.waits_for()}
        return replace(self, **parts) if parts else self  # type: ignore[type-var]

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """Explicit features φ(x), one row per point, whose inner products are k; where there are finitely many.

        `terms` cuts an infinite series off where the kernel has one.
        """
        raise ValueError(
            f"{self!r} has no finite list of features; use gm.kernels.feature_map(k(X)) for given points, or "
            "approximate ones (Nystroem, random Fourier features)."
        )

    def summands(self, d: int | None = None) -> tuple["Kernel", ...]:
        """Kernels whose sum this is, on points of d columns: itself unless it is a sum."""
        return (self,)

    def split(self, A: Any, B: Any) -> tuple[Floats, ...]:
        """The matrices of `summands`, of prepared points."""
        return (self.block(A, B),)

    # What users call.

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """The matrix of k between the points X, or between X and Z.

        Computed panel by panel on all threads; the numbers are the same bits for any number of threads.
        """
        with single_threaded_blas():
            kernel = self._ready(X, Z)
            A = kernel.points(X)
            if Z is None:
                return kernel.matrix(A)
            B = kernel.points(Z)
            out = np.empty((len(A), len(B)))
            _fill(out, kernel, A, B, mirrored=False)
        return out

    def matrix(self, A: Any) -> Floats:
        """k between prepared points and themselves."""
        out = np.empty((len(A), len(A)))
        with single_threaded_blas():
            _fill(out, self, A, A, mirrored=self.symmetric)
            if self.symmetric:
                np.fill_diagonal(out, self.diag(A))
        return out

    def upper(self, A: Any) -> Floats:
        """k between prepared points and themselves on and above the diagonal; what is below is not to be read."""
        out = np.zeros((len(A), len(A)))

        def panel(start: int) -> None:
            stop = min(start + PANEL_ROWS, len(A))
            out[start:stop, start:] = self.block(A[start:stop], A[start:])

        parallel_map(panel, range(0, len(A), PANEL_ROWS))
        np.fill_diagonal(out, self.diag(A))
        return out

    def diagonal(self, X: Any) -> Floats:
        """k(x, x) of every point."""
        with single_threaded_blas():
            kernel = self._ready(X, None)
            return kernel.diag(kernel.points(X))

    def validity(self, X: Any = None) -> "Validity":
        """Whether this is a kernel: a proof by closure rules, or a counter-example found by trying points.

        `X` are points of the domain to try instead of made-up rows of numbers; strings and graphs need them.
        """
        from gramian.kernels.validity.proof import decide

        return decide(self, X)

    def exp(self) -> "Kernel":
        """exp(k(x, x'))."""
        from gramian.kernels.algebra import Exponential

        return Exponential(self)

    def polynomial(self, coefficients: Sequence[float]) -> "Kernel":
        """c₀ + c₁k + c₂k² + …"""
        from gramian.kernels.algebra import PolynomialOf

        return PolynomialOf(self, tuple(coefficients))

    def scaled_by(self, f: Callable[[Any], Any]) -> "Kernel":
        """f(x) k(x, x') f(x'); `f` takes all rows and gives one number for each."""
        from gramian.kernels.transforms import ScaledBy

        return ScaledBy(self, f)

    def warp(self, f: Callable[[Any], Any]) -> "Kernel":
        """k(f(x), f(x')); `f` takes all rows and gives as many points."""
        from gramian.kernels.transforms import Warped

        return Warped(self, f)

    def on(self, columns: Any) -> "Kernel":
        """k of some columns alone, by names or places."""
        from gramian.kernels.columns import On

        return On(self, columns)

    def normalized(self) -> "Kernel":
        """k(x, x') / √(k(x, x) k(x', x')): the cosine of the angle between the features."""
        from gramian.kernels.transforms import Normalized

        return Normalized(self)

    def centered(self) -> "Kernel":
        """The kernel of the features less their mean over the points given to `fitted`."""
        from gramian.kernels.transforms import Centered

        return Centered(self)

    def trusted(self) -> "Kernel":
        """The same, accepted as a kernel without proof: models do not refuse it."""
        from gramian.kernels.transforms import Trusted

        return Trusted(self)

    # Operators.

    def __add__(self, other: Any) -> "Kernel":
        from gramian.kernels.algebra import Sum

        if is_number(other) and other == 0:  # so that sum() works
            return self
        right = as_kernel(other)
        return NotImplemented if right is None else Sum(self, right)

    def __radd__(self, other: Any) -> "Kernel":
        from gramian.kernels.algebra import Sum

        if is_number(other) and other == 0:
            return self
        left = as_kernel(other)
        return NotImplemented if left is None else Sum(left, self)

    def __sub__(self, other: Any) -> "Kernel":
        from gramian.kernels.algebra import Scaled, Sum

        if is_number(other):
            return self + (-other)
        return Sum(self, Scaled(other, -1.0)) if isinstance(other, Kernel) else NotImplemented

    def __rsub__(self, other: Any) -> "Kernel":
        return (-1.0 * self).__radd__(other)

    def __neg__(self) -> "Kernel":
        return -1.0 * self

    def __mul__(self, other: Any) -> "Kernel":
        from gramian.kernels.algebra import Product, Scaled

        if is_number(other):
            return Scaled(self, float(other))
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> "Kernel":
        from gramian.kernels.algebra import Power

        return Power(self, exponent) if is_number(exponent) else NotImplemented

    # Parameters.

    def inner_kernels(self) -> dict[str, "Kernel"]:
        """The kernels this one is made of, by the name of their field."""
        return {name: value for name, value in self._parameters().items() if isinstance(value, Kernel)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` also those of inner kernels, as `left__length_scale`."""
        parameters = self._parameters()
        if deep:
            for name, part in self.inner_kernels().items():
                parameters |= {f"{name}__{path}": value for path, value in part.get_params().items()}
        return parameters

    def set_params(self, **params: Any) -> "Kernel":
        """A kernel with other parameters: kernels are frozen, so this one stays as it is."""
        own = {name: value for name, value in params.items() if "__" not in name}
        self._refuse_unknown(own)
        changed: Kernel = replace(self, **own) if own else self  # type: ignore[type-var]
        nested: dict[str, dict[str, Any]] = {}
        for path, value in params.items():
            name, _, rest = path.partition("__")
            if rest:
                nested.setdefault(name, {})[rest] = value
        for name, inside in nested.items():
            changed._refuse_unknown([name])
            part = getattr(changed, name)
            if not isinstance(part, Kernel):
                raise ValueError(f"{name} of {changed!r} is {part!r}, which has no parameter {next(iter(inside))!r}.")
            changed = replace(changed, **{name: part.set_params(**inside)})  # type: ignore[type-var]
        return changed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> Any:
        """A value that equal kernels share."""
        return (type(self).__name__, *(_hashable(value) for value in self._parameters().values()))

    def __repr__(self) -> str:
        return self.text()[0]

    def text(self) -> tuple[str, int]:
        """The expression, and how tightly it binds."""
        shown = [f"{f.name}={_written(getattr(self, f.name))}" for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})", ATOM

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameter_names(type(self))}

    def _refuse_unknown(self, names: Any) -> None:
        known = self._parameters()
        for name in names:
            if name not in known:
                raise ValueError(f"{self!r} has no parameter {name!r}; it has {', '.join(map(repr, known)) or 'none'}.")

    def _ready(self, X: Any, Z: Any) -> "Kernel":
        waiting = self.waits_for()
        if waiting is None:
            return self
        if Z is not None:
            raise ValueError(f"{waiting}, and X and Z would each give another; call k.fitted(X) first and use that.")
        return self.fitted(X)


def as_kernel(value: Any) -> Kernel | None:
    """A kernel itself, a number as a constant kernel, None for anything else."""
    from gramian.kernels.vectors.inner_products import Constant

    return Constant(float(value)) if is_number(value) else value if isinstance(value, Kernel) else None


def within(kernel: Kernel, level: int) -> str:
    """The text of a kernel inside an expression that binds at `level`."""
    text, own = kernel.text()
    return text if own >= level else f"({text})"


def _fill(out: Floats, kernel: Kernel, A: Any, B: Any, *, mirrored: bool) -> None:
    n, m = out.shape
    step = max(PANEL_CELLS // max(m, 1), _SMALLEST)

    def panel(start: int) -> None:
        stop = min(start + step, n)
        first = start if mirrored else 0
        out[start:stop, first:] = kernel.block(A[start:stop], B[first:] if first else B)
        if mirrored:
            corner = out[start:stop, start:stop]
            corner[:] = np.triu(corner) + np.triu(corner, 1).T
            out[stop:, start:stop] = out[start:stop, stop:].T

    parallel_map(panel, range(0, n, step))


@cache
def _parameter_names(kind: type) -> tuple[str, ...]:
    return tuple(inspect.signature(kind).parameters)


def _hashable(value: Any) -> Any:
    if isinstance(value, Kernel):
        return value.key()
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes())
    if isinstance(value, tuple | list):
        return tuple(_hashable(item) for item in value)
    return value


def _written(value: Any) -> str:
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return repr(value)

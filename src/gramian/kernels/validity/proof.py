"""`Validity`: the proof that a function is a kernel, or the points at which it is not."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gramian._core.types import Floats

if TYPE_CHECKING:
    from gramian.kernels.base import Kernel


_SLIGHT = ", which is within rounding: models take it"


class Counterexample(NamedTuple):
    """Points at which a function is not a kernel: their matrix has vᵀKv = `eigenvalue` < 0, or the pair no symmetry."""

    points: Any
    eigenvalue: float | None
    vector: Floats | None
    pair: tuple[Any, Any] | None


@dataclass(frozen=True, eq=False)
class Validity:
    """What is known of a function's being a kernel; `str()` prints the proof or the counter-example.

    Attributes
    ----------
    kernel : str
        The expression.
    valid : bool or None
        None where there is neither a proof nor a counter-example.
    rule : str
        The closure rule or the fact that decides, in words.
    children : tuple of Validity
        The same of the kernels that the expression is made of.
    proof : str or None
        The proof as text.
    counterexample : Counterexample or None
        `points` whose matrix K has a negative eigenvalue, that `eigenvalue` and its `vector` v: vᵀKv < 0; or the `pair`
        of points where k(x, z) ≠ k(z, x). Of a given matrix these are indices, `eigenvalue` is vᵀKv for ‖v‖ = 1, and it
        is negative in exact arithmetic. `witness` is the same.
    points, eigenvalue, vector, pair
        Those of the counter-example.
    within_rounding : bool
        Whether a given matrix fails by no more than rounding errors would; models take such a matrix.
    tried : int
        How many points were tried.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> print((RBF(2.0) + Linear()).validity())
    RBF(length_scale=2.0) + Linear() is a kernel: a sum of kernels
      RBF(length_scale=2.0) is a kernel: the Fourier transform of a Gaussian is positive
      Linear() is a kernel: an inner product
    >>> print((-1 * Linear()).validity())
    -1.0 * Linear() is not a kernel: at 1 point the matrix has the eigenvalue -1
      points: [[1.0]]
      vector: [1.0]
    """

    kernel: str
    valid: bool | None
    rule: str
    children: tuple["Validity", ...] = ()
    points: Any = None
    eigenvalue: float | None = None
    vector: Floats | None = None
    pair: tuple[Any, Any] | None = None
    tried: int = 0
    within_rounding: bool = False

    @property
    def proof(self) -> str | None:
        """The proof as text; None where there is none."""
        return str(self) if self.valid else None

    @property
    def counterexample(self) -> Counterexample | None:
        """Points that show it is not a kernel; None where there are none."""
        if self.points is None and self.pair is None:
            return None
        return Counterexample(self.points, self.eigenvalue, self.vector, self.pair)

    @property
    def witness(self) -> Counterexample | None:
        """The counter-example."""
        return self.counterexample

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> list[str]:
        edge = "  " * depth
        said = {True: "is a kernel", False: "is not a kernel", None: "may or may not be a kernel"}[self.valid]
        lines = [f"{edge}{self.kernel} {said}: {self.rule}"]
        if self.pair is not None:
            lines += [f"{edge}  x: {_shown(self.pair[0])}", f"{edge}  z: {_shown(self.pair[1])}"]
        elif self.points is not None:
            lines += [f"{edge}  points: {_shown(self.points)}", f"{edge}  vector: {_shown(self.vector)}"]
        else:
            for child in self.children:
                lines += child._lines(depth + 1)
        return lines


def proven(kernel: "Kernel", rule: str, *children: Validity) -> Validity:
    """Valid by a rule; unknown if a child is."""
    if all(child.valid for child in children):
        return Validity(repr(kernel), True, rule, children)
    return unproven(kernel, f"the rule ({rule}) needs all parts to be kernels", *children)


def unproven(kernel: "Kernel", why: str, *children: Validity) -> Validity:
    """No rule applies, or one is known to fail."""
    return Validity(repr(kernel), None, why, children)


def refuted(kernel: "Kernel", why: str) -> Validity:
    """Not a kernel by theory; points are looked for all the same."""
    return Validity(repr(kernel), False, why)


def negative(known: Validity, points: Any, K: Floats, tried: int) -> Validity:
    """Refuted by points with the matrix K."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    return negative_at(known, points, vectors[:, 0], float(values[0]), tried)


def negative_at(
    known: Validity, points: Any, vector: Floats, value: float, tried: int, *, within_rounding: bool = False
) -> Validity:
    """Refuted by a vector over points whose quadratic form is negative."""
    n = len(vector)
    rule = (
        f"at {n} point{'s' if n > 1 else ''} the matrix has the eigenvalue {_short(value)}"
        f"{'' if known.valid is None else f' ({known.rule})'}{_SLIGHT if within_rounding else ''}"
    )
    v = vector if vector[np.abs(vector).argmax()] > 0 else -vector
    refutation = replace(
        known, valid=False, rule=rule, points=points, eigenvalue=value, vector=v, children=(), tried=tried
    )
    return replace(refutation, within_rounding=within_rounding)


def asymmetric(
    known: Validity, x: Any, z: Any, there: float, back: float, tried: int, *, within_rounding: bool = False
) -> Validity:
    """Refuted by a pair that breaks symmetry."""
    if _short(there) == _short(back):
        rule = f"k(x, z) = {there!r} and k(z, x) = {back!r} differ"
    else:
        rule = f"k(x, z) = {_short(there)} and k(z, x) = {_short(back)} differ"
    rule += _SLIGHT if within_rounding else ""
    refutation = replace(known, valid=False, rule=rule, pair=(x, z), children=(), tried=tried)
    return replace(refutation, within_rounding=within_rounding)


def decide(kernel: "Kernel", X: Any = None) -> Validity:
    """The proof if there is one; else the search's word."""
    known = kernel.proof()
    if known.valid or known.points is not None or known.pair is not None:
        return known
    from gramian.kernels.validity.counterexample import search

    return search(kernel, known, X)


def _short(value: float) -> str:
    return f"{value:.4g}"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return str([[float(f"{v:.5g}") for v in row] for row in value] if value.ndim == 2 else _rounded(value))
    return str(value)


def _rounded(values: Floats) -> list[float]:
    return [float(f"{v:.5g}") for v in values]

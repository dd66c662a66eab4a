"""`Validity`: the proof that a function is a kernel, or the points at which it is not."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gramian.kernels.base import Kernel

Floats = NDArray[np.float64]


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
    points, eigenvalue, vector
        Points whose matrix K has a negative eigenvalue, that eigenvalue, and its vector v: vᵀKv < 0.
    pair : tuple of two points
        Where k(x, z) ≠ k(z, x).
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
    v = vectors[:, 0]
    v = v if v[np.abs(v).argmax()] > 0 else -v
    rule = (
        f"at {len(K)} point{'s' if len(K) > 1 else ''} the matrix has the eigenvalue {_short(float(values[0]))}"
        f"{'' if known.valid is None else f' ({known.rule})'}"
    )
    return replace(
        known, valid=False, rule=rule, points=points, eigenvalue=float(values[0]), vector=v, children=(), tried=tried
    )


def asymmetric(known: Validity, x: Any, z: Any, there: float, back: float, tried: int) -> Validity:
    """Refuted by a pair that breaks symmetry."""
    rule = f"k(x, z) = {_short(there)} and k(z, x) = {_short(back)} differ"
    return replace(known, valid=False, rule=rule, pair=(x, z), children=(), tried=tried)


def decide(kernel: "Kernel", X: Any = None) -> Validity:
    """The proof if there is one; else the search's word."""
    known = kernel.proof()
    if known.valid or known.points is not None or known.pair is not None:
        return known
    from gramian.kernels.witness import search

    return search(kernel, known, X)


def _short(value: float) -> str:
    return f"{value:.4g}"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return str([[float(f"{v:.5g}") for v in row] for row in value] if value.ndim == 2 else _rounded(value))
    return str(value)


def _rounded(values: Floats) -> list[float]:
    return [float(f"{v:.5g}") for v in values]

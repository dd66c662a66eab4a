"""Kernels by name."""

from typing import Any

from gramian.kernels.base import Kernel
from gramian.kernels.vectors.inner_products import Cosine, Linear, Polynomial, Sigmoid
from gramian.kernels.vectors.stationary import RBF, Laplacian, Matern, RationalQuadratic

NAMED: dict[str, Kernel] = {
    "cosine": Cosine(),
    "laplacian": Laplacian("auto"),
    "linear": Linear(),
    "matern": Matern("auto"),
    "polynomial": Polynomial(),
    "rational_quadratic": RationalQuadratic("auto"),
    "rbf": RBF("auto"),
    "sigmoid": Sigmoid(),
}


def kernel_of(value: Any, *, auto: bool = False) -> Kernel:
    """A kernel from its name or itself; None is linear. Named ones set their length scale from the data.

    `auto` says that "auto" would have been understood too.

    >>> kernel_of("rbf")
    RBF(length_scale='auto')
    """
    if value is None:
        return Linear()
    if isinstance(value, Kernel):
        return value
    if isinstance(value, str) and value in NAMED:
        return NAMED[value]
    import difflib

    names = ["auto", *NAMED] if auto else list(NAMED)
    similar = difflib.get_close_matches(value, names, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {similar[0]!r}?" if similar else ""
    kind = "; give an instance of it, such as RBF()" if isinstance(value, type) and issubclass(value, Kernel) else ""
    raise ValueError(
        f"kernel is {value!r}{kind}; it must be None (linear), one of {', '.join(map(repr, names))}, or an object of "
        f"gm.kernels.{hint}"
    )

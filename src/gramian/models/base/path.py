"""Coefficients along a grid of penalty strengths."""

from dataclasses import dataclass

from gramian._core.types import Floats


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients along a grid of alphas, from the strongest penalty to the weakest.

    Attributes
    ----------
    alphas : array (A,); coefs : array (A, d) or (A, t, d); intercepts : array (A,) or (A, t)
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats


def path_of(alphas: Floats, coefs: Floats, intercepts: Floats, one_target: bool) -> Path:
    """A path from coefficients (A, d, t) and intercepts (A, t)."""
    if one_target:
        return Path(alphas, coefs[:, :, 0], intercepts[:, 0])
    return Path(alphas, coefs.transpose(0, 2, 1), intercepts)

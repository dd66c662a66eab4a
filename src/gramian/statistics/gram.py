"""`Moments`: weighted count, means and centred cross-products of [X, y], mergeable without cancellation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from gramian._core.numerics.float_range import (
    NOTHING,
    SAFE_EXPONENT,
    add_outer,
    magnitude,
    rescaled,
    squares_fit,
    two_sum,
)
from gramian._core.types import Floats, Ints
from gramian.statistics.file import read_arrays, write_arrays


def _under(R: Floats, B: Floats) -> Floats:
    """R⁻ᵀB."""
    return np.asarray(solve_triangular(R, B, trans="T", check_finite=False))


@dataclass(eq=False)
class Moments:
    """Sums of the second order of a table [X, y]: all that the linear family needs of its data.

    Made by `gm.moments`; two sets of rows are joined with `+` (Chan's update, means carried in twice the precision).

    Attributes
    ----------
    n : int
        Rows with a positive weight.
    weight : float
        Sum of the weights (n without weights).
    mean : array (d + t,)
        Weighted means of the features, then of the targets.
    cross : array (d + t, d + t)
        Weighted centred cross-products Σ w (z − mean)(z − mean)ᵀ of z = [x, y].
    d, t : int
        Features and targets.
    names, target_names : tuple of str
        Names of the features (None if they have none) and of the targets.

    Notes
    -----
    One pass, O(n (d + t)²) operations, O((d + t)²) memory.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.moments([[1.0], [2.0]], [1.0, 3.0])
    >>> second = gm.moments([[4.0]], [5.0])
    >>> both = first + second
    >>> both.n, both.mean
    (3, array([2.33333333, 3.        ]))
    >>> gm.LinearRegression().fit(both).coef_
    array([1.28571429])
    """

    n: int
    weight: float
    d: int
    names: tuple[str, ...] | None
    target_names: tuple[str, ...]
    one_target: bool
    precision: float
    mean_high: Floats
    mean_low: Floats
    scaled: Floats
    exponents: Ints

    @property
    def t(self) -> int:
        return len(self.target_names)

    @property
    def mean(self) -> Floats:
        return self.mean_high + self.mean_low

    @property
    def cross(self) -> Floats:
        with np.errstate(over="ignore"):
            cross = rescaled(self.scaled, self.exponents)
        if not np.isfinite(cross).all():
            raise OverflowError(
                "The cross-products of these columns exceed the range of float64; "
                "use .scaled, which is divided by 2**.exponents for rows and columns."
            )
        return cross

    def second_moments(self) -> "Moments":
        """The same sums about zero instead of the mean: what a fit without an intercept needs."""
        half = 0.5 * self.mean_high + 0.5 * self.mean_low
        about_zero = self._copy()
        about_zero._add_outer(half, self.weight)
        about_zero.mean_high = np.zeros_like(half)
        about_zero.mean_low = np.zeros_like(half)
        return about_zero

    def select(self, columns: Any, targets: Any = None) -> "Moments":
        """The moments of some of the features (and targets), by index."""
        columns = np.arange(self.d)[columns]
        targets = np.arange(self.t) if targets is None else np.arange(self.t)[targets]
        keep = np.concatenate([columns, self.d + targets])
        return Moments(
            n=self.n,
            weight=self.weight,
            d=len(columns),
            names=None if self.names is None else tuple(self.names[j] for j in columns),
            target_names=tuple(self.target_names[j] for j in targets),
            one_target=self.one_target,
            precision=self.precision,
            mean_high=self.mean_high[keep],
            mean_low=self.mean_low[keep],
            scaled=self.scaled[np.ix_(keep, keep)],
            exponents=self.exponents[keep],
        )

    def turned(self, R: Floats) -> "Moments":
        """The moments of the features times R⁻¹, for an upper triangle R."""
        d = self.d
        cross = self.cross
        half = _under(R, cross[:d])
        cross[:d, :d] = _under(R, np.ascontiguousarray(half[:, :d].T))
        cross[:d, d:], cross[d:, :d] = half[:, d:], half[:, d:].T
        moments = self._copy()
        moments.scaled, moments.exponents = 0.5 * (cross + cross.T), np.zeros_like(self.exponents)
        moments.mean_high[:d], moments.mean_low[:d] = _under(R, self.mean[:d]), 0.0
        return moments

    def __add__(self, other: "Moments") -> "Moments":
        if not isinstance(other, Moments):
            return NotImplemented
        self._refuse_other_columns(other)
        return self._copy()._absorb(other)

    def __radd__(self, other: object) -> "Moments":
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return (
            (self.n, self.weight, self.d, self.names, self.target_names)
            == (other.n, other.weight, other.d, other.names, other.target_names)
            and np.array_equal(self.mean, other.mean)
            and np.array_equal(self.exponents, other.exponents)
            and np.array_equal(self.scaled, other.scaled)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        weight = "" if self.weight == self.n else f", weight {self.weight:g}"
        target = f", target {', '.join(self.target_names)}" if self.target_names else ""
        return f"<Moments: {self.n} rows × {self.d} features{target}{weight}>"

    def save(self, path: Any) -> None:
        """Write to one file: a header and the arrays, with a digest; never code."""
        facts = {
            "n": self.n,
            "weight": float(self.weight).hex(),
            "d": self.d,
            "names": None if self.names is None else list(self.names),
            "target_names": list(self.target_names),
            "one_target": self.one_target,
            "precision": float(self.precision).hex(),
        }
        arrays = {name: getattr(self, name) for name in ("mean_high", "mean_low", "scaled", "exponents")}
        write_arrays(path, "moments", facts, arrays)

    @classmethod
    def load(cls, path: Any) -> "Moments":
        """Read what `save` wrote."""
        facts, arrays = read_arrays(path, "moments")
        p = facts["d"] + len(facts["target_names"])
        shapes = {"mean_high": (p,), "mean_low": (p,), "scaled": (p, p), "exponents": (p,)}
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError(f"{path} is not a moments file: its arrays do not have the shapes its header promises.")
        return cls(
            n=facts["n"],
            weight=float.fromhex(facts["weight"]),
            d=facts["d"],
            names=None if facts["names"] is None else tuple(facts["names"]),
            target_names=tuple(facts["target_names"]),
            one_target=facts["one_target"],
            precision=float.fromhex(facts["precision"]),
            **arrays,
        )

    def _copy(self) -> "Moments":
        return Moments(
            **{
                **self.__dict__,
                "scaled": self.scaled.copy(),
                "mean_high": self.mean_high.copy(),
                "mean_low": self.mean_low.copy(),
            }
        )

    def _refuse_other_columns(self, other: "Moments") -> None:
        if (self.d, self.t) != (other.d, other.t):
            raise ValueError(
                f"These moments have {self.d} features and {self.t} targets, the others {other.d} and {other.t}: "
                "only moments of the same columns can be added."
            )
        if self.names != other.names or self.target_names != other.target_names:
            raise ValueError(
                f"The columns differ: {self.names} → {self.target_names} against {other.names} → "
                f"{other.target_names}. Give both tables the same columns in the same order."
            )

    def _absorb(self, other: "Moments") -> "Moments":
        """Chan's merge, in place."""
        if other.weight == 0:
            return self
        if self.weight == 0:
            self.__dict__.update(other._copy().__dict__)
            return self
        share = other.weight / (self.weight + other.weight)
        # Half the difference is a float even where the difference itself is beyond the float range.
        half = (0.5 * other.mean_high - 0.5 * self.mean_high) + (0.5 * other.mean_low - 0.5 * self.mean_low)
        self._add_outer(half, self.weight * share, other)
        self.mean_high, self.mean_low = two_sum(self.mean_high, self.mean_low + half * (2.0 * share))
        self.n += other.n
        self.weight += other.weight
        self.precision = max(self.precision, other.precision)
        return self

    def _add_outer(self, half: Floats, factor: float, other: "Moments | None" = None) -> None:
        """Add factor · (2 half)(2 half)ᵀ, and other's cross-products, rescaling where squares would not fit."""
        root = np.sqrt(factor)
        scaled = self.scaled if other is None else other.scaled
        exponents = self.exponents if other is None else other.exponents
        with np.errstate(all="ignore"):
            step = 2.0 * root * half
            diagonal = np.diagonal(self.scaled) + np.diagonal(scaled) + step * step
            fits = squares_fit(diagonal) | ((diagonal == 0) & (step == 0))
            plain = not self.exponents.any() and not exponents.any() and bool(fits.all())
            if not plain:
                root_half = root * half
                sizes = [
                    magnitude(np.sqrt(np.diagonal(self.scaled)), self.exponents),
                    magnitude(np.sqrt(np.diagonal(scaled)), exponents),
                    magnitude(root_half, np.ones_like(exponents)),
                ]
                common = np.max(sizes, axis=0)
                common = np.where((np.abs(common) <= SAFE_EXPONENT) | (common == NOTHING), 0, common)
                self.scaled = rescaled(self.scaled, self.exponents - common)
                self.exponents = common
                scaled = rescaled(scaled, exponents - common)
                step = np.ldexp(root_half, 1 - common)
        if other is not None:
            self.scaled += scaled
        self.scaled = add_outer(self.scaled, step)

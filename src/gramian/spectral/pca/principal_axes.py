"""The principal axes of a table: by its moments, its triangle, its dual, or products with it; and which is cheapest."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.rows import Rows, single_threaded_blas, workspace
from gramian.rows.reduce import tree_sum
from gramian.solvers.certificate import Certificate
from gramian.solvers.eigen import EPS, eigen, krylov
from gramian.spectral.pca.centred import CentredRows
from gramian.spectral.signs import column_signs
from gramian.statistics import Moments, Triangle
from gramian.statistics.products import moments_of
from gramian.statistics.qr import block_triangle

BLIND = 1e-14  # share of the largest eigenvalue below which squares in float64 know nothing of one
FULL = 1500  # columns up to which all eigenvalues of a covariance are computed
COMPLETE = 2e10  # operations that all eigenvalues may take without asking for less
MAX_OPERATIONS = 2e12  # operations beyond which not all of them are computed
SPARSE_FULL = 2000  # rows or columns of a sparse table up to which it is turned into sums of products
COLUMNS = 1024  # columns of a table that are multiplied out at once
KRYLOV = 1e-9
TOLERANCE = 1e-8  # residual of eigenvectors, relative to the largest eigenvalue
SIGN_TOLERANCE = 1e-6  # entries as large up to this share count as equal


@dataclass(frozen=True, eq=False)
class Principal:
    """Eigenvalues and eigenvectors of the centred cross-products Σ w (x − mean)(x − mean)ᵀ / 4^exponent.

    Attributes
    ----------
    values : array (m,)
        Decreasing; all that can differ from zero, or the largest of them.
    axes : array (r, d)
        Orthonormal rows, r ≤ m.
    total : float
        Their trace.
    mean : array (d,); weight : float; n : int
    varying : int
        Columns that are not constant.
    exponent : int
        Power of two that all columns were divided by.
    through, reason : str
        The method, and why it was taken.
    residual : float
        ‖C v − λ v‖ over the largest eigenvalue, the worst of the axes (or of 32 of them), from C or the rows again.
    """

    values: Floats
    axes: Floats
    total: float
    mean: Floats
    weight: float
    n: int
    varying: int
    exponent: int
    through: str
    reason: str
    residual: float = 0.0

    @property
    def d(self) -> int:
        return len(self.mean)

    @property
    def most(self) -> int:
        """Eigenvalues that can differ from zero: rows less one for their mean, or columns that vary."""
        return max(min(self.n - 1, self.varying), 0)

    @property
    def complete(self) -> bool:
        return len(self.values) >= self.most

    @property
    def rank(self) -> int:
        """Eigenvalues that are more than rounding."""
        top = float(self.values[0]) if len(self.values) else 0.0
        floor = max(self.n, self.d) * EPS * (1.0 if self.through in ("moments", "dual") else EPS * max(self.n, self.d))
        return min(int((self.values > floor * top).sum()), self.most)

    def certificate(self, condition: float, note: str) -> Certificate:
        """The certificate of these eigenvectors."""
        return Certificate(
            "eigen-residual", self.residual, TOLERANCE, self.residual <= TOLERANCE, self.rank, condition, self.through,
            note=note,
        )  # fmt: skip

    def blind(self, count: int) -> bool:
        """Whether one of the first `count` eigenvalues is too small for sums of squares to tell."""
        values = self.values[: min(count, self.most)]
        return bool(len(values) and values[-1] < BLIND * values[0])

    def first(self, count: int) -> "Principal":
        """With `count` axes; missing ones are completed by orthogonal axes of variance 0."""
        rank = self.rank
        values = self.values.copy()
        values[rank:] = 0.0
        lacking = count - len(values)
        if lacking > 0 and self.complete:
            values = np.concatenate([values, np.zeros(lacking)])
        axes = self.axes[:count]
        if rank < count and (self.complete or len(axes) < count):
            axes = completed(axes[:rank], count)
        return replace(self, values=values, axes=signed(axes))


def completed(axes: Floats, count: int) -> Floats:
    """Orthonormal rows that extend `axes` to `count`: each new one is the coordinate axis least spanned so far, made
    orthogonal to those before. The completion therefore does not depend on the method."""
    rank, d = axes.shape
    basis = np.vstack([axes, np.zeros((count - rank, d))])
    for k in range(rank, count):
        free = 1.0 - (basis[:k] ** 2).sum(axis=0)
        j = int((free >= (1.0 - 1e-6) * free.max()).argmax())
        v = -(basis[:k, j] @ basis[:k])
        v[j] += 1.0
        v -= (basis[:k] @ v) @ basis[:k]
        basis[k] = v / np.linalg.norm(v)
    return basis


def signed(axes: Floats) -> Floats:
    """Rows with signs that make their largest entry positive; of entries equal up to rounding, the first."""
    return axes * column_signs(axes.T, SIGN_TOLERANCE)[:, None]


def of_moments(sums: Moments, count: int | None, reason: str) -> Principal:
    """From the cross-products themselves; `count` of the axes are wanted, None for all."""
    d = sums.d
    squares = np.diagonal(sums.scaled)[:d]
    with np.errstate(under="ignore", over="ignore"):
        exponents = sums.exponents[:d]
        sizes = np.where(squares > 0, exponents + np.frexp(np.sqrt(squares))[1], -(2**20))
        top = int(sizes.max())
        top = top if exponents.any() and top > -(2**20) else 0
        change = exponents - top
        C = np.ldexp(np.ldexp(sums.scaled[:d, :d], change[:, None]), change[None, :])
        deviations = np.ldexp(np.sqrt(squares), exponents)
    # Deviations within the rounding of the column itself count as constant.
    constant = deviations <= 2 * sums.precision * np.abs(sums.mean[:d]) * np.sqrt(sums.weight)
    C[constant] = 0.0
    C[:, constant] = 0.0
    pairs = eigen(C, None if d <= FULL else count)
    with single_threaded_blas():
        residual = C @ pairs.vectors - pairs.vectors * pairs.values
    values = np.maximum(pairs.values, 0.0)
    return Principal(
        values=values,
        axes=np.ascontiguousarray(pairs.vectors.T),
        total=float(np.trace(C)),
        mean=sums.mean[:d].copy(),
        weight=sums.weight,
        n=sums.n,
        varying=int((~constant).sum()),
        exponent=top,
        through="moments",
        reason=reason,
        residual=_relative_residual(residual, values),
    )


def of_triangle(triangle: Triangle, reason: str) -> Principal:
    """From the triangular factor of the centred columns, which is not squared."""
    d = triangle.d
    R = triangle.centred()[:d, :d].astype(np.float64)
    size = np.linalg.norm(R, axis=0)
    top = int(np.where(size > 0, triangle.exponents[:d] + np.frexp(size)[1], -(2**20)).max())
    top = top if triangle.exponents[:d].any() and top > -(2**20) else 0
    mean = triangle.mean[:d]
    with np.errstate(under="ignore", over="ignore"):
        R = np.ldexp(R, triangle.exponents[:d] - top)
        deviations = np.ldexp(size, triangle.exponents[:d])
    constant = deviations <= 2 * triangle.precision * np.abs(mean) * np.sqrt(triangle.weight)
    R[:, constant] = 0.0
    with single_threaded_blas():
        _, s, axes = sla.svd(R, check_finite=False)
        residual = R.T @ (R @ axes.T) - axes.T * s**2
    return Principal(
        values=s**2,
        axes=axes,
        total=float((s**2).sum()),
        mean=mean,
        weight=triangle.weight,
        n=triangle.n,
        varying=int((~constant).sum()),
        exponent=top,
        through="triangle",
        reason=reason,
        residual=_relative_residual(residual, s**2),
    )


def of_dual(table: CentredRows, reason: str) -> Principal:
    """From the inner products of the rows: n × n instead of d × d."""
    K = _inner(table)
    pairs = eigen(K)
    values = np.maximum(pairs.values[: table.most], 0.0)
    return table.principal(values, _axes_of_dual(table, values, pairs.vectors), "dual", reason)


def of_svd(table: CentredRows, reason: str) -> Principal:
    """From the singular vectors of the centred rows themselves, for fewer rows than columns."""
    with single_threaded_blas():
        Q, R = np.linalg.qr(table.dense().T)
        U, s, _ = np.linalg.svd(R)
        axes = (Q @ U).T
    return table.principal(s[: table.most] ** 2, axes[: max(table.most, 1)], "svd", reason)


def of_krylov(table: CentredRows, count: int, reason: str, seed: int) -> Principal:
    """From products with the centred rows, of which none is made; in the space of the rows where that is smaller."""
    n, d = table.n, table.d
    pairs = krylov(table.times if n >= d else table.dual_times, min(n, d), count, tol=KRYLOV, seed=seed)
    values = np.maximum(pairs.values, 0.0)
    reason_with_cost = f"{reason}; {pairs.products} columns multiplied"
    if n >= d:
        return table.principal(values, np.ascontiguousarray(pairs.vectors.T), "rows", reason_with_cost)
    return table.principal(values, _axes_of_dual(table, values, pairs.vectors), "rows", reason_with_cost)


def _axes_of_dual(table: CentredRows, values: Floats, U: Floats) -> Floats:
    """Axes (r, d) from the eigenvectors (n, r) of the dual; orthonormal also where values are small."""
    rank = int((values > table.n * EPS * max(values[0], 0.0)).sum()) if len(values) else 0
    with single_threaded_blas():
        axes = table.left_times(U[:, :rank] / np.sqrt(values[:rank])).T
        if rank and values[rank - 1] < 1e-4 * values[0]:
            Q, R = np.linalg.qr(axes.T)
            axes = (Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)).T
    return np.ascontiguousarray(axes)


def _relative_residual(residual: Floats, values: Floats) -> float:
    largest = float(values[0]) if len(values) else 0.0
    return float(np.linalg.norm(residual, axis=0).max(initial=0.0)) / largest if largest > 0 else 0.0


def _inner(table: CentredRows) -> Floats:
    """Inner products of the centred rows, weighted."""
    block = table.rows.collect()
    n, d = table.n, table.d
    root = None if block.weight is None else np.sqrt(block.weight)[:, None]
    if sp.issparse(block.X):
        X = block.X.astype(np.float64) * table.unit
        K = np.asarray((X @ X.T).toarray())
        side = np.asarray(X @ (table.mean * table.unit))
        K -= side[:, None]
        K -= side[None, :]
        K += float((table.mean * table.unit) @ (table.mean * table.unit))
    else:

        def panel(i: int) -> Floats:
            part = slice(i * width, min((i + 1) * width, d))
            total = np.zeros((n, n))
            for j in range(part.start, part.stop, COLUMNS):
                columns = slice(j, min(j + COLUMNS, part.stop))
                Z = workspace("centred", n, columns.stop - j)
                np.subtract(block.X[:, columns], table.mean[columns], out=Z)
                if table.unit != 1.0:
                    Z *= table.unit
                total += Z @ Z.T
            return total

        width = -(-d // 4)
        K = np.asarray(tree_sum(-(-d // width), panel))
    return K if root is None else K * root * root.T


def principal(data: Rows | Moments | Triangle, count: int | None, solver: str, seed: int) -> Principal:
    """The axes of rows, moments or a triangle by a named method, or the cheapest: `count` of them, None for all.

    Where the number of axes is not known before the spectrum is, and all of it would take too long, the first few.
    """
    if isinstance(data, Moments):
        _refuse(solver, ("auto", "moments"), "Moments")
        return of_moments(data, count, "the moments were given")
    if isinstance(data, Triangle):
        _refuse(solver, ("auto", "svd"), "a Triangle")
        return of_triangle(data, "the triangle was given")
    n, d = data.n, data.d
    method, reason = (solver, "asked for") if solver != "auto" else _cheapest(data, count)
    if method == "moments":
        axes = of_moments(moments_of(data), count, reason)
    else:
        table = None if method == "svd" and n > d else CentredRows(data)
        if method == "dual":
            axes = of_dual(table, reason)  # type: ignore[arg-type]
        elif method == "krylov":
            axes = of_krylov(table, min(count or 50, n, d), reason, seed)  # type: ignore[arg-type]
        else:
            return _singular(data, table, reason)
    if solver == "auto" and method != "krylov" and axes.blind(min(n, d) if count is None else count):
        reason = "singular values below 1e-7 of the largest are needed, which sums of squares cannot tell"
        return _singular(data, CentredRows(data) if n <= d else None, reason)
    return axes


def _singular(rows: Rows, table: CentredRows | None, reason: str) -> Principal:
    if table is None:
        return of_triangle(rows.sum(block_triangle(rows)), reason)
    return of_svd(table, reason)


def _cheapest(rows: Rows, count: int | None) -> tuple[str, str]:
    n, d = rows.n, rows.d
    few = count is not None and count <= 0.1 * min(n, d)
    if rows.is_sparse:
        if d <= SPARSE_FULL:
            return "moments", f"{d} columns: one pass for their products"
        if n <= SPARSE_FULL:
            return "dual", f"{n} rows, fewer than columns: the inner products of rows"
        return "krylov", "sparse and large: products with the rows, which stay sparse"
    cost = {"moments": n * d * d + 8.0 * d**3, "dual": d * n * n + 8.0 * n**3}
    method = min(cost, key=lambda name: cost[name])
    if few and cost[method] > COMPLETE and 48.0 * n * d * (count + 10) < cost[method]:  # type: ignore[operator]
        return "krylov", f"{count} axes of {min(n, d)}: products with the rows cost less than all of their products"
    if cost[method] > MAX_OPERATIONS:
        return "krylov", f"all {min(n, d)} eigenvalues would take too long: the first by products with the rows"
    if method == "moments":
        return method, f"{d} columns, {n} rows: one pass for the products of columns"
    return method, f"{n} rows, {d} columns: the inner products of rows are fewer"


def _refuse(solver: str, supported: tuple[str, ...], data: str) -> None:
    if solver not in supported:
        raise ValueError(
            f"solver is {solver!r}, which needs the rows, but X is {data}: give the rows, or solver='auto'."
        )

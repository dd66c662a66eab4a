"""Principal components in the feature space of a kernel: new points, and points whose features are nearest."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._core.random import MAX_SEED, generator_from
from gramian._core.text import percentage
from gramian._core.types import Bools, Estimator, Floats, Ints, Table, Weights
from gramian._core.validation import whole
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix, point_weights, read_points, refuse_invalid
from gramian.kernels.lowrank.landmarks import MOST_CELLS, sampled_pivots
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, alone, is_table, vectors
from gramian.kernels.representation import KernelMatrix, Landmarks
from gramian.rows import MemoryRows, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.eigen import EPS, Eigen, eigen, krylov, matrix_times
from gramian.spectral.null.spectrum_test import scrambled
from gramian.spectral.pca.input import RequestedComponents
from gramian.spectral.pca.preimage import PreImage
from gramian.spectral.pca.principal_axes import SIGN_TOLERANCE, TOLERANCE, principal
from gramian.spectral.signs import column_signs

DENSE = 1200  # points up to which all eigenvalues are computed
SHARE = 0.05  # of the eigenvalues, up to which products with the matrix are the quicker way
FIRST = 20  # components that are looked at first where all are too many
SCRAMBLES = 3


@dataclass(frozen=True, eq=False)
class KernelAxes:
    """Axes v_j = Σ_i dual_ij φ(x_i) in a feature space: the coordinates of x are k(x, X) dual − offset.

    Attributes
    ----------
    representation : KernelMatrix or Landmarks
        The kernel and the points x_i: all of them, or landmarks.
    dual : array (n, r); offset : array (r,); centre : array (n,)
        The mean of the features is Σ_i centre_i φ(x_i).
    values : array (r,); total : float
        Σ w ⟨φ(x) − mean, v⟩², and the same in all directions.
    inputs : Vectors or None
        The points as rows of numbers, where they are.
    """

    representation: KernelMatrix | Landmarks
    dual: Floats
    offset: Floats
    centre: Floats
    values: Floats
    total: float
    n: int
    weight: float
    certificate: Certificate
    solver: SolverInfo
    inputs: Vectors | None

    @property
    def kernel(self) -> Kernel:
        return self.representation.kernel

    @property
    def points(self) -> Any:
        return self.representation.points

    def coordinates(self, points: Any) -> Floats:
        """Coordinates (n, r) of prepared points."""
        return self.kernel.times(points, self.points, self.dual) - self.offset

    @cached_property
    def _pre_image(self) -> PreImage:
        assert self.inputs is not None
        with single_threaded_blas():
            own = self.coordinates(self.points)
        return PreImage(self.kernel, self.points, self.inputs, self.dual, self.centre, own)

    def points_at(self, T: Floats) -> Floats:
        """Points whose features are nearest to the mean + Σ_j t_j v_j."""
        if self.inputs is None:
            raise ValueError(
                f"inverse_transform needs rows of numbers, and points of {self.kernel!r} are none: there is no way "
                "back from features to them."
            )
        return self._pre_image(T)

    @property
    def training_error(self) -> float:
        """Mean squared distance, in the feature space, of the points of the fit from the flat of the axes."""
        return max(self.total - float(self.values.sum()), 0.0) / self.weight

    def error(self, points: Any) -> float:
        """The same of prepared points."""
        sides = np.column_stack([self.dual, self.centre])
        products = self.kernel.times(points, self.points, sides)
        T = products[:, :-1] - self.offset
        inner = float(self.centre @ self.kernel.times(self.points, self.points, self.centre[:, None])[:, 0])
        squared_norms = self.kernel.diag(points) - 2.0 * products[:, -1] + inner
        return float(np.maximum(squared_norms - (T**2).sum(axis=1), 0.0).mean())


def kernel_axes(model: Estimator, X: Table, requested: RequestedComponents, sample_weight: Weights) -> KernelAxes:
    """Fit: `requested` as in `PCA`."""
    weight = None
    if isinstance(X, Rows):
        if sample_weight is not None:
            raise ValueError("These rows bring their own weights: give sample_weight to gm.scan.")
        block = X.collect()
        X, weight = block.X, block.weight
    if sample_weight is not None:
        weight = point_weights(X, sample_weight)
    kernel = kernel_of(model.kernel).fitted(X, weight)
    refuse_invalid(kernel, X)
    points = read_points(model, X, kernel, reset=True)
    inputs = vectors(X) if is_table(X) and not is_matrix(kernel) else points if isinstance(points, Vectors) else None
    index = np.arange(len(points))
    if weight is not None and not weight.all():
        index = used = np.flatnonzero(weight)
        points, weight = alone(points[used]), weight[used]
        inputs = None if inputs is None else Vectors(inputs.X[used])
    n = len(points)
    if requested.count is not None and requested.count > n:
        raise ValueError(f"n_components is {requested.count}, but {n} rows have at most {n} components.")
    if requested.automatic and inputs is None:
        raise ValueError(
            f'n_components="auto" compares the points with scrambled columns, and those of {kernel!r} have none: give '
            "a number, or a share of the variance such as 0.9."
        )
    if model.rank is not None:
        rank = min(whole("rank", model.rank, low=1), n)
        return _by_landmarks(model, kernel, points, index, inputs, weight, requested, rank)
    return _by_matrix(model, KernelMatrix(kernel, points, index), inputs, weight, requested)


class _Centred:
    """√w (K − means) √w of a kernel matrix, by its products: the matrix stays as it is."""

    def __init__(self, K: Floats, weight: Floats | None) -> None:
        n = len(K)
        self.K = K
        self.weight = weights_or_ones(weight, n)
        self.sum = float(self.weight.sum())
        self.share = self.weight / self.sum
        self.root = np.sqrt(self.weight)[:, None]
        self.side = matrix_times(K)(self.share[:, None])[:, 0]
        self.middle = float(self.share @ self.side)
        self.total = max(float(self.weight @ np.diagonal(K)) - self.sum * self.middle, 0.0)

    def times(self, Q: Floats) -> Floats:
        Q = self.root * Q
        Q -= self.share[:, None] * Q.sum(axis=0)
        Y = matrix_times(self.K)(Q)
        Y -= self.share @ Y
        return self.root * Y

    def whole(self) -> Floats:
        A = self.K - self.side[:, None]
        A -= self.side
        A += self.middle
        A *= self.root
        A *= self.root.T
        return 0.5 * (A + A.T)


def _largest(centred: _Centred, count: int, seed: int) -> Eigen:
    """The largest eigenvalues: of few among many by products with the matrix, else by LAPACK."""
    n = len(centred.K)
    if n > DENSE and count <= SHARE * n:
        pairs = krylov(centred.times, n, count, tol=1e-10, seed=seed, max_products=n)
        if pairs.converged:
            return pairs
    return eigen(centred.whole())


def _by_matrix(
    model: Estimator,
    matrix: KernelMatrix,
    inputs: Vectors | None,
    weight: Floats | None,
    requested: RequestedComponents,
) -> KernelAxes:
    kernel, points, n = matrix.kernel, matrix.points, len(matrix.points)
    seed = int(generator_from(model.random_state).integers(MAX_SEED))
    centred = _Centred(kernel.matrix(points), weight)
    count = n if requested.all else requested.count or FIRST
    while True:
        pairs = _largest(centred, min(count, n), seed)
        chosen: int | None = count
        if requested.share is not None:
            sufficient = np.cumsum(np.maximum(pairs.values, 0.0)) >= requested.share * centred.total * (1.0 - 1e-12)
            chosen = int(sufficient.argmax()) + 1 if sufficient.any() else None
        elif requested.automatic:
            chosen = _above_permuted(kernel, inputs, weight, pairs, seed)
        if chosen is not None or count >= n:
            break
        count *= 4
    count = min(chosen or n, len(pairs.values))
    values, U = np.maximum(pairs.values[:count], 0.0), pairs.vectors[:, :count]
    residual = centred.times(U) - U * pairs.values[:count]
    largest = float(values[0])
    value = float(np.linalg.norm(residual, axis=0).max()) / largest if largest > 0 else 0.0
    nonzero = values > n * EPS * largest if largest > 0 else np.zeros(count, dtype=bool)
    values = np.where(nonzero, values, 0.0)
    scaled_vectors = centred.root * U * np.where(nonzero, 1.0 / np.sqrt(np.where(nonzero, values, 1.0)), 0.0)
    dual = scaled_vectors - centred.share[:, None] * scaled_vectors.sum(axis=0)
    offset = centred.side @ dual
    sign = column_signs(scaled_vectors, SIGN_TOLERANCE)
    name = "block Krylov" if pairs.products else "LAPACK"
    reason = (
        f"{count} of {n} eigenvectors: products with the matrix, {pairs.products} columns"
        if pairs.products
        else f"all eigenvectors of {n} × {n} numbers"
    )
    return KernelAxes(
        representation=matrix,
        dual=dual * sign,
        offset=offset * sign,
        centre=centred.share,
        values=values,
        total=centred.total,
        n=n,
        weight=centred.sum,
        certificate=_certificate(value, values, int(nonzero.sum()), count, "kernel matrix", ""),
        solver=SolverInfo(name, reason),
        inputs=inputs,
    )


def _by_landmarks(
    model: Estimator,
    kernel: Kernel,
    points: Any,
    index: Ints,
    inputs: Vectors | None,
    weight: Floats | None,
    requested: RequestedComponents,
    rank: int,
) -> KernelAxes:
    """From the rows of a factor K ≈ F Fᵀ: an ordinary table."""
    n = len(points)
    target = None if weight is None else MemoryRows(np.zeros((n, 1)), None, weight)
    chosen: Landmarks
    if n * rank > MOST_CELLS:
        chosen = sampled_pivots(kernel, points, rank)
        rows: Rows = chosen.rows_of(points, target)
    else:
        chosen, F = pivots(kernel, points, rank)
        rows = MemoryRows(F, None, weight)
    seed = int(generator_from(model.random_state).integers(MAX_SEED))
    with single_threaded_blas():
        axes_of_rows = principal(rows, None, "moments", seed)
    rank_bound = axes_of_rows.most
    if requested.count is not None:
        if requested.count > rows.d:
            raise ValueError(
                f"n_components is {requested.count}, but {rows.d} landmarks have at most {rows.d} components."
            )
        count = requested.count
    elif requested.share is not None:
        goal = requested.share * axes_of_rows.total * (1.0 - 1e-12)
        count = int((np.cumsum(axes_of_rows.values[:rank_bound]) < goal).sum()) + 1
    elif requested.automatic:
        assert inputs is not None
        null = np.zeros(rank_bound)
        for k in range(SCRAMBLES):
            permuted_inputs = vectors(scrambled(inputs.X, np.random.default_rng([seed, k])))
            null_axes = principal(
                MemoryRows(pivots(kernel, permuted_inputs, rank)[1], None, weight), None, "moments", seed
            )
            size = min(rank_bound, len(null_axes.values))
            null[:size] = np.maximum(null[:size], null_axes.values[:size])
        count = max(_leading(axes_of_rows.values[:rank_bound] > null), 1)
    else:
        count = rows.d
    axes_of_rows = axes_of_rows.first(min(count, rows.d))
    axes, values = axes_of_rows.axes[:count], np.ldexp(axes_of_rows.values[:count], 2 * axes_of_rows.exponent)
    return KernelAxes(
        representation=replace(chosen, index=index[chosen.index]),
        dual=chosen.dual(np.ascontiguousarray(axes.T)),
        offset=axes @ axes_of_rows.mean,
        centre=chosen.dual(axes_of_rows.mean[:, None])[:, 0],
        values=values,
        total=float(np.ldexp(axes_of_rows.total, 2 * axes_of_rows.exponent)),
        n=n,
        weight=axes_of_rows.weight,
        certificate=_certificate(
            axes_of_rows.residual,
            values,
            axes_of_rows.rank,
            count,
            "landmarks",
            f"{percentage(chosen.unexplained)} of the kernel trace is unexplained.",
        ),
        solver=SolverInfo("landmarks", f"{len(chosen.index)} landmark points for {n} rows"),
        inputs=None if inputs is None else Vectors(inputs.X[chosen.index]),
    )


def _above_permuted(
    kernel: Kernel, inputs: Vectors | None, weight: Floats | None, pairs: Eigen, seed: int
) -> int | None:
    """Leading eigenvalues above those of the points with scrambled columns; None if all that are known are."""
    assert inputs is not None
    null = np.zeros(len(pairs.values))
    for k in range(SCRAMBLES):
        permuted_inputs = vectors(scrambled(inputs.X, np.random.default_rng([seed, k])))
        null_pairs = _largest(_Centred(kernel.matrix(kernel.points(permuted_inputs.X)), weight), len(null), seed)
        null = np.maximum(null, null_pairs.values[: len(null)])
    count = _leading(pairs.values > null)
    return None if count == len(null) < len(inputs) - 1 else max(count, 1)


def _leading(above: Bools) -> int:
    return len(above) if above.all() else int(above.argmin())


def _certificate(value: float, values: Floats, rank: int, count: int, through: str, note: str) -> Certificate:
    if rank < count:
        note = f"The features vary in {rank} directions: {count - rank} of {count} components have variance 0. {note}"
    kept = values[values > 0]
    return Certificate(
        kind="eigen-residual",
        value=value,
        tolerance=TOLERANCE,
        holds=value <= TOLERANCE,
        rank=rank,
        condition=float(np.sqrt(kept[0] / kept[-1])) if len(kept) else 1.0,
        through=through,
        note=note.strip(),
    )

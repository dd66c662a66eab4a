"""Support vector machines with a Gaussian kernel along ten alphas, 20,000 × 20: a path against one fit.

The data and the objective are those of svm_rbf; C goes from 0.25 to 2 in ten steps, each machine starts from the one
before and reaches the same duality gap of 1e-5. `gramian_one_fit` is one such machine, C = 1. gap: the largest of the
path.
"""

import numpy as np

from bench.tasks.svm_rbf import D, data

__all__ = ["data", "judge", "peers", "quality", "targets", "warm"]


def _path(data, Cs):
    import gramian as gm
    from gramian.models.kernel.svm import train
    from gramian.solvers.kernel.kernel_rows import KernelRows
    from gramian.solvers.kernel.smo import Start

    kernel = gm.kernels.RBF(np.sqrt(D))
    rows, y, n = KernelRows(kernel, kernel.points(data["X"])), data["y"], len(data["y"])
    found, start = [], None
    for i, C in enumerate(Cs):
        found.append(train(rows, y, np.ones(n), 1 / (2 * n * C), True, 1e-5, start))
        if i + 1 < len(Cs):
            start = Start(found[-1].beta, found[-1].f).scaled(Cs[i + 1] / C)
    return {"gap": max(machine.gap for machine in found)}


def gramian(data):
    """ten alphas, each machine from the one before"""
    return _path(data, np.geomspace(0.25, 2.0, 10))


def gramian_one_fit(data):
    """C = 1"""
    return _path(data, [1.0])


def quality(data, result):
    return {"gap": result["gap"]}


peers = {"gramian": gramian, "gramian_one_fit": gramian_one_fit}
targets = [("gramian_one_fit", 1 / 3)]
judge = {"gap": (1, 1e-5)}
warm = 0.15

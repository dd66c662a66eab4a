"""Support vector machine with a Gaussian kernel, 50,000 × 20: svm_rbf where the kernel matrix does not fit."""

from bench.tasks import svm_rbf
from bench.tasks.svm_rbf import judge, peers, quality, targets, warm

__all__ = ["data", "judge", "peers", "quality", "targets", "warm"]


def data(scale):
    return svm_rbf.data(scale, 50_000)

"""Losses: functions of a target and a prediction. Adding one is one frozen class, in the file of its kind of target."""

from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import (
    Hinge,
    Logistic,
    MultiHinge,
    Perceptron,
    RootHinge,
    SoftMargin,
    Softmax,
    SquaredHinge,
)
from gramian.objective.losses.regression import Absolute, Huber, Poisson, Power, Quantile, Squared, StudentT

__all__ = [
    "Absolute",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MultiHinge",
    "Perceptron",
    "Poisson",
    "Power",
    "Quantile",
    "RootHinge",
    "SoftMargin",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "StudentT",
]

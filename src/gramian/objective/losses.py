"""Losses: functions of a target and a prediction. Adding one is one frozen class, in the file of its kind of target."""

from gramian.objective.label_losses import (
    Hinge,
    Logistic,
    MultiHinge,
    Perceptron,
    RootHinge,
    SoftMargin,
    Softmax,
    SquaredHinge,
)
from gramian.objective.loss import Loss
from gramian.objective.number_losses import Absolute, Huber, Poisson, Power, Quantile, Squared, StudentT

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

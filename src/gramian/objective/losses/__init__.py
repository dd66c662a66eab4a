"""Losses: functions of a target and a prediction. Adding one is one frozen class, in the file of its kind of target."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.objective.losses.base": ["Loss"],
        "gramian.objective.losses.classification": [
            "Hinge",
            "Logistic",
            "MultiHinge",
            "Perceptron",
            "RootHinge",
            "SoftMargin",
            "Softmax",
            "SquaredHinge",
        ],
        "gramian.objective.losses.regression": [
            "Absolute",
            "Huber",
            "Poisson",
            "Power",
            "Quantile",
            "Squared",
            "StudentT",
        ],
    },
)

"""How good predictions are: metrics with confidence intervals, each a statistic that adds up block by block."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.metrics.statistics.base": ["Statistic"],
        "gramian.metrics.statistics.counts": ["Confusion"],
        "gramian.metrics.curves": ["calibration", "pr_curve", "roc_curve"],
        "gramian.metrics.classification": [
            "accuracy",
            "balanced_accuracy",
            "confusion",
            "f1",
            "fpr",
            "matthews",
            "precision",
            "recall",
            "zero_one",
        ],
        "gramian.metrics.definition": ["Metric", "define_metric"],
        "gramian.metrics.statistics.absolute_errors": ["AbsoluteErrors"],
        "gramian.metrics.statistics.explained": ["Explained"],
        "gramian.metrics.statistics.intervals": ["Interval"],
        "gramian.metrics.statistics.means": ["MeanLoss"],
        "gramian.metrics.regression": ["mae", "median_absolute_error", "mse", "r2", "rmse"],
        "gramian.metrics.statistics.one_vs_rest": ["OneVsRest"],
        "gramian.metrics.ranking": ["average_precision", "roc_auc"],
        "gramian.metrics.probabilities": ["brier", "log_loss"],
        "gramian.metrics.statistics.ranks": ["Ranking"],
        "gramian.metrics.registry": ["METRICS", "Measurement", "metric", "statistic"],
    },
)

"""How good predictions are: metrics with confidence intervals, each a statistic that adds up block by block."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.metrics.statistics.base": ["Statistic"],
        "gramian.metrics.statistics.counts": ["Confusion"],
        "gramian.metrics.curves": ["calibration", "pr_curve", "roc_curve"],
        "gramian.metrics.decisions": ["accuracy", "confusion", "f1", "fpr", "precision", "recall"],
        "gramian.metrics.statistics.explained": ["Explained"],
        "gramian.metrics.statistics.intervals": ["Interval"],
        "gramian.metrics.statistics.means": ["MeanLoss"],
        "gramian.metrics.numbers": ["mae", "mse", "r2"],
        "gramian.metrics.statistics.one_vs_rest": ["OneVsRest"],
        "gramian.metrics.order": ["average_precision", "roc_auc"],
        "gramian.metrics.probabilities": ["brier", "log_loss"],
        "gramian.metrics.statistics.ranks": ["Ranking"],
        "gramian.metrics.registry": ["METRICS", "Measurement", "Metric", "metric", "statistic"],
    },
)

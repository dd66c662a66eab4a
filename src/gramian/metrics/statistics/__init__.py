"""The mergeable statistics behind the metrics, and their confidence intervals."""

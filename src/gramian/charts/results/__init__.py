"""Charts of evaluations and comparisons."""

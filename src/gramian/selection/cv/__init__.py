"""Cross-validation of alpha from shared work: splits, scores and a strategy for each kind of problem."""

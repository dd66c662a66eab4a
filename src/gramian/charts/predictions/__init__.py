"""Charts of predictions: boundaries, ROC curves, confusion, residuals."""

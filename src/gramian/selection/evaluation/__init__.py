"""Evaluation of whole estimators: nested cross-validation, comparison, held-out tests, curves."""

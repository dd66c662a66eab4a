"""Estimators around a classifier: balanced classes, tuned thresholds."""

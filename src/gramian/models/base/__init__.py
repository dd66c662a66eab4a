"""What supervised estimators share: predictions, inference, classes, kernels."""

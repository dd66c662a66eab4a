"""Linear models: regression and classification."""

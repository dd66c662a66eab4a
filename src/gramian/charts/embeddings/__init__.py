"""Charts of maps."""

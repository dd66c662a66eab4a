"""Kernel machines: ridge regression, and dual problems by SMO or an interior point."""

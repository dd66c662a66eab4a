"""Arithmetic that every room shares: compiled functions, exponentials, scaling by powers of two, hashes."""

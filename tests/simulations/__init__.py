"""Simulations of statistical statements, too long for the test suite: `make check-statistics`."""

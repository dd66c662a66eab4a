"""Squared loss with L1 and elastic-net penalties."""

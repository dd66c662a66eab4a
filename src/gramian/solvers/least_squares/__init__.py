"""Squared loss without a penalty or with a quadratic one."""

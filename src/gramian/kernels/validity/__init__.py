"""Whether a kernel or matrix is positive semi-definite: a proof, a counter-example, or neither."""

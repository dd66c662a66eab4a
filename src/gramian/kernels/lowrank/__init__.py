"""Low-rank factors of kernel matrices, and explicit features."""

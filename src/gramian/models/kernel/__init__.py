"""Models with a kernel."""

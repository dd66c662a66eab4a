"""k-means: assignment, means and seeding."""

"""Trees of clusters: agglomerative and divisive."""

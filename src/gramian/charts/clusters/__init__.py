"""Charts of clusters and trees."""

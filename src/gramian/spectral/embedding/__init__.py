"""Maps of rows into few dimensions: MDS, LLE, t-SNE."""

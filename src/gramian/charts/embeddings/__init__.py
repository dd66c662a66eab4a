"""Charts of embeddings."""

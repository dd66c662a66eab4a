"""Strategies of cross-validation: how all training parts and alphas share their work."""

"""Gramian against its peers, side by side on one machine: `python -m bench`."""

"""Principal and minor components."""

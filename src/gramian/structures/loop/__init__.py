"""The loop of clustering: initialisation, assignment, refitting, restarts."""

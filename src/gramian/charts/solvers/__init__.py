"""Charts of solvers: trajectories and contours of the objective."""

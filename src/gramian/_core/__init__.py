"""What every room shares: checks of parameters, warnings, time limits, reprs and summaries."""

"""What every fitted estimator shares: charts, outliers, time limits, its memory of training rows."""

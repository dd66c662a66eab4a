"""Charts of fitted models: coefficients, paths, parts, spectra."""

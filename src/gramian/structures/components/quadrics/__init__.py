"""Circles, spheres, ellipses and ellipsoids, fitted by orthogonal distance."""

"""The structures: points, lines, planes, circles, ellipses, densities."""

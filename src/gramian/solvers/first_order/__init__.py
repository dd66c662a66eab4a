"""Gradient descent, stochastic gradient descent and the perceptron algorithm."""

"""How an objective is minimised; each solver returns weights and a certificate."""

from gramian.solvers.certificate import Certificate, Solver

__all__ = ["Certificate", "Solver"]

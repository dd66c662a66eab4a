"""Penalties of the coefficients. Adding one is one frozen class, in the file of its kind; the common checks find it."""

from gramian.objective.penalties.base import Penalty
from gramian.objective.penalties.base import PenaltyTerms as PenaltyTerms
from gramian.objective.penalties.base import Separable as Separable
from gramian.objective.penalties.bounds import Box, NonNegative
from gramian.objective.penalties.concave import MCP, SCAD
from gramian.objective.penalties.concave import FoldedConcave as FoldedConcave
from gramian.objective.penalties.norms import L1, L2, ElasticNet, GroupL1, Tikhonov, Zero
from gramian.objective.penalties.norms import WeightedElasticNet as WeightedElasticNet

__all__ = ["L1", "L2", "MCP", "SCAD", "Box", "ElasticNet", "GroupL1", "NonNegative", "Penalty", "Tikhonov", "Zero"]

"""How an objective is minimised; each solver returns weights and a certificate."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.solvers.certificate": ["Certificate", "Solver"],
        "gramian.solvers.column_descent": ["ColumnDescent"],
        "gramian.solvers.concomitant": ["ScaleNewton", "ScaleSearch"],
        "gramian.solvers.descent": ["GradientDescent"],
        "gramian.solvers.dual_descent": ["DualDescent"],
        "gramian.solvers.interior": ["InteriorPoint"],
        "gramian.solvers.joint_hinge": ["JointInteriorPoint"],
        "gramian.solvers.linear_programme": ["LinearProgramme"],
        "gramian.solvers.near_rows": ["NearRows"],
        "gramian.solvers.newton": ["Newton"],
        "gramian.solvers.newton_cg": ["NewtonCG"],
        "gramian.solvers.perceptron": ["PerceptronAlgorithm"],
        "gramian.solvers.primal_dual": ["PrimalDual"],
        "gramian.solvers.proximal": ["ProximalNewton"],
        "gramian.solvers.reweighted": ["PowerNewton", "Reweighted"],
        "gramian.solvers.root_hinge": ["RootDescent"],
        "gramian.solvers.stochastic": ["StochasticGradient"],
        "gramian.solvers.turned": ["TurnedInterior"],
    },
)

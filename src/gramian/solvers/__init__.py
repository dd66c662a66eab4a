"""How an objective is minimised; each solver returns weights and a certificate."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.solvers.certificate": ["Certificate", "SolverInfo"],
        "gramian.solvers.smooth.column_descent": ["ColumnDescent"],
        "gramian.solvers.smooth.concomitant": ["ScaleNewton", "ScaleSearch"],
        "gramian.solvers.first_order.gradient_descent": ["GradientDescent"],
        "gramian.solvers.nonsmooth.dual_descent": ["DualDescent"],
        "gramian.solvers.nonsmooth.interior_point": ["InteriorPoint"],
        "gramian.solvers.nonsmooth.joint_hinge": ["JointInteriorPoint"],
        "gramian.solvers.nonsmooth.linear_programme": ["LinearProgramme"],
        "gramian.solvers.nonsmooth.active_rows": ["ActiveRowsInteriorPoint"],
        "gramian.solvers.smooth.newton": ["Newton"],
        "gramian.solvers.smooth.newton_cg": ["NewtonCG"],
        "gramian.solvers.first_order.perceptron": ["PerceptronAlgorithm"],
        "gramian.solvers.nonsmooth.primal_dual": ["PrimalDual"],
        "gramian.solvers.smooth.proximal_newton": ["ProximalNewton"],
        "gramian.solvers.smooth.reweighted": ["PowerNewton", "Reweighted"],
        "gramian.solvers.nonsmooth.root_hinge": ["RootDescent"],
        "gramian.solvers.first_order.stochastic": ["StochasticGradient"],
        "gramian.solvers.nonsmooth.row_space": ["RowSpaceInteriorPoint"],
    },
)

"""The algorithms in plain NumPy, one file a method, to be read beside the papers.

They are slow and explicit: lists of points, whole kernel matrices, a matrix solved at every step.
Tests compare the learners with them in every round, and `forks bench` measures what the learners
gain. Nothing here imports anything else of `forks`: an oracle that shared code or a constant with
what it checks would share its errors.

A kernel is a function of two matrices, a loss an object with `value`, `slope` and `curvature`, and
random choices are functions that the caller passes in. Most methods take a whole stream and return
the score of every row, made before anything is learned from it.
"""

from forks.oracles.adaptive import AdaptiveOracle
from forks.oracles.bogd import bogd
from forks.oracles.bpas import bpas
from forks.oracles.calibration import CalibrationLine, log_odds
from forks.oracles.conformal import ClassQuantiles, ResidualQuantiles
from forks.oracles.decompositions import svd_rank_k, tisvd_dense
from forks.oracles.experts import (
    MeanSquare,
    bayes_share,
    class_likelihood,
    entered,
    number_likelihood,
    without,
)
from forks.oracles.fogd import fogd
from forks.oracles.follower import CentredValues, fixed_share, follow
from forks.oracles.forgetron import forgetron
from forks.oracles.forks import Forks, ForksOptions, ForksResult, forks
from forks.oracles.gate import SlopeGate
from forks.oracles.kernels import gaussian, laplacian, linear, polynomial
from forks.oracles.keyed import FewFeatures, KeyedOracle
from forks.oracles.kogd import kogd
from forks.oracles.landmarks import Landmarks, independent_rows, median_distance
from forks.oracles.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    SquaredError,
    SquaredHinge,
)
from forks.oracles.machine import MachineOracle
from forks.oracles.merging import fork, merge, weight_in_fork
from forks.oracles.newton import dense_ons, lower_prior, newton_projection, newton_step
from forks.oracles.nogd import nogd
from forks.oracles.over_time import OverTimeOracle
from forks.oracles.perceptron import passive_aggressive, perceptron
from forks.oracles.persistence import LastLabels
from forks.oracles.prior import chosen_alpha, leave_one_out
from forks.oracles.projectron import linear_projectron, projectron
from forks.oracles.pros_n_kons import pros_n_kons
from forks.oracles.rbp import rbp
from forks.oracles.relevance import RelevanceSearch
from forks.oracles.rise import SlowRise
from forks.oracles.scaling import PlainScale
from forks.oracles.skegd import skegd
from forks.oracles.sketched_kons import kons, sketched_kons
from forks.oracles.start import next_event, ridge_fit, squared_hinge_fit
from forks.oracles.streams import adversarial
from forks.oracles.watch import PageWatch
from forks.oracles.wide import (
    BlendOracle,
    DiagonalOracle,
    Places,
    SparseKernelOracle,
    WideOracle,
    hash32,
)

__all__ = [
    "AdaptiveOracle",
    "BlendOracle",
    "CalibrationLine",
    "CentredValues",
    "ClassQuantiles",
    "DiagonalOracle",
    "EpsilonInsensitive",
    "FewFeatures",
    "Forks",
    "ForksOptions",
    "ForksResult",
    "Hinge",
    "Huber",
    "KeyedOracle",
    "Landmarks",
    "LastLabels",
    "Logistic",
    "MachineOracle",
    "MeanSquare",
    "OverTimeOracle",
    "PageWatch",
    "Places",
    "PlainScale",
    "RelevanceSearch",
    "ResidualQuantiles",
    "SlopeGate",
    "SlowRise",
    "SparseKernelOracle",
    "SquaredError",
    "SquaredHinge",
    "WideOracle",
    "adversarial",
    "bayes_share",
    "bogd",
    "bpas",
    "chosen_alpha",
    "class_likelihood",
    "dense_ons",
    "entered",
    "fixed_share",
    "fogd",
    "follow",
    "forgetron",
    "fork",
    "forks",
    "gaussian",
    "hash32",
    "independent_rows",
    "kogd",
    "kons",
    "laplacian",
    "leave_one_out",
    "linear",
    "linear_projectron",
    "log_odds",
    "lower_prior",
    "median_distance",
    "merge",
    "newton_projection",
    "newton_step",
    "next_event",
    "nogd",
    "number_likelihood",
    "passive_aggressive",
    "perceptron",
    "polynomial",
    "projectron",
    "pros_n_kons",
    "rbp",
    "ridge_fit",
    "skegd",
    "sketched_kons",
    "squared_hinge_fit",
    "svd_rank_k",
    "tisvd_dense",
    "weight_in_fork",
    "without",
]

"""The learners: one algorithm, one file. Those of the catalogue are exported here."""

from forks.kernels import Gaussian
from forks.learners.catalogue import *  # noqa: F403
from forks.learners.catalogue import CATALOGUE, Setting

_METHODS = {type(method.make(Setting(Gaussian()))).__name__ for method in CATALOGUE}
__all__ = sorted(_METHODS | {"Machine", "OverTime"})

"""The learners: one algorithm, one file."""

from forks.learners.adaptive import Adaptive
from forks.learners.bogd import BOGD
from forks.learners.bpas import BPAS
from forks.learners.fogd import FOGD
from forks.learners.forgetron import Forgetron
from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD
from forks.learners.nogd import NOGD
from forks.learners.projectron import Projectron
from forks.learners.projectron_pp import ProjectronPP
from forks.learners.pros_n_kons import PROSNKONS
from forks.learners.rbp import RBP
from forks.learners.skegd import SkeGD
from forks.learners.sketched_kons import SketchedKONS

__all__ = [
    "BOGD",
    "BPAS",
    "FOGD",
    "FORKS",
    "KOGD",
    "NOGD",
    "PROSNKONS",
    "RBP",
    "Adaptive",
    "Forgetron",
    "Projectron",
    "ProjectronPP",
    "SkeGD",
    "SketchedKONS",
]

"""The learners: one algorithm, one file."""

from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD
from forks.learners.pros_n_kons import PROSNKONS
from forks.learners.rbp import RBP
from forks.learners.sketched_kons import SketchedKONS

__all__ = ["FORKS", "KOGD", "PROSNKONS", "RBP", "SketchedKONS"]

"""The learners: one algorithm, one file."""

from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD
from forks.learners.rbp import RBP
from forks.learners.skegd import SkeGD

__all__ = ["FORKS", "KOGD", "RBP", "SkeGD"]

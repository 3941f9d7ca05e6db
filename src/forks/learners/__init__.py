"""The learners: one algorithm, one file."""

from forks.learners.bogd import BOGD
from forks.learners.fogd import FOGD
from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD
from forks.learners.nogd import NOGD
from forks.learners.rbp import RBP

__all__ = ["BOGD", "FOGD", "FORKS", "KOGD", "NOGD", "RBP"]

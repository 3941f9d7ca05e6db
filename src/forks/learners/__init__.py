"""The learners: one algorithm, one file."""

from forks.learners.forks import FORKS
from forks.learners.kogd import KOGD

__all__ = ["FORKS", "KOGD"]

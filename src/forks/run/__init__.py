"""Learning a stream with outputs and checkpoints: what `forks run` does, for Python too."""

from forks.run._learn import Finished, learn

__all__ = ["Finished", "learn"]

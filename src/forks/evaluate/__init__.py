"""Prequential evaluation: models on a stream, each row predicted before its label is used."""

from forks.evaluate._hindsight import hindsight, regret
from forks.evaluate._prequential import prequential
from forks.evaluate._tally import Checkpoint

__all__ = ["Checkpoint", "hindsight", "prequential", "regret"]

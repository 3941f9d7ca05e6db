"""Prequential evaluation: models on a stream, each row predicted before its label is used."""

from forks.evaluate._prequential import prequential
from forks.evaluate.metrics import Checkpoint
from forks.evaluate.regret import hindsight, regret

__all__ = ["Checkpoint", "hindsight", "prequential", "regret"]

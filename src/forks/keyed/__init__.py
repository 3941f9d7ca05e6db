"""One model per key: a common model for all, and for each key what it knows beyond that."""

from forks.keyed.classifier import KeyedClassifier
from forks.keyed.regressor import KeyedRegressor
from forks.keyed.saving import load

__all__ = ["KeyedClassifier", "KeyedRegressor", "load"]

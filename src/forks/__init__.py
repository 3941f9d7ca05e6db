"""Online kernel learning: one pass over a stream, bounded memory, microseconds per example."""

from forks.estimators import (
    FORKSClassifier,
    FORKSRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    load,
)
from forks.files import ModelFileError
from forks.linalg import SJLT, TISVD

__version__ = "0.1.0"

__all__ = [
    "SJLT",
    "TISVD",
    "FORKSClassifier",
    "FORKSRegressor",
    "ModelFileError",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "load",
]

"""Online kernel learning: one pass over a stream, bounded memory, microseconds per example."""

from forks.estimators import (
    FORKSClassifier,
    FORKSRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.linalg import SJLT, TISVD

__version__ = "0.1.0"

__all__ = [
    "SJLT",
    "TISVD",
    "FORKSClassifier",
    "FORKSRegressor",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
]

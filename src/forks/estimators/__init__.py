"""The scikit-learn face of the learners."""

from forks.estimators._online import MendWarning
from forks.estimators._saved import load
from forks.estimators.classifier import FORKSClassifier, OnlineKernelClassifier
from forks.estimators.regressor import FORKSRegressor, OnlineKernelRegressor

__all__ = [
    "FORKSClassifier",
    "FORKSRegressor",
    "MendWarning",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "load",
]

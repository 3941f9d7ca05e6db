"""The scikit-learn face of the learners."""

from forks.estimators.classifier import FORKSClassifier, OnlineKernelClassifier
from forks.estimators.mapping import KernelFeatures
from forks.estimators.merging import merge
from forks.estimators.order import LabelRunsWarning
from forks.estimators.regressor import FORKSRegressor, OnlineKernelRegressor
from forks.estimators.saving import load
from forks.estimators.warning import MendWarning

__all__ = [
    "FORKSClassifier",
    "FORKSRegressor",
    "KernelFeatures",
    "LabelRunsWarning",
    "MendWarning",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "load",
    "merge",
]

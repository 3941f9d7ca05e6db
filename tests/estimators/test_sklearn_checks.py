"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from forks import (
    FORKSClassifier,
    FORKSRegressor,
    KernelFeatures,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)

ESTIMATORS = [
    FORKSClassifier(),
    FORKSRegressor(),
    OnlineKernelClassifier(),
    OnlineKernelRegressor(),
    OnlineKernelClassifier("kogd"),
    KernelFeatures(),
]

# What scikit-learn's own SGD models declare too.
_ORDER = "an order-dependent learner does not treat a weight like a repeated row"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": _ORDER,
    "check_sample_weight_equivalence_on_sparse_data": _ORDER,
}


@pytest.mark.filterwarnings("ignore:FORKS.* is the FORKS learner:FutureWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn(estimator, check):
    check(estimator)

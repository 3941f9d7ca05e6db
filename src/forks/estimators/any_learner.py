"""What the two estimators over any learner share: the parameter `learner`."""

from typing import Any

from forks.estimators.base import OnlineEstimator, warn_caller
from forks.estimators.first_rows import Configured
from forks.estimators.named import configured


class AnyLearner(OnlineEstimator):
    """An estimator whose learner is a parameter."""

    learner: Any

    def _configured(self) -> Configured:
        return configured("adaptive" if self.learner is None else self.learner, self._task)

    def _warn_of_old_use(self) -> None:
        if self.learner is None:
            warn_caller('learner=None is deprecated: write learner="adaptive"', FutureWarning)

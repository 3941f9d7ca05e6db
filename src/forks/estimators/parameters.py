"""The flat parameters of `FORKSClassifier` and `FORKSRegressor`, turned into a learner."""

import inspect
from collections.abc import Iterable

from forks.estimators.base import OnlineEstimator, warn_caller
from forks.estimators.first_rows import Configured
from forks.estimators.named import check_task, chosen, kernel_from
from forks.learners import FORKS
from forks.losses import LOSSES

_OF_LEARNER = (
    "budget",
    "buffer",
    "sketch_size",
    "n_landmarks",
    "rank",
    "update_cycle",
    "eta",
    "alpha",
    "curvature",
    "on_update",
    "landmarks",
    "max_points",
)
_OF_UPDATES = ("on_update", "landmarks", "max_points")
_SHARED = ("budget", "buffer")  # which the default learner of before had, too


class ForksParameters(OnlineEstimator):
    """What the two estimators of the paper's learner share."""

    def _configured(self) -> Configured:
        kernel, metric = kernel_from(self.kernel, self.bandwidth)
        if self.scaling not in ("standard", None):
            raise ValueError(f"scaling must be 'standard' or None, got {self.scaling!r}")
        learner = FORKS(
            kernel=kernel,
            loss=chosen("loss", self.loss, LOSSES[self._task]),
            **{name: getattr(self, name) for name in _OF_LEARNER},
        )
        check_task(learner, self._task)
        if learner.sizes().update_cycle == 0:
            for name in self._changed(_OF_UPDATES):
                raise ValueError(f"{name} is for updates of the map, and update_cycle is 0: never")
        return Configured(learner, metric, self.scaling is not None)

    def _changed(self, names: Iterable[str]) -> list[str]:
        """Return the names of parameters that are not at their defaults."""
        usual = inspect.signature(type(self)).parameters
        return [name for name in names if getattr(self, name) != usual[name].default]

    def _warn_of_old_use(self) -> None:
        if not self._changed(name for name in _OF_LEARNER if name not in _SHARED):
            name = type(self).__name__
            now = name.replace("FORKS", "OnlineKernel")
            warn_caller(
                f"{name}() is the FORKS learner of the paper now; the default learner of before "
                f"is {now}()",
                FutureWarning,
            )

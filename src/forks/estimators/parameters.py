"""The flat parameters of `FORKSClassifier` and `FORKSRegressor`, turned into a learner."""

import numbers
from typing import Any

from forks.engine.checks import whole
from forks.estimators.bandwidth import MedianRule
from forks.estimators.base import median_rule_for
from forks.kernels import KERNELS
from forks.learners import FORKS, Adaptive
from forks.learners.adaptive import SMALLEST_BUFFER
from forks.losses import LOSSES

CLASSIFICATION, REGRESSION = LOSSES["classification"], LOSSES["regression"]

# What only the sketched learner has: who names one of these asks for it.
_SKETCHED = (
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
_SCALINGS = {"standard": "standard", None: "none"}


def chosen(name: str, value: Any, table: dict[str, Any]) -> Any:
    """Return what a word stands for; anything but a word stands for itself."""
    if isinstance(value, str):
        if value not in table:
            raise ValueError(f"{name} must be one of {', '.join(table)}, got {value!r}")
        return table[value]()
    return value


def _asks_for_median(estimator: Any) -> bool:
    kernel = chosen("kernel", estimator.kernel, KERNELS)
    by_name = isinstance(estimator.kernel, str) and hasattr(kernel, "bandwidth")
    return by_name and estimator.bandwidth == "median"


def learner_from(estimator: Any, loss_table: dict[str, Any]) -> Adaptive | FORKS:
    """Make the learner that an estimator's parameters describe."""
    kernel = chosen("kernel", estimator.kernel, KERNELS)
    bandwidth = estimator.bandwidth
    if isinstance(estimator.kernel, str) and hasattr(kernel, "bandwidth") and bandwidth != "median":
        if not isinstance(bandwidth, numbers.Real):
            raise ValueError(f"bandwidth must be 'median' or a positive number, got {bandwidth!r}")
        kernel = kernel._replace(bandwidth=bandwidth)
    loss = chosen("loss", estimator.loss, loss_table)
    whole("budget", estimator.budget, 1)
    if estimator.scaling not in _SCALINGS:
        raise ValueError(f"scaling must be 'standard' or None, got {estimator.scaling!r}")
    sketched = {name: getattr(estimator, name) for name in _SKETCHED}
    given = {name: value for name, value in sketched.items() if value is not None}
    if given:
        return FORKS(
            kernel=kernel, loss=loss, budget=estimator.budget, buffer=estimator.buffer, **given
        )
    buffer = estimator.buffer
    return Adaptive(
        kernel=kernel,
        loss=loss,
        buffer=max(SMALLEST_BUFFER, 5 * estimator.budget // 2) if buffer is None else buffer,
        scaling=_SCALINGS[estimator.scaling],
        bandwidth="median" if _asks_for_median(estimator) else "absolute",
    )


class ForksParameters:
    """Mixin: the learner and the median rule of the two FORKS estimators."""

    _losses: dict[str, Any]

    def _learner(self) -> Adaptive | FORKS:
        return learner_from(self, self._losses)

    def _median_rule(self) -> MedianRule | None:
        learner = self._learner()
        if isinstance(learner, Adaptive) or not _asks_for_median(self):
            return None  # the first finds its own
        return median_rule_for(learner)

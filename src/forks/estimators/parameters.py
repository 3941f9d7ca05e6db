"""The parameters of estimators, and the learner that they describe."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from forks.estimators.base import OnlineEstimator
from forks.estimators.first_rows import Configured
from forks.estimators.named import check_task, chosen, configured, kernel_from
from forks.estimators.nested import settings_of, with_settings
from forks.estimators.warning import warn_caller
from forks.learners import FORKS
from forks.losses import LOSSES

_OF_UPDATES = ("on_update", "landmarks", "max_points")
_SHARED = ("budget", "buffer")  # which the default learner of before had, too


@dataclass(eq=False, repr=False)
class AnyLearner(OnlineEstimator):
    """An estimator whose learner is a parameter."""

    learner: Any = "adaptive"
    _: KW_ONLY
    effort: str = "balanced"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also the settings of the learner.

        Parameters
        ----------
        deep : bool
            Whether settings of a learner are included, as `learner__budget` and so on.
        """
        found = dict(super().get_params(deep=False))
        settings = settings_of(self.learner) if deep else {}
        return found | {f"learner__{name}": value for name, value in settings.items()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters; `learner__budget` and so on set those of the learner.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        self
        """
        prefix = "learner__"
        nested = {k.removeprefix(prefix): params[k] for k in params if k.startswith(prefix)}
        own = {key: value for key, value in params.items() if not key.startswith(prefix)}
        learner = own.get("learner", self.learner)
        if nested:
            own["learner"] = with_settings("adaptive" if learner is None else learner, nested)
        return super().set_params(**own)

    def _configured(self) -> Configured:
        learner = "adaptive" if self.learner is None else self.learner
        return configured(learner, self._task, self.effort)

    def _warn_of_old_use(self) -> None:
        if self.learner is None:
            warn_caller('learner=None is deprecated: write learner="adaptive"', FutureWarning)


@dataclass(eq=False, repr=False)
class ForksParameters(OnlineEstimator):
    """What the two estimators of the paper's learner share."""

    budget: int = 100
    _: KW_ONLY
    buffer: int | None = None
    sketch_size: int | None = None
    n_landmarks: int | None = None
    rank: int | None = None
    update_cycle: int | None = None
    kernel: Any = "rbf"
    bandwidth: Any = "median"
    loss: Any = None  # every subclass has its own
    scaling: str | None = "standard"
    eta: float = 0.2
    alpha: float = 1.0
    curvature: float = 0.3
    on_update: str = "carry"
    landmarks: str = "fixed"
    max_points: int | None = None

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
        return [name for name in names if getattr(self, name) != getattr(type(self), name)]

    def _warn_of_old_use(self) -> None:
        if not self._changed(name for name in _OF_LEARNER if name not in _SHARED):
            name = type(self).__name__
            now = name.replace("FORKS", "OnlineKernel")
            warn_caller(
                f"{name}() is the FORKS learner of the paper now; the default learner of before "
                f"is {now}()",
                FutureWarning,
            )


_OF_LEARNER = tuple(  # in which kernel and loss are built first
    field.name
    for field in fields(ForksParameters)
    if field.name not in ("kernel", "bandwidth", "loss", "scaling")
)

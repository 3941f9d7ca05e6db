"""Learners by name: a method of the catalogue with the usual loss of a task."""

import numbers
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from scipy import sparse

from forks.engine import Learner
from forks.engine.checks import one_of, whole
from forks.estimators.first_rows import Configured
from forks.kernels import KERNELS, METRICS
from forks.learners import Adaptive, Machine, OverTime, Wide
from forks.learners.catalogue import Setting, find
from forks.learners.machine import SMALLEST_BUFFER
from forks.losses import LOSSES, Hinge, SquaredError, SquaredHinge

_ROUNDS = 10_000  # of a stream of unknown length: sets update cycles only


def configured(given: Any, task: str, effort: str = "balanced") -> Configured:
    """Return the learner that a name, a name with settings, or a configuration stands for.

    `given` is a name of `forks.learners.catalogue`; a dict with a "name" and settings, such as
    ``{"name": "nogd", "budget": 50, "loss": "logistic"}``; or a learner, which is returned. With a
    name, the kernel is a Gaussian one and its bandwidth is to be set from the data, unless the
    settings say otherwise.
    """
    one_of("effort", effort, tuple(EFFORTS))
    if isinstance(given, str):
        given = {"name": given}
    if isinstance(given, Mapping) and str(given.get("name")).lower() == "adaptive":
        if effort != "fast":
            return _over_time(task, EFFORTS[effort], **{k: given[k] for k in given if k != "name"})
    elif effort != "balanced":
        raise ValueError(f'effort={effort!r} is for learner="adaptive", got {given!r}')
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        return _named(task, **given)
    if not isinstance(given, Learner):
        raise ValueError(
            f"learner must be a name of the catalogue or one of forks.learners, got {given!r}"
        )
    check_task(given, task)
    return Configured(given)


def is_wide(X: Any) -> bool:
    """Return whether the default learner for rows like X is `Wide`: by their form and width."""
    return bool(sparse.issparse(X) and X.shape[1] > WIDEST)


def configured_wide(task: str, effort: str) -> Configured:
    """Return the learner for wide sparse rows, with as many landmarks as the effort allows."""
    one_of("effort", effort, tuple(EFFORTS))
    loss = SquaredError() if task == "regression" else SquaredHinge()
    return Configured(Wide(loss=loss, landmarks=WIDE_LANDMARKS[effort]))


def check_task(learner: Learner, task: str) -> None:
    """Raise an error if a learner is not for a task."""
    if task not in learner.tasks:
        if hasattr(learner, "loss"):
            raise ValueError(f"loss must be a {task} loss, got {learner.loss!r}")
        raise ValueError(f"learner must be one for {task}, got {learner!r}")


def chosen(name: str, value: Any, table: Mapping[str, Any]) -> Any:
    """Return what a word stands for; anything but a word stands for itself."""
    if isinstance(value, str):
        if value not in table:
            meant = _MEANT.get(value.lower().replace("-", "_").replace(" ", "_"))
            hint = f": {meant!r} is what that is called here" if meant in table else ""
            raise ValueError(f"{name} must be one of {', '.join(table)}, got {value!r}{hint}")
        return table[value]()
    return value


# Words of other libraries.
_MEANT = {
    "gaussian": "rbf",
    "gauss": "rbf",
    "squared_exponential": "rbf",
    "laplace": "laplacian",
    "polynomial": "poly",
    "log_loss": "logistic",
    "log": "logistic",
    "cross_entropy": "logistic",
    "deviance": "logistic",
    "squared_hinge_loss": "squared_hinge",
    "mse": "squared_error",
    "squared": "squared_error",
    "squared_loss": "squared_error",
    "l2": "squared_error",
    "epsilon": "epsilon_insensitive",
    "svr": "epsilon_insensitive",
    "huber_loss": "huber",
}


def kernel_from(given: Any, bandwidth: Any) -> tuple[Any, str | None]:
    """Return a kernel, and the metric if its bandwidth is to be the median distance, or None.

    `given` is a word of `forks.kernels.KERNELS`, or a kernel, which has its own bandwidth;
    `bandwidth` is "median" or a number, for a kernel named by a word.
    """
    kernel = chosen("kernel", given, KERNELS)
    is_set_here = isinstance(given, str) and "bandwidth" in kernel._fields
    if isinstance(bandwidth, str) and bandwidth == "median":
        return kernel, METRICS[type(kernel)] if is_set_here else None
    if not isinstance(bandwidth, numbers.Real):
        raise ValueError(f"bandwidth must be 'median' or a positive number, got {bandwidth!r}")
    if not is_set_here:
        raise ValueError(
            f"bandwidth is for the kernels named 'rbf' and 'laplacian', got {bandwidth!r} with the "
            f"kernel {given!r}"
        )
    return kernel._replace(bandwidth=bandwidth), None


class Effort(NamedTuple):
    """Sizes of the default learner."""

    experts: int
    small: int  # landmarks of the recent experts
    large: int  # and of those that live long


# What `effort` stands for; "fast" is a single machine, `Adaptive`.
EFFORTS = {"fast": None, "balanced": Effort(7, 192, 400), "best": Effort(10, 300, 1000)}
WIDEST = 512  # features of sparse rows; the machines have no linear part beyond
WIDE_LANDMARKS = {"fast": 0, "balanced": 512, "best": 1024}
_BUDGET = 100  # for which these sizes are meant; others are in proportion
_OF_MACHINES = ("scaling", "bandwidth", "linear", "robust")


def _over_time(task: str, effort: Any, **settings: Any) -> Configured:
    """Return experts over time; settings are those of the machines, or of the combinator."""
    given = settings.pop("kernel", "rbf"), settings.pop("bandwidth", "median")
    kernel, metric = kernel_from(*given)
    usual = SquaredError() if task == "regression" else SquaredHinge()
    loss = chosen("loss", settings.pop("loss", usual), LOSSES[task])
    of_machines = {name: settings.pop(name) for name in _OF_MACHINES if name in settings}
    if of_machines.get("scaling", "") is None:
        of_machines["scaling"] = "none"
    unit = "absolute" if metric is None else "median"
    machine = Machine(kernel=kernel, loss=loss, **{"bandwidth": unit, **of_machines})
    budget = settings.pop("budget", _BUDGET)
    whole("budget", budget, 1)
    small, large = (
        max(SMALLEST_BUFFER, size * budget // _BUDGET) for size in (effort.small, effort.large)
    )
    known = ("budget", "experts", "window", "relevance", "restart", "repeat")
    for key in settings:
        if key not in known:
            names = ", ".join(("kernel", "loss", *_OF_MACHINES, *known))
            raise ValueError(f"the adaptive learner has no {key!r}; it has {names}")
    learner = OverTime(
        learner=replace(machine, buffer=small),
        long=replace(machine, buffer=large),
        **{"experts": effort.experts, **settings},
    )
    check_task(learner, task)
    return Configured(learner)


def _named(task: str, name: str, budget: int = 100, **settings: Any) -> Configured:
    method = find(name)
    if task == "regression" and not method.regression:
        raise ValueError(f"learner: {method.name} is for classification only")
    whole("budget", budget, 1)
    given = settings.pop("kernel", "rbf"), settings.pop("bandwidth", "median")
    kernel, metric = kernel_from(*given)
    own = {field: settings.pop(field) for field in kernel._fields if field in settings}
    kernel = kernel._replace(**own)
    usual: Any = SquaredHinge() if method.name == "Adaptive" else Hinge()
    usual = SquaredError() if task == "regression" else usual
    loss = chosen("loss", settings.get("loss", usual), LOSSES[task])
    made: Any = method.make(Setting(kernel, budget, _ROUNDS, loss))
    names = [field.name for field in fields(made)]
    for key in settings:
        if key not in names:
            raise ValueError(f"{method.name} has no {key!r}; it has {', '.join(names)}")
    if "loss" in settings:
        settings["loss"] = loss
    if isinstance(made, Adaptive):  # which scales rows and sets its bandwidth itself
        unit = "absolute" if metric is None else "median"
        if settings.get("scaling", "none") is None:
            settings["scaling"] = "none"
        buffer = max(SMALLEST_BUFFER, 5 * budget // 2)
        settings = {"kernel": kernel, "bandwidth": unit, "buffer": buffer, **settings}
        metric = None
    learner = replace(made, **settings)
    check_task(learner, task)
    return Configured(learner, metric)

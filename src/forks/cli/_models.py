"""The model that the options of `forks run` describe."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from forks import losses
from forks.estimators import (
    FORKSClassifier,
    FORKSRegressor,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
)
from forks.estimators.bandwidth import median_distance
from forks.estimators.parameters import CLASSIFICATION, REGRESSION
from forks.kernels import KERNELS, METRICS
from forks.learners.catalogue import Setting, find

_LOOK = 500  # rows whose median distance is the bandwidth
_MOST_CLASSES = 20
_ROUNDS = 10_000  # of a stream whose length nobody knows: sets update cycles only


def task_of(y: np.ndarray) -> str:
    """Guess the task by the labels of the first look.

    Text is classes; numbers are, too, if all are whole and at most 20 are different.
    """
    if y.dtype.kind not in "biuf":
        return "classification"
    few = len(np.unique(y)) <= _MOST_CLASSES
    return "classification" if few and np.all(y == np.round(y)) else "regression"


def settings_of(given: list[str]) -> dict[str, Any]:
    """Read key=value: whole numbers, numbers, true, false, none, or words."""
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise ValueError(f"--set takes key=value, got {text!r}")
        settings[key] = _value(value)
    return settings


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def make_model(task: str, learner: str | None, settings: dict[str, Any], seed: int, X: Any) -> Any:
    """Make the estimator; X are the first rows, for a bandwidth that is not given."""
    classifies = task == "classification"
    if learner is None:
        default = FORKSClassifier if classifies else FORKSRegressor
        _check_names(settings, default().get_params(), "the default model")
        return default(**{**settings, "random_state": seed})
    method = find(learner)
    if not classifies and not method.regression:
        raise ValueError(f"{method.name} is for classification only")
    table = CLASSIFICATION if classifies else REGRESSION
    settings = dict(settings)
    loss = _chosen("loss", settings.pop("loss", None), table)
    if loss is None:
        loss = losses.Hinge() if classifies else losses.SquaredError()
    kernel = _kernel(settings, X)
    budget = settings.pop("budget", 100)
    made: Any = method.make(Setting(kernel, budget, _ROUNDS, loss))
    names = [field.name for field in fields(made)]
    _check_names(settings, names, method.name)
    estimator = OnlineKernelClassifier if classifies else OnlineKernelRegressor
    return estimator(replace(made, **settings), random_state=seed)


def _check_names(settings: dict[str, Any], names: Any, what: str) -> None:
    for key in settings:
        if key not in names:
            raise ValueError(f"--set: {what} has no {key!r}; it has {', '.join(names)}")


def _chosen(name: str, word: Any, table: dict[str, Any]) -> Any:
    if word is None:
        return None
    if word not in table:
        raise ValueError(f"--set: {name} must be one of {', '.join(table)}, got {word!r}")
    return table[word]()


def _kernel(settings: dict[str, Any], X: Any) -> Any:
    """Return the kernel; a bandwidth that is not given is the median distance of the first rows."""
    kernel = _chosen("kernel", settings.pop("kernel", "rbf"), KERNELS)
    own = {name: settings.pop(name) for name in kernel._fields if name in settings}
    if "bandwidth" in kernel._fields and "bandwidth" not in own:
        metric = METRICS.get(type(kernel), "euclidean")
        own["bandwidth"] = median_distance(X[:_LOOK], metric)
    return kernel._replace(**own)

"""The model that the options of `forks run` describe."""

from typing import Any

import numpy as np

from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.named import configured

_OF_CLASSIFIER = ("class_weight",)  # settings of the estimator, not of the learner
_MOST_CLASSES = 20


def task_of(y: np.ndarray) -> str:
    """Guess the task by the labels of the first rows.

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


def make_model(
    task: str, learner: str, settings: dict[str, Any], seed: int, effort: str = "balanced"
) -> Any:
    """Make the estimator; an error names the setting that is wrong."""
    kind: Any = OnlineKernelClassifier if task == "classification" else OnlineKernelRegressor
    own = {name: settings[name] for name in _OF_CLASSIFIER if name in settings}
    if own and task == "regression":
        raise ValueError(f"--set: {', '.join(own)} is for classification")
    of_learner = {name: value for name, value in settings.items() if name not in own}
    named = {"name": learner, **of_learner} if of_learner else learner
    configured(named, task, effort)
    return kind(named, effort=effort, **own, random_state=seed)

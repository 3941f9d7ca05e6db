"""The model that the options of `forks run` describe."""

from typing import Any

import numpy as np

from forks.cli._app import tell
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.named import configured
from forks.streams import StreamError

_OF_CLASSIFIER = ("class_weight",)  # settings of the estimator, not of the learner
_MOST_CLASSES = 20  # numbers that are taken for classes
_OFTEN = 3  # times that each of them comes, on average
_SHOWN = 6  # classes


def guess_task(y: np.ndarray) -> tuple[str, str]:
    """Guess the task by the labels of the first rows; return it and the reason.

    Text is classes. Numbers are, too, if all are whole and at most 20 are different, which come
    three times each on average, or are two.
    """
    values = np.unique(y)
    n = len(values)
    if y.dtype.kind not in "biuf":
        return "classification", _classes(values)
    few = n <= _MOST_CLASSES and (n <= 2 or n * _OFTEN <= len(y))
    if few and np.all(values == np.round(values)):
        return "classification", _classes(values)
    if n == 1:
        return "regression", f"always {values[0]:g}"
    return "regression", f"{n:,} different numbers in {len(y):,} rows"


def _classes(values: np.ndarray) -> str:
    """Return how many classes there are, and some of them."""
    from forks.evaluate.predictions import plain

    shown = [plain(value) for value in values[:_SHOWN]]
    named = ", ".join([*shown, "..."] if len(values) > _SHOWN else shown)
    return f"{len(values):,} class{'' if len(values) == 1 else 'es'}: {named}"


def check_labels(file: Any, y: np.ndarray, task: str, told: bool) -> None:
    """Check that the first labels are something that can be learned."""
    if len(y) == 0:
        label = file.input.label_name
        where = "" if label is None else f" in column {label!r} (--label names another)"
        raise StreamError(f"{file.name}: not one of the first rows has a label{where}")
    if task == "regression" and y.dtype.kind not in "biuf":
        raise StreamError(f"{file.name}: the labels are text, and regression needs numbers")
    n = len(np.unique(y)) if task == "classification" else 0
    if not told and n > _MOST_CLASSES and 2 * n > len(y):
        for note in file.notes:
            tell(note)
        raise StreamError(
            f"{file.name}: the label has {n:,} different values in {len(y):,} rows, which are "
            "hardly classes (--label names another column, --task classification learns it)"
        )


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

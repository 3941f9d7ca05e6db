"""Data sets of the literature on streams.

The default with each effort, each row predicted before it is learned, in the order of the file
where that means something, else in a random one. Mistakes are in %, errors in the unit of the label
(root mean squared). "last label" repeats the label of the row before, "constant" answers the class
that turned out most frequent, or the mean label; kappa-temporal is 1 - mistakes over those of the
last label.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from forks import OnlineKernelClassifier, OnlineKernelRegressor, datasets
from forks.datasets.literature import LITERATURE
from forks.evaluate import player_for
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part
from forks.experiments.record import Missing

_OURS = "balanced"


def measure(rows: int = 200_000, efforts: tuple[str, ...] = ("fast", _OURS)) -> Iterator[Number]:
    """Play every data set that is at hand and can be read."""
    found = [entry for entry in LITERATURE if entry.read is not None]
    if not any(datasets.at_hand(entry.name) for entry in found):
        raise Missing("none of the data sets is at hand")
    for entry in found:
        if datasets.at_hand(entry.name):
            yield from _play(entry, rows, efforts)


_LINES = {
    "classification": (
        ("last label", "last_label_mistake_rate", 100.0),
        ("constant", "majority_mistake_rate", 100.0),
        ("kappa-temporal", "kappa_temporal", 1.0),
    ),
    "regression": (
        ("last label", "last_value_root_mean_squared_error", 1.0),
        ("constant", "mean_value_root_mean_squared_error", 1.0),
    ),
}


def _play(entry: datasets.DataSet, rows: int, efforts: tuple[str, ...]) -> Iterator[Number]:
    X, y = datasets.load(entry.name)
    order = slice(rows) if entry.time_order else datasets.order(len(y), SEED)[:rows]
    X, y = X[order], y[order]
    settings = {"rows": len(y), "order": "file" if entry.time_order else "random"}
    regression = entry.task == "regression"
    kind: Any = OnlineKernelRegressor if regression else OnlineKernelClassifier
    for effort in efforts:
        classes = None if regression else np.unique(y)
        player = player_for(effort, kind(effort=effort), classes=classes)
        player.play(X, y)
        at = player.checkpoint()
        error = float(np.sqrt(at.squared_error)) if regression else 100.0 * at.mistake_rate
        yield Number(entry.name, error, settings=settings, column=effort)
    for column, name, factor in _LINES[entry.task]:
        yield Number(entry.name, factor * at.figures[name], settings=settings, column=column)


PART = Part(__doc__, measure, {"rows": 5_000, "efforts": (_OURS,)})

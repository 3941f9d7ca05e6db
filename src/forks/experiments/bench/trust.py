"""What probabilities, intervals and saved models are worth.

The default model, nothing tuned. *Calibration*: on the sets of the paper, in random order, each row
predicted before it is learned, the expected calibration error after the first 1,000 rows (fifteen
bins of equal width), beside that which true probabilities would have by chance, and the log loss
over that of the best line through the log-odds, fitted in hindsight; of saved models, on 5,000 rows
after 15,000 of made-up sets. *Coverage*: how many of the
targets lie in 90 % intervals, the least and the most in a tenth of the stream after 500 rows.
*Saved models*: nine tenths of a stream are learned, the rest is predicted without labels, in the
order of the file where that means something; points above the mistakes of the most frequent class,
or the error over that of the mean.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from forks import OnlineKernelClassifier, OnlineKernelRegressor, datasets
from forks.datasets.literature import LITERATURE
from forks.engine import Matrix, Vector
from forks.experiments.bench._data import SEED, data_set
from forks.experiments.bench._part import Number, Part
from forks.streams import CHANGING, changing

_SETS = ("german", "svmguide3", "spambase", "cod-rna", "w7a", "ijcnn1")
_START, _BINS, _SURE = 1_000, 15, 1e-6
_LEVEL, _FIRST, _TENTHS = 0.9, 500, 10


def measure(
    rows: int = 60_000,
    sets: tuple[str, ...] = _SETS,
    streams: tuple[str, ...] = tuple(CHANGING),
    others: bool = True,
) -> Iterator[Number]:
    """Measure calibration on `sets`, saved models on made-up `streams`, and all on the `others`."""
    for name in sets:
        yield from _calibration(name, rows)
    for name, (X, y) in _made_up(rows).items():
        learned = len(y) * 3 // 4
        model = OnlineKernelClassifier().partial_fit(X[:learned], y[:learned], classes=[0, 1])
        p = model.predict_proba(X[learned:])[:, 1]
        yield from _calibration_errors(f"{name}, saved", p, y[learned:] > 0)
    found = [entry for entry in LITERATURE if entry.read and datasets.at_hand(entry.name)]
    for entry in found if others else ():
        X, y = _in_order(entry, rows)
        if entry.task == "regression":
            yield from _coverage(entry.name, X, y)
        yield _saved(entry.name, X, y, entry.task)
    for name in streams:
        yield _saved(name, *changing(name, min(rows, 30_000), SEED + 1), "classification")


def _calibration(name: str, rows: int) -> Iterator[Number]:
    X, y = data_set(name)
    order = datasets.order(len(y), SEED)[:rows]
    X, y = X[order], y[order]
    p = 0.5 + 0.5 * OnlineKernelClassifier().prequential(X, y, classes=[-1, 1])[_START:]
    right = y[_START:] > 0
    if not len(right):
        return
    yield from _calibration_errors(name, p, right)
    loss = log_loss(right, np.clip(p, _SURE, 1.0 - _SURE))
    ratio = loss / log_loss(right, recalibrated(p, right))
    yield Number(f"{name}: log loss over that of the best line", ratio, at_most=1.02)


def _calibration_errors(name: str, p: Vector, y: Any) -> Iterator[Number]:
    yield Number(f"{name}: calibration error", calibration_error(p, y), at_most=0.02)
    yield Number(f"{name}: the same by chance", error_by_chance(p))


def calibration_error(p: Vector, y: Any) -> float:
    """Return the mean distance of probabilities from frequencies, over bins of equal width."""
    bins = np.minimum((p * _BINS).astype(int), _BINS - 1)
    sums = np.bincount(bins, weights=p - y, minlength=_BINS)
    return float(np.abs(sums).sum() / len(y))


def error_by_chance(p: Vector) -> float:
    """Return the calibration error that true probabilities have on so many rows, by chance."""
    rng = np.random.default_rng(SEED)
    return float(np.mean([calibration_error(p, rng.random(len(p)) < p) for _ in range(50)]))


def recalibrated(p: Vector, y: Any) -> Vector:
    """Return the probabilities of the best line through the log-odds, in hindsight."""
    p = np.clip(p, _SURE, 1.0 - _SURE)
    odds = np.log(p / (1.0 - p))[:, None]
    line = LogisticRegression(C=1e6, max_iter=1000).fit(odds, y)
    return np.asarray(line.predict_proba(odds)[:, 1])


def _made_up(rows: int) -> dict[str, tuple[Matrix, Vector]]:
    n = min(rows, 20_000)
    made = {"n_samples": n, "n_features": 20, "n_informative": 8, "random_state": SEED}
    return {
        "moons": make_moons(n, noise=0.3, random_state=SEED),
        "made-up classes": make_classification(flip_y=0.02, **made),
        "3 % of one class": make_classification(weights=[0.97], flip_y=0.0, **made),
    }


def _in_order(entry: datasets.DataSet, rows: int) -> tuple[Matrix, Any]:
    X, y = datasets.load(entry.name)
    order = slice(rows) if entry.time_order else datasets.order(len(y), SEED)[:rows]
    return X[order], y[order]


def _coverage(name: str, X: Matrix, y: Vector) -> Iterator[Number]:
    ends = OnlineKernelRegressor().prequential(X, y, interval=_LEVEL)[1][_FIRST:]
    inside = (ends[:, 0] <= y[_FIRST:]) & (y[_FIRST:] <= ends[:, 1])
    shares = [100.0 * part.mean() for part in np.array_split(inside, _TENTHS)]
    yield Number(f"{name}: least coverage of a tenth", min(shares), "%", at_least=88.0)
    yield Number(f"{name}: most coverage of a tenth", max(shares), "%", at_most=92.0)


def _saved(name: str, X: Matrix, y: Any, task: str) -> Number:
    """Return how much worse a model that learns no more is than a constant on the rows to come."""
    learned = len(y) * 9 // 10
    past, rest = y[:learned], y[learned:]
    if task == "regression":
        p = OnlineKernelRegressor().partial_fit(X[:learned], past).predict(X[learned:])
        ratio = np.sqrt(np.mean((p - rest) ** 2) / np.mean((past.mean() - rest) ** 2))
        return Number(f"{name}, saved: error over that of the mean", float(ratio), at_most=1.0)
    classes, counts = np.unique(past, return_counts=True)
    model = OnlineKernelClassifier().partial_fit(X[:learned], past, classes=np.unique(y))
    wrong = np.mean(model.predict(X[learned:]) != rest)
    constant = np.mean(rest != classes[counts.argmax()])
    points = 100.0 * float(wrong - constant)
    return Number(f"{name}, saved: mistakes above the majority's", points, "points", at_most=0.0)


PART = Part(__doc__, measure, {"rows": 1_500})

"""Streams that change.

Mistakes of every round in %, the mean over seeds, on the streams of `forks.streams.changing` and on
those that River generates: the default with each effort, with one of its parts switched off at a
time, and River's adaptive random forest, Hoeffding adaptive tree and logistic regression on scaled
features, on the same rows. "last label" repeats the label of the row before; kappa-temporal is
1 - mistakes over its.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from forks import OnlineKernelClassifier
from forks.engine import Matrix
from forks.evaluate import player_for
from forks.experiments.bench._part import Number, Part
from forks.experiments.record import Missing
from forks.streams import CHANGING, changing

_OURS = "balanced"
_VARIANTS: dict[str, dict[str, Any]] = {
    _OURS: {},
    "fast": {"effort": "fast"},
    "best": {"effort": "best"},
    "no relevance": {"learner": {"name": "adaptive", "relevance": False}},
    "no restart": {"learner": {"name": "adaptive", "restart": False}},
    "no last label": {"learner": {"name": "adaptive", "repeat": False}},
    "three experts": {"learner": {"name": "adaptive", "experts": 3}},
}
_FOREST, _TREE, _LINEAR = _PEERS = (
    "adaptive random forest",
    "Hoeffding adaptive tree",
    "scaled logistic regression",
)


def measure(rows: int = 30_000, seeds: int = 1, peers: bool = True) -> Iterator[Number]:
    """Play every stream with every variant, and with the peers."""
    for name in (*CHANGING, *_FROM_RIVER):
        streams = [_stream(name, rows, seed) for seed in range(1, seeds + 1)]
        settings = {"rows": rows, "seeds": seeds}
        ours = 0.0
        for variant, options in _VARIANTS.items():
            rate = _rate([OnlineKernelClassifier(**options) for _ in streams], streams)
            ours = rate if variant == _OURS else ours
            yield Number(name, rate, settings=settings, column=variant)
        last = float(np.mean([100.0 * np.mean(y[1:] != y[:-1]) for _, y in streams]))
        yield Number(name, last, settings=settings, column="last label")
        kappa = 1.0 - ours / last if last > 0.0 else 0.0
        yield Number(name, kappa, settings=settings, column="kappa-temporal")
        if peers:
            for peer in _PEERS:
                rate = _rate([_peer(peer) for _ in streams], streams)
                yield Number(name, rate, settings=settings, column=peer)


def _rate(models: list[Any], streams: list[tuple[Matrix, Any]]) -> float:
    rates = []
    for model, (X, y) in zip(models, streams, strict=True):
        player = player_for("", model, classes=np.unique(y))
        player.play(X, y)
        rates.append(100.0 * player.checkpoint().mistake_rate)
    return float(np.mean(rates))


def _stream(name: str, rows: int, seed: int) -> tuple[Matrix, Any]:
    if name in CHANGING:
        return changing(name, rows, seed)
    events = list(islice(_river_stream(name, rows, seed), rows))
    names = list(events[0][0])
    codes: dict[Any, dict[Any, int]] = {key: {} for key in names}
    X = [[_number(codes[key], x[key]) for key in names] for x, _ in events]
    return np.array(X, np.float64), np.array([int(y) for _, y in events])


def _number(codes: dict[Any, int], value: Any) -> float:
    """Return a number as it is, and a word as its code."""
    if isinstance(value, str):
        return float(codes.setdefault(value, len(codes)))
    return float(value)


_FROM_RIVER = (
    "rbf-drift-slow",
    "rbf-drift-fast",
    "hyperplane",
    "led-drift",
    "random-tree",
    "agrawal-gradual",
    "sea-abrupt",
    "waveform-noise",
)


def _river_stream(name: str, rows: int, seed: int) -> Any:
    try:
        from river.datasets import synth
    except ModuleNotFoundError as error:
        raise Missing("River is not installed: pip install 'forks-learn[river]'") from error
    make: Any = synth  # whose types are those of single classes
    if name.startswith("rbf-drift"):
        return make.RandomRBFDrift(
            seed_model=seed,
            seed_sample=seed,
            n_classes=4,
            n_features=10,
            n_centroids=30,
            n_drift_centroids=30,
            change_speed=1e-4 if name.endswith("slow") else 1e-3,
        )
    if name in ("agrawal-gradual", "sea-abrupt"):
        if name == "sea-abrupt":
            both = [make.SEA(variant=v, seed=seed, noise=0.1) for v in (0, 2)]
        else:
            both = [make.Agrawal(classification_function=f, seed=seed) for f in (2, 5)]
        width = 500 if name == "sea-abrupt" else rows // 10
        return make.ConceptDriftStream(*both, seed=seed, position=rows // 2, width=width)
    if name == "hyperplane":
        moving = {"n_features": 10, "n_drift_features": 5, "mag_change": 0.001}
        return make.Hyperplane(seed=seed, noise_percentage=0.05, **moving)
    if name == "led-drift":
        noise = {"noise_percentage": 0.1, "irrelevant_features": True}
        return make.LEDDrift(seed=seed, n_drift_features=4, **noise)
    if name == "random-tree":
        return make.RandomTree(seed_tree=seed, seed_sample=seed, n_classes=3)
    return make.Waveform(seed=seed, has_noise=True)


def _peer(name: str) -> Any:
    try:
        from river import forest, linear_model, multiclass, preprocessing, tree
    except ModuleNotFoundError as error:
        raise Missing("River is not installed: pip install 'forks-learn[river]'") from error
    if name == _FOREST:
        return forest.ARFClassifier(seed=0)
    if name == _TREE:
        return tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    regression = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    return preprocessing.StandardScaler() | regression


PART = Part(__doc__, measure, {"rows": 2_000, "seeds": 1, "peers": False})

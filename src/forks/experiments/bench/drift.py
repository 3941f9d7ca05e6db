"""Streams that change.

Mistakes of every round in %, the mean over seeds, on the streams of `forks.streams.changing` and on
those that River generates: the default with each effort, with one of its parts switched off at a
time, and River's adaptive random forest, Hoeffding adaptive tree and logistic regression on scaled
features, on the same rows. "last label" repeats the label of the row before; kappa-temporal is
1 - mistakes over its.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from forks import OnlineKernelClassifier
from forks.engine import Matrix
from forks.evaluate import player_for
from forks.experiments.bench._part import Number, Part
from forks.experiments.record import needed
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
        for peer, make in _peers().items() if peers else ():
            rate = _rate([make() for _ in streams], streams)
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
    with needed("River", "'forks-learn[river]'"):
        from river.datasets import synth
    events = list(islice(_FROM_RIVER[name](synth, rows, seed), rows))
    names = list(events[0][0])
    codes: dict[Any, dict[Any, int]] = {key: {} for key in names}
    X = [[_number(codes[key], x[key]) for key in names] for x, _ in events]
    return np.array(X, np.float64), np.array([int(y) for _, y in events])


def _number(codes: dict[Any, int], value: Any) -> float:
    """Return a number as it is, and a word as its code."""
    if isinstance(value, str):
        return float(codes.setdefault(value, len(codes)))
    return float(value)


def _moving_centres(synth: Any, seed: int, speed: float) -> Any:
    seeds = {"seed_model": seed, "seed_sample": seed}
    sizes = {"n_classes": 4, "n_features": 10, "n_centroids": 30, "n_drift_centroids": 30}
    return synth.RandomRBFDrift(**seeds, **sizes, change_speed=speed)


def _hyperplane(synth: Any, rows: int, seed: int) -> Any:
    moving = {"n_features": 10, "n_drift_features": 5, "mag_change": 0.001}
    return synth.Hyperplane(seed=seed, noise_percentage=0.05, **moving)


def _led(synth: Any, rows: int, seed: int) -> Any:
    noise = {"noise_percentage": 0.1, "irrelevant_features": True}
    return synth.LEDDrift(seed=seed, n_drift_features=4, **noise)


def _agrawal(synth: Any, rows: int, seed: int) -> Any:
    both = [synth.Agrawal(classification_function=f, seed=seed) for f in (2, 5)]
    return synth.ConceptDriftStream(*both, seed=seed, position=rows // 2, width=rows // 10)


def _sea(synth: Any, rows: int, seed: int) -> Any:
    both = [synth.SEA(variant=v, seed=seed, noise=0.1) for v in (0, 2)]
    return synth.ConceptDriftStream(*both, seed=seed, position=rows // 2, width=500)


# What makes the streams of River, from its module, the number of rows and a seed.
_FROM_RIVER: dict[str, Callable[[Any, int, int], Any]] = {
    "rbf-drift-slow": lambda synth, rows, seed: _moving_centres(synth, seed, 1e-4),
    "rbf-drift-fast": lambda synth, rows, seed: _moving_centres(synth, seed, 1e-3),
    "hyperplane": _hyperplane,
    "led-drift": _led,
    "random-tree": lambda synth, rows, seed: synth.RandomTree(
        seed_tree=seed, seed_sample=seed, n_classes=3
    ),
    "agrawal-gradual": _agrawal,
    "sea-abrupt": _sea,
    "waveform-noise": lambda synth, rows, seed: synth.Waveform(seed=seed, has_noise=True),
}


def _peers() -> dict[str, Callable[[], Any]]:
    """Return what makes River's models, by name."""
    with needed("River", "'forks-learn[river]'"):
        from river import forest, linear_model, multiclass, preprocessing, tree
    several = multiclass.OneVsRestClassifier
    return {
        "adaptive random forest": lambda: forest.ARFClassifier(seed=0),
        "Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "scaled logistic regression": lambda: (
            preprocessing.StandardScaler() | several(linear_model.LogisticRegression())
        ),
    }


PART = Part(__doc__, measure, {"rows": 2_000, "seeds": 1, "peers": False})

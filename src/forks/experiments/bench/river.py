"""River's way: dicts, one event at a time, beside River's own kernel pipeline."""

import copy
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from forks.experiments.bench._clock import Contender, best_times
from forks.experiments.bench._data import SEED
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Missing, Record
from forks.learners import Adaptive

_WIDTH = 20
_LANDMARKS = 100
_BEFORE = 2_000  # events that the timed ones come after
_SEEDS = 3  # of River's random features: their errors are averaged


def measure(effort: Effort) -> Iterator[Record]:
    """Time `predict_one` and `learn_one` together, and compare with River on its own data."""
    try:
        from river import datasets

        from forks.compat.river import KernelClassifier
    except ImportError as error:
        raise Missing("River is not installed: pip install 'forks-learn[river]'") from error

    small = Adaptive(buffer=_LANDMARKS)
    before, events = _made_up_events(_BEFORE), _made_up_events(effort.estimator_rows)
    for name, learner, goal in (
        (f"d = {_WIDTH}, {_LANDMARKS} landmarks", small, 15.0),
        (f"d = {_WIDTH}, the default, {Adaptive().buffer} landmarks", Adaptive(), None),
    ):
        model = KernelClassifier(learner)
        _playing(partial(_itself, model), before)()()
        going_on = _playing(partial(copy.deepcopy, model), events)
        timed = best_times({0: going_on}, effort.repeats)
        yield Record(
            name=name,
            value=1e6 * timed[0].seconds / len(events),
            unit="µs per event",
            at_most=goal,
            settings={"rows": len(events), "learner": repr(learner)},
        )
    for data in (datasets.Bananas(), datasets.Phishing()):
        events = [(dict(x), y) for x, y in data.take(effort.river_rows)]
        yield from _against_river(type(data).__name__, small, events, effort)


def _against_river(
    data: str, learner: Adaptive, events: list[Any], effort: Effort
) -> Iterator[Record]:
    """Compare with the faster, and with the better, of two pipelines of River's."""
    from forks.compat.river import KernelClassifier

    contenders: dict[Any, Contender] = {}
    for scaled, seed in itertools.product((False, True), range(SEED, SEED + _SEEDS)):
        contenders[scaled, seed] = _playing(_river_pipeline(scaled, seed), events)
        ours = _playing(lambda: KernelClassifier(learner), events)
        contenders["forks", scaled, seed] = ours  # as often as River: best times are compared
    timed = best_times(contenders, effort.repeats)
    of_ours = [one for name, one in timed.items() if name[0] == "forks"]
    of_river = [[timed[scaled, SEED + i] for i in range(_SEEDS)] for scaled in (False, True)]
    our_seconds = min(one.seconds for one in of_ours)
    seconds = min(one.seconds for one in itertools.chain(*of_river))
    mistakes = min(float(np.mean([one.result for one in seeds])) for seeds in of_river)
    scale = 100.0 / len(events)
    settings = {"data": data, "rows": len(events), "learner": repr(learner), "seeds": _SEEDS}
    for name, value, unit, at_least, at_most in (
        ("forks, time", 1e6 * our_seconds / len(events), "µs per event", None, None),
        ("River, time", 1e6 * seconds / len(events), "µs per event", None, None),
        ("faster than River", seconds / our_seconds, "times", 20.0, None),
        ("River, mistakes", scale * mistakes, "%", None, None),
        ("forks, mistakes", scale * of_ours[0].result, "%", None, scale * mistakes),
    ):
        yield Record(
            name=f"{data}: {name}",
            value=float(value),
            unit=unit,
            at_least=at_least,
            at_most=at_most,
            settings=settings,
        )


def _made_up_events(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, _WIDTH))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.0
    names = [f"x{j}" for j in range(_WIDTH)]
    return [
        (dict(zip(names, x, strict=True)), label)
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def _itself(model: Any) -> Any:
    return model


def _river_pipeline(scaled: bool, seed: int) -> Callable[[], Any]:
    from river import feature_extraction, linear_model, preprocessing

    def make() -> Any:
        sampler = feature_extraction.RBFSampler(n_components=_LANDMARKS, seed=seed)
        model = sampler | linear_model.LogisticRegression()
        return preprocessing.StandardScaler() | model if scaled else model

    return make


def _playing(make: Callable[[], Any], events: list[Any]) -> Contender:
    def prepare() -> Callable[[], int]:
        model = make()

        def play() -> int:
            mistakes = 0
            for x, y in events:
                mistakes += model.predict_one(x) != y
                model.learn_one(x, y)
            return mistakes

        return play

    return prepare

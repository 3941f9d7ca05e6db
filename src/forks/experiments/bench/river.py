"""River: one dict at a time.

`predict_one` and `learn_one` of each event: of made-up ones after the first 2,000; of two data sets
that come with River from the first event on. River's pipeline is `RBFSampler(100) |
LogisticRegression`, as it is and after a `StandardScaler`, of three seeds: the time is that of the
fastest, the mistakes are the mean over the seeds, without or with the scaler, whichever is less.
Ours is `KernelClassifier(Adaptive(buffer=100))`.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import Contender, Timed, best_times, timed
from forks.experiments.record import needed
from forks.learners import Adaptive

_WIDTH = 20
_LANDMARKS = 100
_BEFORE = 2_000  # events that the timed ones come after
_SEEDS = 3  # of River's random features: their errors are averaged


def measure(
    made_up_events: int = 1_000, river_events: int = 5_300, repeats: int = 7
) -> Iterator[Number]:
    """Time `predict_one` and `learn_one` together, and compare with River on its own data."""
    with needed("River", "'forks-learn[river]'"):
        from river import datasets

        from forks.compat.river import KernelClassifier

    small = Adaptive(buffer=_LANDMARKS)
    before, events = _made_up(_BEFORE), _made_up(made_up_events)
    for name, learner, goal in (
        (f"d = {_WIDTH}, {_LANDMARKS} landmarks", small, 15.0),
        (f"d = {_WIDTH}, a single machine, {Adaptive().buffer} landmarks", Adaptive(), None),
    ):
        model = KernelClassifier(learner)
        _play(model, before)
        going_on = partial(_timed, partial(copy.deepcopy, model), events)
        best = best_times({0: going_on}, repeats)[0]
        settings = {"rows": len(events), "learner": repr(learner)}
        value = 1e6 * best.seconds / len(events)
        yield Number(name, value, "µs per event", settings, at_most=goal)
    for data in (datasets.Bananas(), datasets.Phishing()):
        events = [(dict(x), y) for x, y in data.take(river_events)]
        yield from _against_river(type(data).__name__, small, events, repeats)


def _against_river(
    data: str, learner: Adaptive, events: Sequence[Any], repeats: int
) -> Iterator[Number]:
    """Compare with the faster, and with the better, of two pipelines of River's."""
    from forks.compat.river import KernelClassifier

    contenders: dict[Any, Contender] = {}
    for scaled, seed in product((False, True), range(SEED, SEED + _SEEDS)):
        contenders[scaled, seed] = partial(_timed, partial(_pipeline, scaled, seed), events)
        ours = partial(_timed, partial(KernelClassifier, learner), events)
        contenders["forks", scaled, seed] = ours  # as often as River: best times are compared
    times = best_times(contenders, repeats)
    of_ours = [one for name, one in times.items() if name[0] == "forks"]
    of_river = [[times[scaled, SEED + i] for i in range(_SEEDS)] for scaled in (False, True)]
    our_seconds = min(one.seconds for one in of_ours)
    seconds = min(one.seconds for one in chain(*of_river))
    mistakes = min(float(np.mean([one.result for one in seeds])) for seeds in of_river)
    settings = {"data": data, "rows": len(events), "learner": repr(learner), "seeds": _SEEDS}
    own, other = (1e6 * total / len(events) for total in (our_seconds, seconds))
    yield Number(f"{data}: forks, time", own, "µs per event", settings)
    yield Number(f"{data}: River, time", other, "µs per event", settings)
    yield Number(f"{data}: faster than River", other / own, "times", settings, at_least=20.0)
    own, other = (100.0 * float(count) / len(events) for count in (of_ours[0].result, mistakes))
    yield Number(f"{data}: River, mistakes", other, "%", settings)
    yield Number(f"{data}: forks, mistakes", own, "%", settings, at_most=other)


def _made_up(n: int) -> list[tuple[dict[str, float], bool]]:
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, _WIDTH))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.0
    names = [f"x{j}" for j in range(_WIDTH)]
    rows = (dict(zip(names, x, strict=True)) for x in X.tolist())
    return list(zip(rows, y.tolist(), strict=True))


def _pipeline(scaled: bool, seed: int) -> Any:
    from river import feature_extraction, linear_model, preprocessing

    sampler = feature_extraction.RBFSampler(n_components=_LANDMARKS, seed=seed)
    model = sampler | linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | model if scaled else model


def _play(model: Any, events: Sequence[Any]) -> int:
    """Return the mistakes of a model."""
    mistakes = 0
    for x, y in events:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    return mistakes


def _timed(make: Callable[[], Any], events: Sequence[Any]) -> Timed:
    return timed(partial(_play, make(), events))


PART = Part(__doc__, measure, {"made_up_events": 200, "repeats": 3})

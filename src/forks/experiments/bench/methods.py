"""All methods of the catalogue: rows per second, and their rounds against those of KOGD."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from forks import oracles
from forks.engine import Engine, Learner
from forks.engine.random import uniform_in_python
from forks.evaluate.clock import warm_up
from forks.experiments.bench._clock import Contender, Timed, best_times
from forks.experiments.bench._data import KERNEL, SEED, Stream, shuffled
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.kernels import Gaussian
from forks.learners import KOGD, PROSNKONS
from forks.learners.catalogue import CATALOGUE, Setting

_LONG = 2.0  # seconds: a pass that takes longer is not repeated
_ROUNDS, _LAST = 20_000, 1_000  # rows of a pass, the last of which are compared with KOGD's
_ORACLE_ROWS = 3_000


def measure_passes(effort: Effort) -> Iterator[Record]:
    """Time a pass of every method over cod-rna and spambase."""
    for name, stream, setting in _streams(effort):
        for method in CATALOGUE:
            settings = {"data": name, "rows": len(stream.y), **_told(setting)}
            warm_up(method.make(setting), sparse=False, late=False)
            timed = _best_pass(method.make(setting), stream, effort.repeats)
            engine, scores = timed.result
            mistakes = 100.0 * float(np.mean((scores[:, 0] >= 0.0) != (stream.y > 0.0)))
            for what, value in (
                ("rows/s", len(stream.y) / timed.seconds),
                ("mistakes, %", mistakes),
                ("points", engine.stored_points),
            ):
                column = f"{name}: {what}"
                yield Record(name=method.name, value=value, column=column, settings=settings)


def measure_rounds(effort: Effort) -> Iterator[Record]:
    """Time the last rounds of a pass, beside rounds of KOGD with as many stored points."""
    name, stream, setting = next(_streams(effort))
    stream = stream.first(_ROUNDS)
    split = len(stream.y) - _LAST
    start, end = stream.first(split), Stream(stream.X[split:], stream.y[split:])
    for method in CATALOGUE[1:]:
        engine = _engine(method.make(setting), stream)
        engine.learn(start.X, start.targets)
        n = engine.stored_points or int(engine.rule.n_frequencies)  # FOGD has no points
        kogd = _kogd_with(n, stream, setting)
        contenders: dict[str, Contender] = {
            "ours": _going_on(engine, end, np.ones(_LAST)),
            "KOGD": _going_on(kogd, end, np.zeros(_LAST)),
        }
        timed = best_times(contenders, effort.repeats)
        yield Record(
            name=method.name,
            value=timed["ours"].seconds / timed["KOGD"].seconds,
            unit="times the time",
            at_most=20.0,
            settings={"data": name, "points": n, **_told(setting)},
        )


def measure_rebuilding(effort: Effort) -> Iterator[Record]:
    """Time PROS-N-KONS beside the oracle that rebuilds its matrices."""
    name, stream, setting = next(_streams(effort))
    stream = stream.first(min(_ORACLE_ROWS, len(stream.y)))
    learner = PROSNKONS(kernel=setting.kernel, max_points=setting.budget)
    contenders: dict[str, Contender] = {
        "ours": _pass(learner, stream),
        "oracle": lambda: lambda: _oracle(learner, stream),
    }
    timed = best_times(contenders, min(effort.repeats, 2))
    settings = {"data": name, "rows": len(stream.y), **_told(setting)}
    for key, label in (("ours", "PROS-N-KONS"), ("oracle", "the oracle that rebuilds")):
        per_row = 1e6 * timed[key].seconds / len(stream.y)
        yield Record(name=label, value=per_row, unit="µs per row", settings=settings)
    yield Record(
        name="PROS-N-KONS against the oracle",
        value=timed["oracle"].seconds / timed["ours"].seconds,
        unit="times as fast",
        at_least=10.0,
        settings=settings,
    )


def _streams(effort: Effort) -> Iterator[tuple[str, Stream, Setting]]:
    """Data sets with the budgets of the paper, and the bandwidths of the authors' code."""
    cod_rna = effort.data().first(effort.rows)
    yield "cod-rna", cod_rna, Setting(KERNEL, 100, len(cod_rna.y))
    spambase = shuffled("spambase").first(effort.rows)
    yield "spambase", spambase, Setting(Gaussian(8.0), 50, len(spambase.y))


def _told(setting: Setting) -> dict[str, Any]:
    return {"kernel": str(setting.kernel), "budget": setting.budget}


def _engine(learner: Learner, stream: Stream) -> Engine:
    return Engine(learner, stream.X.shape[1], 1, np.random.default_rng(SEED))


def _best_pass(learner: Learner, stream: Stream, repeats: int) -> Timed:
    best = best_times({0: _pass(learner, stream)}, 1, warm_up=False)[0]
    if best.seconds < _LONG:
        again = best_times({0: _pass(learner, stream)}, repeats, warm_up=False)[0]
        best = min(best, again, key=lambda timed: timed.seconds)
    return best


def _pass(learner: Learner, stream: Stream) -> Contender:
    def prepare() -> Callable[[], Any]:
        engine = _engine(learner, stream)
        return lambda: (engine, engine.learn(stream.X, stream.targets))

    return prepare


def _going_on(engine: Engine, stream: Stream, weights: Any) -> Contender:
    """Play more rounds from the state that the engine is in, again and again."""
    stored = pickle.dumps(engine)

    def prepare() -> Callable[[], Any]:
        copy = pickle.loads(stored)
        return lambda: copy.learn(stream.X, stream.targets, weights)

    return prepare


def _kogd_with(n: int, stream: Stream, setting: Setting) -> Engine:
    """KOGD with n stored points; a round of weight 0 compares with them and stores nothing."""
    engine = _engine(KOGD(kernel=setting.kernel, eta=1e-9), stream)  # no score comes near 1
    order = np.arange(n) % len(stream.y)
    engine.learn(np.ascontiguousarray(stream.X[order]), stream.targets[order])
    assert engine.stored_points == n
    return engine


def _oracle(learner: PROSNKONS, stream: Stream) -> Any:
    """Play the stream through the oracle, with the draws that the learner makes."""
    engine = _engine(learner, stream)
    random = learner.view(engine.memory).random.copy()
    left_out = {"kernel", "loss"}
    options = {f.name: getattr(learner, f.name) for f in fields(learner) if f.name not in left_out}
    return oracles.pros_n_kons(
        stream.X,
        stream.y,
        oracles.gaussian(learner.kernel.bandwidth),
        oracles.Hinge(),
        lambda: uniform_in_python(random),
        **options,
    )

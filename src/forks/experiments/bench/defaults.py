"""The default classifier: its time beside scikit-learn's, changes of the concept, and updates."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from forks import FORKSClassifier
from forks.datasets import order
from forks.engine import Engine, Vector
from forks.experiments.bench._clock import Contender, best_times
from forks.experiments.bench._data import SEED, Stream, new_engine, shuffled
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._peers import in_batches
from forks.experiments.bench._record import Record
from forks.kernels import Gaussian
from forks.learners import FORKS, Adaptive
from forks.losses import SquaredHinge
from forks.streams import drift_rows, drifting

_COMPONENTS = 400
_CLASSES = np.array([-1.0, 1.0])
_OURS, _SKLEARN = "FORKSClassifier()", "scikit-learn"


# ---- time ------------------------------------------------------------------------------------


def measure_time(effort: Effort) -> Iterator[Record]:
    """Time whole passes, each row predicted before it is learned, fits and all."""
    for name in ("cod-rna", "spambase"):
        stream = shuffled(name).first(effort.rows)
        contenders: dict[str, Contender] = {
            _OURS: lambda stream=stream: _ours(stream),  # type: ignore[misc]
            _SKLEARN: lambda stream=stream: _random_features(stream),  # type: ignore[misc]
        }
        timed = best_times(contenders, effort.repeats)
        settings = {"data": name, "n_rows": len(stream.y)}
        for contender, one in timed.items():
            mistakes = 100.0 * float(np.mean((one.result >= 0.0) != (stream.y > 0.0)))
            per_row = 1e6 * one.seconds / len(stream.y)
            for value, unit, column in (
                (per_row, "µs per row", f"{name}, time"),
                (mistakes, "%", f"{name}, mistakes"),
            ):
                yield Record(
                    name=contender, value=value, unit=unit, column=column, settings=settings
                )
        yield Record(
            name=f"{name}: time of {_OURS} over that of scikit-learn",
            value=timed[_OURS].seconds / timed[_SKLEARN].seconds,
            at_most=0.3,
            settings=settings,
        )


def _ours(stream: Stream) -> Callable[[], Vector]:
    model = FORKSClassifier(random_state=SEED)
    return lambda: np.asarray(model.prequential(stream.X, stream.y, classes=_CLASSES))


def _random_features(stream: Stream) -> Callable[[], Vector]:
    X, y = stream
    sampler = RBFSampler(n_components=_COMPONENTS, random_state=SEED).fit(X[:1])
    model = SGDClassifier(random_state=SEED)
    return lambda: in_batches(X, y, sampler, model, "decision_function", classes=_CLASSES)


# ---- changes of the concept ------------------------------------------------------------------

_WINDOW = 500  # rows
_BEFORE = 4_000  # rows before a change, that tell the old level


def measure_changes(effort: Effort) -> Iterator[Record]:
    """Mistakes after the changes of the demo's stream, over the level before them."""
    n_rows = effort.drift_rows
    for name, learner in (
        (_OURS, Adaptive()),
        ("without new starts", Adaptive(restart=False)),
    ):
        wrong = np.array([_mistakes(learner, n_rows, seed) for seed in range(effort.drift_seeds)])
        changes = drift_rows(n_rows)
        before = np.mean([wrong[:, c - _BEFORE : c].mean() for c in changes])
        settings = {"n_rows": n_rows, "seeds": effort.drift_seeds}
        yield Record(
            name=f"{name}: mistakes, all rows",
            value=100.0 * float(wrong.mean()),
            unit="%",
            settings=settings,
        )
        for start in range(0, n_rows // 4 - _BEFORE, _WINDOW):
            after = np.mean([wrong[:, c + start : c + start + _WINDOW].mean() for c in changes])
            end = start + _WINDOW
            yield Record(
                name=name,
                value=float(after / before),
                against="rows since a change",
                at=end,
                settings=settings,
            )
            if name == _OURS and end == min(2_000, n_rows // 8):
                yield Record(
                    name=f"{name}: level in rows {start:,} to {end:,}, over the old one",
                    value=float(after / before),
                    at_most=1.2,
                    settings=settings,
                )


def _mistakes(learner: Adaptive, n_rows: int, seed: int) -> Any:
    engine: Engine | None = None
    parts = []
    for X, y in drifting(n_rows, seed=seed, chunk=10_000):
        engine = engine or Engine(learner, X.shape[1], 1, np.random.default_rng(SEED))
        scores = engine.learn(np.ascontiguousarray(X), y.reshape(-1, 1))[:, 0]
        parts.append((scores >= 0.0) != (y > 0.0))
    return np.concatenate(parts)


# ---- updates of the sketched learner ---------------------------------------------------------


def measure_cycles(effort: Effort) -> Iterator[Record]:
    """Mistakes of FORKS on a stationary stream, against how often its map is updated."""
    never: dict[str, float] = {}
    for cycle in (0, *effort.update_cycles):
        for kept in ("carry", "reset"):
            rate = _rate(effort, cycle, kept)
            never.setdefault(kept, rate)
            settings = {"data": "cod-rna", "orders": effort.orders, "on_update": kept}
            if cycle:
                yield Record(
                    name=f"{kept}: mistakes more than without updates",
                    value=rate - never[kept],
                    unit="points",
                    against="update cycle",
                    at=cycle,
                    settings=settings,
                )
            if cycle and kept == "carry":
                yield Record(
                    name=f"carry, an update every {cycle:,} losses: more than without",
                    value=rate - never[kept],
                    unit="points",
                    at_most=0.1,
                    settings=settings,
                )


def _rate(effort: Effort, cycle: int, kept: str) -> float:
    X, y = effort.data()
    rates = []
    for seed in range(effort.orders):
        rows = order(len(y), seed)[: effort.rows]
        scaled = (X[rows] - X[rows[:200]].mean(axis=0)) / X[rows[:200]].std(axis=0)
        learner = FORKS(
            kernel=Gaussian(float(np.median(pdist(scaled[:200])))),
            loss=SquaredHinge(),
            update_cycle=cycle,
            on_update=kept,
        )
        engine = new_engine(learner, X.shape[1], seed)
        scores = engine.learn(np.ascontiguousarray(scaled), y[rows].reshape(-1, 1))[:, 0]
        rates.append(100.0 * np.mean((scores >= 0.0) != (y[rows] > 0.0)))
    return float(np.mean(rates))

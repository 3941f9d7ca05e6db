"""Memory over an endless stream, with updates on."""

import time
from collections.abc import Iterator

import numpy as np

from forks.experiments.bench._data import SEED, new_engine, settings_of
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.experiments.bench._resident import resident_bytes
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_D = 8
RESIDENT, STATE = "resident memory of the process", "state of the learner"


def measure(effort: Effort) -> Iterator[Record]:
    """Learn rows made on the fly, a chunk at a time; after each chunk, look at the memory."""
    n, chunk = effort.endless_rows, effort.endless_chunk
    learner = FORKS.as_published(
        kernel=Gaussian(_D**0.5),
        n_rounds=n,
        update_cycle=effort.endless_cycle,
        sketch_points="growing",
    )
    engine = new_engine(learner, _D)
    rng = np.random.default_rng(SEED)
    X = np.empty((chunk, _D))
    settings = {**settings_of(learner), "n_features": _D}
    resident = []
    seconds = 0.0
    for seen in range(chunk, n + 1, chunk):
        rng.standard_normal(out=X)
        # Each class is two opposite orthants of three features, with a tenth of labels flipped.
        y = np.sign(X[:, 0] * X[:, 1] * X[:, 2]) * np.where(rng.random(chunk) < 0.1, -1.0, 1.0)
        start = time.process_time()
        engine.learn(X, y.reshape(-1, 1))
        seconds += time.process_time() - start
        resident.append(resident_bytes() / 1e6)
        for name, value, unit in (
            (RESIDENT, resident[-1], "MB"),
            (STATE, engine.memory.nbytes / 1e6, "MB"),
        ):
            yield Record(
                name=name, value=value, unit=unit, against="rows", at=seen, settings=settings
            )
    settled = resident[max(0, len(resident) // 10 - 1) :]
    updates = int(memory_of(engine.memory).hot.counts[COUNT.updates])
    for name, value, unit, goal in (
        (
            "resident memory after the first tenth, most / least",
            max(settled) / min(settled),
            "",
            1.05,
        ),
        ("state of the learner", float(engine.memory.nbytes), "bytes", None),
        ("update rounds", float(updates), "", None),
        ("rows per second, update rounds included", n / seconds, "rows per second", None),
    ):
        yield Record(name=name, value=value, unit=unit, at_most=goal, settings=settings)

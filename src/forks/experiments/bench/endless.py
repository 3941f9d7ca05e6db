"""Memory over an endless stream.

As published, update rounds on, points joining and leaving; rows made on the fly.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from forks.evaluate import LearnerPlayer
from forks.experiments import style
from forks.experiments.bench._data import SEED, resident_megabytes, settings_of
from forks.experiments.bench._part import Number, Part, curves
from forks.kernels import Gaussian
from forks.learners import FORKS

_D = 8
_STATE = "state of the learner"


def measure(rows: int = 10_000_000, chunk: int = 100_000, cycle: int = 2_000) -> Iterator[Number]:
    """Learn rows made on the fly, a chunk at a time; after each chunk, look at the memory."""
    learner = FORKS.as_published(
        kernel=Gaussian(_D**0.5), n_rounds=rows, update_cycle=cycle, sketch_points="growing"
    )
    settings = settings_of(learner, n_features=_D)
    player = LearnerPlayer("FORKS", learner, seed=SEED)
    rng = np.random.default_rng(SEED)
    X = np.empty((chunk, _D))
    resident = []
    for seen in range(chunk, rows + 1, chunk):
        rng.standard_normal(out=X)
        # Each class is two opposite orthants of three features, with a tenth of labels flipped.
        y = np.sign(X[:, 0] * X[:, 1] * X[:, 2]) * np.where(rng.random(chunk) < 0.1, -1.0, 1.0)
        player.play(X, y)
        resident.append(resident_megabytes())
        name = "resident memory of the process"
        yield Number(name, resident[-1], "MB", settings, "rows", seen)
        yield Number(_STATE, player.engine.state_bytes / 1e6, "MB", settings, "rows", seen)
    settled = resident[max(0, len(resident) // 10 - 1) :]
    ratio = max(settled) / min(settled)
    name = "resident memory after the first tenth, most / least"
    yield Number(name, ratio, settings=settings, at_most=1.05)
    at, memory = player.checkpoint(), player.engine.memory
    yield Number(_STATE, float(memory.nbytes), "bytes", settings)
    yield Number("update rounds", float(learner.map_updates(memory)), settings=settings)
    name = "rows per second, update rounds included"
    yield Number(name, at.rounds_per_second, "rows per second", settings)


def draw(numbers: Sequence[Number]) -> Any:
    """Draw resident memory and state over the stream."""
    figure, ((axes,),) = style.figure(9.6, 3.8)
    for colour, (name, at, values) in zip(style.CYCLE, curves(numbers, "rows"), strict=False):
        label = f"{name}: {values[-1]:.3g} MB at the end"
        axes.plot(at, values, color=colour, linewidth=2.0, label=label)
    axes.set_ylim(0, None)
    axes.set_xlim(0, None)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    style.finish(axes, "rows seen", "MB")
    return figure


PART = Part(__doc__, measure, {"rows": 300_000, "chunk": 10_000, "cycle": 200}, draw)

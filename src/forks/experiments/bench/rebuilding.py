"""PROS-N-KONS against an oracle that rebuilds its matrices.

Budgeted, on the first 3,000 rows of cod-rna; the oracle is `forks.oracles.pros_n_kons`.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from forks import oracles
from forks.engine.random import uniform_in_python
from forks.experiments.bench._data import Stream, a_pass, new_engine, paper_settings
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import best_times, timed
from forks.learners import PROSNKONS


def measure(rows: int = 3_000) -> Iterator[Number]:
    """Time both."""
    _, stream, setting, settings = next(paper_settings(rows))
    learner = PROSNKONS(kernel=setting.kernel, max_points=setting.budget)
    contenders = {
        "PROS-N-KONS": lambda: a_pass(learner, stream),
        "the oracle that rebuilds": lambda: timed(lambda: _oracle(learner, stream)),
    }
    times = [(name, one.seconds) for name, one in best_times(contenders, 2).items()]
    for name, seconds in times:
        yield Number(name, 1e6 * seconds / len(stream.y), "µs per row", settings)
    (_, ours), (_, rebuilt) = times
    name = "PROS-N-KONS against the oracle"
    yield Number(name, rebuilt / ours, "times as fast", settings, at_least=10.0)


def _oracle(learner: PROSNKONS, stream: Stream) -> Any:
    """Play the stream through the oracle, with the draws that the learner makes."""
    engine = new_engine(learner, stream.X.shape[1])
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


PART = Part(__doc__, measure)

"""After a change of the concept.

The demo's stream, three abrupt changes, 5 % of the labels are noise: mistakes in windows of 500
rows over those in the 4,000 rows before the change.
"""

from collections.abc import Iterator

import numpy as np

from forks.evaluate import is_mistake
from forks.experiments.bench._data import Stream, a_pass
from forks.experiments.bench._part import Number, Part
from forks.learners import Adaptive
from forks.streams import drift_rows, drifting

_OURS = 'OnlineKernelClassifier(effort="fast")'
_WINDOW = 500  # rows
_BEFORE = 4_000  # rows before a change, for the old level


def measure(rows: int = 200_000, seeds: int = 4) -> Iterator[Number]:
    """Count mistakes after the changes, over the level before them."""
    settings = {"n_rows": rows, "seeds": seeds}
    changes = drift_rows(rows)
    learners = {_OURS: Adaptive(), "without new starts": Adaptive(restart=False)}
    for name, learner in learners.items():
        streams = (Stream(*next(drifting(rows, seed=seed, chunk=rows))) for seed in range(seeds))
        wrong = np.array([is_mistake(a_pass(learner, one).result, one.y) for one in streams])
        before = np.mean([wrong[:, c - _BEFORE : c].mean() for c in changes])
        total = 100.0 * float(wrong.mean())
        yield Number(f"{name}: mistakes, all rows", total, "%", settings)
        for start in range(0, rows // 4 - _BEFORE, _WINDOW):
            end = start + _WINDOW
            after = np.mean([wrong[:, c + start : c + end].mean() for c in changes])
            level = float(after / before)
            yield Number(name, level, "", settings, "rows since a change", end)
            if name == _OURS and end == min(2_000, rows // 8):
                title = f"{name}: level in rows {start:,} to {end:,}, over the old one"
                yield Number(title, level, settings=settings, at_most=1.2)


PART = Part(__doc__, measure, {"rows": 100_000, "seeds": 1})

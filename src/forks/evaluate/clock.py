"""Compilation before the clock starts: a small learner of the same kind meets all its events."""

import time
from dataclasses import fields, replace

import numpy as np
from scipy.sparse import csr_array

from forks.engine import Engine, Learner, one_thread

# Sizes at which every event comes within a few rows. They are values: the code is the same.
_SMALL = {
    "budget": 2,
    "buffer": 2,
    "sketch_size": 2,
    "n_blocks": 1,
    "n_landmarks": 1,
    "rank": 1,
    "update_cycle": 3,
    "max_points": 4,
    "n_frequencies": 2,
}
_ROWS = 32


def warm_up(learner: Learner, sparse: bool, late: bool) -> float:
    """Compile what a learner needs for rows of this form; give the seconds of CPU it took.

    `late` asks for what learns labels that come late, too.
    """
    start = time.process_time()
    with one_thread():
        play_small(learner, sparse, late)
    return time.process_time() - start


def play_small(learner: Learner, sparse: bool, late: bool) -> Engine:
    """Play some made-up rows with a small learner of this kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 2))
    rows = csr_array(X) if sparse else X
    y = np.where(rng.random((_ROWS, 1)) < 0.5, -1.0, 1.0)
    engine = Engine(small(learner), X.shape[1], 1, rng)
    engine.learn(rows, y)
    engine.predict(rows)
    if late:
        engine.score_then_learn(rows, rows, y)
    return engine


def small(learner: Learner) -> Learner:
    """Return a learner with the same rule but for its sizes."""
    names = {field.name for field in fields(learner) if field.init}  # type: ignore[arg-type]
    try:
        return replace(learner, **{name: _SMALL[name] for name in names & _SMALL.keys()})  # type: ignore[type-var]
    except ValueError:  # a learner from elsewhere, to which these sizes mean something else
        return learner

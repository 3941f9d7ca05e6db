"""What `verbose` tells on stderr: that something is compiled, and how far a long call is."""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from forks.engine import Engine, EngineGroup, Matrix, Vector

logger = logging.getLogger("forks")
_BLOCK = 2000  # rows between two looks at the clock
_SECONDS = 5.0  # between two lines

Learn = Callable[[Any, Matrix, Vector | None], Matrix]


def tell_of_compiling(engine: Engine | EngineGroup, verbose: bool) -> None:
    """Say that machine code is about to be made, or loaded, if that is so and somebody listens."""
    if (verbose or logger.isEnabledFor(logging.INFO)) and not engine.compiled:
        name = type(engine.learner).__name__
        logger.info("compiling for %s, once per environment", engine.rule)
        if verbose:
            _tell(f"compiling {name}, if it has not been yet: some seconds, once per environment")


def learn_and_tell(learn: Learn, X: Any, targets: Matrix, weights: Vector | None) -> Matrix:
    """Learn rows block by block, which changes no bit, and say how far it is."""
    n, begin = len(targets), time.monotonic()
    scores, last = [], begin
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        own = None if weights is None else weights[rows]
        scores.append(learn(X[rows], targets[rows], own))
        if time.monotonic() - last >= _SECONDS:
            last = time.monotonic()
            _tell(f"{min(rows.stop, n):,} of {n:,} rows in {last - begin:.0f} s")
    return np.concatenate(scores)


def _tell(line: str) -> None:
    sys.stderr.write(f"forks: {line}\n")
    sys.stderr.flush()

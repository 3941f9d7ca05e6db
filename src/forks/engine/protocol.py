"""The verbs of compiled code, and the only loops over time.

`attach` shows flat memory as the state of a rule's type, `workspace` cuts its scratch arrays,
`score` and `step` play a round; `Learner` (`forks.engine.learner`) says what they are made of.

A round that needs more than compiled code should do is an *event*: `step` sets
``state.counts[0]`` to a positive code and leaves the round unfinished, the loop stops at that row,
`Learner.handle` does the work in NumPy, and the loop plays the row once more. `handle` sets the
code to 0, or to `RESUME` if the round goes on where the event has cut it: the row has been scored
already, and the next `step` does the rest of it. A change of the feature map is such an event, so
heavy linear algebra is not compiled again for every kernel and loss; so is the growth of a memory
that is full.

The engine lets `handle` and the `step` after it work on a copy of the memory, which then takes
over. So nothing of them is seen if an interrupt cuts them, and they are done again from the same
memory: `handle` need not be careful, and a memory that others see never has the code `RESUME`.

The `clock` of a memory is written to by compiled code alone: the number of rows played, and where
the loop has stopped for an event. So it is right whenever Python code looks at it, and whatever
has interrupted the code that called the loop.
"""

from functools import partial

import numpy as np

from forks.engine.compile import entry
from forks.engine.inlined import INNER
from forks.engine.rows import take
from forks.engine.types import Counter
from forks.engine.verbs import jit_dispatch

EVENT = 0  # where every state's `counts` holds the event code
MENDS = 1  # and the number of steps that were left out, or whose state had to be made anew
RESUME = -1
# Places of a clock: rows played; 1 + the row that waits for its event, or 0; the round that was
# mended last, counted from 1, or 0; and the number of mends then.
ROUNDS, PENDING, MENDED, SEEN = range(4)
MANY = 2**53  # more than any counter will reach

_of_loops = partial(jit_dispatch, options=INNER)  # a loop calls each of them once


def new_clock(rounds: int = 0, mended: int = 0, mends: int = 0) -> Counter:
    """Return a clock that so many rows have been played on."""
    return np.array([rounds, 0, mended, mends], dtype=np.int64)


@_of_loops
def attach(rule, floats, ints):
    """Return the state as views of flat memory (see `forks.engine.memory.compiled_viewer`)."""


@_of_loops
def workspace(rule, state, scratch):
    """Return the scratch arrays for one call, views of one array: a round allocates nothing."""


@_of_loops
def score(rule, state, work, x, out):
    """Write the score of row x into out, one number per output, changing nothing else."""


@_of_loops
def step(rule, state, work, x, y, weight, out):
    """Play one round: write the score of x into out, then learn from y."""


@entry
def run(rule, floats, ints, scratch, clock, X, y, weights, scores, start):
    """Play the rounds from row `start` on; stop at a row that raises an event.

    Returns the number of rows, or ~t if row t has raised an event.
    """
    state = attach(rule, floats, ints)
    work = workspace(rule, state, scratch)
    for t in range(start, y.shape[0]):
        step(rule, state, work, take(X, t), y[t], weights[t], scores[t])
        if state.counts[MENDS] != clock[SEEN]:
            clock[SEEN] = state.counts[MENDS]
            clock[MENDED] = clock[ROUNDS] + t - start + 1
        if state.counts[EVENT] > 0:
            clock[ROUNDS] += t - start
            clock[PENDING] = t + 1
            return ~t
    clock[ROUNDS] += y.shape[0] - start
    return y.shape[0]


@entry
def run_ahead(rule, floats, ints, scratch, clock, X, y, weights, scores, start, ahead, later):
    """Play the rounds as `run` does; after each, write the score of its row of `ahead`."""
    state = attach(rule, floats, ints)
    work = workspace(rule, state, scratch)
    for t in range(start, y.shape[0]):
        step(rule, state, work, take(X, t), y[t], weights[t], scores[t])
        if state.counts[MENDS] != clock[SEEN]:
            clock[SEEN] = state.counts[MENDS]
            clock[MENDED] = clock[ROUNDS] + t - start + 1
        if state.counts[EVENT] > 0:
            clock[ROUNDS] += t - start
            clock[PENDING] = t + 1
            return ~t
        score(rule, state, work, take(ahead, t), later[t])
    clock[ROUNDS] += y.shape[0] - start
    return y.shape[0]


@entry
def score_rows(rule, floats, ints, scratch, X, scores):
    """Score every row, learning nothing."""
    state = attach(rule, floats, ints)
    work = workspace(rule, state, scratch)
    for t in range(scores.shape[0]):
        score(rule, state, work, take(X, t), scores[t])

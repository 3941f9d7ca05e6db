"""What a learner is, and the only loop over time.

A learner has three parts, kept apart:

- the configuration, a frozen dataclass derived from `Learner`: what the user chose, checked when
  it is made;
- the rule, a NamedTuple of the numbers, the kernel and the loss that compiled code needs;
- the state, a NamedTuple of arrays that learning changes in place (views of a flat `Memory`).

Compiled code is reached through four verbs, registered for the rule's type: `attach` (flat memory
to state), `workspace` (scratch arrays of one call), `score` and `step` (one round).

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

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from forks.engine.compile import entry
from forks.engine.memory import Memory, check_layout, repeated, stretched
from forks.engine.rows import borrowed, take
from forks.engine.types import PER_FEATURE, PER_OUTPUT, Counter, Matrix, Vector
from forks.engine.verbs import jit_dispatch

EVENT = 0  # where every state's `counts` holds the event code
MENDS = 1  # and the number of steps that were left out, or whose state had to be made anew
RESUME = -1
# Places of a clock: rows played; 1 + the row that waits for its event, or 0; the round that was
# mended last, counted from 1, or 0; and the number of mends then.
ROUNDS, PENDING, MENDED, SEEN = range(4)
MANY = 2**53  # more than any counter will reach

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def new_clock(rounds: int = 0, mended: int = 0, mends: int = 0) -> Counter:
    """Return a clock that so many rows have been played on."""
    return np.array([rounds, 0, mended, mends], dtype=np.int64)


class Limit(NamedTuple):
    """Numbers of a state that lie between two bounds, both allowed."""

    name: str
    values: Any
    low: float
    high: float


class Learner(ABC):
    """Configuration of an online kernel learner."""

    multi_output: ClassVar[bool] = False  # can it learn several outputs on one state?

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of problem that it can learn; a loss that does not say is good for both."""
        loss = getattr(self, "loss", None)
        if loss is None:
            return ("classification",)
        return (loss.task,) if hasattr(loss, "task") else ("classification", "regression")

    @abstractmethod
    def rule(self) -> Any:
        """Return the NamedTuple that compiled code gets; always of the same field types."""

    @abstractmethod
    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return the memory of a learner that has seen nothing."""

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Return the memory for rows with more features, which were 0 in all rows so far.

        Kept points have a 0 there, so nothing that was learned changes.
        """
        return stretched(self.view(memory), PER_FEATURE.what, n_features)

    def with_outputs(self, memory: Memory, n_outputs: int) -> Memory:
        """Return the memory for more outputs, copies of the last one.

        An output that has had the last one's targets so far would be what the last one is.
        """
        return repeated(self.view(memory), PER_OUTPUT.what, n_outputs)

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class, and the shapes that a memory of this one's size should have.

        Of the memory, which may come from anywhere, the table is looked at if sizes can grow.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot check a memory")

    def limits(self, view: Any) -> list[Limit]:
        """Return the bounds of all integers that compiled code relies on, and of some floats."""
        raise NotImplementedError(f"{type(self).__name__} cannot check a memory")

    def check_memory(self, memory: Memory, n_features: int, n_outputs: int) -> None:
        """Ask that memory from outside can be this learner's; compiled code is safe with it then.

        Raises
        ------
        ValueError
            That says what is wrong.
        """
        check_layout(*self.layout(n_features, n_outputs, memory), memory)
        if not np.isfinite(memory.floats).all():
            raise ValueError("the memory has numbers that are not finite")
        if memory.event[EVENT] != 0:
            raise ValueError("the memory has an event that is not done")
        for name, values, low, high in self.limits(self.view(memory)):
            values = np.asarray(values)
            if not (np.all(values >= low) and np.all(values <= high)):  # also for NaN
                raise ValueError(f"{name} is out of its bounds, {low} to {high}")

    @abstractmethod
    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""

    @abstractmethod
    def view(self, memory: Memory) -> Any:
        """Show the memory as a NamedTuple of arrays."""

    def handle(self, view: Any, x: Vector) -> Memory | None:
        """Do the event that row x has raised, in place or in a new memory that takes over.

        `view` shows a copy; whatever is raised here, it is thrown away.
        """
        raise NotImplementedError(f"{type(self).__name__} has no events")

    @abstractmethod
    def stored_points(self, memory: Memory) -> int:
        """Count the points that the learner keeps now."""

    def map_updates(self, memory: Memory) -> int:
        """Count the update rounds, which changed a feature map."""
        del memory
        return 0

    def rounds_since_switch(self, memory: Memory) -> int | None:
        """Count the rounds of stage two, or None for a learner of one stage.

        The FORKS paper leaves the mistakes of stage one, and of the round that ends it, out. A
        row of weight zero is no round.
        """
        del memory
        return None

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1 that scores stand for; None if they stand for none."""
        if not getattr(getattr(self, "loss", None), "probabilistic", False):
            return None
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))  # the logistic function, safely

    def features(self, memory: Memory, X: Matrix) -> Matrix | None:
        """Return the features of dense rows, one per column, in which the score is linear now.

        None for a learner that has no such map, or none yet.
        """
        del memory, X
        return None


@jit_dispatch
def attach(rule, floats, ints):
    """Return the state as views of flat memory (see `forks.engine.memory.viewer`)."""


@jit_dispatch
def workspace(rule, state, scratch):
    """Return the scratch arrays for one call, views of one array: a round allocates nothing."""


@jit_dispatch
def score(rule, state, work, x, out):
    """Write the score of row x into out, one number per output, changing nothing else."""


@jit_dispatch
def step(rule, state, work, x, y, weight, out):
    """Play one round: write the score of x into out, then learn from y."""


@entry
def run(rule, floats, ints, scratch, clock, X, y, weights, scores, start):
    """Play the rounds from row `start` on; stop at a row that raises an event.

    Returns the number of rows, or ~t if row t has raised an event.
    """
    state = attach(rule, floats, ints)
    work = workspace(rule, state, borrowed(scratch))
    X, y, weights, scores = borrowed(X), borrowed(y), borrowed(weights), borrowed(scores)
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
    work = workspace(rule, state, borrowed(scratch))
    X, y, weights, scores = borrowed(X), borrowed(y), borrowed(weights), borrowed(scores)
    ahead, later = borrowed(ahead), borrowed(later)
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
    work = workspace(rule, state, borrowed(scratch))
    X, scores = borrowed(X), borrowed(scores)
    for t in range(scores.shape[0]):
        score(rule, state, work, take(X, t), scores[t])

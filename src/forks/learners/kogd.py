"""Kernel online gradient descent (KOGD): first order, no budget.

The hypothesis is a kernel expansion over past points, f_t(x) = sum_i alpha_i k(x_i, x). Each
round takes one gradient step on the loss of its own prediction,

    f_{t+1} = f_t - eta l'(f_t(x_t), y_t) k(x_t, .),

so a round with a non-zero slope l' adds one point and nothing ever leaves: round t costs O(n d)
time, with n the number of such rounds so far.

Reference: Kivinen, Smola, Williamson, "Online learning with kernels", IEEE Transactions on
Signal Processing 52(8), 2004. The shrinking factor (1 - eta lambda) of that paper is left out, as
in all experiments of the FORKS paper. Steps that would diverge are held, see
`forks.parts.gradient`.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import (
    EVENT,
    MANY,
    MENDS,
    PER_OUTPUT,
    RESUME,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Shapes,
    Vector,
    allocate,
    attach,
    compiled_viewer,
    grown,
    point_shapes,
    score,
    step,
    store,
    viewer,
    workspace,
)
from forks.engine.blocks import padded
from forks.engine.checks import is_doubled, positive
from forks.engine.memory import claimed_shape
from forks.kernels import Gaussian, Kernel, check_kernel
from forks.linalg.vectors import dot
from forks.losses import Hinge, Loss, check_loss
from forks.parts.expansion import compare, finite_or_zero, self_value
from forks.parts.gradient import LARGEST, gradient_step, is_curved, is_harmless
from forks.parts.linear import has_loss


@dataclass(frozen=True, kw_only=True)
class KOGD(Learner):
    """Kernel online gradient descent without a budget: memory grows with the losses.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    loss : loss
        One of `forks.losses`.
    eta : float
        Step size.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    eta: float = 0.2

    multi_output = True

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_loss(self.loss)
        positive("eta", self.eta)

    def rule(self) -> "KOGDRule":
        """Return what compiled code needs."""
        return KOGDRule(check_kernel(self.kernel), check_loss(self.loss), float(self.eta))

    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return an empty expansion."""
        del rng  # deterministic
        return allocate(KOGDState, _shapes(n_features, n_outputs, _FIRST_CAPACITY))

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class and the shapes of its arrays, by the room for points."""
        capacity = claimed_shape(KOGDState, "alpha", memory)[-1]
        if not is_doubled(capacity, _FIRST_CAPACITY):
            raise ValueError(f"there is no room for {capacity} points")
        return KOGDState, _shapes(n_features, n_outputs, capacity)

    def limits(self, view: "KOGDState") -> list[Limit]:
        """Return the bounds of the counts."""
        return [
            Limit("event", view.counts[EVENT], RESUME, 0),
            Limit("mends", view.counts[MENDS], 0, MANY),
            Limit("number of points", view.counts[_POINTS], 0, view.alpha.shape[1]),
        ]

    def view(self, memory: Memory) -> "KOGDState":
        """Show the memory as arrays."""
        state: KOGDState = state_of(memory)
        return state

    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""
        return int(state_of(memory).alpha.shape[1])

    def handle(self, view: "KOGDState", x: Vector) -> Memory:
        """Double the room for points."""
        n_outputs, capacity = view.alpha.shape
        memory = grown(KOGDState, view, _shapes(len(view.points.columns), n_outputs, 2 * capacity))
        state_of(memory).counts[EVENT] = 0
        return memory

    def stored_points(self, memory: Memory) -> int:
        """Count the support vectors."""
        return int(state_of(memory).counts[_POINTS])


class KOGDRule(NamedTuple):
    """What compiled code needs to know."""

    kernel: Kernel
    loss: Loss
    eta: float


class KOGDState(NamedTuple):
    """What learning changes, in place. Points [:n] are in use."""

    counts: Counter  # (3,)  the event, which asks for room; mends; n
    points: Points  # (d, capacity)
    alpha: Annotated[Matrix, PER_OUTPUT]  # (n_outputs, capacity)
    spare: Points  # (d, 1)  room to compare a row with itself


class KOGDWork(NamedTuple):
    """Scratch."""

    row: Vector  # (capacity,)  k(x_i, x)


_FULL = 1  # the event
_POINTS = 2  # where `counts` holds n
_FIRST_CAPACITY = 64
state_of = viewer(KOGDState)
attach.register(KOGDRule)(compiled_viewer(KOGDState))


def _shapes(n_features: int, n_outputs: int, capacity: int) -> dict[str, tuple[int, ...]]:
    return {
        "counts": (3,),
        **point_shapes("points", n_features, capacity),
        "alpha": (n_outputs, padded(capacity)),
        **point_shapes("spare", n_features, 1),
    }


@workspace.register(KOGDRule)
def _workspace(rule, state, scratch):
    return KOGDWork(scratch)


@score.register(KOGDRule)
def _score(rule, state, work, x, out):
    n = state.counts[_POINTS]
    compare(rule.kernel, state.points, n, x, work.row)
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(state.alpha[o], work.row, n))


@step.register(KOGDRule)
def _step(rule, state, work, x, y, weight, out):
    n = state.counts[_POINTS]
    if n == state.alpha.shape[1]:
        state.counts[EVENT] = _FULL
        return
    score(rule, state, work, x, out)
    if not has_loss(rule.loss, y, weight, out):
        return
    square = 0.0
    if is_curved(rule.loss, y, weight, out):
        square = self_value(rule.kernel, x, state.spare, work.row)
    harmless = True
    for o in range(out.shape[0]):
        change = gradient_step(rule.loss, rule.eta, weight, out[o], y[o], square)
        if not abs(change) <= LARGEST:  # also for NaN
            state.counts[MENDS] += 1
            change = 0.0
            if is_harmless(rule.loss, rule.eta, weight, y[o], square, 1.0):
                for i in range(n):  # the coefficients are beyond all bounds: start anew
                    state.alpha[o, i] = 0.0
                change = gradient_step(rule.loss, rule.eta, weight, 0.0, y[o], square)
            else:
                harmless = False
        state.alpha[o, n] = change
    if harmless:
        store(x, state.points, n)
        state.counts[_POINTS] = n + 1
    else:
        for o in range(out.shape[0]):
            state.alpha[o, n] = 0.0  # `dot` reads whole blocks

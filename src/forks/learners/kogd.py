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

from forks.engine import (
    EVENT,
    MENDS,
    Counter,
    Growth,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Vector,
    score,
    step,
    store,
)
from forks.engine.checks import positive
from forks.kernels import Gaussian, Kernel
from forks.linalg.vectors import dot
from forks.losses import Hinge, Loss
from forks.parts.expansion import POINTS, compare, finite_or_zero, self_value
from forks.parts.gradient import LARGEST, gradient_step, is_curved, is_harmless
from forks.parts.linear import has_loss

_FULL = 1  # the event


class KOGDState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 3]  # the event, which asks for room; mends; n
    points: Points
    alpha: Annotated[Matrix, "outputs", "capacity"]
    spare: Annotated[Points, "capacity = 1"]  # room to compare a row with itself


class KOGDRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    eta: float


class KOGDWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "capacity"]  # k(x_i, x)


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
    state_class = KOGDState
    work_class = KOGDWork
    rule_class = KOGDRule

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("eta", self.eta)

    def growing(self) -> dict[str, Growth]:
        """Return the room for points, in whole blocks."""
        return {"capacity": Growth(64)}

    def limits(self, view: KOGDState) -> list[Limit]:
        """Return the bounds of the counts."""
        return [Limit("number of points", view.counts[POINTS], 0, view.alpha.shape[1])]

    def handle(self, view: KOGDState, x: Vector) -> Memory:
        """Double the room for points."""
        return self.doubled(view, "capacity")

    def stored_points(self, memory: Memory) -> int:
        """Count the support vectors."""
        return int(self.view(memory).counts[POINTS])


@score.register(KOGDRule)
def _score(rule, state, work, x, out):
    n = state.counts[POINTS]
    compare(rule.kernel, state.points, n, x, work.row)
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(state.alpha[o], work.row, n))


@step.register(KOGDRule)
def _step(rule, state, work, x, y, weight, out):
    n = state.counts[POINTS]
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
                for i in range(n):  # the coefficients have overflowed: start anew
                    state.alpha[o, i] = 0.0
                change = gradient_step(rule.loss, rule.eta, weight, 0.0, y[o], square)
            else:
                harmless = False
        state.alpha[o, n] = change
    if harmless:
        store(x, state.points, n)
        state.counts[POINTS] = n + 1
    else:
        for o in range(out.shape[0]):
            state.alpha[o, n] = 0.0  # `dot` reads whole blocks

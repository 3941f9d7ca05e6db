"""Budget passive-aggressive learner, simple version (BPA-S): a new point replaces the best one.

f(x) = sum_i alpha_i k(x_i, x). A round with hinge loss l = 1 - y_t f(x_t) > 0 takes the step of
the passive-aggressive learner PA-I,

    tau = min(C, l / k(x_t, x_t)),

and stores x_t with the coefficient y_t tau while there is room. When `budget` points are stored,
x_t replaces one of them, x_r, and its coefficient beta is all that may change: the smallest
|f_{t+1} - f_t|^2 / 2 + C l_{t+1} has

    beta = alpha_r k(x_r, x_t) / k(x_t, x_t) + y_t tau,

so alpha_r k(x_r, .) is projected onto k(x_t, .). Every r leads to the same loss at x_t, and

    |f_{t+1} - f_t|^2 = alpha_r^2 (k(x_r, x_r) - k(x_r, x_t)^2 / k(x_t, x_t)) + tau^2 k(x_t, x_t):

the r with the smallest first term leaves, the first one of several. A round costs O(B d).

Reference: Wang, Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010. The
paper has k(x, x) = 1.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from forks.engine import MENDS, Counter, Points, Vector, finite, njit, score, step, store
from forks.engine.blocks import LANES, fma, load, splat
from forks.engine.blocks import store as store_block
from forks.engine.checks import positive
from forks.kernels import Kernel
from forks.parts.expansion import (
    POINTS,
    BudgetedExpansion,
    expand,
    expansion_score,
    self_value,
)


class BPASState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 3]  # the event, never raised; mends; n
    points: Annotated[Points, "capacity = budget + 1"]
    alpha: Annotated[Vector, "padded(budget + 1)"]
    diagonal: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x_i)
    spare: Annotated[Points, "capacity = 1"]  # room for the row, to compare it with itself


class BPASRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    budget: int
    aggressiveness: float


class BPASWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x)
    lost: Annotated[Vector, "padded(budget + 1)"]  # squared norm of what is lost with point i


@dataclass(frozen=True, kw_only=True)
class BPAS(BudgetedExpansion):
    """Budget passive-aggressive learner, simple version, for classification.

    A sample weight is a factor of C.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    budget : int
        B, points that are stored at most.
    aggressiveness : float
        C, the largest coefficient of a step; `math.inf` for none.
    """

    aggressiveness: float = 1.0

    state_class = BPASState
    work_class = BPASWork
    rule_class = BPASRule

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("aggressiveness", self.aggressiveness, infinite=True)


score.register(BPASRule)(expansion_score)


@step.register(BPASRule)
def _step(rule, state, work, x, y, weight, out):
    n = state.counts[POINTS]
    out[0] = expand(rule.kernel, state.points, n, state.alpha, x, work.row)
    loss = 1.0 - y[0] * out[0]
    if weight == 0.0 or loss <= 0.0:
        return
    square = self_value(rule.kernel, x, state.spare, work.lost)
    if not (square > 0.0 and finite(square)):  # k(x, x) = 0: no direction to step along
        state.counts[MENDS] += square != 0.0
        return
    slot = n
    beta = y[0] * min(weight * rule.aggressiveness, loss / square)
    if n == rule.budget:
        slot = _least_missed(state, work, n, square)
        share = state.alpha[slot] * work.row[slot] / square
        if finite(work.lost[slot]) and finite(beta + share):
            beta += share
        else:  # the point leaves without a trace
            state.counts[MENDS] += 1
    if finite(beta):
        store(x, state.points, slot)
        state.alpha[slot] = beta
        state.diagonal[slot] = square
        state.counts[POINTS] = max(n, slot + 1)
    else:
        state.counts[MENDS] += 1


@njit
def _least_missed(state, work, n, square):
    """Return the point that k(x, .) stands in for best."""
    for i in range(0, n, LANES):
        alpha, value = load(state.alpha, i), load(work.row, i)
        outside = fma(splat(-1.0 / square), fma(value, value, splat(0.0)), load(state.diagonal, i))
        squares = fma(alpha, alpha, splat(0.0))
        store_block(fma(squares, outside, splat(0.0)), work.lost, i)
    slot = 0
    for i in range(n):
        if not finite(work.lost[i]):  # it could never leave otherwise
            return i
        if work.lost[i] < work.lost[slot]:
            slot = i
    return slot

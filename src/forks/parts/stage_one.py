"""Stage one of the two-stage learners (NOGD, SkeGD, FORKS): gradient steps until a buffer is full.

Every round with a non-zero slope l' of the loss stores its point with the coefficient -eta l'
(held where steps would diverge, see `forks.parts.gradient`).
When the buffer has no room for it, such a round raises the event `SWITCH` instead, and stage two
begins with that point: the switch is made at the first round with loss after the buffer is full.

A learner's rule has `kernel`, `loss`, `buffer` and `eta`, its state `counts`, `points`, `alpha`
and `spare`, its scratch `row` and `change`.
"""

from typing import Any, NamedTuple

from forks.engine import MANY, Limit, njit, store
from forks.linalg.vectors import dot
from forks.parts.expansion import compare, finite_or_zero, self_value
from forks.parts.gradient import LARGEST, gradient_step, is_curved, is_harmless
from forks.parts.linear import has_loss


class Count(NamedTuple):
    """Indices into `counts`."""

    event: int  # 0, SWITCH, UPDATE or RESUME
    mends: int  # steps left out because they would not have been finite, and new starts
    stage: int  # 0 in stage one, 2 after the switch
    stored: int  # points stored so far, dropped ones included
    losses: int  # T0, rounds with a non-zero slope
    rounds: int  # rounds since the switch
    updates: int  # update rounds so far


COUNT = Count(*range(len(Count._fields)))
SWITCH, UPDATE = 1, 2


def count_limits(counts: Any, buffer: int) -> list[Limit]:
    """Return the bounds of the counts; in stage one each stored point has its place."""
    stored_at_most = buffer if counts[COUNT.stage] == 0 else MANY
    return [
        Limit("stage", counts[COUNT.stage], 0, 2),
        Limit("number of points", counts[COUNT.stored], 0, stored_at_most),
        Limit("other counts", counts[COUNT.losses :], 0, MANY),
    ]


@njit
def expansion_scores(rule, state, work, x, out):
    """Write the scores of stage one: f(x) = sum_i alpha_i k(x_i, x), one per output."""
    n = state.counts[COUNT.stored]
    compare(rule.kernel, state.points, n, x, work.row)
    for o in range(out.shape[0]):
        out[o] = finite_or_zero(dot(state.alpha[o], work.row, n))


@njit
def gradient_round(rule, state, work, x, y, weight, out):
    """Store the point if it has loss, or ask for the switch if there is no room."""
    counts = state.counts
    expansion_scores(rule, state, work, x, out)
    if not has_loss(rule.loss, y, weight, out):
        return
    n = counts[COUNT.stored]
    square = 0.0
    if is_curved(rule.loss, y, weight, out):
        square = self_value(rule.kernel, x, state.spare, work.row)
    for o in range(out.shape[0]):
        change = gradient_step(rule.loss, rule.eta, weight, out[o], y[o], square)
        if not abs(change) <= LARGEST:  # also for NaN
            counts[COUNT.mends] += 1
            if not is_harmless(rule.loss, rule.eta, weight, y[o], square, 1.0):
                return
            for i in range(n):  # the coefficients have overflowed: start anew
                state.alpha[o, i] = 0.0
            change = gradient_step(rule.loss, rule.eta, weight, 0.0, y[o], square)
        work.change[o] = change
    counts[COUNT.losses] += 1
    if n == rule.buffer:
        counts[COUNT.event] = SWITCH
    else:
        store(x, state.points, n)
        for o in range(out.shape[0]):  # a slice would compile its error messages, for seconds
            state.alpha[o, n] = work.change[o]
        counts[COUNT.stored] = n + 1

"""What the Projectrons share: an expansion that a new point joins, or is projected onto.

With K the kernel matrix of the n stored points and k the kernel values of x to them, the
projection of k(x, .) onto their span has the coefficients d = K^-1 k and the squared length
P = d'K d = k'd, and delta^2 = k(x, x) - P is the squared distance of k(x, .) from the span. The
Cholesky factor L of K gives them in O(n^2), P = |L^-1 k|^2 and d = L'^-1 L^-1 k, and grows with K
(see `forks.linalg.cholesky`): rounds without an update need none of it.

Where delta^2 is at most `CUT` of k(x, x) the span holds x up to rounding, and x is projected even
if there is room for it: the published formulas divide by delta^2 and overflow.

A learner's rule has `kernel` and `budget`, its state is a `ProjectionState`.
"""

from typing import Annotated, NamedTuple

from forks.engine import MENDS, Counter, Matrix, Points, Vector, finite, njit, store
from forks.engine.blocks import LANES, absolute, fma, load, splat, total
from forks.engine.blocks import store as store_block
from forks.linalg.cholesky import backward, border, forward
from forks.linalg.vectors import l1_norm
from forks.parts.expansion import POINTS, BudgetedExpansion, self_value

CUT = 1e-10


class ProjectionState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 3]  # the event, never raised; mends; n
    points: Annotated[Points, "capacity = budget + 1"]
    alpha: Annotated[Vector, "padded(budget + 1)"]
    L: Annotated[Matrix, "budget", "padded(budget)"]  # Cholesky factor of K
    spare: Annotated[Points, "capacity = 1"]  # room for the row, to compare it with itself


class ProjectionWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(budget + 1)"]  # k
    half: Annotated[Vector, "padded(budget + 1)"]  # L^-1 k
    d: Annotated[Vector, "padded(budget + 1)"]  # K^-1 k


class ProjectedExpansion(BudgetedExpansion):
    """Base of the learners that project onto the span of the stored points."""

    state_class = ProjectionState
    work_class = ProjectionWork


@njit
def split(rule, state, work, x):
    """Return P and delta^2 of the row whose kernel values are in `work.row`; keep L^-1 k."""
    n = state.counts[POINTS]
    square = self_value(rule.kernel, x, state.spare, work.half)
    for i in range(n):  # narrow kernels: products of tiny values are subnormal, which is slow
        if abs(work.row[i]) < 1e-100 * square:
            work.row[i] = 0.0
    inside = forward(state.L, n, work.row, work.half)
    return inside, square - inside


@njit
def learn(rule, state, work, x, inside, outside, amount, may_join):
    """Add amount k(x, .): as a new point if it may join and there is room, else projected."""
    n = state.counts[POINTS]
    if may_join and n < rule.budget and outside > CUT * (inside + outside):
        if not finite(outside):
            state.counts[MENDS] += 1
        else:
            border(state.L, n, work.half, outside)
            store(x, state.points, n)
            state.alpha[n] = amount
            state.counts[POINTS] = n + 1
    else:
        backward(state.L, n, work.half, work.d)
        if not _add(state.alpha, work.d, n, amount):
            state.counts[MENDS] += 1
            if finite(abs(amount) * l1_norm(work.d, n)):
                for i in range(n):  # the coefficients have overflowed: start anew
                    state.alpha[i] = 0.0
                _add(state.alpha, work.d, n, amount)


@njit
def _add(alpha, d, n, amount):
    """alpha += amount d; return False, changing nothing, if it overflows."""
    sums = splat(0.0)
    for i in range(0, n, LANES):
        sums = fma(splat(1.0), absolute(fma(splat(amount), load(d, i), load(alpha, i))), sums)
    if not finite(total(sums)):
        return False
    for i in range(0, n, LANES):
        store_block(fma(splat(amount), load(d, i), load(alpha, i)), alpha, i)
    return True

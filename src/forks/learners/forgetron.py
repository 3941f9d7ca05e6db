"""Forgetron: a kernel perceptron that shrinks its past before it forgets the oldest point.

f(x) = sum_i alpha_i k(x_i, x). A round with y_t f(x_t) <= 0 is a mistake and adds x_t with the
coefficient y_t. If more than `budget` points are stored then, with f' the function that has the
new point, all coefficients are multiplied by phi and the oldest point x_1 is dropped. Dropping it
costs

    Psi(phi) = delta^2 phi^2 k(x_1, x_1) + 2 delta phi (1 - phi mu),
    delta = |alpha_1|,   mu = sign(alpha_1) f'(x_1),

and phi is the largest number in (0, 1] that keeps the sum Q of these costs at most 15/32 of the
number of mistakes M: with a = delta^2 k(x_1, x_1) - 2 delta mu, b = 2 delta, c = Q - 15/32 M it is
1 if a + b + c <= 0, and otherwise the root of a phi^2 + b phi + c, -2 c / (b + sqrt(b^2 - 4 a c)).
A round costs O(B d). The points lie in a ring, so nothing moves when the oldest leaves.

Reference: Dekel, Shalev-Shwartz, Singer, "The Forgetron: a kernel-based perceptron on a budget",
SIAM Journal on Computing 37(5), 2008. The paper has k(x, x) <= 1 and writes 1 for k(x_1, x_1).
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from forks.engine import (
    MANY,
    MENDS,
    Counter,
    Limit,
    Points,
    Vector,
    finite,
    njit,
    score,
    step,
    store,
)
from forks.engine.checks import one_of
from forks.kernels import Kernel
from forks.linalg.vectors import dot
from forks.parts.expansion import (
    POINTS,
    BudgetedExpansion,
    compare,
    expand,
    expansion_score,
    is_mistake,
)

_SHARE = 15.0 / 32.0
_OLDEST, _MISTAKES = 3, 4  # in `counts`


class ForgetronState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 5]  # the event, never raised; mends; n; the oldest of B points; M
    points: Annotated[Points, "capacity = budget + 1"]
    alpha: Annotated[Vector, "padded(budget + 1)"]
    spent: Annotated[Vector, 1]  # Q


class ForgetronRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    budget: int
    published: bool


class ForgetronWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x)
    oldest_row: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x_1)
    oldest: Annotated[Vector, "features"]  # x_1


@dataclass(frozen=True, kw_only=True)
class Forgetron(BudgetedExpansion):
    """Forgetron, for classification.

    A sample weight is a factor of the coefficient that a mistake adds.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    budget : int
        B, points that are stored at most.
    root : {"published", "lsokl"}
        "published" is the rule above. "lsokl" is for comparison with the LSOKL code only: where
        a < 0 it takes the other root, which is above 1, so that coefficients grow; and its M
        leaves out the rounds with f(x_t) = 0 and y_t = 1, which that code answers rightly.
    """

    root: str = "published"

    state_class = ForgetronState
    work_class = ForgetronWork
    rule_class = ForgetronRule

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("root", self.root, ("published", "lsokl"))

    def derived(self) -> dict[str, Any]:
        """Return the variant as compiled code asks for it."""
        return {"published": self.root == "published"}

    def limits(self, view: ForgetronState) -> list[Limit]:
        """Return the bounds of the counts."""
        return [
            *super().limits(view),
            Limit("place of the oldest point", view.counts[_OLDEST], 0, self.budget - 1),
            Limit("number of mistakes", view.counts[_MISTAKES], 0, MANY),
        ]


score.register(ForgetronRule)(expansion_score)


@step.register(ForgetronRule)
def _step(rule, state, work, x, y, weight, out):
    counts, alpha = state.counts, state.alpha
    n = counts[POINTS]
    out[0] = expand(rule.kernel, state.points, n, alpha, x, work.row)
    if weight == 0.0 or y[0] * out[0] > 0.0:
        return
    if rule.published or is_mistake(out[0], y[0]):
        counts[_MISTAKES] += 1
    if n < rule.budget:
        counts[POINTS] = n + 1
        store(x, state.points, n)
        alpha[n] = weight * y[0]
        return
    slot = counts[_OLDEST]
    phi = _shrink(rule, state, work, slot, weight * y[0])
    store(x, state.points, slot)  # the newest takes the place of the oldest
    alpha[slot] = phi * (weight * y[0])
    counts[_OLDEST] = slot + 1 if slot + 1 < rule.budget else 0


@njit
def _shrink(rule, state, work, slot, newest):
    """Multiply the coefficients by phi and return it.

    Where the cost of dropping the oldest point overflows, it is dropped at no cost, and nothing
    shrinks: a point that could not leave would keep all others out for ever.
    """
    alpha = state.alpha
    for j in range(work.oldest.shape[0]):  # dense, also in a stream of sparse rows
        work.oldest[j] = state.points.columns[j, slot]
    compare(rule.kernel, state.points, rule.budget, work.oldest, work.oldest_row)
    value = dot(alpha, work.oldest_row, rule.budget) + newest * work.row[slot]  # f'(x_1)
    delta = abs(alpha[slot])
    a = delta * delta * work.oldest_row[slot] - 2.0 * alpha[slot] * value
    b = 2.0 * delta
    c = state.spent[0] - _SHARE * state.counts[_MISTAKES]
    phi = _root(a, b, c, rule.published)
    largest = abs(newest)
    for i in range(rule.budget):
        largest = max(largest, abs(alpha[i]))
    spent = state.spent[0] + phi * (a * phi + b)
    if not (finite(phi * largest) and finite(spent)):
        state.counts[MENDS] += 1
        return 1.0
    state.spent[0] = spent
    for i in range(rule.budget):
        alpha[i] *= phi
    return phi


@njit
def _root(a, b, c, published):
    if a + b + c <= 0.0 or b == 0.0:
        return 1.0
    # by rounding only is the discriminant negative, or c positive
    reach = b + math.sqrt(max(b * b - 4.0 * a * c, 0.0))
    if not published and a < 0.0:
        return -0.5 * reach / a
    return max(-2.0 * c, 0.0) / reach

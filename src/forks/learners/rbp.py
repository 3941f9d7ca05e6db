"""Random budget perceptron (RBP): a kernel perceptron that drops a random point for a new one.

f(x) = sum_i alpha_i k(x_i, x). A mistake, sign f(x_t) != y_t, adds x_t with the coefficient y_t;
when `budget` points are stored, one of them, drawn uniformly, makes room for it. Other rounds
change nothing. A round costs O(B d).

Reference: Cavallanti, Cesa-Bianchi, Gentile, "Tracking the best hyperplane with a simple budget
perceptron", Machine Learning 69, 2007.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from forks.engine import Counter, Points, Vector, score, step, store
from forks.engine.random import integer
from forks.kernels import Gaussian, Kernel
from forks.parts.expansion import (
    POINTS,
    BudgetedExpansion,
    drop,
    expand,
    expansion_score,
    is_mistake,
)


class RBPState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 3]  # the event, never raised; mends, of which it needs none; n
    points: Annotated[Points, "capacity = budget + 1"]
    alpha: Annotated[Vector, "padded(budget + 1)"]
    random: Annotated[Counter, 1]  # generator


class RBPRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    budget: int
    insert_when_full: bool


@dataclass(frozen=True, kw_only=True)
class RBP(BudgetedExpansion):
    """Random budget perceptron, for classification.

    A sample weight is a factor of the coefficient that a mistake adds.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    budget : int
        B, points that are stored at most.
    insert_when_full : bool
        Does a mistake enter when the budget is full? If not, it only drops a point, and every
        second mistake is stored; see `as_released`.
    """

    insert_when_full: bool = True

    state_class = RBPState
    rule_class = RBPRule

    @classmethod
    def as_released(
        cls, *, kernel: Kernel = Gaussian(), budget: int = 100, **changes: Any
    ) -> "RBP":
        """As the code of the FORKS authors: a mistake at a full budget drops a point unreplaced."""
        return cls(**{"kernel": kernel, "budget": budget, "insert_when_full": False, **changes})


score.register(RBPRule)(expansion_score)


@step.register(RBPRule)
def _step(rule, state, work, x, y, weight, out):
    n = state.counts[POINTS]
    out[0] = expand(rule.kernel, state.points, n, state.alpha, x, work.row)
    if weight == 0.0 or not is_mistake(out[0], y[0]):
        return
    slot = n
    if n < rule.budget:
        state.counts[POINTS] = n + 1
    else:
        slot = integer(state.random, n)
        if not rule.insert_when_full:
            drop(state.points, state.alpha, slot, n)
            state.counts[POINTS] = n - 1
            return
    store(x, state.points, slot)
    state.alpha[slot] = weight * y[0]

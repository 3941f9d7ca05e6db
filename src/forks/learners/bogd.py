"""Bounded online gradient descent (BOGD): gradient steps; a drawn point leaves a full budget.

f(x) = sum_i alpha_i k(x_i, x). Every round shrinks, alpha <- (1 - eta lambda) alpha; a round with
a non-zero slope l' of the loss also adds x_t with the coefficient -eta l'. When `budget` points
are stored, one of them, drawn with probabilities p_i, makes room, and each other coefficient is
divided by 1 - p_i, so that the expectation of f is what it was. Then all are scaled down alike
until none is beyond eta gamma. The draws:

    uniform    p_i = 1/B, so the others grow by B / (B - 1);
    weighted   1 - p_i = min(1, s |alpha_i| k(x_i, x_i)^(1/2)), with s such that sum_i p_i = 1:
               the larger a point's share of f, the safer it is.

A round costs O(B d). What scales all coefficients alike is kept as one common factor; only the
weighted draw visits all of them, in rounds with loss at a full budget.

Reference: Zhao, Wang, Wu, Jin, Hoi, "Fast bounded online gradient descent algorithms for scalable
kernel-based online learning", ICML 2012; the weighted draw is its BOGD++. There
1 - p_i = s |alpha_i| k(x_i, x_i)^(1/2) with s = (B - 1) / sum_j |alpha_j| k(x_j, x_j)^(1/2), which
is beyond 1 for points well above the mean: those are kept for certain here, and the rest have
their s from what is left. The paper cuts each coefficient at eta gamma by itself; the authors'
later code scales all of them, as we do. Where the loss has slopes beyond gamma, a new coefficient
is first cut by itself, so that one wild target does not scale away all that was learned.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import MENDS, Counter, Limit, Points, Vector, finite, njit, score, step, store
from forks.engine.blocks import LANES
from forks.engine.checks import not_negative, one_of, positive
from forks.engine.random import integer, uniform
from forks.kernels import Gaussian, Kernel
from forks.linalg.vectors import dot
from forks.losses import Hinge, Loss, slope
from forks.parts.expansion import (
    POINTS,
    BudgetedExpansion,
    compare,
    finite_or_zero,
    self_value,
)

_CERTAIN = -1.0  # share of a point that cannot be drawn
_FAR = 1e9  # a common factor beyond it, or below its inverse, goes into the coefficients
_LARGEST_ROOT = 1e150
_LARGEST_AT = 3  # in `counts`


class BOGDState(NamedTuple):
    """State that learning changes in place. Points [:n] are in use."""

    counts: Annotated[Counter, 4]  # the event, never raised; mends; n; the largest |alpha_i|
    points: Annotated[Points, "capacity = budget + 1"]
    alpha: Annotated[Vector, "padded(budget + 1)"]  # coefficients, up to the common factor
    factor: Annotated[Vector, 1]  # the common factor
    roots: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x_i)^(1/2), for the weighted draw
    spare: Annotated[Points, "capacity = 1"]  # room to compare a row with itself
    random: Annotated[Counter, 1]  # generator


class BOGDRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    budget: int
    eta: float
    shrink: float  # 1 - eta lambda
    bound: float  # eta gamma
    weighted: bool


class BOGDWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(budget + 1)"]  # k(x_i, x)
    shares: Annotated[Vector, "padded(budget + 1)"]  # |alpha_i| k(x_i, x_i)^(1/2), or _CERTAIN
    block: Annotated[Vector, LANES]


@dataclass(frozen=True, kw_only=True)
class BOGD(BudgetedExpansion):
    """Bounded online gradient descent, for classification and regression.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    loss : loss
        One of `forks.losses`.
    budget : int
        B, points that are stored at most.
    eta : float
        Step size.
    regularisation : float
        lambda: coefficients shrink by 1 - eta lambda in every round. The paper has values around
        1 / T^2 for a stream of T rounds.
    largest : float
        gamma: no coefficient is beyond eta gamma. For regression it should be well above the size
        of the errors.
    removal : {"uniform", "weighted"}
        How the point to leave is drawn: all alike, or by their coefficients.
    """

    loss: Loss = Hinge()
    eta: float = 0.2
    regularisation: float = 1e-6
    largest: float = 10.0
    removal: str = "uniform"

    state_class = BOGDState
    work_class = BOGDWork
    rule_class = BOGDRule

    @classmethod
    def as_released(
        cls,
        *,
        kernel: Kernel = Gaussian(),
        loss: Loss = Hinge(),
        budget: int = 100,
        **changes: Any,
    ) -> "BOGD":
        """As the code of the FORKS authors, which does not shrink while the budget is not full.

        Its lambda is 1 / T^2 at most, which changes no score that can be seen: here it is 0. Its
        single precision is not copied.
        """
        released = {"kernel": kernel, "loss": loss, "budget": budget, "regularisation": 0.0}
        return cls(**{**released, **changes})

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("eta", self.eta)
        not_negative("regularisation", self.regularisation)
        if not self.eta * self.regularisation < 1.0:
            raise ValueError(
                f"regularisation must be below 1 / eta ({1.0 / self.eta}), "
                f"got {self.regularisation!r}"
            )
        positive("largest", self.largest)
        one_of("removal", self.removal, ("uniform", "weighted"))

    def derived(self) -> dict[str, Any]:
        """Return the numbers that rounds go by."""
        return {
            "shrink": 1.0 - self.eta * self.regularisation,
            "bound": self.eta * self.largest,
            "weighted": self.removal == "weighted",
        }

    def begin(self, view: BOGDState, rng: np.random.Generator) -> None:
        """Start with the common factor 1."""
        super().begin(view, rng)
        view.factor[0] = 1.0

    def limits(self, view: BOGDState) -> list[Limit]:
        """Return the bounds of the counts, and of what draws are made by."""
        return [
            *super().limits(view),
            Limit("place of the largest coefficient", view.counts[_LARGEST_AT], 0, self.budget - 1),
            Limit("common factor", view.factor, 0.0, math.inf),
            Limit("roots", view.roots, 0.0, _LARGEST_ROOT),
        ]


@score.register(BOGDRule)
def _score(rule, state, work, x, out):
    n = state.counts[POINTS]
    compare(rule.kernel, state.points, n, x, work.row)
    out[0] = finite_or_zero(state.factor[0] * dot(state.alpha, work.row, n))


@step.register(BOGDRule)
def _step(rule, state, work, x, y, weight, out):
    score(rule, state, work, x, out)
    if weight == 0.0:
        return
    state.factor[0] *= rule.shrink
    coefficient = -rule.eta * weight * slope(rule.loss, out[0], y[0])
    if not finite(coefficient):
        state.counts[MENDS] += 1
    elif coefficient != 0.0:
        _add(rule, state, work, x, min(max(coefficient, -rule.bound), rule.bound))
    if not 1.0 / _FAR <= state.factor[0] <= _FAR:
        for i in range(state.counts[POINTS]):
            state.alpha[i] *= state.factor[0]
        state.factor[0] = 1.0


@njit
def _add(rule, state, work, x, coefficient):
    """Store x, in the place of a drawn point if the budget is full, and hold the bound."""
    counts, alpha = state.counts, state.alpha
    slot, n = counts[POINTS], counts[POINTS]
    search = False  # for the largest coefficient; else the new one only is compared with it
    if n < rule.budget:
        counts[POINTS] = n + 1
    else:
        if rule.weighted:
            slot = _draw(state, work, n)
            search = True
        else:
            slot = integer(state.random, n)
            search = slot == counts[_LARGEST_AT]
            if n > 1:
                state.factor[0] *= n / (n - 1)
    store(x, state.points, slot)
    alpha[slot] = coefficient / state.factor[0]
    if rule.weighted:
        square = self_value(rule.kernel, x, state.spare, work.block)
        state.roots[slot] = min(math.sqrt(square), _LARGEST_ROOT) if square > 0.0 else 0.0
    if search:
        counts[_LARGEST_AT] = 0
        for i in range(1, n):
            if abs(alpha[i]) > abs(alpha[counts[_LARGEST_AT]]):
                counts[_LARGEST_AT] = i
    elif abs(alpha[slot]) > abs(alpha[counts[_LARGEST_AT]]):
        counts[_LARGEST_AT] = slot
    size = state.factor[0] * abs(alpha[counts[_LARGEST_AT]])
    if size > rule.bound:
        state.factor[0] *= rule.bound / size


@njit
def _draw(state, work, n):
    """Draw the point to leave, by its share, and divide the other coefficients by 1 - p_i."""
    alpha, shares = state.alpha, work.shares
    for i in range(n):
        shares[i] = abs(alpha[i]) * state.roots[i]
    in_doubt, certain = n, 0
    s = 0.0  # 1 - p_i = s shares[i] for the points in doubt
    while True:  # twice or three times: those far above the mean are certain, then the rest
        total = 0.0
        for i in range(n):
            total += max(shares[i], 0.0)
        s = (in_doubt - 1) / total if total > 0.0 else 0.0
        certain = 0
        for i in range(n):
            if s * shares[i] > 1.0:
                shares[i] = _CERTAIN
                certain += 1
        in_doubt -= certain
        if certain == 0:
            break
    alike = (in_doubt - 1) / in_doubt  # 1 - p_i of points without any share
    u, drawn = uniform(state.random), -1
    for i in range(n):
        if shares[i] != _CERTAIN and (drawn < 0 or u >= 0.0):  # rounding may leave u >= 0
            drawn = i
            u -= 1.0 - (s * shares[i] if s > 0.0 else alike)
    for i in range(n):
        if shares[i] != _CERTAIN and i != drawn:
            grown = alpha[i] / (s * shares[i] if s > 0.0 else alike)
            if finite(grown):
                alpha[i] = grown
    return drawn

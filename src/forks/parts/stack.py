"""A mixture of numbers corrected by what its experts say beside it: stacking, learned online.

Weights of experts are positive, sum to one, and soon belong to one of them: they choose. So they
cannot say that the last target is to be believed by a third, or that the errors of one expert make
up for those of another. With the answer f of the mixture, its root mean squared error s, and the
answers f_e of the experts that have a say, the stacked answer is

    f + s a'v,   v_e = (f_e - f) / s, clipped, and a constant 1,

where a, which begins as 0, is learned by a Kalman filter (`parts.blend`) from the errors
(y - f) / s, clipped too. Both answers, f and the stacked one, are then weighed by Bayes' rule with
a fixed share, as experts are: where stacking does not help, f remains.

References: Wolpert, "Stacked generalization", 1992; Breiman, "Stacked regressions", 1996.
"""

import math
from typing import Annotated, NamedTuple

from forks.engine import Limit, Matrix, Vector, finite, jit_dispatch
from forks.parts.blend import (
    Blend,
    BlendRule,
    begin_blend,
    blend_limits,
    blended,
    clipped,
    learn_blend,
)
from forks.parts.experts import PAIR

MEAN_SQUARE, COUNTED = 0, 1  # what `errors` holds
PLAIN, STACKED = 0, 1  # what `trust` holds


class StackRule(NamedTuple):
    """Constants of the stack."""

    blend: BlendRule = BlendRule(False, variance=0.01, drift=1e-5, clip_of_numbers=5.0)
    settle: int = 20  # rounds before it learns
    outlier: float = 4.0  # where errors are clipped, in units of s
    rate: float = 0.5
    share: float = 0.0005
    farthest: float = 16.0  # largest squared error in a likelihood, in units of s^2
    largest: float = 150.0  # and in the mean of squares
    memory: float = 1000.0  # rounds, of that mean


class NoStack(NamedTuple):
    """The rule of a mixture that is not stacked: nothing is compiled for it."""

    stacked: bool = False


class Stack(NamedTuple):
    """The stack of each output."""

    blend: Annotated[Blend, "inputs = experts + 1"]
    trust: Annotated[Matrix, "outputs", 2]
    errors: Annotated[Matrix, "outputs", 2]  # mean square of the errors of f, and their count


class StackWork(NamedTuple):
    """Scratch."""

    v: Annotated[Matrix, "outputs", "experts + 1"]
    u: Annotated[Vector, "experts + 1"]
    plain: Annotated[Vector, "outputs"]  # f


def begin_stack(rule: StackRule, stack: Stack) -> None:
    """Begin with the mixture alone, and both answers alike."""
    begin_blend(rule.blend, stack.blend, 0)
    stack.trust[:] = 0.5


def begin_expert(rule: StackRule, stack: Stack, e: int) -> None:
    """Forget what was learned of the expert that was in place e."""
    weights, P = stack.blend
    weights[:, e] = 0.0
    P[:, e, :], P[:, :, e] = 0.0, 0.0
    P[:, e, e] = rule.blend.variance


def stack_limits(rule: StackRule, stack: Stack) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        *blend_limits(rule.blend, stack.blend),
        Limit("trust in the stack", stack.trust, 0.0, 1.0),
        Limit("errors of the mixture", stack.errors, 0.0, math.inf),
    ]


@jit_dispatch
def stacked(rule, stack, work, o, p, weights, f):
    """Return the answer of output o for the answer f of the mixture; experts say p."""


@jit_dispatch
def learn_stack(rule, stack, work, o, y, weight):
    """Learn from the target of output o, after `stacked`; the row counts `weight`, at most 1."""


@stacked.register(NoStack)
def _plain(rule, stack, work, o, p, weights, f):
    return f


@learn_stack.register(NoStack)
def _learn_nothing(rule, stack, work, o, y, weight):
    pass


@stacked.register(StackRule)
def _stacked(rule, stack, work, o, p, weights, f):
    # The mean of the first two experts adds nothing beside them, and is left out.
    n, v = weights.shape[0], work.v[o]
    work.plain[o] = f
    size = math.sqrt(stack.errors[o, MEAN_SQUARE])
    if not size > 0.0:
        v[:] = 0.0
        return f
    for e in range(n):
        says = weights[e] > 0.0 and e != n + PAIR
        v[e] = clipped(rule.blend, (p[e, o] - f) / size) if says else 0.0
    v[n] = 1.0
    more = size * blended(rule.blend, stack.blend.weights[o], v)
    answer = f + stack.trust[o, STACKED] * more
    return answer if finite(answer) else f


@learn_stack.register(StackRule)
def _learn_stack(rule, stack, work, o, y, weight):
    trust, errors, v = stack.trust[o], stack.errors[o], work.v[o]
    mean, error = errors[MEAN_SQUARE], y - work.plain[o]
    if not finite(error * error):
        return
    if mean > 0.0 and errors[COUNTED] > rule.settle:
        a, P = stack.blend.weights[o], stack.blend.covariance[o]
        target = error / math.sqrt(mean)
        f = blended(rule.blend, a, v)
        total = 0.0
        for i in range(2):
            square = target * target if i == PLAIN else (target - f) ** 2
            trust[i] *= math.exp(-0.5 * rule.rate * weight * min(square, rule.farthest))
            total += trust[i]
        for i in range(2):
            trust[i] = (1.0 - rule.share) * trust[i] / total + 0.5 * rule.share
        left = min(max(target - f, -rule.outlier), rule.outlier)
        learn_blend(rule.blend, a, P, v, work.u, f, f + left, weight)
    square = error * error
    if errors[COUNTED] > 100.0:
        square = min(square, rule.largest * mean)
    errors[COUNTED] = min(errors[COUNTED] + 1.0, rule.memory)
    errors[MEAN_SQUARE] = mean + (square - mean) / errors[COUNTED]

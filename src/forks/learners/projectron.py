"""Projectron: a kernel perceptron that projects onto its points when it has no room for more.

f(x) = sum_i alpha_i k(x_i, x). A mistake, sign f(x_t) != y_t, adds x_t with the coefficient y_t
while fewer than `budget` points are stored. After that it adds the projection of y_t k(x_t, .)
onto their span,

    alpha <- alpha + y_t d,   d = K^-1 k_t,

with K the kernel matrix of the stored points and k_t their kernel values to x_t. Other rounds
change nothing. A round costs O(B d), and O(B^2) more after a mistake.

Reference: Orabona, Keshet, Caputo, "Bounded kernel-based online learning", JMLR 10, 2009. There a
point close enough to the span is projected at any time and the number of points has no set bound;
the budget instead is that of the LSOKL and FORKS codes. A point that the span holds up to rounding
is projected also here, see `forks.parts.projection`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from forks.engine import score, step
from forks.kernels import Kernel
from forks.parts.expansion import POINTS, expand, expansion_score, is_mistake
from forks.parts.projection import ProjectedExpansion, learn, split


class ProjectronRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    budget: int


@dataclass(frozen=True, kw_only=True)
class Projectron(ProjectedExpansion):
    """Projectron, for classification.

    A sample weight is a factor of what a mistake adds.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    budget : int
        B, points that are stored at most.
    """

    rule_class = ProjectronRule


score.register(ProjectronRule)(expansion_score)


@step.register(ProjectronRule)
def _step(rule, state, work, x, y, weight, out):
    out[0] = expand(rule.kernel, state.points, state.counts[POINTS], state.alpha, x, work.row)
    if weight != 0.0 and is_mistake(out[0], y[0]):
        inside, outside = split(rule, state, work, x)
        learn(rule, state, work, x, inside, outside, weight * y[0], True)

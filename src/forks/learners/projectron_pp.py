"""Projectron++: a Projectron that also learns from answers that are right by too little.

Mistakes are learned as by the Projectron: x_t joins with the coefficient y_t while fewer than
`budget` points are stored, and is projected onto their span after that. A round with the right
answer but 0 < y_t f(x_t) < 1 adds a part of the projection if that helps: with K the kernel matrix
of the stored points, k_t their kernel values to x_t, and

    l = 1 - y_t f(x_t),   d = K^-1 k_t,   P = d'K d,   delta^2 = k(x_t, x_t) - P,
    tau = min(l / P, 1),   U = sqrt((B + 1) / ln(B + 1)) / 4,

alpha grows by y_t tau d if tau (2 l - tau P - 2 U delta) >= 0; no point is stored. A round costs
O(B d), and O(B^2) more if it has a loss.

Reference: Orabona, Keshet, Caputo, "Bounded kernel-based online learning", JMLR 10, 2009. There a
point close enough to the span is projected at any time and the number of points has no set bound;
the budget instead is that of the LSOKL code. A point that the span holds up to rounding is
projected also here, see `forks.parts.projection`.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from forks.engine import score, step
from forks.kernels import Kernel
from forks.parts.expansion import POINTS, expand, expansion_score, is_mistake
from forks.parts.projection import ProjectedExpansion, learn, split


class ProjectronPPRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    budget: int
    bound: float  # U


@dataclass(frozen=True, kw_only=True)
class ProjectronPP(ProjectedExpansion):
    """Projectron++, for classification.

    A sample weight is a factor of what a round adds.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    budget : int
        B, points that are stored at most.
    """

    rule_class = ProjectronPPRule

    def derived(self) -> dict[str, Any]:
        """Return U."""
        return {"bound": 0.25 * math.sqrt((self.budget + 1) / math.log(self.budget + 1))}


score.register(ProjectronPPRule)(expansion_score)


@step.register(ProjectronPPRule)
def _step(rule, state, work, x, y, weight, out):
    out[0] = expand(rule.kernel, state.points, state.counts[POINTS], state.alpha, x, work.row)
    mistake, margin = is_mistake(out[0], y[0]), y[0] * out[0]
    if weight == 0.0 or not (mistake or 0.0 < margin < 1.0):
        return
    inside, outside = split(rule, state, work, x)
    tau = 1.0
    if not mistake:
        loss = 1.0 - margin
        tau = loss / inside if inside > loss else 1.0
        if 2.0 * loss - tau * inside < 2.0 * rule.bound * math.sqrt(max(outside, 0.0)):
            return
    learn(rule, state, work, x, inside, outside, weight * y[0] * tau, mistake)

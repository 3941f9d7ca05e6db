"""Nystrom online gradient descent (NOGD): gradient steps, in the end on Nystrom features.

Stage one is kernel online gradient descent: every point with a non-zero slope l' of the loss is
stored with the coefficient -eta l' until `budget` points are stored. The next such round is the
switch: from then on the stored points, whose kernel matrix has the leading eigenpairs
(V, Lambda), serve as landmarks of k features (`forks.features.nystrom`),

    phi(x) = Lambda^(-1/2) V' [k(x, x_1), ..., k(x, x_B)]',
    f_t = w'phi_t,   w <- w - step_size l'(f_t, y_t) phi_t,

and w starts from stage one's hypothesis, w = Lambda^(1/2) V' alpha. The round of the switch learns
at once in the new space, from the slope at the score that it was given. A round costs
O(B d + B k); the switch, once, O(B^3).

Reference: Lu, Hoi, Wang, Zhao, Liu, "Large scale online kernel learning", Journal of Machine
Learning Research 17, 2016. Its code, like ours, switches at the first round with loss after the
buffer is full. It does not look at small eigenvalues, of which the square root of the inverse is
rounding error and worse; here they give features that are zero. Steps that would diverge are held,
see `forks.parts.gradient`.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    RESUME,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Vector,
    score,
    step,
)
from forks.engine.checks import not_negative, positive, whole
from forks.features.nystrom import nystrom_map
from forks.features.sketched import FeatureMap, write_features
from forks.kernels import Gaussian, Kernel, check_kernel, kernel_block
from forks.losses import Hinge, Loss
from forks.parts.gradient import LARGEST
from forks.parts.linear import has_loss, linear_scores, linear_step
from forks.parts.stage_one import (
    COUNT,
    Count,
    count_limits,
    expansion_scores,
    gradient_round,
)

_EPSILON = float(np.finfo(np.float64).eps)


class NOGDState(NamedTuple):
    """State that learning changes in place."""

    counts: Annotated[Counter, len(Count._fields)]
    points: Annotated[Points, "capacity = budget"]  # stage one's points, then landmarks
    alpha: Annotated[Matrix, "outputs", "padded(budget)"]  # coefficients of stage one
    spare: Annotated[Points, "capacity = 1"]  # room to compare a row with itself
    Z: Annotated[Matrix, "budget", "padded(rank)"]  # zero beyond k
    w: Annotated[Matrix, "outputs", "padded(rank)"]  # zero beyond k


class NOGDRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    buffer: int
    eta: float
    step_size: float


class NOGDWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(budget)"]  # k(x_i, x)
    phi: Annotated[Vector, "padded(rank)"]
    change: Annotated[Vector, "outputs"]  # coefficients of a point of stage one


@dataclass(frozen=True, kw_only=True)
class NOGD(Learner):
    """Nystrom online gradient descent.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`.
    loss : loss
        One of `forks.losses`.
    budget : int
        B, points that are stored: all in stage one, the landmarks after it.
    rank : int, default B / 5
        k, features.
    eta : float
        Step size of stage one.
    step_size : float, default eta
        Step size after the switch.
    cut : float, default 2.2e-16 B
        Eigenvalues up to this share of the largest give features that are zero.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    budget: int = 100
    rank: int | None = None
    eta: float = 0.2
    step_size: float | None = None
    cut: float | None = None

    multi_output = True
    state_class = NOGDState
    work_class = NOGDWork
    rule_class = NOGDRule

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("budget", self.budget, 1)
        whole("rank", self.n_components(), 1, self.budget, "the budget")
        positive("eta", self.eta)
        if self.step_size is not None:
            positive("step_size", self.step_size)
        if self.cut is not None:
            not_negative("cut", self.cut)

    def n_components(self) -> int:
        """Return k, with None filled in."""
        return max(1, self.budget // 5) if self.rank is None else self.rank

    def lengths(self) -> dict[str, int]:
        """Return B and k."""
        return {"budget": self.budget, "rank": self.n_components()}

    def derived(self) -> dict[str, Any]:
        """Return the size of stage one's buffer, and the step size with None filled in."""
        step_size = self.eta if self.step_size is None else self.step_size
        return {"buffer": self.budget, "step_size": step_size}

    def limits(self, view: NOGDState) -> list[Limit]:
        """Return the bounds of the counts."""
        return count_limits(view.counts, self.budget)

    def handle(self, view: NOGDState, x: Vector) -> None:
        """Switch to features."""
        n, k = self.budget, self.n_components()
        cut = n * _EPSILON if self.cut is None else self.cut
        Z, project = nystrom_map(check_kernel(self.kernel), view.points, n, k, cut)
        view.Z[:, :k] = Z
        with np.errstate(over="ignore", invalid="ignore"):
            w = view.alpha[:, :n] @ project.T
        if not np.abs(w).sum() <= LARGEST:  # coefficients that overflow: start anew
            view.counts[COUNT.mends] += 1
            w = np.zeros_like(w)
        view.w[:, :k] = w
        view.counts[COUNT.stage] = 2
        view.counts[COUNT.event] = RESUME

    def stored_points(self, memory: Memory) -> int:
        """Count the points that the learner keeps now."""
        return int(self.view(memory).counts[COUNT.stored])

    def features(self, memory: Memory, X: Matrix) -> Matrix | None:
        """Return phi of the rows; None in stage one."""
        state = self.view(memory)
        if state.counts[COUNT.stage] == 0:
            return None
        K = kernel_block(check_kernel(self.kernel), X, state.points, self.budget)
        return np.asarray(K @ state.Z[:, : self.n_components()])

    def rounds_since_switch(self, memory: Memory) -> int:
        """Count the rounds of stage two."""
        return int(self.view(memory).counts[COUNT.rounds])


@score.register(NOGDRule)
def _score(rule, state, work, x, out):
    if state.counts[COUNT.stage] == 0:
        expansion_scores(rule, state, work, x, out)
    else:
        write_features(rule.kernel, FeatureMap(state.points, state.Z), x, work.row, work.phi)
        linear_scores(state.w, work.phi, out)


@step.register(NOGDRule)
def _step(rule, state, work, x, y, weight, out):
    counts = state.counts
    if counts[COUNT.stage] == 0:
        gradient_round(rule, state, work, x, y, weight, out)
        return
    if counts[COUNT.event] == RESUME:  # `out` has the score that stage one gave
        counts[COUNT.event] = 0
        write_features(rule.kernel, FeatureMap(state.points, state.Z), x, work.row, work.phi)
    else:
        score(rule, state, work, x, out)
        counts[COUNT.rounds] += weight != 0.0
        counts[COUNT.losses] += has_loss(rule.loss, y, weight, out)
    step_size, phi = rule.step_size, work.phi
    counts[COUNT.mends] += linear_step(rule.loss, step_size, state.w, phi, y, weight, out)

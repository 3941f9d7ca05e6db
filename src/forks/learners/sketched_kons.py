"""SKETCHED-KONS: the online Newton step in the space of the kernel itself, A on sampled rounds.

With phi_t the feature of x_t in the space of the kernel,

    u = w - A^-1 g,   w <- u - h(phi_t'u) / (phi_t'A^-1 phi_t) A^-1 phi_t,
    f_t = w'phi_t,   g = l'(f_t, y_t) phi_t,   h(f) = sign(f) max(|f| - C, 0),
    A <- A + b_t curvature g g',   A = ridge I at first (the parameter `alpha`),

where the projection looks at the row about to be predicted and A^-1 g is the step of the round
before; here it is made at once, with A as it then is. b_t, 0 or 1, is drawn with the probability
p_t = max(gamma, min(beta tau_t, 1)), and tau_t is the estimate of KORS of the leverage score of the
scaled feature psi_t = c_t phi_t, c_t = sqrt(curvature) l'_t: with the rounds D in A so far weighing
s_i = 1 / sqrt(p_i) and v_i = s_i psi_i'psi_t,

    tau_t = (1 + epsilon) r / (ridge + r),   r = psi_t'psi_t - v'(Kbar_D + ridge I)^-1 v.

gamma = 1 takes every round with loss: that is KONS, exactly. With Psi = [psi_i]_{i in D},

    A^-1 = (I - Psi M^-1 Psi') / ridge,   M = ridge I + Psi'Psi,

and w = sum_i alpha_i phi_i over all rounds that had loss or in which the projection moved w. So a
score costs O(n d) with n growing as in KOGD; a round with loss costs 1.5 |D|^2 more, for M and
Kbar, both kept as inverses of Cholesky factors that grow (`forks.linalg.inverse_cholesky`). Memory
is O(n d + |D|^2), and |D| is at least the share gamma of the rounds with loss: the sketch cheapens
A, but nothing bounds it, nor n. Numbers are as exact as k(x, x) / ridge times the rounding of
floats.

Reference: Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with
adaptive sketching", ICML 2017.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from forks.engine import (
    EVENT,
    MENDS,
    Counter,
    Growth,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Vector,
    njit,
    score,
    step,
    store,
)
from forks.engine.checks import not_negative, positive
from forks.engine.random import uniform
from forks.kernels import Gaussian, Kernel
from forks.linalg.inverse_cholesky import backward, border, forward
from forks.linalg.vectors import clear, dot, l1_norm
from forks.losses import Hinge, Loss, slope
from forks.parts.expansion import POINTS, compare, finite_or_zero
from forks.parts.gradient import LARGEST

_FULL = 1  # the event
_ROUNDS = 3  # where `counts` holds m
_LARGEST = 1e75  # rounds with larger numbers, of polynomials of huge features, teach nothing
_ROUNDING = 1e-13  # of k(x, x): a smaller k(x, x) - phi'Psi M^-1 Psi'phi, or pivot, is rounding


class SketchedKONSState(NamedTuple):
    """State that learning changes in place. Points [:n] and members [:m] are in use."""

    counts: Annotated[Counter, 4]  # the event, which asks for room; mends; n; m
    points: Points
    alpha: Annotated[Vector, "capacity"]  # coefficients
    members: Annotated[Counter, "room"]  # their points
    c: Annotated[Vector, "room"]  # psi_i = c_i phi_i
    weighted: Annotated[Vector, "room"]  # s_i c_i
    triangle: Annotated[Matrix, "room", "room"]  # inverse Cholesky factor of M
    leverage: Annotated[Matrix, "room", "room"]  # that of Kbar + ridge I
    random: Annotated[Counter, 1]  # generator


class SketchedKONSRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    ridge: float  # the parameter alpha
    factor: float  # beta (1 + epsilon)
    gamma: float
    scale: float  # square root of the curvature
    clip: float


class SketchedKONSWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "capacity"]  # k(x_i, x)
    v: Annotated[Vector, "room"]  # the right side of a system
    half: Annotated[Vector, "room"]  # the system half solved
    u: Annotated[Vector, "room"]  # M^-1 Psi'phi
    r: Annotated[Vector, "room"]  # (Kbar + ridge I)^-1 v


@dataclass(frozen=True, kw_only=True)
class SketchedKONS(Learner):
    """SKETCHED-KONS, and KONS with gamma = 1. Memory grows with the losses.

    Parameters
    ----------
    kernel, loss
        One of `forks.kernels`, one of `forks.losses`.
    alpha : float
        A starts as alpha times the identity; the ridge of the leverage scores, too.
    beta : float
        Factor of tau in the probability that a round enters A.
    epsilon : float
        Accuracy that KORS allows for: tau is larger by the factor 1 + epsilon.
    gamma : float
        Smallest probability that a round with loss enters A, up to 1.
    curvature : float
        eta_t, weight of g g' in A.
    clip : float
        C, bound of the score in the projection, and so of every score; infinite for none.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    alpha: float = 1.0
    beta: float = 1.0
    epsilon: float = 0.5
    gamma: float = 0.1
    curvature: float = 1.0 / 16.0
    clip: float = 1.0

    state_class = SketchedKONSState
    work_class = SketchedKONSWork
    rule_class = SketchedKONSRule

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        not_negative("beta", self.beta)
        not_negative("epsilon", self.epsilon)
        positive("gamma", self.gamma)
        if self.gamma > 1:
            raise ValueError(f"gamma must be at most 1, got {self.gamma!r}")
        not_negative("curvature", self.curvature)
        positive("clip", self.clip, infinite=True)

    def derived(self) -> dict[str, Any]:
        """Return the fields of the rule that have other names or forms here."""
        factor = self.beta * (1.0 + self.epsilon)
        return {"ridge": self.alpha, "factor": factor, "scale": math.sqrt(self.curvature)}

    def growing(self) -> dict[str, Growth]:
        """Return the room for points, and for rounds in A, in whole blocks."""
        return {"capacity": Growth(64), "room": Growth(32)}

    def limits(self, view: SketchedKONSState) -> list[Limit]:
        """Return the bounds of the counts, and of the points that members are."""
        capacity = view.alpha.shape[0]
        return [
            Limit("number of points", view.counts[POINTS], 0, capacity),
            Limit("number of rounds in A", view.counts[_ROUNDS], 0, view.members.shape[0]),
            Limit("members", view.members, 0, capacity - 1),
        ]

    def handle(self, view: SketchedKONSState, x: Vector) -> Memory:
        """Double the room for points, or for rounds in A, or both."""
        full = {
            "capacity": view.counts[POINTS] == view.alpha.shape[0],
            "room": view.counts[_ROUNDS] == view.members.shape[0],
        }
        return self.doubled(view, *(name for name, is_full in full.items() if is_full))

    def stored_points(self, memory: Memory) -> int:
        """Count the points of the expansion, those of the rounds in A among them."""
        return int(self.view(memory).counts[POINTS])


@score.register(SketchedKONSRule)
def _score(rule, state, work, x, out):
    n = state.counts[POINTS]
    compare(rule.kernel, state.points, n, x, work.row)
    f = finite_or_zero(dot(state.alpha, work.row, n))
    out[0] = min(max(f, -rule.clip), rule.clip)


@step.register(SketchedKONSRule)
def _step(rule, state, work, x, y, weight, out):
    n, m, row = state.counts[POINTS], state.counts[_ROUNDS], work.row
    learns = weight != 0.0
    if learns:
        if n == state.alpha.shape[0] or m == state.triangle.shape[0]:
            state.counts[EVENT] = _FULL
            return
        store(x, state.points, n)  # waits in the place after the others, where it gives k(x, x)
    compare(rule.kernel, state.points, n + learns, x, row)
    k_xx = 0.0
    if learns:
        k_xx, row[n] = row[n], 0.0
    f = finite_or_zero(dot(state.alpha, row, n))
    out[0] = min(max(f, -rule.clip), rule.clip)
    if learns:
        gain = weight * slope(rule.loss, out[0], y[0])  # g = gain phi
        if gain != 0.0 or f != out[0]:
            fresh = weight * slope(rule.loss, 0.0, y[0])
            _learn(rule, state, work, k_xx, f - out[0], gain, fresh)


@njit
def _learn(rule, state, work, k_xx, excess, gain, fresh):
    """Make the projection, which takes `excess` off the score of x, and the Newton step.

    Both move w along A^-1 phi = (phi - Psi u) / ridge, u = M^-1 Psi'phi.

    A step that overflows is left out. Then w = 0 if the gain `fresh` of a new start is
    finite, and A = ridge I if the systems cannot be solved.
    """
    n, m = state.counts[POINTS], state.counts[_ROUNDS]
    v, half, u = work.v, work.half, work.u
    _gather(state, state.c, work.row, m, v)
    inside = forward(state.triangle, m, v, half)
    c = rule.scale * gain
    if not (abs(k_xx) <= _LARGEST and max(abs(gain), abs(c)) <= _LARGEST):
        state.counts[MENDS] += 1
        if abs(k_xx) <= _LARGEST and (1.0 + rule.scale) * abs(fresh) <= _LARGEST:
            clear(state.alpha)
        return
    left = k_xx - inside
    if left <= _ROUNDING * k_xx:
        left = 0.0
    q = left / rule.ridge  # phi'A^-1 phi
    backward(state.triangle, m, half, u)
    solved = inside <= _LARGEST and l1_norm(u, m) <= _LARGEST
    sampled = False
    if solved and c != 0.0 and k_xx > 0.0:
        solved, sampled = _sampled(rule, state, work, c, k_xx)
    if not solved:
        state.counts[MENDS] += 1
        state.counts[_ROUNDS] = 0
        return
    move = -gain / (1.0 + c * c * q) if sampled else -gain  # A^-1 phi shrinks when A gets g g'
    if excess != 0.0 and q > 0.0:
        move -= excess / q
    move /= rule.ridge
    if not abs(move) <= _LARGEST:
        state.counts[MENDS] += 1
        clear(state.alpha)
        return
    for i in range(m):
        state.alpha[state.members[i]] -= move * state.c[i] * u[i]
    state.alpha[n] = move
    if not l1_norm(state.alpha, n + 1) <= LARGEST:  # also for NaN
        state.counts[MENDS] += 1
        clear(state.alpha)
        return
    state.counts[POINTS] = n + 1
    if sampled:
        for i in range(m):
            u[i] *= c
        pivot = max(rule.ridge + c * c * left, _ROUNDING * c * c * k_xx)
        border(state.triangle, m, u, pivot)
        state.members[m] = n
        state.c[m] = c
        state.counts[_ROUNDS] = m + 1


@njit
def _sampled(rule, state, work, c, k_xx):
    """Draw whether psi = c phi enters A; if so, Kbar gets it, with its weight.

    Returns whether the system of Kbar could be solved, and the outcome of the draw.
    """
    if rule.gamma == 1.0:  # KONS: every round is in A
        return True, True
    m = state.counts[_ROUNDS]
    _gather(state, state.weighted, work.row, m, work.v)
    residual = c * c * max(k_xx - forward(state.leverage, m, work.v, work.half), 0.0)
    p = max(rule.gamma, min(rule.factor * residual / (rule.ridge + residual), 1.0))
    if uniform(state.random) >= p:
        return True, False
    backward(state.leverage, m, work.half, work.r)
    if not l1_norm(work.r, m) <= _LARGEST:
        return False, False
    s = 1.0 / math.sqrt(p)
    for i in range(m):
        work.r[i] *= s * c
    pivot = max(rule.ridge + s * s * residual, _ROUNDING * s * s * c * c * k_xx)
    border(state.leverage, m, work.r, pivot)
    state.weighted[m] = s * c
    return True, True


@njit
def _gather(state, scales, row, m, v):
    """v_i = scale_i k(x_i, x) over the rounds in A, with zeros up to a whole block."""
    for i in range(m):
        v[i] = scales[i] * row[state.members[i]]
    for i in range(m, v.shape[0]):
        v[i] = 0.0

"""SKETCHED-KONS: the online Newton step in the space of the kernel itself, A on sampled rounds.

With phi_t the feature of x_t in the space of the kernel,

    u = w - A^-1 g,   w <- u - h(phi_t'u) / (phi_t'A^-1 phi_t) A^-1 phi_t,
    f_t = w'phi_t,   g = l'(f_t, y_t) phi_t,   h(z) = sign(z) max(|z| - C, 0),
    A <- A + z_t curvature g g',   A = alpha I at first,

where the projection looks at the row about to be predicted and A^-1 g is the step of the round
before; here it is made at once, with A as it then is. z_t is drawn with the probability
p_t = max(gamma, min(beta tau_t, 1)), and tau_t is the estimate of KORS of the leverage score of the
scaled feature psi_t = c_t phi_t, c_t = sqrt(curvature) l'_t: with the rounds D in A so far weighing
s_i = 1 / sqrt(p_i) and v_i = s_i psi_i'psi_t,

    tau_t = (1 + epsilon) r / (alpha + r),   r = psi_t'psi_t - v'(Kbar_D + alpha I)^-1 v.

gamma = 1 takes every round with loss: that is KONS, exactly. With Psi = [psi_i]_{i in D},

    A^-1 = (I - Psi M^-1 Psi') / alpha,   M = alpha I + Psi'Psi,

and w = sum_i a_i phi_i over all rounds that had loss or in which the projection moved w. So a score
costs O(n d) with n growing as in KOGD; a round with loss costs 1.5 |D|^2 more, for M and Kbar,
both kept as inverses of Cholesky factors that grow (`forks.linalg.inverse_cholesky`). Memory is
O(n d + |D|^2), and |D| is at least the share gamma of the rounds with loss: the sketch cheapens A,
but nothing bounds it, nor n. Numbers are as exact as k(x, x) / alpha times the rounding of floats.

Reference: Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with
adaptive sketching", ICML 2017.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forks.engine import (
    EVENT,
    MANY,
    MENDS,
    RESUME,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Shapes,
    Vector,
    allocate,
    attach,
    compiled_viewer,
    grown,
    njit,
    point_shapes,
    score,
    step,
    store,
    viewer,
    workspace,
)
from forks.engine.blocks import padded
from forks.engine.checks import is_doubled, not_negative, positive
from forks.engine.memory import claimed_shape
from forks.engine.random import uniform
from forks.kernels import Gaussian, Kernel, check_kernel
from forks.linalg.inverse_cholesky import backward, border, forward
from forks.linalg.vectors import clear, dot, l1_norm
from forks.losses import Hinge, Loss, check_loss, slope
from forks.parts.expansion import compare, finite_or_zero


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

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_loss(self.loss)
        positive("alpha", self.alpha)
        not_negative("beta", self.beta)
        not_negative("epsilon", self.epsilon)
        positive("gamma", self.gamma)
        if self.gamma > 1:
            raise ValueError(f"gamma must be at most 1, got {self.gamma!r}")
        not_negative("curvature", self.curvature)
        positive("clip", self.clip, infinite=True)

    def rule(self) -> "SketchedKONSRule":
        """Return what compiled code needs."""
        return SketchedKONSRule(
            check_kernel(self.kernel),
            check_loss(self.loss),
            float(self.alpha),
            float(self.beta * (1.0 + self.epsilon)),
            float(self.gamma),
            math.sqrt(self.curvature),
            float(self.clip),
        )

    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return an empty expansion, and seed its draws."""
        memory = allocate(SketchedKONSState, _shapes(n_features, _FIRST_CAPACITY, _FIRST_ROOM))
        state_of(memory).random[:] = rng.integers(2**63, size=1)
        return memory

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class and the shapes of its arrays, by the room for points."""
        if n_outputs != 1:
            raise ValueError(f"SketchedKONS has one output, not {n_outputs}")
        (capacity,) = claimed_shape(SketchedKONSState, "a", memory)
        (room,) = claimed_shape(SketchedKONSState, "members", memory)
        if not (is_doubled(capacity, _FIRST_CAPACITY) and is_doubled(room, _FIRST_ROOM)):
            raise ValueError(f"there is no room for {capacity} points and {room} rounds")
        return SketchedKONSState, _shapes(n_features, capacity, room)

    def limits(self, view: "SketchedKONSState") -> list[Limit]:
        """Return the bounds of the counts, and of the points that members are."""
        capacity = view.a.shape[0]
        return [
            Limit("event", view.counts[EVENT], RESUME, 0),
            Limit("mends", view.counts[MENDS], 0, MANY),
            Limit("number of points", view.counts[_POINTS], 0, capacity),
            Limit("number of rounds in A", view.counts[_ROUNDS], 0, view.members.shape[0]),
            Limit("members", view.members, 0, capacity - 1),
        ]

    def view(self, memory: Memory) -> "SketchedKONSState":
        """Show the memory as arrays."""
        state: SketchedKONSState = state_of(memory)
        return state

    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""
        state = state_of(memory)
        return int(state.a.shape[0] + 4 * state.c.shape[0])

    def handle(self, view: "SketchedKONSState", x: Vector) -> Memory:
        """Double the room for points, or for rounds in A, or both."""
        d, capacity = view.points.columns.shape[0], view.a.shape[0]
        room = view.triangle.shape[0]
        capacity *= 2 if view.counts[_POINTS] == capacity else 1
        room *= 2 if view.counts[_ROUNDS] == room else 1
        memory = grown(SketchedKONSState, view, _shapes(d, capacity, room))
        state_of(memory).counts[EVENT] = 0
        return memory

    def stored_points(self, memory: Memory) -> int:
        """Count the points of the expansion, those of the rounds in A among them."""
        return int(state_of(memory).counts[_POINTS])


class SketchedKONSRule(NamedTuple):
    """What compiled code needs to know."""

    kernel: Kernel
    loss: Loss
    alpha: float
    factor: float  # beta (1 + epsilon)
    gamma: float
    scale: float  # square root of the curvature
    clip: float


class SketchedKONSState(NamedTuple):
    """What learning changes, in place. Points [:n] are in use, members [:m] are the rounds in A."""

    counts: Counter  # (4,)  the event, which asks for room; mends; n; m
    points: Points  # (d, capacity)
    a: Vector  # (padded(capacity),)
    members: Counter  # (room,)  their points
    c: Vector  # (padded(room),)  psi_i = c_i phi_i
    weighted: Vector  # (padded(room),)  s_i c_i
    triangle: Matrix  # (room, padded(room))  inverse Cholesky factor of M
    ridge: Matrix  # (room, padded(room))  that of Kbar + alpha I
    random: Counter  # (1,)  generator


class SketchedKONSWork(NamedTuple):
    """Scratch; all but the first are padded(room) long."""

    row: Vector  # (padded(capacity),)  k(x_i, x)
    v: Vector  # the right side of a system
    f: Vector  # the system half solved
    u: Vector  # M^-1 Psi'phi
    r: Vector  # (Kbar + alpha I)^-1 v


_FULL = 1  # the event
_POINTS, _ROUNDS = 2, 3  # where `counts` holds n and m
_FIRST_CAPACITY, _FIRST_ROOM = 64, 32
_LARGEST = 1e75  # rounds with larger numbers, of polynomials of huge features, teach nothing
_ROUNDING = 1e-13  # of k(x, x): a smaller k(x, x) - phi'Psi M^-1 Psi'phi, or pivot, is rounding

state_of = viewer(SketchedKONSState)
attach.register(SketchedKONSRule)(compiled_viewer(SketchedKONSState))


def _shapes(n_features: int, capacity: int, room: int) -> dict[str, tuple[int, ...]]:
    return {
        "counts": (4,),
        **point_shapes("points", n_features, capacity),
        "a": (padded(capacity),),
        "members": (room,),
        "c": (padded(room),),
        "weighted": (padded(room),),
        "triangle": (room, padded(room)),
        "ridge": (room, padded(room)),
        "random": (1,),
    }


@workspace.register(SketchedKONSRule)
def _workspace(rule, state, scratch):
    n, m = state.a.shape[0], state.c.shape[0]
    return SketchedKONSWork(
        scratch[:n],
        scratch[n : n + m],
        scratch[n + m : n + 2 * m],
        scratch[n + 2 * m : n + 3 * m],
        scratch[n + 3 * m :],
    )


@score.register(SketchedKONSRule)
def _score(rule, state, work, x, out):
    n = state.counts[_POINTS]
    compare(rule.kernel, state.points, n, x, work.row)
    z = finite_or_zero(dot(state.a, work.row, n))
    out[0] = min(max(z, -rule.clip), rule.clip)


@step.register(SketchedKONSRule)
def _step(rule, state, work, x, y, weight, out):
    n, m, row = state.counts[_POINTS], state.counts[_ROUNDS], work.row
    learns = weight != 0.0
    if learns:
        if n == state.a.shape[0] or m == state.triangle.shape[0]:
            state.counts[EVENT] = _FULL
            return
        store(x, state.points, n)  # waits in the place after the others, where it gives k(x, x)
    compare(rule.kernel, state.points, n + learns, x, row)
    k_xx = 0.0
    if learns:
        k_xx, row[n] = row[n], 0.0
    z = finite_or_zero(dot(state.a, row, n))
    out[0] = min(max(z, -rule.clip), rule.clip)
    if learns:
        gain = weight * slope(rule.loss, out[0], y[0])  # g = gain phi
        if gain != 0.0 or z != out[0]:
            fresh = weight * slope(rule.loss, 0.0, y[0])
            _learn(rule, state, work, k_xx, z - out[0], gain, fresh)


@njit
def _learn(rule, state, work, k_xx, excess, gain, fresh):
    """Make the projection, which takes `excess` off the score of x, and the Newton step.

    Both move w along A^-1 phi = (phi - Psi u) / alpha, u = M^-1 Psi'phi.

    A step beyond all bounds is left out. Whose fault it is starts anew: w = 0 if the gain `fresh`
    of a new start would do, A = alpha I if the systems cannot be solved.
    """
    n, m = state.counts[_POINTS], state.counts[_ROUNDS]
    v, f, u = work.v, work.f, work.u
    _gather(state, state.c, work.row, m, v)
    inside = forward(state.triangle, m, v, f)
    c = rule.scale * gain
    if not (abs(k_xx) <= _LARGEST and max(abs(gain), abs(c)) <= _LARGEST):
        state.counts[MENDS] += 1
        if abs(k_xx) <= _LARGEST and (1.0 + rule.scale) * abs(fresh) <= _LARGEST:
            clear(state.a)
        return
    left = k_xx - inside
    if left <= _ROUNDING * k_xx:
        left = 0.0
    q = left / rule.alpha  # phi'A^-1 phi
    backward(state.triangle, m, f, u)
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
    move /= rule.alpha
    if not abs(move) <= _LARGEST:
        state.counts[MENDS] += 1
        clear(state.a)
        return
    for i in range(m):
        state.a[state.members[i]] -= move * state.c[i] * u[i]
    state.a[n] = move
    state.counts[_POINTS] = n + 1
    if sampled:
        for i in range(m):
            u[i] *= c
        pivot = max(rule.alpha + c * c * left, _ROUNDING * c * c * k_xx)
        border(state.triangle, m, u, pivot)
        state.members[m] = n
        state.c[m] = c
        state.counts[_ROUNDS] = m + 1


@njit
def _sampled(rule, state, work, c, k_xx):
    """Draw whether psi = c phi enters A; if so, Kbar gets it, with its weight.

    Returns whether the system of Kbar could be solved, and the outcome of the draw.
    """
    if rule.gamma == 1.0:  # KONS asks nobody
        return True, True
    m = state.counts[_ROUNDS]
    _gather(state, state.weighted, work.row, m, work.v)
    residual = c * c * max(k_xx - forward(state.ridge, m, work.v, work.f), 0.0)
    p = max(rule.gamma, min(rule.factor * residual / (rule.alpha + residual), 1.0))
    if uniform(state.random) >= p:
        return True, False
    backward(state.ridge, m, work.f, work.r)
    if not l1_norm(work.r, m) <= _LARGEST:
        return False, False
    s = 1.0 / math.sqrt(p)
    for i in range(m):
        work.r[i] *= s * c
    pivot = max(rule.alpha + s * s * residual, _ROUNDING * s * s * c * c * k_xx)
    border(state.ridge, m, work.r, pivot)
    state.weighted[m] = s * c
    return True, True


@njit
def _gather(state, scales, row, m, v):
    """v_i = scale_i k(x_i, x) over the rounds in A, with zeros up to a whole block."""
    for i in range(m):
        v[i] = scales[i] * row[state.members[i]]
    for i in range(m, v.shape[0]):
        v[i] = 0.0

"""PROS-N-KONS: the online Newton step on a Nystrom map whose dictionary grows by leverage scores.

KORS keeps the dictionary I. Each row x is drawn into it with probability p = min(beta tau, 1),
where tau estimates how little of x the dictionary explains: with weights s_i on the members, 1 on
x, and Kbar = diag(s) K diag(s) over both,

    tau = (1 + epsilon) / gamma (k(x, x) - kbar'(Kbar + gamma I)^-1 kbar)
        = (1 + epsilon) r / (gamma + r),
    r = k(x, x) - v'(Kbar_I + gamma I)^-1 v,   v = [s_i k(x_i, x)]_i,

and a member gets s = 1 / sqrt(p). On the features phi of the dictionary the learner plays

    u = w - A^-1 g,   w <- u - h(phi'u) / (phi'A^-1 phi) A^-1 phi,   h(f) = sign(f) max(|f| - C, 0),
    f = w'phi,   g = l'(f, y) phi,   A <- A + curvature g g',

with phi the row about to be predicted and A^-1 g the step of the round before; a row that joins
the dictionary resets w = 0 and A = ridge I (the parameter `alpha`). Only rounds with loss have a
step to make.

The published features are D^(-1/2) U'k_I(x) with K_I = U D U'. Since w and A start anew whenever
they change, a rotation of them changes no score: phi = T k_I(x) with K_I^-1 = T'T will do, and T
grows by a row per member (`forks.linalg.inverse_cholesky`), without an eigendecomposition. Nor does
anything need phi itself. With alpha = T'w the score is alpha'k_I(x), and A^-1 phi becomes

    T'A^-1 phi = M^-1 k_I(x),   phi'A^-1 phi = k_I(x)'M^-1 k_I(x),
    M = ridge K_I + curvature sum_t l'_t^2 k_I(x_t) k_I(x_t)',

so alpha moves along M^-1 k_I(x), and M is kept as the inverse of its Cholesky factor, which starts
as T / sqrt(ridge) and has a rank-one change in every round with loss. With j members a round costs
O(j d) for the score, j^2 / 2 multiplications for tau while the dictionary may grow, and another
2 j^2 where there is loss; a reset is O(j^2), too. Memory is O(j d + j^2). So a round is of the
order of j / d rounds of KOGD with as many points: about 60 for j = 400 and d = 8, 8 for j = 100.

Reference: Calandriello, Lazaric, Valko, "Efficient second-order online kernel learning with
adaptive embedding", NIPS 2017. The published order of steps predicts 0 in a round that resets;
here such a round is predicted with the old w, then learned from in the new space, where its score
is 0.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import (
    EVENT,
    MENDS,
    Counter,
    Cube,
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
from forks.engine.blocks import LANES, fma, load, splat
from forks.engine.blocks import store as store_block
from forks.engine.checks import not_negative, one_of, positive, whole
from forks.engine.random import uniform
from forks.kernels import Gaussian, Kernel, check_kernel, kernel_block
from forks.linalg.inverse_cholesky import absorb, backward, border, forward
from forks.linalg.vectors import add_multiple, clear, dot, l1_norm
from forks.losses import Hinge, Loss, slope
from forks.parts.expansion import POINTS, compare, finite_or_zero
from forks.parts.gradient import LARGEST

_FULL = 1  # the event
_NO_LIMIT = 2**62
_FIRST_CAPACITY = 32
_DEPENDENT = 1e-10  # of k(x, x): a smaller pivot is rounding, the row is in the dictionary's span
_SMALLEST_PIVOT = 1e-75
_LARGEST = 1e75  # points with larger numbers, of polynomials of huge features, do not join
_LARGEST_FACTOR = 1e115  # such numbers over the root of the smallest pivot are smaller
_FAR = 1e280  # and so are they over the root of the smallest ridge
_SMALLEST_P = 1e-30  # smaller than any draw but zero
_TINY = 1e-200  # phi'A^-1 phi below it counts as zero
_SINGLE_SMALLEST, _SINGLE_ROUNDING = 2.0**-126, 2.0**-24  # of single precision
_ANSWER_MINUS = -1e-300  # for scores that the authors' code takes for -1: zero answers +1 here


class PROSNKONSState(NamedTuple):
    """State that learning changes in place. Points [:j] are the dictionary."""

    counts: Annotated[Counter, 3]  # the event, which asks for room; mends; j
    points: Points
    s: Annotated[Vector, "padded(capacity)"]  # weights of the members
    # `leverage`, `triangle` and `newton` are inverse Cholesky factors: of Kbar + gamma I; of K_I,
    # which is T; and of M.
    leverage: Annotated[Matrix, "capacity", "padded(capacity)"]
    triangle: Annotated[Matrix, "capacity", "padded(capacity)"]
    alpha: Annotated[Matrix, "outputs", "padded(capacity)"]  # coefficients, T'w
    newton: Annotated[Cube, "outputs", "capacity", "padded(capacity)"]
    random: Annotated[Counter, 1]  # generator


class PROSNKONSRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    ridge: float  # the parameter alpha
    factor: float  # beta (1 + epsilon)
    gamma: float
    curvature: float
    clip: float
    damping: float
    max_points: int
    root_weights: bool
    blind_resets: bool
    nothing: float  # scores up to it count as zero
    rounding: float  # relative rounding of the scores that are compared with the margin


class PROSNKONSWork(NamedTuple):
    """Scratch."""

    row: Annotated[Vector, "padded(capacity)"]  # k_I(x)
    v: Annotated[Vector, "padded(capacity)"]  # s_i k(x_i, x)
    half: Annotated[Vector, "padded(capacity)"]  # a system half solved
    u: Annotated[Vector, "padded(capacity)"]  # and solved


@dataclass(frozen=True, kw_only=True)
class PROSNKONS(Learner):
    """PROS-N-KONS, with the dictionary sampling KORS.

    Parameters
    ----------
    kernel, loss
        One of `forks.kernels`, one of `forks.losses`.
    alpha : float
        A starts as alpha times the identity.
    beta : float
        Factor of tau in the probability to join the dictionary.
    epsilon : float
        Accuracy that KORS allows for: tau is larger by the factor 1 + epsilon.
    gamma : float
        Ridge of the leverage scores. A larger one asks for fewer points.
    curvature : float
        Weight of g g' in A. The published 1 / (16 C^2) is for the squared error.
    clip : float
        C, bound of the score in the projection, and so of every score; infinite for none.
    damping : float
        Added to phi'A^-1 phi in the projection. The authors of FORKS have 1e-4.
    max_points : int, optional
        The dictionary stops growing at so many points, and w is reset no more. Without a number
        it grows as long as rows come that it does not explain, to most of them if the bandwidth
        is much too small: memory grows with its square, and w never settles.
    weighting : {"root", "inverse"}
        s = 1 / sqrt(p) as published, or 1 / p.
    blind_resets : bool
        Does a row that joins the dictionary answer -1 and teach nothing, and a score of zero
        answer -1? See `as_released`.
    single_precision : bool
        Are scores taken to be as exact as single precision? Those below its smallest number then
        count as zero, and those within its rounding of the margin as a loss.
    """

    kernel: Kernel = Gaussian()
    loss: Loss = Hinge()
    alpha: float = 1.0
    beta: float = 1.0
    epsilon: float = 0.5
    gamma: float = 1.0
    curvature: float = 1.0 / 16.0
    clip: float = 1.0
    damping: float = 0.0
    max_points: int | None = None
    weighting: str = "root"
    blind_resets: bool = False
    single_precision: bool = False

    multi_output = True
    alike = ("newton",)
    state_class = PROSNKONSState
    work_class = PROSNKONSWork
    rule_class = PROSNKONSRule

    @classmethod
    def as_released(
        cls, *, kernel: Kernel = Gaussian(), loss: Loss = Hinge(), **changes: Any
    ) -> "PROSNKONS":
        """As the code of the FORKS authors, which has PROS-N-KONS among its baselines.

        Weights are 1 / p, the dictionary stops at 101 points, and a round that resets answers -1
        without looking and learns nothing. A score of exactly zero answers -1 there, so it is
        moved just below zero. The first point, which joins without a draw, has p = 1 here. Not
        copied are D^(-1/2) with 1e-5 added to the root, and single precision, which can be seen
        in the results: there kernel values below 1e-45 are zero and answer -1, and a score that
        the projection leaves at 1 may round to a loss.
        """
        released = {
            "alpha": 1.0,
            "beta": 1.0,
            "epsilon": 0.5,
            "gamma": 1.0,
            "curvature": 1.0 / 16.0,
            "clip": 1.0,
            "damping": 1e-4,
            "max_points": 101,
            "weighting": "inverse",
            "blind_resets": True,
            "single_precision": True,
        }
        return cls(**{"kernel": kernel, "loss": loss, **released, **changes})

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)
        positive("beta", self.beta)
        not_negative("epsilon", self.epsilon)
        positive("gamma", self.gamma)
        not_negative("curvature", self.curvature)
        positive("clip", self.clip, infinite=True)
        not_negative("damping", self.damping)
        if self.max_points is not None:
            whole("max_points", self.max_points, 1)
        one_of("weighting", self.weighting, ("root", "inverse"))

    def derived(self) -> dict[str, Any]:
        """Return the fields of the rule that have other names or forms here."""
        return {
            "ridge": self.alpha,
            "factor": self.beta * (1.0 + self.epsilon),
            "max_points": self._most(),
            "root_weights": self.weighting == "root",
            "nothing": _SINGLE_SMALLEST if self.single_precision else 0.0,
            "rounding": _SINGLE_ROUNDING if self.single_precision else 0.0,
        }

    def _most(self) -> int:
        return _NO_LIMIT if self.max_points is None else int(self.max_points)

    def growing(self) -> dict[str, Growth]:
        """Return the room for the dictionary."""
        return {"capacity": Growth(min(_FIRST_CAPACITY, self._most()), self._most())}

    def limits(self, view: PROSNKONSState) -> list[Limit]:
        """Return the bounds of the counts, and of the factors that a new start multiplies."""
        return [
            Limit("number of points", view.counts[POINTS], 0, view.newton.shape[1]),
            Limit("factor of K", view.triangle, -_LARGEST_FACTOR, _LARGEST_FACTOR),
            Limit("factors of A", view.newton, -_FAR, _FAR),
        ]

    def handle(self, view: PROSNKONSState, x: Vector) -> Memory:
        """Double the room for the dictionary."""
        return self.doubled(view, "capacity")

    def stored_points(self, memory: Memory) -> int:
        """Count the points of the dictionary."""
        return int(self.view(memory).counts[POINTS])

    def features(self, memory: Memory, X: Matrix) -> Matrix | None:
        """Return phi = T k_I(x) of the rows; None while the dictionary is empty."""
        state = self.view(memory)
        j = state.counts[POINTS]
        if j == 0:
            return None
        K = kernel_block(check_kernel(self.kernel), X, state.points, j)
        return np.asarray(K @ state.triangle[:j, :j].T)


@score.register(PROSNKONSRule)
def _score(rule, state, work, x, out):
    j = state.counts[POINTS]
    compare(rule.kernel, state.points, j, x, work.row)
    for o in range(out.shape[0]):
        out[o] = _predict(rule, state, work, j, o, False)


@step.register(PROSNKONSRule)
def _step(rule, state, work, x, y, weight, out):
    j, row = state.counts[POINTS], work.row
    learns = weight != 0.0
    grows = learns and j < rule.max_points
    if grows:
        if j == state.newton.shape[1]:
            state.counts[EVENT] = _FULL
            return
        store(x, state.points, j)  # waits in the place after the members, where it gives k(x, x)
    compare(rule.kernel, state.points, j + grows, x, row)
    k_xx = 0.0
    if grows:
        k_xx, row[j] = row[j], 0.0
    for o in range(out.shape[0]):
        out[o] = _predict(rule, state, work, j, o, learns)
    s = _draw(rule, state, work, j, k_xx) if grows else 0.0
    if s > 0.0:
        _join(rule, state, work, j, k_xx, s)
    if s > 0.0 and rule.blind_resets:
        for o in range(out.shape[0]):
            out[o] = _ANSWER_MINUS
    elif learns:
        for o in range(out.shape[0]):
            f = out[o] if s == 0.0 else 0.0
            gain = weight * slope(rule.loss, f * (1.0 - rule.rounding), y[o])  # g = gain phi
            if gain != 0.0:
                _newton_step(rule, state, work, o, gain, weight * slope(rule.loss, 0.0, y[o]))


@njit
def _predict(rule, state, work, j, o, move):
    """Score of output o after the projection at x; `move` w to where the projection has it."""
    f = finite_or_zero(dot(state.alpha[o], work.row, j))
    if abs(f) > rule.clip:
        excess = math.copysign(abs(f) - rule.clip, f)
        q = 0.0
        if move or rule.damping > 0.0:
            q = forward(state.newton[o], j, work.row, work.half)
        if move and abs(excess) < _LARGEST * q:  # false for zero and NaN
            backward(state.newton[o], j, work.half, work.u)
            _move(rule, state, o, work.u, -excess / (q + rule.damping))
        if rule.damping > 0.0:
            f -= excess * q / (q + rule.damping)
        else:
            f = math.copysign(rule.clip, f)
    return _ANSWER_MINUS if rule.blind_resets and abs(f) <= rule.nothing else f


@njit
def _draw(rule, state, work, j, k_xx):
    """Draw whether x joins the dictionary; return its weight s, zero if it does not.

    Leaves (Kbar + gamma I)^-1 v in `work.u`, half solved in `work.half`.
    """
    for i in range(0, j, LANES):
        store_block(fma(load(state.s, i), load(work.row, i), splat(0.0)), work.v, i)
    residual = max(k_xx - forward(state.leverage, j, work.v, work.half), 0.0)
    p = 1.0 if j == 0 else min(rule.factor * residual / (rule.gamma + residual), 1.0)
    if not (uniform(state.random) < p and p > _SMALLEST_P):
        return 0.0
    backward(state.leverage, j, work.half, work.u)
    if not (abs(k_xx) <= _LARGEST and l1_norm(work.u, j) <= _LARGEST):
        state.counts[MENDS] += 1
        return 0.0
    return 1.0 / math.sqrt(p) if rule.root_weights else 1.0 / p


@njit
def _join(rule, state, work, j, k_xx, s):
    """Make x, already in its place, member j with the weight s, and start anew."""
    row, half, u = work.row, work.half, work.u
    residual = max(k_xx - dot(half, half, j), 0.0)
    for i in range(j):
        u[i] *= s
    border(state.leverage, j, u, rule.gamma + s * s * residual)
    pivot = k_xx - forward(state.triangle, j, row, half)
    backward(state.triangle, j, half, u)
    solved = l1_norm(u, j) <= _LARGEST
    if not solved:
        clear(u)
    independent = pivot > max(_DEPENDENT * k_xx, _SMALLEST_PIVOT) and solved
    border(state.triangle, j, u, pivot if independent else 0.0)
    state.s[j] = s
    row[j] = k_xx
    state.counts[POINTS] = j + 1
    for o in range(state.alpha.shape[0]):
        _start_anew(rule, state, o)


@njit
def _start_anew(rule, state, o):
    """Output o has w = 0 and A = ridge I."""
    scale = 1.0 / math.sqrt(rule.ridge)
    for i in range(state.counts[POINTS]):
        state.alpha[o, i] = 0.0
        for m in range(i + 1):
            state.newton[o, i, m] = scale * state.triangle[i, m]


@njit
def _move(rule, state, o, u, amount):
    """alpha += amount u; the output starts anew if that overflows."""
    alpha = state.alpha[o]
    add_multiple(alpha, u, amount)
    if not l1_norm(alpha, alpha.shape[0]) <= LARGEST:  # also for NaN
        state.counts[MENDS] += 1
        clear(alpha)
        _start_anew(rule, state, o)


@njit
def _newton_step(rule, state, work, o, gain, fresh):
    """A gets g = gain phi, which divides A^-1 phi by 1 + c q, and w takes the step along A^-1 g.

    A step that overflows is left out; where a new start, with the gain `fresh`, could take it,
    the output starts anew.
    """
    j = state.counts[POINTS]
    q = forward(state.newton[o], j, work.row, work.half)
    c = rule.curvature * gain * gain
    move = -gain / (1.0 + c * q)
    if abs(move) * (1.0 + q) < _LARGEST and c * q < _LARGEST:  # false for NaN
        if q > _TINY:
            absorb(state.newton[o], j, work.half, work.u, c)
            _move(rule, state, o, work.u, move)
    else:
        state.counts[MENDS] += 1
        if rule.curvature * fresh * fresh * (1.0 + l1_norm(work.row, j)) < _LARGEST:
            _start_anew(rule, state, o)

"""The learner of the default estimators: second order from the first rows on, and nothing to tune.

**Features.** Rows are scaled (`forks.features.scaling`) to x, and divided by the root c of their
median squared distance (of the mean one where most rows are alike). With landmarks z_1, ..., z_m
among the rows x / c of the buffer, and d features,

    psi(x) = [k(z_1, x / c), ..., k(z_m, x / c), x_1 / sqrt(d), ..., x_d / sqrt(d), 1],
    Lambda = diag(K_mm, I, 1),

so a hypothesis theta'psi is a kernel expansion, a linear part and a bias, and theta'Lambda theta
its squared norm. Each row of the buffer is a landmark unless the others represent it: landmarks are
the pivots of a Cholesky decomposition of the kernel matrix, down to `_DEPENDENT` of its largest
entry. In few dimensions that leaves few of them. Before the first fit psi is [1] and Lambda is 1.

**A start that learns.** The first `buffer` rows are kept. When 16, 64, ... of them have come, and
when all have, all of the above is made anew from all rows so far. With up to `_CHOOSE_UP_TO` rows,
alpha is chosen by the exact leave-one-out error of ridge regression (the squared hinge of the
scores for classes, the squared error for numbers), in multiples of the loss's curvature at f = 0,
and drawn to a usual value: with n rows it is chosen^s usual^(1 - s), s = n / (n + `_CONVINCING`).
Then theta is fitted: a batch machine on few rows. Targets of regression are brought to mean 0 and
standard deviation 1, and later ones into the same unit, at most `_FAR` from 0.

**Then a Newton step per round.** With slope g and curvature h of the loss at f = theta'psi,

    u = P psi,   q = psi'u,   theta <- theta - g / (1 + h q) u,   P <- P - h / (1 + h q) u u',

P = (alpha Lambda + sum h psi psi')^-1; a weight multiplies g and h, and h is 1 where the loss has
a slope and no curvature. For squared losses this is recursive least squares, or AROW. Outputs
share P, and the largest of their h. Rounds in which no slope is above a share `tolerance` of that
at f = 0 (for regression: of its root mean square since the last fit, later that of some
`_RATE_ROUNDS` rounds) are left out. The share is 0 for the first 128 rounds, and 0.1 more with
each doubling of their number, up to a half. A slope above 2 (1 - tolerance) times that at f = 0
(for regression, `_SETTLE` rounds after a fit: above `_OUTLIER` root mean squares) is held there,
and h is lowered by the same factor, so that a wrong label or an absurd target does little harm to
a model that has seen many rows. A round costs O(m d), and O((m + d)^2) more if it learns.

P is kept in factors (`forks.linalg.packed_inverse`), which stay positive definite however many
rounds there are. A step that would not be finite is left out; after `_MOST_REFUSED` of them since
the last fit the learner starts anew from the rows it keeps. Both are counted as mends, as are fits
that numbers beyond all bounds leave without a solution: those begin with the prior alone.

After the buffer there is an event each time the number of rounds has doubled, which brings the
tolerance up to date. A prior that helps on few rows would keep a large stream from its details, so
alpha is at most `_ALPHA_ROUNDS` / rounds from the fit of the full buffer on: an event lowers it if
that makes it `_STEP_DOWN` times smaller. A = P^-1 loses (alpha - alpha') Lambda, and theta becomes
A'^-1 A theta, so that theta remains the solution for all rows, with the prior of now.

**Learn and follow.** Beside theta there is a follower of classes, a passive-aggressive learner
that makes every example right at once, O(m + d). Its features are psi with the kernel values
centred and divided by the root mean square of their norm, over the rows of the last fit; at a fit
it starts anew and follows these rows. The two are weighted by the fixed-share rule with learning
rate 1: a mistake on a row of weight v multiplies a weight by exp(-v / v_max), v_max the largest
weight so far (else one wrong label of a heavy row would decide), and `_SHARE` of all weight is then
dealt out evenly. The one of more weight gives the answer, 2 p - 1, where p is the probability that
its score stands for (the logistic function of a log-odds, else (1 + f) / 2), kept `_SURE` away from
0 and 1. So if the stream does not sit still, or asks the same again and again, the follower takes
over within some rounds, and the price on other streams is small.

**Start again when the concept has changed.** A cumulative sum of log-likelihood ratios watches
the mistakes of theta (with several outputs: whether the largest score is that of a right one; in
regression: whether the square of the slope is above its recent mean), after the first `_SETTLE`
rounds of a start. When they say, with a sum above `_ALARM`, that the rate is `_GAIN` times what it
used to be, the learner starts anew from the rows since the change: among those since the sum was
last 0, at most the buffer, the last n for which a rate of their own is most likely, at least 16.
Alpha is chosen anew, by the last `_CHOOSE_UP_TO` of them if they are more. The usual rate is the
mean over all rounds since the start, later an exponential mean over some `_RATE_ROUNDS`. Every
event sets the sum to 0.

**Features that come later** (`Adaptive.widened`) were 0 in all rows so far: 0 is their centre, what
else they say is a surprise of +-3 until the next fit, and their part of theta and P is that of the
prior. The linear part has the first `_WIDEST` features then, and stays in the unit of its last fit.

References: Crammer, Kulesza, Dredze, "Adaptive regularization of weight vectors", 2009; Engel,
Mannor, Meir, "The kernel recursive least-squares algorithm", 2004; Herbster, Warmuth, "Tracking
the best expert", 1998; Page, "Continuous inspection schemes", 1954.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack
from scipy.special import xlogy

from forks.engine import (
    MANY,
    PER_OUTPUT,
    RESUME,
    Along,
    Counter,
    Learner,
    Limit,
    Matrix,
    Memory,
    Points,
    Shapes,
    SparseRow,
    Vector,
    allocate,
    attach,
    by_form,
    compiled_viewer,
    entry,
    finite,
    grown,
    njit,
    point_shapes,
    score,
    step,
    store_points,
    viewer,
    workspace,
)
from forks.engine.blocks import LANES, load, minus, padded, splat, store, times
from forks.engine.checks import one_of, whole
from forks.features.scaling import (
    Scale,
    apply_scale,
    divided,
    fit_scale,
    no_scale,
    scale_shapes,
    scaled_value,
    write_scaled,
)
from forks.kernels import Gaussian, Kernel, check_kernel, kernel_block, kernel_row
from forks.linalg import spd as definite
from forks.linalg.packed_inverse import PackedInverse, add, inverse_shapes, root, set_root
from forks.linalg.vectors import add_multiple, dot
from forks.losses import Loss, SquaredHinge, check_loss, curvature, slope
from forks.parts.expansion import finite_or_zero, is_mistake

SMALLEST_BUFFER = 16  # rows of the first fit
_ALPHAS = np.array([3.0, 1.0, 0.3, 0.1, 0.03, 0.01])
_FAR = 1e100  # of targets in the unit of theta: their squares are finite
_USUAL_ALPHA = 0.5
_CONVINCING = 64  # rows at which the data's choice of alpha counts as much as the usual one
_CHOOSE_UP_TO = 64  # rows: a decomposition of more takes its time, and changes little
_MORE_ROWS = 4  # times as many as at the fit before
_ALPHA_ROUNDS = 128  # alpha <= _ALPHA_ROUNDS / rounds from the full buffer on
_STEP_DOWN = 4.0  # by which factor alpha is lowered, at least: it costs a decomposition
_DEPENDENT = 1e-8  # share of the largest k(x, x): what is left of a row beside the landmarks
_TINY = 1e-5  # the least weight that a row has in a fit
_MOST_REFUSED = 16  # steps, before the learner starts anew from its last rows
_WIDEST = 512  # features: more have no linear part
_SHARE = 0.001
_SURE = 0.01  # probabilities stay so far from 0 and 1
_GAIN = 1.5  # of the mistake rate, which the watch looks for
_ALARM = 16.0
_SETTLE = 100  # rounds before the watch begins
_RATE_ROUNDS = 1000
_OUTLIER = 4.0  # root mean squares of the slope
_LEAST_RATE, _MOST_RATE = 0.005, 0.6  # of mistakes, that count as usual
_HIGHEST_RATE = 0.95  # that the watch looks for
FIT = 1


class AdaptiveCount(NamedTuple):
    """What `counts` holds, in this order."""

    event: int
    mends: int  # steps left out because they would not have been finite, and fits that failed
    rounds: int  # since the start, or since the concept changed
    landmarks: int  # m
    linear: int  # features of the linear part: all, none, or the first ones of a widened state
    width: int  # of psi without the bias: m + linear, or 0 before the first fit
    due: int  # rounds at which the next event is due
    begun: int  # rounds when the two recent means of `levels` were begun
    quiet: int  # the round when the watch last had nothing to say
    shifted: int  # is a feature's centre other than 0?
    restarts: int
    refused: int  # steps left out since the last fit


class Level(NamedTuple):
    """What `levels` holds, in this order."""

    alpha: int
    tolerance: int
    linear: int  # factor of the linear part
    follow: int  # factor of the centred kernel values for the follower
    mean: int  # of the targets
    spread: int
    watch: int  # cumulative sum
    rate: int  # of mistakes, recently
    residual: int  # mean square of the slope, recently
    heaviest: int  # the largest weight of a row


COUNT = AdaptiveCount(*range(len(AdaptiveCount._fields)))
LEVEL = Level(*range(len(Level._fields)))


class AdaptiveState(NamedTuple):
    """What learning changes, in place.

    W = padded(M + d + 1), the most that psi can have, or without the d of the linear part.
    """

    counts: Counter  # (len(AdaptiveCount),)
    levels: Vector  # (len(Level),)
    scale: Scale
    landmarks: Points  # (d, M)  scaled
    theta: Annotated[Matrix, PER_OUTPUT]  # (n_outputs, W)
    P: PackedInverse  # (W, W)
    centre: Vector  # (padded(M),)  mean of the kernel values
    follower: Annotated[Matrix, PER_OUTPUT]  # (n_outputs, W)
    trust: Annotated[Matrix, PER_OUTPUT]  # (n_outputs, 2)  weights of theta and of the follower
    rows: Annotated[Matrix, Along("features", 1)]  # (buffer, d)  the last rows, a ring
    targets: Annotated[Matrix, Along("outputs", 1)]  # (buffer, n_outputs)
    weights: Vector  # (buffer,)
    wrong: Vector  # (buffer,)  1 for a mistake of theta, which the watch has seen


@dataclass(frozen=True, kw_only=True)
class Adaptive(Learner):
    """Second order from the first rows on, scaled, following, and restarted when it must be.

    Parameters
    ----------
    kernel : kernel
        One of `forks.kernels`. A bandwidth is in units of the median distance of scaled rows, or
        of the scaled features if `bandwidth` is "absolute".
    loss : loss
        One of `forks.losses`.
    buffer : int
        M, rows kept: those that the first fits are made from, each of them a landmark, and later
        the last ones, that a new start begins with.
    scaling : {"standard", "none"}
    bandwidth : {"median", "absolute"}
    linear : bool
        Has the model a linear part beside the kernel's?
    follow : bool
        Is there a follower?
    restart : bool
        Does a change of the concept lead to a new start?
    early : bool
        Are there fits before the buffer is full? Without them only the bias learns until then.
    robust : bool
        Are slopes held, so that wrong labels and absurd targets do little harm?
    """

    kernel: Kernel = Gaussian()
    loss: Loss = SquaredHinge()
    buffer: int = 250
    scaling: str = "standard"
    bandwidth: str = "median"
    linear: bool = True
    follow: bool = True
    restart: bool = True
    early: bool = True
    robust: bool = True

    multi_output: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_loss(self.loss)
        whole("buffer", self.buffer, SMALLEST_BUFFER)
        one_of("scaling", self.scaling, ("standard", "none"))
        one_of("bandwidth", self.bandwidth, ("median", "absolute"))

    def rule(self) -> "AdaptiveRule":
        """Return what compiled code needs."""
        return self._rule

    @cached_property
    def _rule(self) -> "AdaptiveRule":
        loss = check_loss(self.loss)
        classifies = self.tasks != ("regression",)
        return AdaptiveRule(
            check_kernel(self.kernel),
            loss,
            classifies,
            bool(getattr(loss, "probabilistic", False)),
            bool(self.follow and classifies),
            bool(self.restart),
            bool(self.robust),
            float(abs(slope(loss, 0.0, 1.0))),
        )

    def init(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> Memory:
        """Return the memory of a learner that has seen nothing; nothing is drawn."""
        linear = self._linear_features(n_features)
        memory = allocate(AdaptiveState, self._shapes(n_features, n_outputs, linear))
        state = self.view(memory)
        state.counts[COUNT.linear] = linear
        state.counts[COUNT.due] = self._next_due(0)
        state.levels[LEVEL.alpha] = self._unit * _USUAL_ALPHA
        state.levels[LEVEL.spread] = 1.0
        state.trust[:] = (1.0, 0.0) if not self._rule.follow else (1.0 - _SHARE, _SHARE)
        set_root(state.P, np.array([[1.0 / math.sqrt(state.levels[LEVEL.alpha])]]))
        return memory

    def _linear_features(self, n_features: int) -> int:
        return n_features if self.linear and n_features <= _WIDEST else 0

    def _shapes(self, n_features: int, n_outputs: int, linear: int) -> dict[str, tuple[int, ...]]:
        M = self.buffer
        W = padded(M + linear + 1)
        return {
            "counts": (len(AdaptiveCount._fields),),
            "levels": (len(Level._fields),),
            **scale_shapes("scale", n_features),
            **point_shapes("landmarks", n_features, M),
            "theta": (n_outputs, W),
            **inverse_shapes("P", W),
            "centre": (padded(M),),
            "follower": (n_outputs, W),
            "trust": (n_outputs, 2),
            "rows": (self.buffer, n_features),
            "targets": (self.buffer, n_outputs),
            "weights": (self.buffer,),
            "wrong": (self.buffer,),
        }

    def widened(self, memory: Memory, n_features: int) -> Memory:
        """Return the memory for more features, which were 0 in all rows so far."""
        old = self.view(memory)
        d, before = old.rows.shape[1], int(old.counts[COUNT.linear])
        linear = min(n_features, _WIDEST) if before == d else before
        shapes = self._shapes(n_features, old.theta.shape[0], linear)
        memory = grown(AdaptiveState, old, shapes)
        new = self.view(memory)
        new.counts[COUNT.linear] = linear
        bias = int(old.counts[COUNT.width])
        if bias > 0:  # there has been a fit
            added = linear - before
            for weights in (new.theta, new.follower):
                weights[:, bias + added] = weights[:, bias]
                weights[:, bias : bias + added] = 0.0
            R = np.zeros((bias + added + 1, bias + added + 1))
            was = root(old.P, bias + 1)
            R[:bias, :bias] = was[:-1, :-1]
            R[-1, :bias], R[-1, -1] = was[-1, :-1], was[-1, -1]
            prior = np.arange(bias, bias + added)
            R[prior, prior] = 1.0 / math.sqrt(new.levels[LEVEL.alpha])
            set_root(new.P, R)
            new.counts[COUNT.width] = bias + added
            self._extend_scale(new, d)
        return memory

    def layout(self, n_features: int, n_outputs: int, memory: Memory) -> tuple[type, Shapes]:
        """Return the state class and the shapes of its arrays."""
        linear = self._linear_features(n_features)
        return AdaptiveState, self._shapes(n_features, n_outputs, linear)

    def limits(self, view: AdaptiveState) -> list[Limit]:
        """Return the bounds of the counts, and of the levels that events go by."""
        counts, levels = view.counts, view.levels
        rounds, linear = counts[COUNT.rounds], self._linear_features(view.rows.shape[1])
        return [
            Limit("event", counts[COUNT.event], RESUME, 0),
            Limit("number of rounds", rounds, 0, MANY),
            Limit("number of landmarks", counts[COUNT.landmarks], 0, self.buffer),
            Limit("width of the linear part", counts[COUNT.linear], linear, linear),
            Limit("width", counts[COUNT.width] - counts[COUNT.landmarks], 0, linear),
            Limit("next event", counts[COUNT.due], max(SMALLEST_BUFFER, rounds), MANY),
            Limit("begin of the means", counts[COUNT.begun], 0, rounds),
            Limit("begin of the watch", counts[COUNT.quiet], 0, rounds),
            Limit("shift", counts[COUNT.shifted], 0, 1),
            Limit("number of mends", counts[COUNT.mends], 0, MANY),
            Limit("other counts", counts[COUNT.restarts :], 0, MANY),
            Limit("watch", levels[LEVEL.watch], 0.0, _ALARM),
            Limit("trust", view.trust, 0.0, 1.0),
        ]

    def _extend_scale(self, state: AdaptiveState, known: int) -> None:
        """Set the scale of the features after the known ones, which were 0 in all rows."""
        n = state.rows.shape[1] - known
        scale = self._scale(np.zeros((1, n)), np.ones(1))
        scale = divided(scale, float(scale.bound[0] / state.scale.bound[0]))
        for ours, new in zip(state.scale[:-1], scale[:-1], strict=True):
            ours[known:] = new

    def _scale(self, X: Matrix, weights: Vector) -> Scale:
        standard = self.scaling == "standard"
        return fit_scale(X, weights) if standard else no_scale(X.shape[1])

    @property
    def _unit(self) -> float:
        """Curvature of the loss at f = 0: alpha is told in multiples of it."""
        return float(curvature(self._rule.loss, 0.0, 1.0)) or 1.0

    def view(self, memory: Memory) -> AdaptiveState:
        """Show the memory as arrays."""
        state: AdaptiveState = viewer(AdaptiveState)(memory)
        return state

    def scratch_size(self, memory: Memory) -> int:
        """Count the floats that `workspace` needs."""
        state = self.view(memory)
        outputs, W = state.theta.shape
        return int(3 * W + padded(state.rows.shape[1]) + 2 * outputs)

    def stored_points(self, memory: Memory) -> int:
        """Count the rows in the buffer; the landmarks were such rows."""
        counts = self.view(memory).counts
        return int(min(counts[COUNT.rounds], self.buffer))

    def probability(self, scores: Matrix) -> Matrix | None:
        """Return the probabilities of +1: scores are 2 p - 1."""
        if not self._rule.classifies:
            return None
        return np.asarray(np.clip(0.5 + 0.5 * scores, 0.0, 1.0))

    # ---- events ------------------------------------------------------------------------------

    def handle(self, view: AdaptiveState, x: Vector) -> None:
        """Fit anew, or adapt alpha and the tolerance to the number of rounds."""
        state, counts = view, view.counts
        rounds = int(counts[COUNT.rounds])
        changed = bool(state.levels[LEVEL.watch] > _ALARM)
        if changed:
            rounds = self._take_rows_since_change(state)
            counts[COUNT.restarts] += 1
        elif counts[COUNT.refused] >= _MOST_REFUSED:
            rounds = self._take_last_rows(state, min(rounds, self.buffer))
        if rounds > self.buffer and not self._lower_alpha(state, rounds):
            counts[COUNT.mends] += 1
            rounds = self._take_last_rows(state, self.buffer)
        if rounds <= self.buffer:
            self._fit(state, rounds, choose=changed or rounds <= _CHOOSE_UP_TO)
        state.levels[LEVEL.watch] = 0.0
        state.levels[LEVEL.tolerance] = min(0.5, max(0.0, 0.1 * math.log2(rounds / 128)))
        counts[COUNT.quiet] = counts[COUNT.rounds]
        counts[COUNT.due] = self._next_due(rounds)
        counts[COUNT.event] = RESUME

    def _next_due(self, rounds: int) -> int:
        if rounds < self.buffer and not self.early:
            return self.buffer
        due = SMALLEST_BUFFER
        while due <= rounds:
            due *= _MORE_ROWS if due < self.buffer else 2
        return min(due, self.buffer) if rounds < self.buffer else due

    def _take_rows_since_change(self, state: AdaptiveState) -> int:
        """Keep the rows since the concept changed, in their order, as the first of the ring."""
        counts, size = state.counts, self.buffer
        rounds = int(counts[COUNT.rounds])
        watched = min(max(rounds - int(counts[COUNT.quiet]), SMALLEST_BUFFER), size)
        order = np.arange(rounds - watched, rounds) % size
        usual = min(max(float(state.levels[LEVEL.rate]), _LEAST_RATE), _MOST_RATE)
        return self._take_last_rows(state, _rows_since_change(state.wrong[order], usual))

    def _take_last_rows(self, state: AdaptiveState, n: int) -> int:
        """Keep the last n rows, in their order, as the first of the ring: a new start."""
        counts = state.counts
        rounds = int(counts[COUNT.rounds])
        order = np.arange(rounds - n, rounds) % self.buffer
        for ring in (state.rows, state.targets, state.weights, state.wrong):
            ring[:n] = ring[order]
        counts[COUNT.rounds] = counts[COUNT.begun] = n
        state.levels[LEVEL.rate] = 0.0
        return n

    def _fit(self, state: AdaptiveState, n: int, choose: bool) -> None:
        """Make scale, landmarks, theta and P anew from the first n rows of the ring; alpha too?"""
        X, y, weights = state.rows[:n], state.targets[:n], state.weights[:n]
        levels, rule = state.levels, self._rule
        d = X.shape[1]
        scale = self._scale(X, weights)
        Z = apply_scale(scale, X)
        squares = _squared_distances(Z)
        divisor = self._divisor(squares)
        for ours, new in zip(state.scale, divided(scale, divisor), strict=True):
            ours[:] = new
        state.counts[COUNT.shifted] = int(np.any(scale.centre != 0.0))
        Z /= divisor
        levels[LEVEL.linear] = divisor / math.sqrt(d)
        linear = int(state.counts[COUNT.linear])
        Phi, L, K = self._choose_landmarks(state, Z)
        F = np.hstack([Phi, levels[LEVEL.linear] * Z[:, :linear], np.ones((n, 1))])
        state.counts[COUNT.width] = F.shape[1] - 1
        if not rule.classifies:
            self._standardise(state, y, weights)
        with np.errstate(over="ignore"):  # rows of weight zero have no say in the spread
            targets = np.clip((y - levels[LEVEL.mean]) / levels[LEVEL.spread], -_FAR, _FAR)
        gram = definite.squares(F)
        if choose:
            last = slice(max(0, n - _CHOOSE_UP_TO), n)
            chosen = _chosen_alpha(gram[last, last], targets[last], rule.classifies)
            levels[LEVEL.alpha] = self._unit * chosen
        if n == self.buffer:
            levels[LEVEL.alpha] = min(levels[LEVEL.alpha], self._unit * _ALPHA_ROUNDS / n)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is mended
            self._fit_theta(state, F, L, gram, targets, weights)
        self._restart_follower(state, K, F[:, Phi.shape[1] :], targets)
        state.counts[COUNT.refused] = 0

    def _choose_landmarks(self, state: AdaptiveState, Z: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Choose landmarks among the rows Z; return Phi = K_nm L'^-1, L and K_nm, K_mm = L L'.

        By a Cholesky decomposition of the kernel matrix of all rows with pivots: the next landmark
        is the row that is farthest from the span of those before, until all are within
        `_DEPENDENT` of it.
        """
        store_points(Z, state.landmarks)
        K = np.array(kernel_block(self._rule.kernel, Z, state.landmarks, len(Z)))
        if not np.isfinite(K).all():  # rows beyond all bounds are no landmarks
            state.counts[COUNT.mends] += 1
            beyond = ~np.isfinite(np.diagonal(K))
            K[beyond], K[:, beyond] = 0.0, 0.0
            K[~np.isfinite(K)] = 0.0  # of a kernel that is none
        largest = float(np.diagonal(K).max())
        if largest > 0.0:
            factor, order, m, _ = lapack.dpstrf(K, tol=_DEPENDENT * largest, lower=1)
            ordered, order = np.tril(factor[:, :m]), order - 1
        else:
            m, ordered, order = 0, np.empty((len(Z), 0)), np.arange(len(Z))
        Phi = np.empty_like(ordered)
        Phi[order] = ordered
        marks = order[:m]
        store_points(Z[marks], state.landmarks)
        state.counts[COUNT.landmarks] = m
        return Phi, np.ascontiguousarray(ordered[:m]), K[:, marks]

    def _divisor(self, squares: Matrix) -> float:
        if self.bandwidth == "absolute":
            return 1.0
        pairs = squares[np.tri(len(squares), k=-1, dtype=bool)]
        median = math.sqrt(float(np.median(pairs)))
        if median == 0.0:  # most rows are alike
            median = math.sqrt(float(pairs.mean()))
        return median or 1.0

    def _landmark_factor(self, state: AdaptiveState) -> Matrix:
        """Return the Cholesky factor of K_mm."""
        m = int(state.counts[COUNT.landmarks])
        points = np.ascontiguousarray(state.landmarks.columns[:, :m].T)
        return definite.factorise(
            np.array(kernel_block(self._rule.kernel, points, state.landmarks, m))
        )

    def _fit_theta(
        self,
        state: AdaptiveState,
        F: Matrix,
        L: Matrix,
        gram: Matrix,
        targets: Matrix,
        weights: Vector,
    ) -> None:
        """Fit the squared hinge, or the squared error, by a Newton step: set theta and P.

        With Lambda = L L' and F = psi L'^-1, the rows of F are those of psi for a prior alpha I.
        With the rows that have a loss, H the weights times the curvature at f = 0,

            w = (alpha I + F'H F)^-1 F'H y,   theta = L'^-1 w,   A = L (alpha I + F'H F) L'.

        The rows that have a loss are those with y f < 1 in the fit to all rows, which is made with
        the smaller system, f = G (G + alpha H^-1)^-1 y and G = F F'. In regression, and with
        several outputs, which share P, they are all.
        """
        m, width = int(state.counts[COUNT.landmarks]), F.shape[1]
        alpha, h = float(state.levels[LEVEL.alpha]), self._unit * np.maximum(weights, _TINY)
        lost = self._rows_with_loss(F, gram, targets, alpha / h)
        F, h = F[lost], h[lost]
        try:
            B = definite.factorise_sum(alpha, F, h)
            w = definite.solve(B, F.T @ (h[:, None] * targets[lost]))
            if not np.isfinite(w).all():
                raise np.linalg.LinAlgError("the solution is not finite")
        except np.linalg.LinAlgError:  # numbers beyond all bounds: begin with the prior
            state.counts[COUNT.mends] += 1
            B, w = math.sqrt(alpha) * np.eye(width), np.zeros((width, targets.shape[1]))
        state.theta[:] = 0.0
        state.theta[:, :width] = w.T
        if m > 0:
            state.theta[:, :m] = definite.solve_upper(L, w[:m]).T
            B[:m, :m] = definite.lower_times(L, B[:m, :m])
        set_root(state.P, definite.invert_lower(B))

    def _rows_with_loss(
        self, F: Matrix, gram: Matrix, targets: Matrix, ridge: Vector
    ) -> NDArray[np.bool_]:
        """Return which rows have a loss in the fit to all of them; `ridge` is alpha H^-1."""
        everyone = np.ones(len(gram), bool)
        if not self._rule.classifies or targets.shape[1] > 1:
            return everyone
        system = gram.copy()
        system[np.diag_indices_from(system)] += ridge
        try:
            c = definite.solve(definite.factorise(system), targets)
        except np.linalg.LinAlgError:
            return everyone
        lost = (targets * (F @ (F.T @ c)))[:, 0] < 1.0
        return lost if lost.any() else everyone

    def _lower_alpha(self, state: AdaptiveState, rounds: int) -> bool:
        """Let alpha fall with the number of rounds, and theta with it; return False if it cannot.

        With P = R'R and Lambda = L L', A - delta Lambda is R^-1 (I - V V') R'^-1 for
        V = sqrt(delta) R L. As alpha falls by a small factor, this difference is far from singular.
        """
        levels = state.levels
        alpha, target = float(levels[LEVEL.alpha]), self._unit * _ALPHA_ROUNDS / rounds
        if _STEP_DOWN * target > alpha:
            return True
        m, width = int(state.counts[COUNT.landmarks]), int(state.counts[COUNT.width]) + 1
        R, theta = root(state.P, width), state.theta[:, :width]
        V, drawn = R.copy(), theta.copy()  # Lambda theta
        try:
            if m > 0:
                L = self._landmark_factor(state)
                V[:, :m] = definite.times_lower(R[:, :m], L)
                drawn[:, :m] = (theta[:, :m] @ L) @ L.T
            V *= math.sqrt(alpha - target)
            R = definite.solve_lower(definite.factorise(definite.less_squares(np.eye(width), V)), R)
        except np.linalg.LinAlgError:
            return False
        theta += (alpha - target) * (drawn @ R.T) @ R
        set_root(state.P, R)
        levels[LEVEL.alpha] = target
        return True

    def _standardise(self, state: AdaptiveState, y: Matrix, weights: Vector) -> None:
        """Set mean and spread of the targets, and begin the mean of slopes in this unit."""
        state.levels[LEVEL.residual] = 0.0
        state.counts[COUNT.begun] = len(y)
        counted = y[weights > 0.0]
        largest = float(np.abs(counted).max()) or 1.0
        counted = counted / largest  # whose squares are finite
        state.levels[LEVEL.mean] = largest * counted.mean()
        state.levels[LEVEL.spread] = largest * counted.std() or 1.0

    def _restart_follower(
        self, state: AdaptiveState, of_rows: Matrix, linear: Matrix, targets: Matrix
    ) -> None:
        """Let the follower follow the rows of the buffer: kernel values, linear part and bias."""
        if not self._rule.follow:
            return
        m = of_rows.shape[1]
        state.centre[:] = 0.0
        state.centre[:m] = of_rows.mean(axis=0)
        centred = of_rows - state.centre[:m]
        size = math.sqrt(float(np.einsum("ij,ij->", centred, centred)) / len(centred))
        state.levels[LEVEL.follow] = 1.0 / size if size > 1e-12 else 0.0
        rows = np.zeros((len(of_rows), padded(m + linear.shape[1])))
        rows[:, :m] = state.levels[LEVEL.follow] * centred
        rows[:, m : m + linear.shape[1]] = linear
        state.follower[:] = 0.0
        _follow_rows.over()(state.follower, rows, np.ascontiguousarray(targets))


def _rows_since_change(wrong: Vector, usual: float) -> int:
    """Number of last rows for which it is most likely that they have a higher rate of mistakes."""
    n = np.arange(1, len(wrong) + 1)
    rate = np.cumsum(wrong[::-1]) / n
    gain = n * (xlogy(rate, rate / usual) + xlogy(1.0 - rate, (1.0 - rate) / (1.0 - usual)))
    gain[(rate <= usual) | (n < SMALLEST_BUFFER)] = 0.0
    return max(int(n[np.argmax(gain)]), SMALLEST_BUFFER)


def _squared_distances(Z: Matrix) -> Matrix:
    norms = np.einsum("ij,ij->i", Z, Z)
    sums = norms[:, None] + norms
    squares = Z @ Z.T
    squares *= -2.0
    squares += sums
    sums *= 1e-12
    squares[squares < sums] = 0.0  # rounding errors of equal rows
    np.fill_diagonal(squares, 0.0)
    return squares


def _chosen_alpha(gram: Matrix, targets: Matrix, classifies: bool) -> float:
    """Alpha with the smallest leave-one-out error, drawn to the usual one if rows are few.

    Ridge regression with H = G (G + alpha I)^-1 has the leave-one-out residuals
    (f_i - y_i) / (1 - H_ii).
    """
    n = len(gram)
    values, vectors = eigh(gram, driver="evd", check_finite=False)
    values = np.maximum(values, 0.0)
    shrink = values / (values + _ALPHAS[:, None])  # (alphas, n)
    H = (shrink @ (vectors**2).T)[:, :, None]  # (alphas, n, 1)
    f = vectors @ (shrink[:, :, None] * (vectors.T @ targets))  # (alphas, n, outputs)
    sound = H.max(axis=(1, 2)) < 1.0  # rounding: an alpha may be nothing beside huge rows
    H[~sound] = 0.0
    f = (f - H * targets) / (1.0 - H)
    missing = np.maximum(1.0 - targets * f, 0.0) if classifies else targets - f
    errors = np.where(sound, np.mean(missing**2, axis=(1, 2)), np.inf)
    share = n / (n + _CONVINCING)
    best = _ALPHAS[int(np.argmin(errors))]
    return float(best**share * _USUAL_ALPHA ** (1.0 - share))


# ---- compiled --------------------------------------------------------------------------------


class AdaptiveRule(NamedTuple):
    """What compiled code needs to know."""

    kernel: Kernel
    loss: Loss
    classifies: bool
    probabilistic: bool  # is the score a log-odds?
    follow: bool
    restart: bool
    robust: bool
    reference: float  # size of the slope at f = 0


class AdaptiveWork(NamedTuple):
    """Scratch."""

    psi: Vector  # (W,)
    centred: Vector  # (W,)  the follower's features
    u: Vector  # (W,)  P psi
    z: Vector  # (padded(d),)  the scaled row
    f: Vector  # (n_outputs,)  theta'psi
    g: Vector  # (n_outputs,)  the follower's score, then slopes


attach.register(AdaptiveRule)(compiled_viewer(AdaptiveState))


@workspace.register(AdaptiveRule)
def _workspace(rule, state, scratch):
    o, W = state.theta.shape
    return AdaptiveWork(
        scratch[:W],
        scratch[W : 2 * W],
        scratch[2 * W : 3 * W],
        scratch[3 * W : scratch.shape[0] - 2 * o],
        scratch[scratch.shape[0] - 2 * o : scratch.shape[0] - o],
        scratch[scratch.shape[0] - o :],
    )


@score.register(AdaptiveRule)
def _score(rule, state, work, x, out):
    _describe(rule, state, work, x)
    _answer(rule, state, work, out)


@step.register(AdaptiveRule)
def _step(rule, state, work, x, y, weight, out):
    counts = state.counts
    if counts[COUNT.event] == RESUME:  # the round has been played, and its event is done
        counts[COUNT.event] = 0
        return
    _describe(rule, state, work, x)
    _answer(rule, state, work, out)
    if weight != 0.0:
        _remember(state, x, y, weight)
        if rule.restart:
            _watch(rule, state, work, y)
        if rule.follow:
            _follow(state, work, y, weight)
        _newton(rule, state, work, y, weight)
        counts[COUNT.rounds] += 1
        due = counts[COUNT.rounds] >= counts[COUNT.due] or state.levels[LEVEL.watch] > _ALARM
        if due or counts[COUNT.refused] == _MOST_REFUSED:
            counts[COUNT.event] = FIT


def _compare_dense(x, rule, state, work, m):
    write_scaled(x, state.scale, work.z)
    kernel_row(rule.kernel, work.z[: x.shape[0]], state.landmarks, m, work.psi)


def _compare_sparse(x, rule, state, work, m):
    if state.counts[COUNT.shifted] != 0:
        write_scaled(x, state.scale, work.z)
        z = work.z[: state.rows.shape[1]]
        kernel_row(rule.kernel, z, state.landmarks, m, work.psi)
    else:
        n = x.values.shape[0]
        for e in range(n):
            work.z[e] = scaled_value(state.scale, x.features[e], x.values[e])
        row = SparseRow(work.z[:n], x.features)
        kernel_row(rule.kernel, row, state.landmarks, m, work.psi)


def _linear_dense(x, state, work, m, linear):
    for j in range(linear):
        work.psi[m + j] = state.levels[LEVEL.linear] * work.z[j]


def _linear_sparse(x, state, work, m, linear):
    if state.counts[COUNT.shifted] != 0:
        for j in range(linear):
            work.psi[m + j] = state.levels[LEVEL.linear] * work.z[j]
    else:  # the rest is zero already
        for e in range(x.values.shape[0]):
            if x.features[e] < linear:
                work.psi[m + x.features[e]] = state.levels[LEVEL.linear] * work.z[e]


def _keep_dense(x, rows, slot):
    for j in range(x.shape[0]):
        rows[slot, j] = x[j]


def _keep_sparse(x, rows, slot):
    for j in range(rows.shape[1]):
        rows[slot, j] = 0.0
    for e in range(x.values.shape[0]):
        rows[slot, x.features[e]] = x.values[e]


_compare = by_form(_compare_dense, _compare_sparse)
_write_linear = by_form(_linear_dense, _linear_sparse)
_keep = by_form(_keep_dense, _keep_sparse)


@njit
def _describe(rule, state, work, x):
    """Write psi, and the follower's features."""
    m, width = state.counts[COUNT.landmarks], state.counts[COUNT.width]
    W = _whole_blocks(width + 1)
    psi = work.psi
    if width > 0:
        _compare(x, rule, state, work, m)
    for i in range(m, W):
        psi[i] = 0.0
    if width > m:
        _write_linear(x, state, work, m, width - m)
    psi[width] = 1.0
    if rule.follow:
        factor = splat(state.levels[LEVEL.follow])
        for i in range(0, m, LANES):
            store(times(factor, minus(load(psi, i), load(state.centre, i))), work.centred, i)
        for i in range(m, W):
            work.centred[i] = psi[i]


@njit
def _whole_blocks(n):
    return (n + LANES - 1) // LANES * LANES


@njit
def _answer(rule, state, work, out):
    """Write the scores: of theta, of the follower, and the answer of the one to be trusted."""
    W = state.counts[COUNT.width] + 1
    for o in range(out.shape[0]):
        f = finite_or_zero(dot(state.theta[o], work.psi, W))
        work.f[o] = f
        if rule.follow:
            g = finite_or_zero(dot(state.follower[o], work.centred, W))
            work.g[o] = g
            leading = f if state.trust[o, 0] >= 0.5 else g
            out[o] = 2.0 * _probability(rule, leading) - 1.0
        elif rule.classifies:
            out[o] = 2.0 * _probability(rule, f) - 1.0
        else:
            out[o] = finite_or_zero(state.levels[LEVEL.mean] + state.levels[LEVEL.spread] * f)


@njit
def _probability(rule, f):
    """Probability of +1 that a score stands for."""
    p = 0.5 + 0.5 * (math.tanh(0.5 * f) if rule.probabilistic else f)
    return min(max(p, _SURE), 1.0 - _SURE)


@njit
def _remember(state, x, y, weight):
    slot = state.counts[COUNT.rounds] % state.rows.shape[0]
    _keep(x, state.rows, slot)
    for o in range(state.targets.shape[1]):
        state.targets[slot, o] = y[o]
    state.weights[slot] = weight


@njit
def _watch(rule, state, work, y):
    """Update the cumulative sum over the mistakes of theta."""
    counts, levels = state.counts, state.levels
    if not rule.classifies:
        square = 0.0
        for o in range(y.shape[0]):
            g = slope(rule.loss, work.f[o], _standardised(levels, y[o]))
            square += g * g
        wrong = square > levels[LEVEL.residual]
    elif y.shape[0] == 1:
        wrong = is_mistake(work.f[0], y[0])
    else:
        best = 0
        for o in range(1, y.shape[0]):
            if work.f[o] > work.f[best]:
                best = o
        wrong = y[best] < 0.0
    rounds = counts[COUNT.rounds] + 1
    counted = rounds - counts[COUNT.begun]
    rate = levels[LEVEL.rate]
    state.wrong[counts[COUNT.rounds] % state.wrong.shape[0]] = 1.0 if wrong else 0.0
    if counted > _SETTLE:
        usual = min(max(rate, _LEAST_RATE), _MOST_RATE)
        higher = min(_GAIN * usual, _HIGHEST_RATE)
        if wrong:
            levels[LEVEL.watch] += math.log(higher / usual)
        else:
            levels[LEVEL.watch] += math.log((1.0 - higher) / (1.0 - usual))
        if levels[LEVEL.watch] <= 0.0:
            levels[LEVEL.watch] = 0.0
            counts[COUNT.quiet] = rounds
    levels[LEVEL.rate] = rate + ((1.0 if wrong else 0.0) - rate) / min(counted, _RATE_ROUNDS)


@njit
def _make_right(v, features, g, y):
    """Take the passive-aggressive step: the smallest after which y v'features is 1."""
    square = dot(features, features, features.shape[0])
    missing = 1.0 - y * g
    if missing > 0.0 and square > 0.0:
        add_multiple(v, features, missing * y / square)


@entry
def _follow_rows(follower, rows, targets):
    """Let the follower learn some rows."""
    for t in range(rows.shape[0]):
        for o in range(follower.shape[0]):
            g = finite_or_zero(dot(follower[o], rows[t], rows.shape[1]))
            _make_right(follower[o][: rows.shape[1]], rows[t], g, targets[t, o])


@njit
def _follow(state, work, y, weight):
    """Weigh theta and the follower by their mistakes; let the follower make this round right."""
    heaviest = max(state.levels[LEVEL.heaviest], weight)
    state.levels[LEVEL.heaviest] = heaviest
    distrust = math.exp(-weight / heaviest)
    W = _whole_blocks(state.counts[COUNT.width] + 1)
    for o in range(y.shape[0]):
        a = state.trust[o, 0] * (distrust if is_mistake(work.f[o], y[o]) else 1.0)
        b = state.trust[o, 1] * (distrust if is_mistake(work.g[o], y[o]) else 1.0)
        share = (1.0 - _SHARE) * a / (a + b) + 0.5 * _SHARE
        state.trust[o, 0] = share
        state.trust[o, 1] = 1.0 - share
        _make_right(state.follower[o][:W], work.centred[:W], work.g[o], y[o])


@njit
def _curvature(loss, f, y):
    """Second derivative of the loss, or 1 where it has a slope and no curvature."""
    h = curvature(loss, f, y)
    return h if h > 0.0 else 1.0


@njit
def _standardised(levels, y):
    """The target in the unit of theta; an absurd one is held."""
    return min(max((y - levels[LEVEL.mean]) / levels[LEVEL.spread], -_FAR), _FAR)


@njit
def _newton(rule, state, work, y, weight):
    """Take the Newton step, if the round has something to say."""
    counts, levels = state.counts, state.levels
    counted = min(counts[COUNT.rounds] + 1 - counts[COUNT.begun], _RATE_ROUNDS)
    h, lost = 0.0, False
    reference, loudest = rule.reference, math.inf
    if not rule.classifies:
        reference = math.sqrt(levels[LEVEL.residual])
    if rule.robust:
        if rule.classifies:
            loudest = 2.0 * (1.0 - levels[LEVEL.tolerance]) * reference
        elif counted > _SETTLE:
            loudest = _OUTLIER * reference
    total = 0.0
    for o in range(y.shape[0]):
        target = _standardised(levels, y[o])
        g = slope(rule.loss, work.f[o], target)
        if abs(g) > levels[LEVEL.tolerance] * reference:
            lost = True
            held = loudest / abs(g) if abs(g) > loudest else 1.0
            h = max(h, weight * held * _curvature(rule.loss, work.f[o], target))
            g *= held
        work.g[o] = g
        total += g * g
    if finite(total):
        levels[LEVEL.residual] += (total - levels[LEVEL.residual]) / counted
    if not lost:
        return
    W = _whole_blocks(counts[COUNT.width] + 1)
    q = add(state.P, h, work.psi[:W], work.u[:W])
    grown = 1.0 + h * q
    if not (finite(grown) and finite(weight * math.sqrt(total))):
        counts[COUNT.mends] += 1
        counts[COUNT.refused] += 1
        return
    for o in range(y.shape[0]):
        if work.g[o] != 0.0:
            add_multiple(state.theta[o][:W], work.u[:W], -weight * work.g[o] / grown)

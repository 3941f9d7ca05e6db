"""One round of a kernel machine, compiled, and what it changes: see `forks.learners.machine`."""

from typing import Annotated, NamedTuple

from forks.engine import RESUME, Counter, Vector, njit, score, step
from forks.kernels import Kernel
from forks.linalg.vectors import dot
from forks.losses import Loss
from forks.parts import gate as gates
from forks.parts import landmarks, newton, ring, targets
from forks.parts.expansion import finite_or_zero
from forks.parts.gate import Gate, GateRule
from forks.parts.horizon import keep, write_earlier
from forks.parts.landmarks import WIDTH, LandmarkMap, whole_blocks
from forks.parts.prior import PriorRule, is_to_be_lowered, most_alpha
from forks.parts.targets import Targets

FIT = 1  # the event of a machine


class MachineCount(NamedTuple):
    """Indices into `counts`."""

    event: int
    mends: int  # steps left out because they would not have been finite, and fits that failed
    rounds: int  # since the start, or since the concept changed
    due: int  # rounds at which the next event is due
    begun: int  # rounds when the mean of the gate was begun
    refused: int  # steps left out since the last fit


COUNT = MachineCount(*range(len(MachineCount._fields)))


class MachineState(NamedTuple):
    """State that learning changes in place; psi has at most buffer + linear + 1 features."""

    counts: Annotated[Counter, len(MachineCount._fields)]
    alpha: Annotated[Vector, 2]  # factor of the prior, and of what it is usually
    forgetting: Annotated[Vector, 1]  # rate at which P grows in each round
    map: Annotated[LandmarkMap, "capacity = buffer"]
    newton: Annotated[newton.Newton, "width = padded(buffer + linear + 1)"]
    gate: Gate
    targets: Targets
    ring: Annotated[ring.Ring, "size = buffer"]


class MachineRule(NamedTuple):
    """Constants for compiled code."""

    kernel: Kernel
    loss: Loss
    gate: GateRule
    prior: PriorRule
    classifies: bool
    unit: float  # of alpha
    most_refused: int = 16


class MachineWork(NamedTuple):
    """Scratch."""

    psi: Annotated[Vector, "padded(buffer + linear + 1)"]
    u: Annotated[Vector, "padded(buffer + linear + 1)"]  # P psi
    z: Annotated[Vector, "features"]  # the scaled row
    f: Annotated[Vector, "outputs"]  # theta'psi
    g: Annotated[Vector, "outputs"]  # slopes


@score.register(MachineRule)
def _score(rule, state, work, x, out):
    landmarks.write_psi(rule.kernel, state.map, x, work.z, work.psi)
    _answer(rule, state, work, out)


@step.register(MachineRule)
def _step(rule, state, work, x, y, weight, out):
    counts = state.counts
    if counts[COUNT.event] == RESUME:  # the round has been played, and its event is done
        counts[COUNT.event] = 0
        return
    landmarks.write_psi(rule.kernel, state.map, x, work.z, work.psi)
    _answer(rule, state, work, out)
    if weight != 0.0:
        t = counts[COUNT.rounds]
        ring.remember(state.ring, t, x, y, weight)
        learn(rule, state, work, y, weight, t + 1 - counts[COUNT.begun])
        counts[COUNT.rounds] = t + 1
        due = t + 1 >= counts[COUNT.due] and not _goes_on(rule, state, t + 1)
        if due or counts[COUNT.refused] == rule.most_refused:
            counts[COUNT.event] = FIT


@keep.register(MachineRule)
def _keep(rule, state):
    newton.keep_weights(state.newton)


@write_earlier.register(MachineRule)
def _write_earlier(rule, state, work, out):
    W = state.map.sizes[WIDTH] + 1
    for o in range(out.shape[0]):
        f = finite_or_zero(dot(state.newton.earlier[o], work.psi, W))
        out[o] = f if rule.classifies else finite_or_zero(targets.restored(state.targets, f))


@njit
def _goes_on(rule, state, rounds):
    """Bring the tolerance up to date, if nothing else is due; return whether that was all.

    Once the buffer is full, events are there to lower the prior, and few of them find it too high.
    A prior close to that limit is left to the event, so that rounding here decides nothing.
    """
    if rounds <= state.ring.rows.shape[0]:
        return False
    target = state.alpha[1] * most_alpha(rule.prior, rule.unit, rounds)
    alpha = 1.001 * state.alpha[0]
    if state.forgetting[0] == 0.0 and is_to_be_lowered(rule.prior, alpha, target):
        return False
    gates.set_tolerance(rule.gate, state.gate, rounds)
    state.counts[COUNT.due] *= 2
    return True


@njit
def _answer(rule, state, work, out):
    """Write the scores theta'psi, and the answers."""
    W = state.map.sizes[WIDTH] + 1
    for o in range(out.shape[0]):
        f = finite_or_zero(dot(state.newton.theta[o], work.psi, W))
        work.f[o] = f
        out[o] = f if rule.classifies else finite_or_zero(targets.restored(state.targets, f))


@njit
def learn(rule, state, work, y, weight, counted):
    """Take the Newton step, if a slope passes the gate."""
    W = whole_blocks(state.map.sizes[WIDTH] + 1)
    if state.forgetting[0] > 0.0:
        newton.forget(state.newton, W, state.forgetting[0])
    smallest, largest = gates.slope_bounds(rule.gate, state.gate, counted)
    h, total = 0.0, 0.0
    for o in range(y.shape[0]):
        target = targets.standardised(state.targets, y[o])
        g, bend = gates.gated(rule.loss, work.f[o], target, weight, smallest, largest)
        h = max(h, bend)
        work.g[o] = g
        total += g * g
    gates.update_residual(rule.gate, state.gate, total, counted)
    if h > 0.0:
        psi, u = work.psi[:W], work.u[:W]
        if not newton.newton_step(state.newton, psi, u, work.g, h, weight, total):
            state.counts[COUNT.mends] += 1
            state.counts[COUNT.refused] += 1

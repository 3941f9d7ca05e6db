"""What each key knows beyond a model that all keys share: corrections that shrink to zero.

The common model gives a row the scores f, of which there are one or several; the key k adds
corrections m in features phi(x) that all keys share, the last of which is 1:

    z = f + m,   m = sum_e w_e c_e,   c_e = phi'theta_e,   theta_e = (S + Lambda_e)^-1 b.

S = sum h phi phi' and b = sum (h m - g) phi are sums over the key's own rows, with the slope g and
the curvature h of the loss at z: for squared errors S = sum phi phi' and b = sum (y - f) phi, and
theta_e is ridge regression on the residuals of the common model, the mean of what a Gaussian prior
around the common model has become. A row of weight w is added w times. Rows of long ago count
less, by `keep` with each of the key's own rows; rows of weight 0 are none.

**How strong the prior is** is not known. Experts differ in it: the first one corrects nothing, the
second only the bias, and the others have a strength for all features but the bias. S and b do not
depend on it, so an expert costs a decomposition and no memory. Weights are

    w_e ~ exp(-own_e - shared_e),

own_e a discounted sum of the losses that the expert had on the key's rows, shared_e one of those
on all rows: what other keys have shown is where a new key begins.

**The last residual lasts.** In regression the answer to "what comes next?" has a e more, e the
residual y - z of the key's last row and a = sum e_t e_{t-1} / sum e_{t-1}^2 over the key's rows,
drawn to the same of all keys as by `pooled` rows.

**Guards.** Scores of the common model stay near the targets seen so far; residuals are held at
`outlier` times their root mean square; rows whose numbers would overflow are left out and counted.
Classes: f are calibrated log-odds (`parts.calibration`).
"""

import math
from typing import NamedTuple

import numpy as np

from forks.engine import Matrix, Vector, entry, finite, njit
from forks.linalg.vectors import copy
from forks.parts.calibration import CalibrationRule, calibrate, write_calibrated, write_log_odds

NOTHING, BIAS, FIRST = range(3)  # experts: no correction, only the bias, the first with a strength
# What `shared` begins with; the experts' sums of losses and a line of the calibration follow.
ROUNDS, SQUARE, PRODUCTS, SQUARES, LOWEST, HIGHEST, MENDS, SUMS = range(8)
LINE = 5
_APART = 64  # numbers between two parts of the scratch, more than a step of a loop has


class PoolingRule(NamedTuple):
    """Constants."""

    calibration: CalibrationRule
    classifies: bool
    features: int  # of phi, with the 1
    outputs: int
    experts: int
    keep: float  # of S and b, with each row of the key
    bias: float = 1.0  # strength of the prior of the bias
    power: float = 0.5  # of a loss of the key
    own_keep: float = 0.99
    shared_power: float = 0.05  # of a loss of any key
    shared_keep: float = 0.999
    outlier: float = 4.0
    settle: float = 100.0  # rounds before residuals are held
    memory: float = 1000.0  # rounds, of the mean square of the residuals
    pooled: float = 20.0
    last_keep: float = 0.999
    margin: float = 0.1  # beyond the range of targets, as a share of it


def record_size(features: int, outputs: int, experts: int) -> int:
    """Return how many numbers a key has: rows, S, b, own losses, last residuals, two sums."""
    return 1 + features * (features + 1) // 2 + outputs * features + experts + outputs + 2


def begun(rule: PoolingRule) -> Vector:
    """Return what all keys share before the first row."""
    shared = np.zeros(SUMS + rule.experts + LINE)
    prior = rule.calibration.prior
    shared[LOWEST], shared[HIGHEST] = math.inf, -math.inf
    shared[-LINE:] = 1.0, 0.0, prior, 0.0, prior / 4.0
    return shared


class Record(NamedTuple):
    """The numbers of a key: views of its record."""

    rows: Vector  # 1
    S: Vector  # lower triangle, row by row
    b: Vector  # output by output
    own: Vector  # losses of the experts
    last: Vector  # residuals of the last row
    sums: Vector  # of products and squares of last residuals


class Scratch(NamedTuple):
    """What `play` works in: parts of one array.

    Compiled loops are chosen by the distances of arrays, and sums are rounded otherwise in others:
    these distances must be the same in every call. Sums are made of what is here.
    """

    work: Matrix  # (features + 1 + outputs, features)
    c: Matrix  # (experts, outputs)  what each expert adds
    f: Vector  # scores of the common model
    m: Vector  # the mixture of what is added
    z: Vector
    g: Vector  # slopes
    line: Vector  # of the calibration


def scratch_of(rule: PoolingRule) -> Scratch:
    """Return what `play` works in."""
    n, outputs = rule.features, rule.outputs
    shapes = (n + 1 + outputs, n), (rule.experts, outputs), *[(outputs,)] * 4, (LINE,)
    flat = np.zeros(sum(math.prod(shape) + _APART for shape in shapes))
    parts, start = [], 0
    for shape in shapes:
        parts.append(flat[start : start + math.prod(shape)].reshape(shape))
        start += math.prod(shape) + _APART
    return Scratch(*parts)


@njit
def view_record(rule, numbers):
    """Return the parts of a record."""
    n, outputs = rule.features, rule.outputs
    s = 1 + n * (n + 1) // 2
    b = s + outputs * n
    own = b + rule.experts
    last = own + outputs
    return Record(
        numbers[:1], numbers[1:s], numbers[s:b], numbers[b:own], numbers[own:last], numbers[last:]
    )


def widened(rule: PoolingRule, records: Matrix, factors: Matrix) -> Matrix:
    """Return records for other outputs, whose corrections are combinations of the old ones.

    `factors` has a row for each new output, and a column for each old one.
    """
    n, outputs = rule.features, rule.outputs
    s = 1 + n * (n + 1) // 2
    b, own, last = np.cumsum([outputs * n, rule.experts, outputs]) + s
    corrections = factors @ records[:, s:b].reshape(-1, outputs, n)
    parts = (
        *(records[:, :s], corrections.reshape(len(records), -1), records[:, b:own]),
        *(records[:, own:last] @ factors.T, records[:, last:]),
    )
    return np.hstack(parts)


# ---- the answer ------------------------------------------------------------------------------


@njit
def write_answer(rule, strengths, shared, record, phi, given, scratch, ahead, out):
    """Write the answer: a number, or probabilities as 2 p - 1.

    Leaves the common scores f, the experts' corrections c and the mixture m in the scratch.
    """
    work, c, f, m, z, _, line = scratch
    write_common(rule, shared, given, line, f)
    write_corrections(rule, strengths, record, phi, work, c)
    write_mixture(rule, shared, record, c, m)
    share = lasting(rule, shared, record) if ahead else 0.0
    for o in range(rule.outputs):
        z[o] = f[o] + m[o] + share * record.last[o]
    if rule.classifies:
        write_probabilities(z, z)
        for o in range(rule.outputs):
            out[o] = 2.0 * z[o] - 1.0
    else:
        for o in range(rule.outputs):
            out[o] = z[o]


@njit
def write_common(rule, shared, given, line, f):
    """Write the scores f of the common model as corrections are added to them.

    `given` are numbers near the targets so far, or probabilities as 2 p - 1.
    """
    if rule.classifies:
        for o in range(rule.outputs):
            p = 0.5 + 0.5 * given[o]
            f[o] = min(max(p, rule.calibration.sure), 1.0 - rule.calibration.sure)
        write_log_odds(f, f)
        copy(line, shared[SUMS + rule.experts :])
        write_calibrated(rule.calibration, line, f, f)
        write_log_odds(f, f)
    else:
        low, high, rounds = shared[LOWEST], shared[HIGHEST], shared[ROUNDS]
        more = (high - low) * max(rule.margin, 10.0 / max(rounds, 1.0))
        for o in range(rule.outputs):
            f[o] = given[o]
            if rounds > 0.0:
                f[o] = min(max(given[o], low - more), high + more)


@njit
def write_corrections(rule, strengths, record, phi, work, c):
    """Write what each expert would add, one row per expert."""
    n, outputs = rule.features, rule.outputs
    for e in range(rule.experts):
        for o in range(outputs):
            c[e, o] = 0.0
    if record.rows[0] > 0.0:
        for o in range(outputs):
            c[BIAS, o] = record.b[(o + 1) * n - 1] / (record.S[-1] + rule.bias)
        for e in range(FIRST, rule.experts):
            _solve(rule, strengths[e - FIRST], record, phi, work)
            for o in range(outputs):
                c[e, o] = 0.0
                for i in range(n):
                    c[e, o] += work[n, i] * work[n + 1 + o, i]


@njit
def _solve(rule, strength, record, phi, work):
    """Write L, L^-1 phi and L^-1 b_o below each other, with L L' = S + Lambda."""
    n, at = rule.features, 0
    for i in range(n):
        for j in range(i + 1):
            value = record.S[at]
            at += 1
            if i == j:
                value += rule.bias if i == n - 1 else strength
            for k in range(j):
                value -= work[i, k] * work[j, k]
            work[i, j] = math.sqrt(value) if i == j else value / work[j, j]
    for row in range(n, n + 1 + rule.outputs):
        for j in range(n):
            value = phi[j] if row == n else record.b[(row - n - 1) * n + j]
            for k in range(j):
                value -= work[row, k] * work[j, k]
            work[row, j] = value / work[j, j]


@njit
def write_mixture(rule, shared, record, c, m):
    """Write the corrections of all experts together."""
    largest = -math.inf
    for e in range(rule.experts):
        largest = max(largest, -record.own[e] - shared[SUMS + e])
    total = 0.0
    for o in range(rule.outputs):
        m[o] = 0.0
    for e in range(rule.experts):
        w = math.exp(-record.own[e] - shared[SUMS + e] - largest)
        total += w
        for o in range(rule.outputs):
            m[o] += w * c[e, o]
    for o in range(rule.outputs):
        m[o] /= total


@njit
def lasting(rule, shared, record):
    """Return which share of the last residual is to be added."""
    squares = record.sums[1] + rule.pooled * shared[SQUARES]
    if rule.classifies or not squares > 0.0:
        return 0.0
    return min(max((record.sums[0] + rule.pooled * shared[PRODUCTS]) / squares, 0.0), 1.0)


@njit
def write_probabilities(z, p):
    """Write the probabilities of +1 that log-odds, or of several classes that scores stand for."""
    n = z.shape[0]
    if n == 1:
        p[0] = 1.0 / (1.0 + math.exp(-min(max(z[0], -30.0), 30.0)))
        return
    largest, total = z[0], 0.0
    for o in range(1, n):
        largest = max(largest, z[o])
    for o in range(n):
        p[o] = math.exp(max(z[o] - largest, -30.0))
        total += p[o]
    for o in range(n):
        p[o] /= total


# ---- learning --------------------------------------------------------------------------------


@njit
def learn(rule, shared, record, phi, given, y, weight, scratch):
    """Learn from the targets y of a row, whose experts and mixture have been written."""
    _, c, f, m, z, g, line = scratch
    rounds = shared[ROUNDS] + 1.0
    _write_slopes(rule, f, m, y, z, g)
    square = 0.0
    for o in range(rule.outputs):
        square += g[o] * g[o]
    if not (finite(square) and finite(weight * weight * (1.0 + square))):
        shared[MENDS] += 1.0
        return
    limit = math.inf
    if not rule.classifies:
        limit = _observe_residuals(rule, shared, square, rounds, y)
    _weigh(rule, shared, record, f, y, weight, c, z, limit)
    if not rule.classifies:
        _observe_last(rule, shared, record, g, limit)
    else:
        _calibrate(rule, shared, given, y, min(weight, 1.0), line, z, f)
    h = _curvature(rule, g)
    _add(rule, record, phi, h, g, m, weight, limit)
    record.rows[0] += 1.0
    shared[ROUNDS] = rounds


@njit
def _write_slopes(rule, f, m, y, z, g):
    """Write the slopes of the loss at f + m."""
    for o in range(rule.outputs):
        z[o] = f[o] + m[o]
    if rule.classifies:
        write_probabilities(z, g)
        for o in range(rule.outputs):
            g[o] -= 1.0 if y[o] > 0.0 else 0.0
    else:
        for o in range(rule.outputs):
            g[o] = z[o] - y[o]


@njit
def _curvature(rule, g):
    """Return the curvature: 1, or the largest p (1 - p) of the outputs."""
    if not rule.classifies:
        return 1.0
    h = 0.0
    for o in range(rule.outputs):
        p = abs(g[o])
        h = max(h, p * (1.0 - p))
    return h


@njit
def _observe_residuals(rule, shared, square, rounds, y):
    """Update range and mean square; return the largest residual that is not held."""
    for o in range(rule.outputs):
        shared[LOWEST] = min(shared[LOWEST], y[o])
        shared[HIGHEST] = max(shared[HIGHEST], y[o])
    limit = math.inf
    if rounds > rule.settle:
        limit = rule.outlier * math.sqrt(shared[SQUARE])
    square = min(square, limit * limit)
    shared[SQUARE] += (square - shared[SQUARE]) / min(rounds, rule.memory)
    return limit


@njit
def _weigh(rule, shared, record, f, y, weight, c, z, limit):
    """Count the losses of the experts, for the key and for all."""
    least, least_own = math.inf, math.inf
    for e in range(rule.experts):
        for o in range(rule.outputs):
            z[o] = f[o] + c[e, o]
        loss = weight * _loss(rule, shared, z, y, limit)
        own = rule.own_keep * record.own[e] + rule.power * loss
        all_keys = rule.shared_keep * shared[SUMS + e] + rule.shared_power * loss
        record.own[e], shared[SUMS + e] = own, all_keys
        least_own, least = min(least_own, own), min(least, all_keys)
    for e in range(rule.experts):
        record.own[e] -= least_own
        shared[SUMS + e] -= least


@njit
def _loss(rule, shared, z, y, limit):
    """Return the loss of scores: squared in units of its mean, or the log loss; bounded."""
    if not rule.classifies:
        loss = 0.0
        for o in range(rule.outputs):
            error = min(abs(z[o] - y[o]), limit)
            loss += error * error
        return 0.5 * loss / shared[SQUARE] if shared[SQUARE] > 0.0 else 0.0
    if rule.outputs == 1:
        margin = z[0] if y[0] > 0.0 else -z[0]
        return math.log1p(math.exp(-min(max(margin, -4.0), 30.0)))
    write_probabilities(z, z)
    for o in range(rule.outputs):
        if y[o] > 0.0:
            return -math.log(max(z[o], 0.02))
    return 0.0


@njit
def _observe_last(rule, shared, record, g, limit):
    """Learn how much of the last residual lasts; keep the new one."""
    unit = shared[SQUARE] if shared[SQUARE] > 0.0 else 1.0
    product, square = 0.0, 0.0
    for o in range(rule.outputs):
        e = -min(max(g[o], -limit), limit)
        product += e * record.last[o] / unit
        square += record.last[o] * record.last[o] / unit
        record.last[o] = e
    if record.rows[0] > 0.0:
        keep, rest = rule.last_keep, 1.0 - rule.last_keep
        record.sums[0] = keep * record.sums[0] + product
        record.sums[1] = keep * record.sums[1] + square
        shared[PRODUCTS] = keep * shared[PRODUCTS] + rest * product
        shared[SQUARES] = keep * shared[SQUARES] + rest * square


@njit
def _calibrate(rule, shared, given, y, power, line, z, p):
    """Take a step of the calibration of the common model; z and p are scratch."""
    for o in range(rule.outputs):
        q = 0.5 + 0.5 * given[o]
        z[o] = min(max(q, rule.calibration.sure), 1.0 - rule.calibration.sure)
    write_log_odds(z, z)
    copy(line, shared[SUMS + rule.experts :])
    write_calibrated(rule.calibration, line, z, p)
    calibrate(rule.calibration, line, z, p, y, power)
    copy(shared[SUMS + rule.experts :], line)


@njit
def _add(rule, record, phi, h, g, m, weight, limit):
    """Add a row to S and b."""
    n, at = rule.features, 0
    for i in range(n):
        for j in range(i + 1):
            record.S[at] = rule.keep * record.S[at] + weight * h * phi[i] * phi[j]
            at += 1
    for o in range(rule.outputs):
        pull = weight * (h * m[o] - min(max(g[o], -limit), limit))
        for i in range(n):
            at = o * n + i
            record.b[at] = rule.keep * record.b[at] + pull * phi[i]


# ---- the pass --------------------------------------------------------------------------------


@entry
def play(rule, strengths, shared, records, slots, phi, given, Y, weights, scratch, ahead, out):
    """Write the answer to each row, then learn it; rows of weight 0 are answered only.

    Only if the rows are `ahead`, the next of the stream, do answers lean on the last targets.
    """
    for t in range(phi.shape[0]):
        record = view_record(rule, records[slots[t]])
        write_answer(rule, strengths, shared, record, phi[t], given[t], scratch, ahead, out[t])
        if weights[t] != 0.0:
            learn(rule, shared, record, phi[t], given[t], Y[t], weights[t], scratch)

"""Which features matter: from the slopes of a small kernel machine, and accepted where it wins.

Rows are scaled to z. A ridge regression f with a Gaussian kernel on m of the rows, a linear part
and a bias is fitted to three quarters of them, with features u_j = r_j z_j, r their relevance. The
mean squared slope along each of these, g_j = mean (df / du_j)^2, gives the next relevance,

    r_j <- r_j sqrt(rho g_j / mean(g) + 1 - rho),   rho = n / (n + `doubt` d),

brought to a mean square of one. A feature that does not change the score shrinks from fit to fit,
one that matters grows: the diagonal of the average gradient outer product. What n rows cannot tell
from chance is held back by rho.

A feature that matters only jointly with another has small slopes while both are drowned by many
that do not matter. So the search has a second start: the mean squared slopes of the quadratic
function b'z + z'B z / 2 that independent normal features would give, b_j = mean y z_j and
B_jk = mean y z_j z_k, less what chance adds to them (`quadratic_slopes`). And since features that
explain much by themselves would hide such pairs for good, the best start is then joined by the
slopes of the quadratic function of what it leaves of y.

Every fit is judged by its loss (squared hinge for classes, squared error for numbers) on the
quarter that it has not seen, and of all relevances that were tried the best one is taken: none at
all is among them, and keeps its place unless the gain, row by row, is above `margin` standard
errors.

References: Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural
networks and backpropagation-free machine learning models", Science 383, 2024.
"""

import math
from typing import NamedTuple

import numpy as np

from forks.engine import Matrix, Vector
from forks.features.scaling import apply_scale, fit_scale
from forks.linalg import spd
from forks.parts.landmarks import median_of_squares

_ROUNDING = 1e-10  # in each row's part of a sum
_FARTHEST = 1e100  # in units of the width: its square is finite


class RelevanceRule(NamedTuple):
    """Constants of the search."""

    alphas: tuple[float, ...] = (0.1, 1.0, 10.0)  # priors of the ridge regression
    doubt: float = 5.0
    margin: float = 1.0  # standard errors
    widest: int = 64  # features: beyond, the regression has no linear part
    steepest: int = 500  # rows whose slopes are looked at
    widest_quadratic: int = 256  # features: beyond, there is no second start


class Sample(NamedTuple):
    """Rows to search with."""

    Z: Matrix  # (n, d)  scaled
    y: Matrix  # (n, n_outputs)  of mean 0 in regression
    weights: Vector
    trained: np.ndarray  # numbers of the rows to fit,
    held: np.ndarray  # of those kept for judging,
    landmarks: np.ndarray  # and of those that are landmarks
    classifies: bool


class Expansion(NamedTuple):
    """A fitted score f, as a function of features u = Z."""

    Z: Matrix  # (n, d)  rows
    L: Matrix  # (m, d)  landmarks
    K: Matrix  # (n, m)  kernel values
    width: float  # by which features were divided
    factor: float  # of the linear part, 0 without one
    theta: Matrix  # weights of landmarks, of features if there is a linear part, and the bias


class Trial(NamedTuple):
    """A relevance that was tried."""

    loss: float
    losses: Vector  # of each row held back
    relevance: Vector
    f: Expansion


def sample_of(X: Matrix, y: Matrix, weights: Vector, m: int, classifies: bool) -> Sample:
    """Return rows, oldest first, in the form that fits need; m of them are landmarks."""
    Z = apply_scale(fit_scale(X, weights), X).astype(np.float64)
    held = np.arange(len(X)) % 4 == 3
    trained = np.flatnonzero(~held)
    spread = (np.arange(min(m, len(trained))) * len(trained)) // min(m, len(trained))
    if not classifies:
        y = y - y[trained].mean(axis=0)
        y = y / (np.abs(y).max() or 1.0)
    return Sample(Z, y.astype(np.float64), weights.astype(np.float64), trained,
                  np.flatnonzero(held), trained[spread], classifies)  # fmt: skip


def tried(rule: RelevanceRule, sample: Sample, relevance: Vector) -> Trial:
    """Fit a machine with this relevance; return its loss on the rows held back."""
    Z, y, weights, trained, held, chosen, _ = sample
    n, d = Z.shape
    m = len(chosen)
    Z = Z * relevance.astype(np.float64)
    width = math.sqrt(median_of_squares(_squared_distances(Z[chosen], Z[chosen])))
    Z = np.clip(Z / width, -_FARTHEST, _FARTHEST)
    L = Z[chosen]
    linear = d if d <= rule.widest else 0
    factor = width / math.sqrt(d) if linear else 0.0
    F = np.ones((n, m + linear + 1))
    K = np.exp(-0.5 * _squared_distances(Z, L), out=F[:, :m])
    F[:, m:-1] = factor * Z[:, :linear]
    root = np.sqrt(weights[trained, None])
    T = root * F[trained]
    gram, moment = spd.squares(T.T), T.T @ (root * y[trained])
    prior = np.eye(len(gram))
    prior[:m, :m] = K[chosen]
    gram[np.diag_indices_from(gram)] += _ROUNDING * n
    loss, losses, theta = math.inf, np.zeros(len(held)), np.zeros_like(moment)
    F = F[held]
    for alpha in rule.alphas:
        try:
            solution = spd.solve(spd.factorise(gram + alpha * prior), moment)
        except np.linalg.LinAlgError:
            continue
        errors = _losses(sample, F @ solution)
        if errors.mean() < loss:
            loss, losses, theta = float(errors.mean()), errors, solution
    return Trial(loss, losses, relevance, Expansion(Z, L, K, width, factor, theta))


def mean_squared_slopes(rule: RelevanceRule, f: Expansion) -> Vector:
    """Return the mean squared slopes of a score along the features of its last rows."""
    Z, K = f.Z[-rule.steepest :], f.K[-rule.steepest :]
    m, slopes = len(f.L), np.zeros(Z.shape[1])
    for weights in f.theta.T:
        A = K * weights[:m]
        slope = A @ f.L - A.sum(axis=1)[:, None] * Z
        if f.factor > 0.0:
            slope += f.factor * weights[m:-1]
        slopes += np.mean(slope**2, axis=0)
    return slopes


def scores(f: Expansion) -> Matrix:
    """Return the fitted scores of all rows."""
    m = len(f.L)
    linear = f.factor * (f.Z @ f.theta[m:-1]) if f.factor > 0.0 else 0.0
    return np.asarray(f.K @ f.theta[:m] + linear + f.theta[-1])


def quadratic_slopes(sample: Sample, y: Matrix) -> Vector:
    """Return the mean squared slopes of the quadratic function of y, 0 where chance explains them.

    y has a row for each row of the sample; those that are held back are not looked at.
    """
    train = sample.trained
    Z, y = sample.Z[train], y[train] * sample.weights[train, None]
    n = len(Z)
    slopes = np.zeros(Z.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows leads nowhere
        for column in (y - y.mean(axis=0)).T:
            b, B = Z.T @ column / n, (Z.T * column) @ Z / n
            variance = float(np.mean(column**2)) / n
            B[np.diag_indices_from(B)] /= math.sqrt(2.0)  # squares of a normal variable vary more
            slopes += b**2 - variance + np.sum(B**2 - variance, axis=1)
    return np.maximum(slopes, 0.0)


def next_relevance(rule: RelevanceRule, relevance: Vector, slopes: Vector, n: int) -> Vector:
    """Return the relevance that slopes found with n rows lead to."""
    mean = slopes.mean()
    if not (mean > 0.0 and math.isfinite(mean)):
        return relevance
    rho = n / (n + rule.doubt * len(slopes))
    return normalised(relevance * np.sqrt(rho * slopes / mean + 1.0 - rho))


def normalised(relevance: Vector) -> Vector:
    """Return a relevance whose mean square is one."""
    return relevance / math.sqrt(float(np.mean(relevance**2)))


def search(rule: RelevanceRule, sample: Sample, candidates: list[Vector], rounds: int) -> Trial:
    """Try no relevance, that of the quadratic function and the candidates, then the best of them
    with what it leaves, and go on from the best; return the winner.
    """
    n, d = sample.Z.shape
    none, quadratic = np.ones(d), d <= rule.widest_quadratic
    if quadratic:
        slopes = quadratic_slopes(sample, sample.y)
        candidates = [next_relevance(rule, none, slopes, n), *candidates]
    trials = [tried(rule, sample, relevance) for relevance in [none, *candidates]]
    trial = min(trials, key=lambda trial: trial.loss)
    if quadratic:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows leads nowhere
            slopes = (trial.relevance / trial.f.width) ** 2 * mean_squared_slopes(rule, trial.f)
        slopes = slopes + quadratic_slopes(sample, sample.y - scores(trial.f))
        trials.append(tried(rule, sample, next_relevance(rule, none, slopes, n)))
        trial = min(trials, key=lambda trial: trial.loss)
    for _ in range(rounds):
        slopes = mean_squared_slopes(rule, trial.f)
        trial = tried(rule, sample, next_relevance(rule, trial.relevance, slopes, n))
        trials.append(trial)
    return winner(rule, trials)


def winner(rule: RelevanceRule, trials: list[Trial]) -> Trial:
    """Return the trial of the smallest loss, or the first one if none is clearly better."""
    first, best = trials[0], min(trials, key=lambda trial: trial.loss)
    gain = first.losses - best.losses
    doubt = rule.margin * float(gain.std()) / math.sqrt(max(1, len(gain)))
    return best if first.loss == math.inf or gain.mean() > doubt else first


def _losses(sample: Sample, f: Matrix) -> Vector:
    y, weights = sample.y[sample.held], sample.weights[sample.held]
    error = np.maximum(1.0 - y * f, 0.0) if sample.classifies else y - f
    return weights * np.sum(error**2, axis=1)


def _squared_distances(Z: Matrix, L: Matrix) -> Matrix:
    squares = np.einsum("ij,ij->i", Z, Z)[:, None] + np.einsum("ij,ij->i", L, L)
    squares -= 2.0 * (Z @ L.T)
    return np.maximum(squares, 0.0, out=squares)

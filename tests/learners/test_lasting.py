"""The default learner learns for ever: as exact arithmetic would, and without growing errors.

Arithmetic is exact enough in extended precision, for features that are whitened by the prior.
"""

import warnings

import numpy as np
import pytest

from compiled import njit
from forks import MendWarning, OnlineKernelClassifier
from forks.engine import EVENT, attach, one_thread, step, workspace
from forks.estimators.saving import as_bytes, from_bytes
from forks.experiments.bench.lasting import CASES, error, play, rows_of
from forks.kernels import Polynomial
from forks.learners import Adaptive
from forks.learners.machine_round import COUNT
from forks.linalg.packed_inverse import root
from forks.losses import SquaredError
from forks.parts.landmarks import LANDMARKS, WIDTH, landmark_factor
from oracle_streams import engine_for

# The root of P is made by LAPACK, and that of the lowest versions rounds a little worse.
BOUND = 1e-6 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 3e-6

LONG = np.longdouble
BUFFER = 250


@njit
def play_until_event(rule, floats, ints, scratch, X, y, weights, start, psi, learned):
    """Play rounds; write psi of each, and whether P was changed. Gives the row of an event."""
    state = attach(rule, floats, ints)
    work = workspace(rule, state, scratch)
    out = np.empty(1)
    width = state.map.sizes[WIDTH] + 1
    for t in range(start, X.shape[0]):
        before = state.newton.P.d[:width].copy()
        step(rule, state, work, X[t], y[t], weights[t], out)
        psi[t] = work.psi
        learned[t] = np.any(state.newton.P.d[:width] != before)
        if state.counts[EVENT] > 0:
            return t
    return X.shape[0]


class Exact:
    """Ridge regression on the rows that were learned, beginning with a learner's state after a fit.

    With L L' = K_mm the features are phi = L^-1 psi, for which the prior is alpha I.
    """

    def __init__(self, learner, state):
        self.m, width = int(state.map.sizes[LANDMARKS]), int(state.map.sizes[WIDTH]) + 1
        self.L = np.eye(width, dtype=LONG)
        self.L[: self.m, : self.m] = landmark_factor(state.map, learner.kernel)
        whitened = root(state.newton.P, width).astype(LONG) @ self.L  # P = R'R
        inverse = solve_lower(whitened, np.eye(width, dtype=LONG))
        self.A = inverse @ inverse.T
        self.b = self.A @ (self.L.T @ state.newton.theta[0, :width])
        self.alpha = LONG(state.alpha[0])

    def add(self, psi, targets, h):
        phi = solve_lower(self.L, psi.T.astype(LONG)).T
        self.A += (phi * h[:, None]).T @ phi
        self.b += (phi * h[:, None]).T @ targets

    def lower_alpha(self, alpha):
        self.A[np.diag_indices_from(self.A)] -= self.alpha - LONG(alpha)
        self.alpha = LONG(alpha)

    def theta(self):
        C = cholesky(self.A)
        w = solve_upper(C, solve_lower(C, self.b[:, None]))
        return solve_upper(self.L, w)[:, 0]

    def error_of_P(self, state):
        """The largest entry of R A R' - I, with P = R'R."""
        R = root(state.newton.P, len(self.A)).astype(LONG) @ self.L
        return float(np.abs(R @ self.A @ R.T - np.eye(len(R))).max())


def solve_lower(L, B):
    X = B.astype(LONG)
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def solve_upper(L, B):
    """X with L'X = B."""
    return solve_lower(L[::-1, ::-1].T, B[::-1])[::-1]


def cholesky(A):
    C = np.zeros_like(A)
    for j in range(len(A)):
        C[j, j] = np.sqrt(A[j, j] - C[j, :j] @ C[j, :j])
        C[j + 1 :, j] = (A[j + 1 :, j] - C[j + 1 :, :j] @ C[j, :j]) / C[j, j]
    return C


def played_exactly(n_features, n_rows, chunk=5_000, scale=1.0, weighted=False, **parameters):
    """Return the learner's state after a regression, and exact arithmetic on the same rows."""
    learner = Adaptive(loss=SquaredError(), robust=False, restart=False, **parameters)
    engine, rng = engine_for(learner, n_features), np.random.default_rng(1)

    def draw(n):
        X = rng.normal(size=(n, n_features))
        y = np.sin(2.0 * X[:, 0]) + X[:, -1] + 0.5 * rng.normal(size=n)
        return scale * X, y[:, None], 10.0 ** rng.uniform(-2, 2, n) if weighted else np.ones(n)

    engine.learn(*draw(BUFFER))
    state = learner.view(engine.memory)
    exact = Exact(learner, state)
    mean, spread = state.targets.levels
    width, scratch = len(exact.A), np.zeros(learner.scratch_size(engine.memory))
    rule, memory = learner.rule(), engine.memory
    for _ in range(BUFFER, n_rows, chunk):
        X, y, weights = draw(chunk)
        psi, learned = np.empty((chunk, state.newton.theta.shape[1])), np.zeros(chunk, bool)
        t = 0
        while t < chunk:
            t = play_until_event(rule, *memory, scratch, X, y, weights, t, psi, learned)
            if t < chunk:
                with one_thread():
                    learner.handle(state, X[t])
                once = psi[t].copy(), learned[t]
                state.counts[EVENT] = 0  # the row has been played
                exact.lower_alpha(state.alpha[0])
                psi[t], learned[t] = once
                t += 1
        targets = (y[learned, 0] - mean) / spread
        exact.add(psi[learned, :width], targets, weights[learned].astype(LONG))
    assert state.counts[COUNT.mends] == 0
    return state, exact


def relative_error(state, exact):
    theta = exact.theta()
    return float(
        np.linalg.norm(state.newton.theta[0, : len(theta)] - theta) / np.linalg.norm(theta)
    )


@pytest.mark.parametrize(
    "choices",
    [
        {"n_features": 1},
        {"n_features": 2},
        {"n_features": 2, "weighted": True},
        {"n_features": 2, "scaling": "none", "scale": 1e6},
    ],
    ids=["one feature", "two", "weighted", "unscaled"],
)
def test_theta_and_P_are_those_of_exact_arithmetic(choices):
    state, exact = played_exactly(n_rows=30_250, **choices)
    assert state.alpha[0] < 0.02
    assert exact.error_of_P(state) < 1e-5
    assert relative_error(state, exact) < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_a_million_rows_against_exact_arithmetic(n_features):
    """Four features take a quarter of an hour, nearly all of it in extended precision."""
    state, exact = played_exactly(n_features, 1_000_250)
    error, error_of_P = relative_error(state, exact), exact.error_of_P(state)
    print(f"{n_features} features: theta {error:.1e}, P {error_of_P:.1e}")
    assert error < BOUND
    assert error_of_P < 1e-5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_errors_do_not_grow_on_a_stream_without_a_change(case):
    """But for a few rows: those near the border of two classes change sides for ever."""
    n = 60_000
    errors, mends, _ = play(case, n, 20_000)
    assert mends == 0
    assert errors[n] <= 1.05 * errors[20_000] + (0.0 if case.regression else 0.2)


def test_steps_beyond_all_bounds_are_told_and_the_learner_goes_on():
    """A polynomial of rows of 1e200 is infinite."""
    learner = Adaptive(kernel=Polynomial(2), scaling="none", bandwidth="absolute")
    model, case, rng = OnlineKernelClassifier(learner), CASES[0], np.random.default_rng(0)
    X, y, _ = rows_of(case, 3_000, rng)
    clean, truth, _ = rows_of(case, 5_000, rng, noise=False)
    model.partial_fit(X, y)
    assert (model.n_mends_, model.last_mend_) == (0, None)
    with pytest.warns(MendWarning, match="mended .* of its steps, the last in round 30"):
        model.partial_fit(1e200 * X[:40], y[:40])
    mends, last = model.n_mends_, model.last_mend_
    assert 1 <= mends <= 40
    assert 3_000 < last <= 3_040
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        model.partial_fit(X, y)
    assert (model.n_mends_, model.last_mend_) == (mends, last)
    assert error(case.regression, model.predict(clean), truth) < 5.0
    again = from_bytes("model", as_bytes(model)).model
    assert (again.n_mends_, again.last_mend_) == (mends, last)


def test_many_steps_beyond_all_bounds_lead_to_a_new_start():
    """From the rows that are kept: a learner that was begun with garbage recovers."""
    learner = Adaptive(kernel=Polynomial(2), scaling="none", bandwidth="absolute", restart=False)
    model, case, rng = OnlineKernelClassifier(learner), CASES[0], np.random.default_rng(0)
    X, y, _ = rows_of(case, 10_000, rng)
    clean, truth, _ = rows_of(case, 5_000, rng, noise=False)
    with pytest.warns(MendWarning):
        model.partial_fit(1e160 * X[:300], y[:300])
    model.partial_fit(X, y)
    state = learner.view(model.engine_.memory)
    assert np.isfinite(model.engine_.memory.floats).all()
    assert state.map.sizes[LANDMARKS] > 10
    assert error(case.regression, model.predict(clean), truth) < 5.0

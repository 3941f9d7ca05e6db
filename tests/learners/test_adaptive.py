"""The adaptive learner against its oracle, and what it promises."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from adaptive_against_oracle import oracle_for, oracle_run
from forks import oracles
from forks.kernels import Gaussian, Laplacian, Polynomial
from forks.learners import Adaptive, machine
from forks.learners.adaptive import RESTARTS
from forks.learners.machine import PRIOR
from forks.learners.machine_round import COUNT
from forks.linalg.packed_inverse import root
from forks.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    SquaredError,
    SquaredHinge,
)
from forks.parts.gate import TOLERANCE
from forks.parts.landmarks import LANDMARKS, LINEAR, SHIFTED, WIDTH
from forks.parts.prior import chosen_alpha
from forks.parts.watch import SUM
from forks.streams.synthetic import adversarial
from oracle_streams import column, engine_for, made_up_weights, mistakes, real

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
BUFFER = 40


def stream(n=700, d=5, seed=0, zeros=0.7, noise=0.2):
    """Most entries are zero, some rows come twice; the label is a curved function of the row.

    The first labels never balance: a bias of 0 and one of 1e-17 would answer differently.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, d)) * (rng.random((n, d)) >= zeros)
    X[5::9] = X[3 : n - 2 : 9][: len(X[5::9])]
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] - 0.5 * X[:, 3]
    y = np.where(f + noise * rng.normal(size=n) >= 0.0, 1.0, -1.0)
    y[:8] = np.array([1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0])[:n]
    return X, y


def shifted(X):
    """No median is zero any more, but for that of the last column."""
    return X + np.r_[np.arange(1.0, X.shape[1]), 0.0]


def state_of(engine):
    return engine.learner.view(engine.memory)


def P_of(engine):
    """P, made dense, of the numbers of psi; the rest of its factors is padding."""
    state = state_of(engine)
    width = int(state.map.sizes[WIDTH]) + 1
    R = root(state.newton.P, state.newton.theta.shape[1])
    assert not R[width:].any()
    assert not state.newton.theta[:, width:].any()
    return R[:width, :width].T @ R[:width, :width]


def assert_agrees(learner, X, Y, form=np.asarray, weights=None, rtol=1e-7, **numbers):
    """Compare the scores of all rounds and the final state; return oracle and engine."""
    Y = column(Y) if Y.ndim == 1 else Y
    truth, oracle = oracle_run(learner, X, Y, weights, **numbers)
    engine = engine_for(learner, X.shape[1], Y.shape[1])
    scores = engine.learn(form(X), Y, weights)
    np.testing.assert_allclose(scores, truth, rtol=rtol, atol=rtol * np.abs(truth).max())
    assert np.std(truth) > 0.01
    state = state_of(engine)
    assert state.counts[COUNT.mends] == 0
    assert state.counts[COUNT.rounds] == len(oracle.past)
    assert state.map.sizes[LANDMARKS] == len(oracle.map.rows)
    assert state.counts[RESTARTS] == len(oracle.restarts)
    assert state.alpha[0] == pytest.approx(oracle.alpha, rel=1e-10)
    assert state.gate.levels[TOLERANCE] == pytest.approx(oracle.gate.tolerance, rel=1e-12)
    assert state.watch.levels[SUM] == pytest.approx(oracle.watch.sum, rel=1e-9, abs=1e-12)
    if learner.follow and oracle.classifies:
        np.testing.assert_allclose(state.follower.trust[:, 0], oracle.trust, rtol=1e-9)
    return oracle, engine


# ---- the oracle ------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()], ids=repr)
def test_every_score_is_the_oracles(loss, form):
    X, y = stream()
    learner = Adaptive(loss=loss, buffer=BUFFER)
    for weights in (None, made_up_weights(len(y))):
        oracle, engine = assert_agrees(learner, X, y, form, weights)
        assert oracle.fits[:5] == [4, 8, 16, 32, BUFFER]
        assert state_of(engine).map.sizes[LANDMARKS] < BUFFER  # some rows came twice
        assert oracle.gate.tolerance > 0.1
        assert state_of(engine).map.sizes[SHIFTED] == 0
        _, engine = assert_agrees(learner, shifted(X), y, form, weights)
        assert state_of(engine).map.sizes[SHIFTED] == 1


def test_a_log_odds_matches_the_oracle():
    X, y = stream()
    learner = Adaptive(loss=Logistic(), buffer=BUFFER)
    for weights in (None, made_up_weights(len(y))):
        assert_agrees(learner, shifted(X), y, np.asarray, weights)


@pytest.mark.parametrize(
    "loss",
    [
        SquaredError(),
        EpsilonInsensitive(0.2),
        pytest.param(Huber(0.5), marks=pytest.mark.slow),  # compiled for this test alone
    ],
    ids=repr,
)
def test_regression_matches_the_oracle(loss):
    X, _ = stream()
    rng = np.random.default_rng(1)
    y = 50.0 + 7.0 * (np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=len(X)))
    learner = Adaptive(loss=loss, buffer=BUFFER)
    for weights in (None, made_up_weights(len(y))):
        oracle, _ = assert_agrees(learner, X, y, np.asarray, weights)
        assert oracle.spread > 2.0
        assert abs(oracle.mean - 50.0) < 10.0


@pytest.mark.needs_data
@pytest.mark.parametrize("name", ["german", "spambase"])
@FORMS
def test_real_data_match_the_oracle(name, form):
    X, y = real(name, 400)
    y[:16] = np.where(np.arange(16) % 3 == 2, -1.0, 1.0)  # they never balance, as in `stream`
    assert_agrees(Adaptive(buffer=64), X, y, form, rtol=1e-6)


@pytest.mark.parametrize(
    "choices",
    [
        {"scaling": "none"},
        {"bandwidth": "absolute", "kernel": Gaussian(2.0)},
        {"scaling": "none", "bandwidth": "absolute", "kernel": Gaussian(3.0)},
        {"linear": False},
        {"follow": False},
        {"restart": False},
        {"early": False},
        {"robust": False},
        {"follow": False, "linear": False, "restart": False},
        {"buffer": 16},
        {"buffer": 33},
    ],
    ids=str,
)
def test_choices_match_the_oracle(choices):
    X, y = stream(400)
    assert_agrees(Adaptive(**({"buffer": BUFFER} | choices)), shifted(X), y)


@pytest.mark.parametrize(
    ("kernel", "form"),
    [
        (Polynomial(2, 0.5, 1.0), np.asarray),
        # compiled for this test alone
        pytest.param(Polynomial(2, 0.5, 1.0), csr_array, marks=pytest.mark.slow),
        pytest.param(Laplacian(2.0), csr_array, marks=pytest.mark.slow),
    ],
)
def test_other_kernels_match_the_oracle(kernel, form):
    X, y = stream(400)
    for rows in (X, shifted(X)):
        assert_agrees(Adaptive(kernel=kernel, buffer=BUFFER), rows, y, form)


def test_a_larger_buffer_matches_the_oracle():
    X, y = stream(600, d=8, seed=3)
    oracle, _ = assert_agrees(Adaptive(buffer=160), X, y)
    assert oracle.fits[:7] == [4, 8, 16, 32, 64, 128, 160]


@FORMS
def test_several_outputs_match_the_oracle(form):
    X, _ = stream(600)
    classes = np.argmax(X[:, :3] + 0.2 * np.random.default_rng(2).normal(size=(len(X), 3)), axis=1)
    three = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    weights = made_up_weights(len(X))
    for Y in (three, np.ascontiguousarray(three[:, :2])):
        assert_agrees(Adaptive(buffer=BUFFER), X, Y, form)
        assert_agrees(Adaptive(buffer=BUFFER), X, Y, form, weights)


def test_several_log_odds_share_the_largest_curvature():
    X, _ = stream(600)
    Y = np.where(np.argmax(X[:, :3], axis=1)[:, None] == np.arange(3), 1.0, -1.0)
    assert_agrees(Adaptive(loss=Logistic(), buffer=BUFFER), X, Y)


def test_several_outputs_of_a_regression_match_the_oracle():
    X, _ = stream(400)
    Y = np.column_stack([3.0 + X[:, 0], np.sin(X[:, 1])])
    assert_agrees(Adaptive(loss=SquaredError(), buffer=BUFFER), X, Y)


@FORMS
def test_a_lowering_of_alpha_matches_the_oracle(form, monkeypatch):
    monkeypatch.setattr(machine, "PRIOR", PRIOR._replace(rounds=8))
    X, y = stream(1200)
    learner = Adaptive(buffer=BUFFER, restart=False)
    oracle, _ = assert_agrees(learner, X, y, form, rtol=1e-6, alpha_rounds=8)
    assert len(oracle.lowerings) >= 2
    assert min(oracle.lowerings) > BUFFER
    assert oracle.alpha == 2.0 * 8 / oracle.lowerings[-1]


def test_a_lowering_of_alpha_is_a_fit_with_that_alpha():
    """With a squared error and no tolerance yet, theta is a ridge regression on all rounds."""
    X, _ = stream(250)
    Y = column(3.0 + np.sin(X[:, 0]) + X[:, 1])
    learner = Adaptive(loss=SquaredError(), buffer=BUFFER, robust=False)
    engine = engine_for(learner, X.shape[1])
    engine.learn(X, Y)
    state, (_, oracle) = state_of(engine), oracle_run(learner, X, Y)
    assert state.gate.levels[TOLERANCE] == 0.0
    rounds = 20_000
    learner._lower_alpha(state, rounds)
    alpha = 128 / rounds
    assert state.alpha[0] == pytest.approx(alpha, rel=1e-12)
    assert alpha < 0.5 * oracle.alpha
    Phi = np.array([oracle.features(oracle.values(x)) for x in X])
    A = alpha * np.eye(Phi.shape[1]) + Phi.T @ Phi
    w = np.linalg.solve(A, Phi.T @ ((Y - oracle.mean) / oracle.spread))
    expected = oracle.mean + oracle.spread * (Phi @ w)
    np.testing.assert_allclose(engine.predict(X), expected, rtol=1e-6)


@FORMS
def test_a_new_start_matches_the_oracle(form):
    X, y = stream(900, noise=0.05)
    y[500:] *= -1.0
    for learner in (Adaptive(buffer=BUFFER), Adaptive(buffer=150, follow=False)):
        oracle, _ = assert_agrees(learner, X, y, form)
        assert 500 < oracle.restarts[0] < 700


def test_a_new_start_of_a_regression_matches_the_oracle():
    X, _ = stream(900, zeros=0.2)
    Y = column(np.sin(X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=len(X)))
    Y[500:] *= -1.0
    oracle, _ = assert_agrees(Adaptive(loss=SquaredError(), buffer=BUFFER), X, Y)
    assert 500 < oracle.restarts[0] < 700


def test_a_new_start_of_several_outputs_matches_the_oracle():
    X, _ = stream(900)
    classes = np.argmax(X[:, :3], axis=1)
    classes[500:] = (classes[500:] + 1) % 3
    Y = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    oracle, _ = assert_agrees(Adaptive(buffer=BUFFER), X, Y)
    assert 500 < oracle.restarts[0] < 650


def test_the_follower_takes_over_in_the_adversarial_game():
    X, y = stream(60, zeros=0.2)
    X, y = adversarial(X, y, n_blocks=60, repeats=10)
    learner = Adaptive(buffer=BUFFER)
    oracle, _ = assert_agrees(learner, X, y)
    assert oracle.trust[0] < 0.5
    both = mistakes(engine_for(learner, 5).learn(X, column(y))[:, 0], y)
    alone = Adaptive(buffer=BUFFER, follow=False)
    assert both < 0.7 * mistakes(engine_for(alone, 5).learn(X, column(y))[:, 0], y)
    assert both <= 3 * 60


# ---- the fits --------------------------------------------------------------------------------


def test_the_exact_leave_one_out_error_is_that_of_leaving_one_out():
    X, y = stream(40, zeros=0.2)
    K = oracles.gaussian(1.5)(X, X) + 1e-5 * np.eye(len(X))
    Psi, Lambda = K, K  # G = Psi Lambda^-1 Psi' = K
    for classifies in (True, False):
        expected = oracles.chosen_alpha(Psi, Lambda, column(y), classifies)
        got = chosen_alpha(PRIOR, K, column(y), classifies)
        assert got == pytest.approx(expected, rel=1e-12)


def test_a_row_that_repeats_is_one_landmark():
    X, y = stream(5, zeros=0.2)
    rows = np.random.default_rng(0).integers(5, size=BUFFER)
    engine = engine_for(Adaptive(buffer=BUFFER), 5)
    engine.learn(X[rows], column(y[rows]))
    assert len(np.unique(rows)) == 5
    assert state_of(engine).map.sizes[LANDMARKS] == 5
    assert state_of(engine).counts[COUNT.mends] == 0
    np.testing.assert_array_equal(np.sign(engine.predict(X)[:, 0]), y)


def test_all_copies_of_one_row_are_one_landmark():
    X, y = np.full((60, 3), 7.0), column(np.where(np.arange(60) % 4 == 0, -1.0, 1.0))
    engine = engine_for(Adaptive(buffer=BUFFER, follow=False), 3)
    engine.learn(X, y)
    assert state_of(engine).map.sizes[LANDMARKS] == 1
    assert engine.predict(X[:1])[0, 0] == pytest.approx(0.5, abs=0.2)  # the mean of y


def test_constant_features_change_nothing():
    """But for the 1 / sqrt(d) of the linear part, which is left out here."""
    X, y = stream()
    wide = np.hstack([X, np.full((len(X), 2), 3.0)])
    learner = Adaptive(buffer=BUFFER, linear=False)
    narrow_scores = engine_for(learner, 5).learn(X, column(y))
    wide_scores = engine_for(learner, 7).learn(wide, column(y))
    np.testing.assert_allclose(wide_scores, narrow_scores, rtol=1e-6, atol=1e-8)


def test_units_do_not_matter():
    X, y = stream()
    learner = Adaptive(buffer=BUFFER)
    plain = engine_for(learner, 5).learn(X, column(y))
    units = np.array([1e-9, 3.0, 1e4, -0.2, 1e30])
    other = engine_for(learner, 5).learn(X * units + 2.0 * units, column(y))
    np.testing.assert_allclose(other, plain, rtol=1e-5, atol=1e-6)


def test_units_of_the_targets_do_not_matter():
    X, _ = stream()
    y = column(np.sin(X[:, 0]) + X[:, 1])
    learner = Adaptive(loss=SquaredError(), buffer=BUFFER)
    plain = engine_for(learner, 5).learn(X, y)[16:]
    other = engine_for(learner, 5).learn(X, 1e6 * y - 1e7)[16:]
    np.testing.assert_allclose(other, 1e6 * plain - 1e7, rtol=1e-5)


# ---- P ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [16, 24])
def test_P_is_the_inverse_of_A_after_thousands_of_rounds(buffer, monkeypatch):
    monkeypatch.setattr(machine, "PRIOR", PRIOR._replace(rounds=10**9))  # alpha stays as it is
    X, y = stream(4000, d=4, zeros=0.2)
    learner = Adaptive(buffer=buffer, restart=False)
    engine, oracle = engine_for(learner, 4), oracle_for(learner, alpha_rounds=1e9)
    before = None
    for t in range(4000):
        engine.learn_one(X[t], y[t])
        oracle.play(X[t], y[t : t + 1])
        if t < buffer or t % 500:
            continue
        P = P_of(engine)
        values = np.linalg.eigvalsh(P)
        assert values[0] > 0.0
        if before is not None:  # certainty only grows
            assert np.linalg.eigvalsh(before - P)[0] > -1e-9 * values[-1]
        expected = P_of_oracle(engine, oracle)
        assert np.linalg.norm(P - expected) < 1e-7 * np.linalg.norm(expected)
        before = P


def P_of_oracle(engine, oracle):
    """The inverse of the oracle's A, for values of the kernel in the engine's order."""
    m = int(state_of(engine).map.sizes[LANDMARKS])
    ours = state_of(engine).map.points.columns[:, :m].T
    distances = np.abs(ours[:, None, :] - oracle.map.rows[None, :, :]).sum(axis=2)
    order = np.argmin(distances, axis=1)
    assert sorted(order) == list(range(m))
    to_features = np.eye(len(oracle.A))
    to_features[:m, :m] = np.linalg.inv(oracle.map.L)
    P = to_features.T @ np.linalg.inv(oracle.A) @ to_features
    order = np.r_[order, m : len(P)]
    return P[np.ix_(order, order)]


# ---- extremes --------------------------------------------------------------------------------

EXTREMES = {
    "huge": lambda X: 1e150 * X,
    "tiny": lambda X: 1e-150 * X,
    "subnormal": lambda X: 1e-320 * X,
    "largest": lambda X: np.copysign(1.7e308, X),
    "from tiny to huge": lambda X: X * np.logspace(-150, 150, len(X))[:, None],
    "one huge": lambda X: np.where(np.arange(len(X))[:, None] == len(X) // 2, 1e300, X),
    "constant": np.ones_like,
    "constant, then not": lambda X: np.where(np.arange(len(X))[:, None] < 100, 2.0, X),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("scaling", ["standard", "none"])
@pytest.mark.parametrize("bandwidth", ["median", "absolute"])
def test_nothing_ends_non_finite(extreme, scaling, bandwidth):
    X, y = stream(300)
    X = np.ascontiguousarray(EXTREMES[extreme](X))
    for form in (np.asarray, csr_array):
        engine = engine_for(Adaptive(scaling=scaling, bandwidth=bandwidth, buffer=BUFFER), 5)
        scores = engine.learn(form(X), column(y))
        assert np.isfinite(scores).all()
        assert np.isfinite(engine.memory.floats).all()
        assert np.isfinite(engine.predict(form(stream(50, seed=1)[0]))).all()
    if scaling == "standard" and extreme in ("huge", "tiny"):
        plain = engine_for(Adaptive(bandwidth=bandwidth, buffer=BUFFER), 5)
        expected = plain.learn(csr_array(stream(300)[0]), column(y))
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e300, 1e150, 1e-150, 1e-300])
def test_targets_of_any_size_stay_finite(size):
    X, _ = stream(300)
    y = column(size * (np.sin(X[:, 0]) + X[:, 1]))
    engine = engine_for(Adaptive(loss=SquaredError(), buffer=BUFFER), 5)
    scores = engine.learn(X, y)
    assert np.isfinite(scores).all()
    assert np.isfinite(engine.memory.floats).all()
    assert np.mean(((scores[100:] - y[100:]) / size) ** 2) < 0.5 * np.var(y / size)


@pytest.mark.parametrize("size", [1e6, 1e300])
def test_an_absurd_target_does_little_harm(size):
    X, _ = stream(1500, zeros=0.2)
    y = column(np.sin(X[:, 0]) + X[:, 1])
    learner = Adaptive(loss=SquaredError(), buffer=BUFFER)
    plain = engine_for(learner, 5).learn(X, y)[:, 0]
    spoilt = y.copy()
    spoilt[700] = size
    scores = engine_for(learner, 5).learn(X, spoilt)[:, 0]
    after = slice(710, None)
    error, usual = (np.sqrt(np.mean((s - y[:, 0])[after] ** 2)) for s in (scores, plain))
    assert error < 1.1 * usual


# ---- changes of the concept ------------------------------------------------------------------


def curved(n, seed, concept=0, noise=0.05):
    """Rows of four features; concepts differ in the label of most rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    f = X[:, 0] + X[:, 1] * X[:, 2] if concept == 0 else X[:, 3] - X[:, 0] + X[:, 1] ** 2 - 1.0
    y = np.where(f >= 0.0, 1.0, -1.0)
    y[rng.random(n) < noise] *= -1.0
    return X, y


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_a_stream_that_does_not_change_is_never_started_anew(noise):
    X, y = curved(50_000, 0, noise=noise)
    engine = engine_for(Adaptive(buffer=64), 4)
    engine.learn(X, column(y))
    state = state_of(engine)
    assert state.counts[RESTARTS] == 0
    assert state.counts[COUNT.rounds] == 50_000
    assert state.counts[COUNT.mends] == 0


@pytest.mark.parametrize("seed", range(3))
def test_an_abrupt_change_leads_to_a_new_start_and_to_recovery(seed):
    X, y = curved(4000, seed)
    other, labels = curved(4000, seed + 100, concept=1)
    learner = Adaptive(buffer=128)
    engine = engine_for(learner, 4)
    before = engine.learn(X, column(y))[:, 0]
    assert state_of(engine).counts[RESTARTS] == 0
    scores = [engine.learn(other[:200], column(labels[:200]))]
    assert state_of(engine).counts[RESTARTS] == 1
    scores.append(engine.learn(other[200:], column(labels[200:])))
    assert state_of(engine).counts[RESTARTS] == 1
    after = np.concatenate(scores)[:, 0]
    late = slice(2000, 4000)
    old_rate = mistakes(before[late], y[late]) / 2000
    assert mistakes(after[late], labels[late]) / 2000 < 1.5 * old_rate

    stubborn = engine_for(Adaptive(buffer=128, restart=False), 4)
    stubborn.learn(X, column(y))
    without = stubborn.learn(other, column(labels))[:, 0]
    assert state_of(stubborn).counts[RESTARTS] == 0
    assert mistakes(without, labels) > 1.2 * mistakes(after, labels)


def test_one_change_is_one_new_start_in_noise():
    """The rows kept at a new start are not rounds without mistakes."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9000, 4))
        f = np.where(np.arange(9000) < 6000, X[:, 0] + X[:, 1], X[:, 0] - 0.4 * X[:, 1] + X[:, 2])
        y = np.sign(f) * np.where(rng.random(9000) < 0.2, -1.0, 1.0)
        engine = engine_for(Adaptive(), 4)
        engine.learn(X, column(y))
        assert state_of(engine).counts[RESTARTS] == 1


# ---- configuration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", None),
        ("loss", "hinge"),
        ("buffer", 7),
        ("buffer", 10.5),
        ("scaling", "robust"),
        ("bandwidth", 2.0),
    ],
)
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        Adaptive(**{name: value})


def test_rows_of_very_many_features_have_no_linear_part():
    d = 512 + 1
    X = np.random.default_rng(0).normal(size=(40, d))
    y = np.sign(X[:, 0])
    engine = engine_for(Adaptive(buffer=16), d)
    engine.learn(X, column(y))
    assert state_of(engine).map.sizes[LINEAR] == 0
    assert state_of(engine).newton.theta.shape[1] == 16 + 8  # the landmarks and the bias, padded
    engine = engine_for(Adaptive(buffer=16), d - 1)
    engine.learn(np.ascontiguousarray(X[:, 1:]), column(y))
    assert state_of(engine).map.sizes[LINEAR] == d - 1

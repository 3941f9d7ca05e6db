"""Weights of experts against their oracle, and the bounds that they promise."""

import numpy as np
import pytest

from forks import oracles
from forks.engine import entry
from forks.parts.calibration import Calibration, begin_line
from forks.parts.experts import (
    NEXT,
    SETTLED,
    VARIANCE,
    Experts,
    ExpertsRule,
    enter,
    experts_limits,
    leave,
    mix,
    weigh,
    write_predictions,
)

CLASSES, NUMBERS = ExpertsRule(True), ExpertsRule(False)


@entry
def _play(rule, experts, answers, Y, row_weights, mixed, weights):
    """Play rounds of given answers; write both mixtures and the weights before each round."""
    p = answers[0].copy()
    for t in range(answers.shape[0]):
        experts.answers[:] = answers[t]
        for question in range(2):
            for e in range(weights.shape[2]):
                weights[t, question, e] = experts.weights[question, e]
        write_predictions(rule, experts, experts.answers, p)
        mix(rule, experts.weights[SETTLED], p, mixed[t, SETTLED])
        mix(rule, experts.weights[NEXT], p, mixed[t, NEXT])
        error = 0.0
        for o in range(Y.shape[1]):
            error += (mixed[t, NEXT, o] - Y[t, o]) ** 2
        weigh(rule, experts, p, Y[t], row_weights[t], error)


@entry
def _enter(experts, e, factor, settled):
    enter(experts, e, factor, settled)


@entry
def _leave(experts, e):
    leave(experts, e)


def new(n, n_outputs, weights=None):
    """n learners and the three beside them, all of the same weight if nothing is said."""
    size = n + 3
    weights = np.full((2, size), 1.0 / size) if weights is None else np.array(weights, float)
    calibration = Calibration(np.zeros((size, 5)))
    for e in range(size):
        begin_line(CLASSES.calibration, calibration, e, 1.0)
    return Experts(weights, np.zeros((size, n_outputs)), calibration, np.zeros(3))


def play(rule, experts, answers, Y, row_weights=None):
    """Return both mixtures of all rounds, and the weights before them."""
    row_weights = np.ones(len(Y)) if row_weights is None else row_weights
    mixed = np.empty((len(Y), 2, Y.shape[1]))
    weights = np.empty((len(Y), *experts.weights.shape))
    _play.over()(rule, experts, answers, Y, row_weights, mixed, weights)
    return mixed, weights


def one_hot(classes, n_outputs):
    if n_outputs == 1:
        return np.where(classes == 0, 1.0, -1.0)[:, None]
    return np.where(classes[:, None] == np.arange(n_outputs), 1.0, -1.0)


# ---- the oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_for_classes_are_the_oracles(n_outputs, weighted):
    rng = np.random.default_rng(0)
    T, n = 500, 4
    Y = one_hot(rng.integers(max(2, n_outputs), size=T), n_outputs)
    answers = 0.5 * Y[:, None] + rng.normal(size=(T, n + 3, n_outputs))
    answers[:, n:] = np.clip(answers[:, n:], -1.0, 1.0)  # 2 p - 1
    row_weights = rng.choice([0.5, 1.0, 3.0], size=T) if weighted else np.ones(T)
    begin = [[0.2, 0.1, 0.0, 0.2, 0.2, 0.3, 0.0], [0.4, 0.1, 0.0, 0.0, 0.2, 0.0, 0.3]]
    mixed, weights = play(CLASSES, new(n, n_outputs, begin), answers, Y, row_weights)
    lines, expected = [oracles.CalibrationLine(1.0) for _ in range(n)], np.array(begin)
    heaviest = 0.0
    for t in range(T):
        np.testing.assert_allclose(weights[t], expected, rtol=1e-8)
        p = [line.probabilities(f) for line, f in zip(lines, answers[t, :n], strict=True)]
        p.append(0.5 * (p[0] + p[1]))
        for f in answers[t, n + 1 :]:
            q = np.clip(0.5 + 0.5 * f, 0.005, 0.995)
            p.append(q / q.sum() if n_outputs > 1 else q)
        np.testing.assert_allclose(mixed[t], expected @ np.array(p), rtol=1e-8)
        heaviest = max(heaviest, row_weights[t])
        power = row_weights[t] / heaviest
        likely = np.array([oracles.class_likelihood(q, Y[t]) for q in p])
        for question, share in ((NEXT, 0.0005), (SETTLED, 2e-5)):
            there = expected[question]
            expected[question] = oracles.bayes_share(there, likely, share, 0.5 * power)
        for e in (0, 1, 3):  # those with a say
            lines[e].learn(answers[t, e], Y[t], power)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_weights_for_numbers_are_the_oracles(n_outputs):
    rng = np.random.default_rng(0)
    T, n = 1500, 2
    Y = rng.standard_t(2, size=(T, n_outputs))
    answers = Y[:, None] + rng.normal(size=(T, n + 2, n_outputs)) * [[0.5], [1.0], [2.0], [3.0]]
    answers = np.insert(answers, n, answers[:, :2].mean(axis=1), axis=1)
    experts = new(n, n_outputs)
    mixed, weights = play(NUMBERS, experts, answers, Y)
    expected, variance = np.full((2, n + 3), 1.0 / (n + 3)), oracles.MeanSquare()
    for t in range(T):
        np.testing.assert_allclose(weights[t], expected, rtol=1e-8)
        np.testing.assert_allclose(mixed[t], expected @ answers[t], rtol=1e-8, atol=1e-9)
        likely = [oracles.number_likelihood(f, Y[t], variance.value) for f in answers[t]]
        variance.observe(np.sum((expected[NEXT] @ answers[t] - Y[t]) ** 2))
        for question, share in ((NEXT, 0.0005), (SETTLED, 2e-5)):
            expected[question] = oracles.bayes_share(
                expected[question], np.array(likely), share, 0.5
            )
    assert experts.levels[VARIANCE] == pytest.approx(variance.value, rel=1e-8)


# ---- what they promise -----------------------------------------------------------------------


def log_loss(p, Y):
    return -np.log(np.where(Y > 0.0, p, 1.0 - p))[:, 0]


def test_the_mixture_is_as_good_as_the_best_expert_of_each_interval():
    """The bound of Herbster and Warmuth; experts that stay above the least likelihood."""
    rng = np.random.default_rng(0)
    T, n = 6000, 5
    Y = one_hot(rng.integers(2, size=T), 1)
    right = rng.random((T, n + 3, 1)) < 0.55
    leader = np.arange(T) // 1000 % n
    right[np.arange(T), leader] = rng.random((T, 1)) < 0.95
    answers = np.where(right, 1.0, -1.0) * Y[:, None] * 1.5
    answers[:, n:] *= 0.5  # 2 p - 1
    rule = CLASSES._replace(calibration=CLASSES.calibration._replace(keep=1.0, prior=1e12))
    experts = new(n, 1)
    for e in range(n + 3):
        begin_line(rule.calibration, experts.calibration, e, 1.0)
    mixed, _ = play(rule, experts, answers, Y)
    ours = log_loss(mixed[:, NEXT], Y)
    theirs = [log_loss(1.0 / (1.0 + np.exp(-answers[:, e])), Y) for e in range(n)]
    share, size = rule.share, n + 3
    for begin in range(0, T, 1000):
        part = slice(begin, begin + 1000)
        best = min(loss[part].sum() for loss in theirs)
        bound = (np.log(size / share) + 1000 * np.log(1.0 / (1.0 - share))) / rule.rate
        assert ours[part].sum() - best <= bound
        assert best < 0.6 * max(loss[part].sum() for loss in theirs)


def test_the_settled_weights_forget_more_slowly():
    T = 400
    Y = np.ones((2 * T, 1))
    answers = np.zeros((2 * T, 5, 1))
    answers[:T, 0], answers[T:, 1] = 3.0, 3.0
    rule = CLASSES._replace(calibration=CLASSES.calibration._replace(prior=1e12))
    _, weights = play(rule, new(2, 1), answers, Y)
    new_leads = np.argmax(weights[:, :, 1] > 0.5, axis=0)
    assert T < new_leads[NEXT] < new_leads[SETTLED] < T + 60


def test_wrong_labels_take_little_weight_away():
    """A label counts as at least 2 percent likely."""
    experts = new(1, 1, [[0.9, 0.0, 0.0, 0.1], [0.9, 0.0, 0.1, 0.0]])
    answers = np.array([50.0, 0.0, 0.0, 0.0]).reshape(1, 4, 1)
    play(CLASSES, experts, answers, -np.ones((1, 1)))
    odds = experts.weights[NEXT, 0] / experts.weights[NEXT, 3]
    assert odds == pytest.approx(9.0 * (0.02 / 0.5) ** 0.5, rel=0.01)


def test_a_row_of_half_the_weight_counts_as_its_root():
    rule = CLASSES._replace(share=0.0, settled_share=0.0, rate=1.0)
    answers = np.array([1.0, 0.0, 0.0, 0.5, 0.0]).reshape(1, 5, 1).repeat(3, axis=0)
    _, weights = play(rule, new(2, 1), answers, np.ones((3, 1)), np.array([2.0, 1.0, 1.0]))
    odds = weights[:, NEXT, 3] / weights[:, NEXT, 4]  # of probabilities 0.75 and 0.5
    np.testing.assert_allclose(odds, [1.0, 1.5, 1.5**1.5])


def test_experts_come_and_go():
    experts = new(2, 1, [[0.6, 0.0, 0.0, 0.3, 0.1], [0.5, 0.0, 0.0, 0.0, 0.5]])
    before = experts.weights.copy()
    _enter.over()(experts, 1, 0.5, False)
    np.testing.assert_allclose(experts.weights[NEXT], oracles.entered(before[NEXT], 1, 0.5))
    np.testing.assert_array_equal(experts.weights[SETTLED], before[SETTLED])
    _leave.over()(experts, 0)
    expected = oracles.without(oracles.entered(before[NEXT], 1, 0.5), 0)
    np.testing.assert_allclose(experts.weights[NEXT], expected)
    np.testing.assert_allclose(experts.weights[SETTLED], [0.0, 0.0, 0.0, 0.0, 1.0])
    _enter.over()(experts, 0, np.exp(-4.0), True)
    assert experts.weights[SETTLED, 0] == pytest.approx(np.exp(-4.0) / (1.0 + np.exp(-4.0)))
    np.testing.assert_allclose(experts.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("rule", [CLASSES, NUMBERS], ids=["classes", "numbers"])
@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_weights_stay_within_their_limits(rule, size):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((300, 1)) < 0.5, 1.0, -1.0)
    answers = size * rng.normal(size=(300, 6, 1))
    answers[:, 4:] = 1.0
    Y = Y if rule is CLASSES else size * Y
    experts = new(3, 1)
    mixed, _ = play(rule, experts, answers, Y, np.logspace(-100, 100, 300))
    assert np.isfinite(mixed).all()
    for name, values, low, high in experts_limits(experts):
        values = np.asarray(values)
        assert ((values >= low) & (values <= high)).all(), name
    assert np.isfinite(experts.levels).all()

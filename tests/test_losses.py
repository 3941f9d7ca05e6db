"""Losses as one family: oracle, numeric derivatives, kinks, large scores, checks."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import njit
from forks import losses, oracles
from forks.learners import KOGD
from forks.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    SquaredError,
    SquaredHinge,
    check_loss,
    curvature,
    slope,
    value,
)

CLASSIFICATION = [Hinge(), SquaredHinge(), Logistic()]
REGRESSION = [SquaredError(), EpsilonInsensitive(0.25), EpsilonInsensitive(0.0), Huber(0.75)]
LOSSES = CLASSIFICATION + REGRESSION


each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
each_classification_loss = pytest.mark.parametrize("loss", CLASSIFICATION, ids=repr)


def oracle_of(loss):
    return getattr(oracles, type(loss).__name__)(*loss)


def targets(loss):
    return (-1.0, 1.0) if loss.task == "classification" else (-1.5, 0.0, 2.0)


def kinks(loss, y):
    """Scores at which the loss or its slope is not smooth."""
    if isinstance(loss, EpsilonInsensitive):
        return [y - loss.epsilon, y + loss.epsilon]
    if isinstance(loss, Huber):
        return [y - loss.delta, y + loss.delta]
    return [y] if loss.task == "classification" else []


def smooth_scores(loss, y):
    """Scores that keep away from the kinks."""
    scores = np.random.default_rng(0).uniform(-5.0, 5.0, 400)
    for kink in kinks(loss, y):
        scores = scores[np.abs(scores - kink) > 1e-3]
    return scores.tolist()


def test_every_loss_has_a_case_and_is_for_its_task():
    words = losses.LOSSES
    assert {type(loss) for loss in CLASSIFICATION} == set(words["classification"].values())
    assert {type(loss) for loss in REGRESSION} == set(words["regression"].values())
    for task, named in words.items():
        assert {kind().task for kind in named.values()} == {task}


@each_loss
def test_against_the_oracle(loss):
    oracle = oracle_of(loss)
    for y in targets(loss):
        for f in [*smooth_scores(loss, y), -40.0, 40.0, 0.0, *kinks(loss, y)]:
            assert value(loss, f, y) == pytest.approx(float(oracle.value(f, y)), rel=1e-14)
            assert slope(loss, f, y) == pytest.approx(float(oracle.slope(f, y)), rel=1e-13)


@each_loss
def test_slope_and_curvature_are_derivatives(loss):
    h = 1e-5
    for y in targets(loss):
        for f in smooth_scores(loss, y):
            rise = (value(loss, f + h, y) - value(loss, f - h, y)) / (2 * h)
            bend = (slope(loss, f + h, y) - slope(loss, f - h, y)) / (2 * h)
            assert slope(loss, f, y) == pytest.approx(rise, rel=1e-7, abs=1e-9)
            assert curvature(loss, f, y) == pytest.approx(bend, rel=1e-7, abs=1e-9)


@given(st.floats(-50, 50), st.floats(-50, 50), st.sampled_from(LOSSES), st.integers(0, 1))
def test_convex_and_not_negative(f, g, loss, which):
    y = targets(loss)[which]
    low, high = sorted([f, g])
    assert slope(loss, low, y) <= slope(loss, high, y)
    assert curvature(loss, f, y) >= 0.0
    assert value(loss, f, y) >= 0.0
    tangent = value(loss, f, y) + slope(loss, f, y) * (g - f)
    assert value(loss, g, y) >= tangent - 1e-12 * max(1.0, abs(tangent))


@each_classification_loss
def test_classification_losses_depend_on_the_margin_only(loss):
    for f in (-800.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 800.0):
        assert value(loss, f, 1.0) == value(loss, -f, -1.0)
        assert slope(loss, f, 1.0) == -slope(loss, -f, -1.0)
        assert curvature(loss, f, 1.0) == curvature(loss, -f, -1.0)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_hinges_at_the_kink(y):
    for loss in (Hinge(), SquaredHinge()):
        assert value(loss, y, y) == 0.0
        assert slope(loss, y, y) == 0.0
        assert curvature(loss, y, y) == 0.0
    just_wrong = y * np.nextafter(1.0, 0.0)
    assert slope(Hinge(), just_wrong, y) == -y
    assert slope(SquaredHinge(), just_wrong, y) != 0.0
    assert curvature(SquaredHinge(), just_wrong, y) == 2.0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_epsilon_insensitive_at_the_kink(side):
    loss = EpsilonInsensitive(0.25)
    edge = 3.0 + side * 0.25  # exact in binary
    assert value(loss, edge, 3.0) == slope(loss, edge, 3.0) == curvature(loss, edge, 3.0) == 0.0
    beyond = np.nextafter(edge, side * np.inf)
    assert slope(loss, beyond, 3.0) == side
    assert slope(EpsilonInsensitive(0.0), 3.0, 3.0) == 0.0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_huber_at_the_kink(side):
    loss = Huber(0.5)
    edge = 3.0 + side * 0.5
    assert value(loss, edge, 3.0) == 0.125
    assert slope(loss, edge, 3.0) == side * 0.5
    assert curvature(loss, edge, 3.0) == 0.0
    assert curvature(loss, np.nextafter(edge, 3.0), 3.0) == 1.0
    assert value(loss, 3.0 + side * 1.5, 3.0) == 0.625


def test_logistic_at_zero():
    assert value(Logistic(), 0.0, 1.0) == pytest.approx(math.log(2.0), rel=1e-15)
    assert slope(Logistic(), 0.0, 1.0) == -0.5
    assert slope(Logistic(), 0.0, -1.0) == 0.5
    assert curvature(Logistic(), 0.0, 1.0) == 0.25


@pytest.mark.parametrize("size", [30.0, 700.0, 750.0, 1e9, 1e300, math.inf])
def test_logistic_of_large_scores(size):
    loss = Logistic()
    assert value(loss, -size, 1.0) == pytest.approx(size, rel=1e-14)
    assert value(loss, size, 1.0) == pytest.approx(math.exp(-size), rel=1e-13)
    assert slope(loss, -size, 1.0) == pytest.approx(-1.0, rel=1e-12)
    assert slope(loss, size, 1.0) == pytest.approx(-math.exp(-size), rel=1e-12)
    assert curvature(loss, size, 1.0) == pytest.approx(math.exp(-size), rel=1e-12)


@pytest.mark.parametrize("f", [1e300, -1e300])
def test_losses_that_grow_linearly_stay_finite(f):
    assert value(Hinge(), f, 1.0) == max(0.0, -f)
    assert value(EpsilonInsensitive(0.25), f, 1.0) == 1e300
    assert value(Huber(0.75), f, 1.0) == pytest.approx(0.75e300)
    for loss in LOSSES:
        assert math.isfinite(slope(loss, f, 1.0))
        assert math.isfinite(curvature(loss, f, 1.0))


@njit
def write(loss, f, y, out, i):
    out[i] = value(loss, f, y)
    out[i + 1] = slope(loss, f, y)
    out[i + 2] = curvature(loss, f, y)


@njit
def write_all(losses, f, y, out):
    hinge, squared_hinge, logistic, squared_error, epsilon_insensitive, huber = losses
    for t in range(f.shape[0]):
        write(hinge, f[t], y[t], out[t], 0)
        write(squared_hinge, f[t], y[t], out[t], 3)
        write(logistic, f[t], y[t], out[t], 6)
        write(squared_error, f[t], y[t], out[t], 9)
        write(epsilon_insensitive, f[t], y[t], out[t], 12)
        write(huber, f[t], y[t], out[t], 15)


def test_compiled_code_agrees():
    losses = (
        Hinge(),
        SquaredHinge(),
        Logistic(),
        SquaredError(),
        EpsilonInsensitive(0.25),
        Huber(0.5),
    )
    special = [-1e300, -800.0, -1.25, -1.0, -0.75, -0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 800.0, 1e300]
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.repeat(special, 2), rng.normal(size=200) * 3])
    labels = np.concatenate([np.tile([-1.0, 1.0], len(special)), rng.choice([-1.0, 1.0], 200)])
    out = np.empty((len(scores), 3 * len(losses)))
    write_all(losses, scores, labels, out)
    with np.errstate(over="ignore"):  # the squares of 1e300
        expected = [
            [verb(loss, f, y) for loss in losses for verb in (value, slope, curvature)]
            for f, y in zip(scores, labels, strict=True)
        ]
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=0)


# ---- checks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "field"),
    [
        (EpsilonInsensitive(-0.1), "epsilon"),
        (EpsilonInsensitive(np.nan), "epsilon"),
        (EpsilonInsensitive(np.inf), "epsilon"),
        (EpsilonInsensitive(True), "epsilon"),
        (EpsilonInsensitive("small"), "epsilon"),
        (Huber(-1.0), "delta"),
        (Huber(np.nan), "delta"),
        (Huber(None), "delta"),
    ],
    ids=repr,
)
def test_bad_numbers_are_named(loss, field):
    with pytest.raises(ValueError, match=rf"loss.*{field}"):
        check_loss(loss)
    with pytest.raises(ValueError, match=rf"loss.*{field}"):
        KOGD(loss=loss)


class UnregisteredLoss(NamedTuple):
    epsilon: float = 1.0


@pytest.mark.parametrize("loss", [UnregisteredLoss(), Hinge, "hinge", None], ids=repr)
def test_only_registered_losses_pass(loss):
    with pytest.raises(ValueError, match="loss"):
        check_loss(loss)


def test_numbers_become_floats():
    assert type(check_loss(Huber(1)).delta) is float
    assert type(check_loss(EpsilonInsensitive(np.float32(0))).epsilon) is float


@each_loss
def test_every_loss_says_its_task(loss):
    assert loss.task in ("classification", "regression")
    assert check_loss(loss) == loss
    for verb in (value, slope, curvature):
        assert verb.knows(type(loss))

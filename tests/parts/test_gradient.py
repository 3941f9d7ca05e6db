"""Gradient steps, where they are held, and which rows are to blame."""

import numpy as np
import pytest

from forks.engine import entry
from forks.losses import Hinge, SquaredError
from forks.parts.gradient import gradient_step, is_curved, is_harmless


@entry
def _step(loss, eta, weight, f, y, square):
    return gradient_step(loss, eta, weight, f, y, square)


@entry
def _ask(loss, eta, weight, out, y, square, length):
    return (
        is_curved(loss, y, weight, out),
        is_harmless(loss, eta, weight, y[0], square, length),
    )


@pytest.mark.parametrize(
    ("eta", "weight", "square", "expected"),
    [
        (0.2, 1.0, 1.0, -0.2 * 3.0),
        (0.2, 2.5, 1.0, -0.5 * 3.0),
        (0.5, 2.0, 2.0, -3.0),  # eta weight l'' k = 2: still as published
        (0.5, 2.0, 2.01, -3.0 / 2.01),  # held at the step that brings the slope to zero
        (0.5, 1e10, 4.0, -3.0 / 4.0),
        (0.5, 1e300, 1e300, -3.0 / 1e300),
    ],
)
def test_steps_of_a_squared_error_are_held_where_they_would_diverge(eta, weight, square, expected):
    assert _step.over()(SquaredError(), eta, weight, 5.0, 2.0, square) == pytest.approx(expected)


def test_held_steps_converge_and_others_would_not():
    """f <- f + step k(x, x): with eta k = 3 a plain step doubles the error."""
    f = 1.0
    for _ in range(3):
        f += 3.0 * _step.over()(SquaredError(), 1.0, 1.0, f, 0.0, 3.0)
    assert f == pytest.approx(0.0, abs=1e-12)


def test_losses_without_curvature_are_never_held():
    assert _step.over()(Hinge(), 0.5, 1e6, 0.0, 1.0, 1e6) == 5e5
    assert _step.over()(Hinge(), 0.5, 1.0, 1.0, 1.0, 1.0) == 0.0


def test_curvature_and_weight_decide_whether_k_x_x_is_needed():
    out, y = np.array([0.0, 3.0]), np.ones(2)
    for loss, weight, curved in ((SquaredError(), 1.0, True), (SquaredError(), 0.0, False)):
        assert _ask.over()(loss, 0.5, weight, out, y, 1.0, 1.0)[0] == curved
    assert not _ask.over()(Hinge(), 0.5, 1.0, out, y, 1.0, 1.0)[0]


@pytest.mark.parametrize(
    ("weight", "y", "length", "harmless"),
    [
        (1.0, 1.0, 1.0, True),
        (1.0, 1e149, 1.0, True),
        (1e140, 1e20, 1.0, False),
        (1.0, 1.0, 1e151, False),
    ],
)
def test_a_row_is_harmless_if_its_step_from_zero_is_below_1e150(weight, y, length, harmless):
    ask = _ask.over()
    assert ask(SquaredError(), 0.5, weight, np.zeros(1), np.array([y]), 0.0, length)[1] == harmless

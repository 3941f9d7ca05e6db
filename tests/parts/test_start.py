"""The schedule of fits, and the fits, against direct solves."""

import numpy as np
import pytest

from forks import oracles
from forks.parts.start import StartRule, next_event, ridge_fit

RULE = StartRule()


def schedule(buffer, early, until):
    rounds, events = 0, []
    while rounds < until:
        rounds = next_event(RULE, rounds, buffer, early)
        events.append(rounds)
    return events


def test_events_come_with_each_doubling_and_at_the_buffer():
    early, late = [4, 8, 16, 32, 64, 128], [256, 512, 1024, 2048]
    assert schedule(250, True, 2000) == [*early, 250, *late]
    assert schedule(250, False, 2000) == [250, *late]
    assert schedule(256, True, 2000) == [*early, *late]
    assert schedule(16, True, 100) == early
    assert schedule(1000, True, 2000) == [*early, 256, 512, 1000, 1024, 2048]


@pytest.mark.parametrize("buffer", [16, 17, 40, 63, 64, 65, 250, 1000])
@pytest.mark.parametrize("early", [True, False])
def test_the_schedule_is_the_oracles_after_any_number_of_rounds(buffer, early):
    for rounds in [*range(700), 10**6, 2**40]:
        due = next_event(RULE, rounds, buffer, early)
        assert due == oracles.next_event(rounds, buffer, early)
        assert due > rounds


def rows(n, width, n_outputs=1, seed=0):
    """Features, targets +-1 and weights, some of them next to nothing."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, width))
    Y = np.sign(F[:, :1] + 0.7 * rng.normal(size=(n, n_outputs)))
    return F, Y, rng.choice([1e-5, 0.5, 2.0], n)


def assert_solves(w, B, expected):
    np.testing.assert_allclose(w, expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(B @ B.T, expected[1], rtol=1e-10, atol=1e-12)
    assert not np.triu(B, 1).any()


@pytest.mark.parametrize(("n", "width"), [(16, 5), (16, 40), (1, 3), (30, 1)])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("alpha", [1e-3, 2.0])
def test_the_fit_is_a_direct_solve(n, width, n_outputs, alpha):
    F, Y, h = rows(n, width, n_outputs)
    expected = oracles.ridge_fit(F, Y, h, alpha)
    assert_solves(*ridge_fit(F, F @ F.T, Y, h, alpha, False), expected)


@pytest.mark.parametrize(("n", "width"), [(16, 5), (16, 40), (60, 7)])
@pytest.mark.parametrize("alpha", [1e-2, 2.0])
def test_a_squared_hinge_is_fitted_to_the_rows_with_a_loss(n, width, alpha):
    for seed in range(5):
        F, Y, h = rows(n, width, seed=seed)
        expected = oracles.squared_hinge_fit(F, Y, h, alpha)
        assert_solves(*ridge_fit(F, F @ F.T, Y, h, alpha, True), expected)
    if (n, width) == (60, 7):
        w = oracles.ridge_fit(F, Y, h, alpha)[0]
        assert 5 < np.sum(Y * (F @ w) < 1.0) < 55


def test_without_a_loss_all_rows_are_fitted():
    """Targets of 3: a fit to them has no row with y f < 1."""
    F, y, h = np.eye(4), np.full((4, 1), 3.0), np.ones(4)
    w, B = ridge_fit(F, F @ F.T, y, h, 0.5, True)
    np.testing.assert_allclose(w, 2.0)
    np.testing.assert_allclose(B @ B.T, 1.5 * np.eye(4), atol=1e-15)


def test_rows_are_left_out_even_if_the_first_fit_is_ill_conditioned():
    """The Gram matrix of equal rows is singular: alpha alone makes it definite."""
    F, h = np.repeat(np.eye(2), 8, axis=0), np.ones(16)
    y = np.array([1.0] * 8 + [-1.0] * 7 + [1.0]).reshape(-1, 1)
    expected = oracles.squared_hinge_fit(F, y, h, 1e-9)
    assert_solves(*ridge_fit(F, F @ F.T, y, h, 1e-9, True), expected)


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the Gram matrix overflows
def test_a_row_whose_square_overflows_is_still_fitted(one_sided):
    F, y, h = rows(10, 3)
    F[2], h[2] = 1e160 * F[2], 1.0
    w, _ = ridge_fit(F, F @ F.T, y, h, 0.5, one_sided)
    assert (F[2] @ w)[0] == pytest.approx(y[2, 0], rel=1e-6)


@pytest.mark.parametrize("size", [np.inf, np.nan])
@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_beyond_all_bounds_are_an_error(size, one_sided):
    F, y, h = rows(10, 3)
    F[2] *= size
    with pytest.raises(np.linalg.LinAlgError):
        ridge_fit(F, F @ F.T, y, h, 0.5, one_sided)

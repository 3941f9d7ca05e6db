"""The choice of alpha against a fit for every row left out."""

import numpy as np
import pytest

from forks import oracles
from forks.parts.prior import PriorRule, chosen_alpha, is_to_be_lowered, most_alpha

RULE = PriorRule()
GRID = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


def brute_force(gram, y, classifies, grid=GRID, usual=0.5, convincing=64):
    """Fit kernel ridge regression to all other rows, for every row and every alpha."""
    n, errors = len(gram), []
    for alpha in grid:
        f = np.empty(y.shape)
        for i in range(n):
            others = np.arange(n) != i
            system = gram[np.ix_(others, others)] + alpha * np.eye(n - 1)
            f[i] = gram[i, others] @ np.linalg.solve(system, y[others])
        missing = np.maximum(0.0, 1.0 - y * f) if classifies else y - f
        errors.append(np.mean(missing**2))
    best = grid[int(np.argmin(errors))]
    share = n / (n + convincing)
    return best**share * usual ** (1.0 - share), best


def problem(n, noise, n_outputs=1, seed=0, classifies=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, :1]) + X[:, 1:2] + noise * rng.normal(size=(n, n_outputs))
    return oracles.gaussian(1.5)(X, X) + 1.0, np.sign(y) if classifies else y


@pytest.mark.parametrize("classifies", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_choice_is_that_of_leaving_every_row_out(classifies, n_outputs):
    chosen = set()
    for seed, (n, noise) in enumerate([(16, 0.0), (16, 3.0), (40, 0.1), (40, 1.0), (64, 30.0)]):
        gram, y = problem(n, noise, n_outputs, seed, classifies)
        expected, best = brute_force(gram, y, classifies)
        assert chosen_alpha(RULE, gram, y, classifies) == pytest.approx(expected, rel=1e-12)
        chosen.add(best)
    assert len(chosen) > 1


def test_other_numbers_are_taken_from_the_rule():
    rule = PriorRule(grid=(8.0, 2.0, 0.5), usual=0.1, convincing=10)
    gram, y = problem(30, 1.0)
    expected, _ = brute_force(gram, y, True, rule.grid, usual=0.1, convincing=10)
    assert chosen_alpha(rule, gram, y, True) == pytest.approx(expected, rel=1e-12)


def test_the_oracle_of_the_learner_agrees():
    gram, y = problem(30, 1.0)
    Psi, Lambda = np.linalg.cholesky(gram + 1e-9 * np.eye(30)), np.eye(30)
    for classifies in (True, False):
        expected = oracles.chosen_alpha(Psi, Lambda, y, classifies)
        assert chosen_alpha(RULE, Psi @ Psi.T, y, classifies) == pytest.approx(expected, rel=1e-12)


def test_few_rows_are_drawn_to_the_usual_alpha():
    gram, y = np.eye(1), np.ones((1, 1))  # nothing is known of a row by itself: the first of grid
    assert chosen_alpha(RULE, gram, y, True) == pytest.approx(10.0 ** (1 / 65) * 0.5 ** (64 / 65))
    gram, y = np.eye(64), np.ones((64, 1))
    assert chosen_alpha(RULE, gram, y, True) == pytest.approx((10.0 * 0.5) ** 0.5)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e10, 1e100, 1e150, 1e300])
@pytest.mark.parametrize("classifies", [True, False])
def test_huge_and_tiny_rows_choose_a_finite_alpha(size, classifies):
    """One row, or all of them; where rounding hides alpha, that alpha is not chosen."""
    gram, y = problem(20, 1.0, classifies=classifies)
    one = np.sqrt(np.where(np.arange(20) == 7, size, 1.0))
    for rows in (gram * np.outer(one, one), gram * size):
        assert 0.01 <= chosen_alpha(RULE, rows, y, classifies) <= 3.0


def test_alpha_falls_with_the_rounds_in_steps_of_four():
    assert most_alpha(RULE, 2.0, 256) == 1.0
    assert most_alpha(RULE, 1.0, 128_000) == pytest.approx(0.001)
    assert is_to_be_lowered(RULE, 1.0, 0.25)
    assert not is_to_be_lowered(RULE, 1.0, 0.2501)

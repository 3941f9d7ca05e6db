"""When the map of SkeGD and FORKS is updated."""

from typing import NamedTuple

import numpy as np
import pytest

from forks.engine import entry
from forks.parts.sketching import update_is_due
from forks.parts.stage_one import COUNT


class CycleRule(NamedTuple):
    update_cycle: int
    count_losses: bool


@entry
def _due(rule, losses, rounds, lost):
    counts = np.zeros(7, np.int64)
    counts[COUNT.losses], counts[COUNT.rounds] = losses, rounds
    return update_is_due(rule, counts, lost)


def updates(cycle, count_losses, lost, losses_before=0):
    """The rounds (from 1) that are update rounds, of those with and without loss."""
    losses, due = losses_before, []
    for t, has_loss in enumerate(lost, start=1):
        losses += has_loss
        if _due.over()(CycleRule(cycle, count_losses), losses, t, bool(has_loss)):
            due.append(t)
    return due


def test_every_cycle_of_rounds_has_one_update():
    assert updates(4, False, [False] * 13) == [4, 8, 12]
    assert updates(1, False, [False] * 3) == [1, 2, 3]


def test_or_every_cycle_of_losses_at_the_first_of_them():
    """T0 mod rho = 1, as in the released code; only a round with loss can update."""
    lost = [True, False, True, True, False, True, True, False, True]
    assert updates(3, True, lost) == [1, 6]
    assert updates(3, True, lost, losses_before=1) == [4, 9]
    assert updates(1, True, lost) == [1, 3, 4, 6, 7, 9]


@pytest.mark.parametrize("count_losses", [True, False])
def test_a_cycle_of_zero_never_updates(count_losses):
    assert updates(0, count_losses, [True] * 50) == []

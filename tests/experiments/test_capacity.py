"""The simulation of many workers, where sums can be done by hand."""

import pytest

from forks.distributed.learning import shares
from forks.experiments.capacity import Costs, simulate

FREE = Costs(
    *(1.0, 1.0),  # first, row
    *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    after=1.0,
)


def test_one_worker_takes_the_time_of_all_rows():
    told = simulate(FREE, 10_000, 1, 4, start=1000, spare=100)
    assert told.seconds == pytest.approx(10_000.0)
    assert told.rounds == len(list(shares(1000, 9000, 4, None)))


def test_workers_share_what_is_not_learned_by_the_coordinator():
    told = simulate(FREE, 10_000, 4, 4, start=1000, spare=100)
    alone = 1000 + told.rounds * 100
    assert told.coordinator == pytest.approx(alone)
    assert told.seconds == pytest.approx(alone + (10_000 - alone) / 4)
    uneven = simulate(FREE, 10_000, 3, 4, start=1000, spare=100)  # one does two of four tasks
    assert uneven.seconds == pytest.approx(alone + (10_000 - alone) / 2)


def test_packing_delays_workers_and_merging_is_for_one():
    costs = Costs(
        0.0, 0.0, fork=5.0, pack=1.0, task=10.0, unpack=2.0, merge=3.0, close=7.0, after=0.0
    )
    told = simulate(costs, 2000, 4, 4, start=1000, spare=0)
    assert told.rounds == 1
    # packed at 6, 7, 8, 9; done at 16, 17, 18, 19; unpacked from 16 on, 2 each; merged
    assert told.seconds == pytest.approx(16 + 4 * 2 + 4 * 3 + 7)
    assert told.coordinator == pytest.approx(5 + 4 + 8 + 12 + 7)
    slow = simulate(costs, 2000, 2, 4, start=1000, spare=0)  # done at 16, 17, 26, 27
    assert slow.seconds == pytest.approx(26 + 2 * 2 + 4 * 3 + 7)


def test_few_rows_have_no_round():
    assert simulate(FREE, 500, 8, 8) == (500.0, 500.0, 0)

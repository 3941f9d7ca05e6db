"""One model on a Ray cluster: the same as by joblib, whatever happens to workers."""

import functools

import pytest
from test_distributed import SIZES, die, expected, rows, small, third

from forks import distributed
from forks.distributed import RayExecutor, WorkerLostError
from forks.estimators.saving import as_bytes

pytestmark = pytest.mark.slow


def test_ray_gives_the_same_model_though_a_worker_is_killed(ray, tmp_path):
    parts = [functools.partial(third, k, tmp_path / "killed") for k in range(3)]
    executor = RayExecutor()
    assert executor.workers == 2
    learned = distributed.learn(parts, small(), executor=executor, **SIZES)
    assert (tmp_path / "killed").exists()
    assert as_bytes(learned) == expected()


def test_rows_of_this_process_give_the_same_model(ray):
    learned = distributed.learn(rows(), small(), executor=RayExecutor(), partitions=3, **SIZES)
    assert as_bytes(learned) == expected()


def test_workers_that_always_die_end_it(ray):
    with pytest.raises(WorkerLostError, match="2 of 2 tasks were lost 1 times"):
        distributed.learn([die, die], small(), executor=RayExecutor(tries=1))


def test_an_error_of_a_task_is_raised_as_it_is(ray):
    X, y = rows(300)
    with pytest.raises(ValueError, match="partition 1: X has 3 rows, but y has 2"):
        distributed.learn([(X, y), (X[:3], y[:2])], small(), executor=RayExecutor(), **SIZES)

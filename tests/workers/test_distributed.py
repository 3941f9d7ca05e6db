"""One model from partitions: the same by any executor, whatever happens to workers."""

import functools
import os
import pickle
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from forks import OnlineKernelClassifier, OnlineKernelRegressor, distributed
from forks.distributed import DaskExecutor, JoblibExecutor, WorkerLostError, learning
from forks.distributed.learning import shares
from forks.estimators.saving import as_bytes
from forks.learners import Adaptive
from oracle_streams import made_up

ROWS, D = 1500, 5
SIZES = {"start": 200, "spare": 40}


def small():
    return OnlineKernelClassifier(Adaptive(buffer=40))


def rows(n=ROWS):
    return made_up(n, D)


@functools.cache
def expected():
    return as_bytes(distributed.learn(rows(), small(), executor=1, partitions=3, **SIZES))


def test_every_row_is_learned_once_and_well():
    X, y = rows()
    model = small()
    learned = distributed.learn((X, y), model, executor=1, partitions=3, **SIZES)
    assert not hasattr(model, "engine_")
    assert learned.n_rounds_ == ROWS
    np.testing.assert_allclose(learned._gaps.means.sums, X.sum(axis=0), rtol=1e-9)
    alone = small().partial_fit(X, y)
    assert learned.score(X, y) > alone.score(X, y) - 0.02


def test_in_a_round_a_fork_comes_to_know_half_of_what_all_know():
    assert list(shares(100, 2600, 4, None)) == [(0.0, 200 / 2600), (200 / 2600, 800 / 2600),
                                                (800 / 2600, 1.0)]  # fmt: skip
    for n in (3, 8, 100):
        known = 1000.0
        *rounds, _ = shares(1000, 10**6, n, None)
        for low, high in rounds:
            learned = (high - low) * 10**6
            assert known + learned / n == pytest.approx((known + learned) / 2.0)
            known += learned
    first, *_ = shares(1000, 10**6, 2, None)  # two always know half: other reasons bound a round
    assert first[1] == pytest.approx(0.026)
    assert list(shares(100, 250, 4, None)) == [(0.0, 1.0)]  # little is left after the first
    assert list(shares(100, 0, 4, None)) == list(shares(100, 0, 4, 3)) == []
    assert list(shares(1, 10, 4, 2)) == [(0.0, 0.5), (0.5, 1.0)]


@pytest.mark.parametrize("n", [3, 7])
def test_every_row_is_scored_before_it_is_learned(n):
    X, y = rows()
    model, scores = distributed.prequential((X, y), small(), executor=1, partitions=n, **SIZES)
    again = distributed.learn((X, y), small(), executor=1, partitions=n, **SIZES)
    assert as_bytes(model) == as_bytes(again)
    assert scores.shape == (ROWS,)
    first = -(-SIZES["start"] // n) * n
    alone = small().prequential(X[:first], y[:first], classes=[-1.0, 1.0])
    np.testing.assert_array_equal(scores[:first], alone)
    for row in (300, 1499):
        other = y.copy()
        other[row] = -y[row]
        _, changed = distributed.prequential((X, other), small(), executor=1, partitions=n, **SIZES)
        assert changed[row] == scores[row]  # whatever its label is
        assert not np.array_equal(changed[row + 1 :], scores[row + 1 :]) or row == 1499
    alone = small().prequential(X, y)
    assert np.mean(scores * y > 0) > np.mean(alone * y > 0) - 0.04


def test_scores_of_partitions_are_in_their_order():
    X, y = rows(700)
    parts = [(X[:400], y[:400]), (X[400:], y[400:]), (X[:0], y[:0])]
    _, scores = distributed.prequential(parts, small(), executor=1, rounds=2, **SIZES)
    assert [len(part) for part in scores] == [400, 300, 0]
    for part, (_, labels) in zip(scores[:2], parts[:2], strict=True):
        assert np.mean(part[100:] * labels[100:] > 0) > np.mean(part[100:-1] * labels[101:] > 0)


# ---- executors ---------------------------------------------------------------------------------


class Backwards:
    """An executor of one's own: the last task first, and each done twice."""

    workers = 3

    def run(self, function, tasks):
        for task in tasks:
            function(*task)
        return [function(*task) for task in tasks[::-1]][::-1]


def test_any_executor_gives_the_same_model():
    assert as_bytes(distributed.learn(rows(), small(), executor=Backwards(), **SIZES)) == expected()


def test_workers_merge_groups_of_many_forks(monkeypatch):
    asked = []

    class Sent:
        """What tasks and results are after they were sent."""

        workers = 3

        def run(self, function, tasks):
            asked.append((function.__name__, len(tasks)))
            sent = [pickle.loads(pickle.dumps(task)) for task in tasks]
            return [pickle.loads(pickle.dumps(function(*task))) for task in sent]

    X, y = rows()
    sizes = {**SIZES, "partitions": 20, "rounds": 2}
    tree = distributed.learn((X, y), small(), executor=1, **sizes)
    sent = distributed.learn((X, y), small(), executor=Sent(), **sizes)
    assert asked == 2 * [("learn_share", 20), ("merge_group", 3)]
    assert as_bytes(sent) == as_bytes(tree)
    monkeypatch.setattr(learning, "_GROUP", 100)
    flat = distributed.learn((X, y), small(), executor=1, **sizes)
    assert tree.n_rounds_ == flat.n_rounds_ == ROWS
    np.testing.assert_allclose(
        tree.decision_function(X), flat.decision_function(X), rtol=1e-6, atol=1e-8
    )
    monkeypatch.setattr(learning, "_GROUP", 2)  # of several storeys
    tree = distributed.learn((X, y), small(), executor=1, **sizes)
    np.testing.assert_allclose(
        tree.decision_function(X), flat.decision_function(X), rtol=1e-6, atol=1e-8
    )


def test_rows_of_this_process_are_learned_by_threads(monkeypatch):
    used = []
    run = JoblibExecutor.run
    monkeypatch.setattr(
        JoblibExecutor, "run", lambda self, *job: used.append(self.threads) or run(self, *job)
    )
    learned = distributed.learn(rows(), small(), executor=2, partitions=3, **SIZES)
    assert as_bytes(learned) == expected()
    assert set(used) == {True}
    read = [lambda: rows(300), rows(300)]
    distributed.learn(read, small(), executor=1, **SIZES)
    assert not used[-1]  # functions may be plain Python


def test_rows_of_this_process_are_sent_to_processes():
    executor = JoblibExecutor(2)
    learned = distributed.learn(rows(), small(), executor=executor, partitions=3, **SIZES)
    assert as_bytes(learned) == expected()


def test_workers_get_the_rows_that_they_learn_and_no_others():
    given = []

    class Looking:
        workers = 3

        def run(self, function, tasks):
            given.extend(len(task[2][1]) for task in tasks)
            return [function(*task) for task in tasks]

    learned = distributed.learn(rows(), small(), executor=Looking(), **SIZES)
    assert as_bytes(learned) == expected()
    assert sum(given) == ROWS - 201  # all but those of the start, once


def test_processes_give_the_same_model_though_one_is_killed(tmp_path):
    parts = [functools.partial(third, k, tmp_path / "killed") for k in range(3)]
    learned = distributed.learn(parts, small(), executor=2, **SIZES)
    assert (tmp_path / "killed").exists()
    assert as_bytes(learned) == expected()


def third(k, mark):
    """The rows of a partition; the worker that asks for the second dies, the first time."""
    if k == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    X, y = rows()
    return X[k::3], y[k::3]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_always_die_end_it():
    with pytest.raises(WorkerLostError, match="2 of 2 tasks were lost 1 times"):
        distributed.learn([die, die], small(), executor=JoblibExecutor(2, tries=1))


@pytest.mark.slow
def test_dask_gives_the_same_model_though_a_worker_is_killed(tmp_path):
    dask = pytest.importorskip("distributed")
    parts = [functools.partial(third, k, tmp_path / "killed") for k in range(3)]
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(**settings) as cluster, dask.Client(cluster) as client:
        client.upload_file(str(Path(__file__)))
        assert DaskExecutor(client).workers == 2
        learned = distributed.learn(parts, small(), executor=client, **SIZES)
    assert (tmp_path / "killed").exists()
    assert as_bytes(learned) == expected()


# ---- sources -----------------------------------------------------------------------------------


def test_sparse_rows_numbers_and_models_that_go_on():
    X, y = rows(900)
    learned = distributed.learn((csr_array(X), y), small(), executor=1, partitions=2, **SIZES)
    again = distributed.learn((csr_array(X), y), learned, executor=1, partitions=2, spare=0)
    assert (learned.n_rounds_, again.n_rounds_) == (900, 1800)
    numbers = distributed.learn(
        (X, y + 0.5 * X[:, 0]),
        OnlineKernelRegressor(Adaptive(buffer=40, loss=distributed_loss())),
        executor=1,
        partitions=2,
        rounds=2,
        **SIZES,
    )
    assert numbers.score(X, y + 0.5 * X[:, 0]) > 0.3


def distributed_loss():
    from forks.losses import SquaredError

    return SquaredError()


def test_classes_that_come_late_in_a_partition_are_known():
    X, y = rows()
    y[900:] = np.where(X[900:, 3] > 0.5, 7.0, y[900:])
    learned = distributed.learn((X, y), small(), executor=1, partitions=2, **SIZES)
    assert learned.classes_.tolist() == [-1.0, 1.0, 7.0]


def test_few_rows_are_learned_here():
    X, y = rows(100)
    learned = distributed.learn((X, y), small(), executor=1, partitions=3)
    assert learned.n_rounds_ == 100
    empty = (X[:0], y[:0])
    assert distributed.learn([(X, y), empty], small(), executor=1).n_rounds_ == 100


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ([], "source must be a tuple"),
        ("rows.csv", "source must be a tuple"),
        ((np.ones((3, 2)), np.ones(2)), "X has 3 rows, but y has 2"),
        ([(np.ones((0, 2)), np.ones(0))], "it has no rows"),
        ([rows(300), (np.ones((300, 2)), np.ones(300))], "partition 1 has 2 features"),
        ([rows(300), lambda: (np.ones((3, 2)), np.ones(2))], "partition 1: X has 3 rows"),
    ],
)
def test_bad_sources(source, reason):
    with pytest.raises(ValueError, match=reason):
        distributed.learn(source, small(), executor=1, **SIZES)


def test_a_bad_row_is_told_with_its_partition():
    X, y = rows(900)
    X[800, 1] = np.inf
    with pytest.raises(ValueError, match="partition 2: "):
        distributed.learn((X, y), small(), executor=1, partitions=3, **SIZES)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"executor": "dask"}, "executor must be"),
        ({"executor": 0}, "n_jobs must be"),
        ({"partitions": 0}, "partitions must be"),
        ({"start": 0}, "start must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"spare": -1}, "spare must be"),
        ({"model": "adaptive"}, "model must be"),
        ({"model": OnlineKernelClassifier("nogd")}, "NOGD cannot be forked"),
    ],
    ids=str,
)
def test_bad_arguments(given, reason):
    with pytest.raises(ValueError, match=reason):
        distributed.learn(rows(), **{"model": small(), "executor": 1, **SIZES, **given})

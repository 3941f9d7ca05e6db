"""Runs on a cluster: joblib hands them to Dask, and one process keeps the records."""

import joblib
import pytest

pytest.importorskip("distributed", reason="the cluster is Dask's")

from distributed import Client, LocalCluster

from forks.experiments.record import RecordFile
from forks.experiments.reproduce.playing import play_runs
from forks.experiments.reproduce.runs import Run


@pytest.fixture
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(processes=True, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def tasks_so_far(dask_scheduler):
    return dask_scheduler.transition_counter


def test_dask_plays_what_one_process_plays(cluster, tmp_path):
    runs = [
        Run(
            experiment="tisvd",
            data="gaussian",
            method=kind,
            learner=kind,
            arguments={"rank": 5, "columns": 2, "updates": updates},
        )
        for kind in ("TISVD", "RandomizedSVD")
        for updates in (20, 40)
    ]
    alone = list(play_runs(runs, tmp_path / "alone.jsonl", jobs=1))
    before = cluster.run_on_scheduler(tasks_so_far)
    with joblib.parallel_config(backend="dask"):
        given = list(play_runs(runs, tmp_path / "cluster.jsonl"))
    assert cluster.run_on_scheduler(tasks_so_far) >= before + len(runs)
    kept = RecordFile(tmp_path / "cluster.jsonl").read()
    assert given == kept

    def results(records):
        return sorted((r["key"], r["status"], r["n_rows"], r["error"]) for r in records)

    assert results(kept) == results(alone)
    assert {record["status"] for record in kept} == {"done"}

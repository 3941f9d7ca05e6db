"""Plays the runs of a plan that have no record yet, and keeps each record as it comes."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from joblib import Parallel, delayed

from forks.experiments.reproduce.records import Record, RecordFile
from forks.experiments.reproduce.runs import DONE, Run, play


def missing_runs(plan: Iterable[Run], records: Iterable[Record]) -> list[Run]:
    """Return the runs without a record of success, in the plan's order."""
    done = {record["key"] for record in records if record.get("status") == DONE}
    return [run for run in plan if run.key not in done]


def play_runs(runs: list[Run], file: Path, jobs: int = -1) -> Iterator[Record]:
    """Play runs in parallel; append each record to the file, then give it.

    joblib does the spreading: inside ``joblib.parallel_config(backend=...)`` the runs go wherever
    that backend has its workers.
    """
    records = RecordFile(file)
    records.drop_cut_off_line()
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(play)(run) for run in runs
    )
    with warnings.catch_warnings():
        # joblib starts workers anew that have grown, with the data sets they hold, and warns
        warnings.filterwarnings("ignore", message="A worker stopped")
        for record in results:
            records.append(record)
            yield record

"""Runs are played here: one, or many in parallel, and each leaves a record."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from forks.datasets import describe, names, order, prepare, published_orders, read_signs
from forks.evaluate import LearnerPlayer
from forks.evaluate.clock import Clock
from forks.experiments.record import Record, RecordFile, done_keys, played, resident_bytes
from forks.experiments.reproduce.runs import DECOMPOSITIONS, Run
from forks.streams import Chunk, adversarial

_CHUNK = 10_000  # rows of a large stream at a time
_LAST = 1_000  # rounds that show what a learner answers in the end
_data = lru_cache(maxsize=8)(read_signs)
_orders = lru_cache(maxsize=8)(published_orders)
_prepared = lru_cache(maxsize=1)(prepare)


def missing_runs(plan: Iterable[Run], records: Iterable[Record]) -> list[Run]:
    """Return the runs without a record of success, in the plan's order."""
    done = done_keys(records)
    return [run for run in plan if run.key not in done]


def play_runs(runs: Iterable[Run], file: Path, jobs: int = -1) -> Iterator[Record]:
    """Play runs in parallel; append each record to the file, then yield it.

    joblib does the spreading: inside ``joblib.parallel_config(backend=...)`` the runs go wherever
    that backend has its workers.
    """
    records = RecordFile(file)
    records.drop_cut_off_line()
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(map(delayed(play), runs))
    with warnings.catch_warnings():
        # joblib starts workers anew that have grown, with the data sets they hold, and warns
        warnings.filterwarnings("ignore", message="A worker stopped")
        for record in results:
            records.append(record)
            yield record


def play(run: Run) -> Record:
    """Play a run; a failure is a record with its reason."""
    return played(asdict(run), lambda: _learn(run) if run.needs_data else _decompose(run))


def _decompose(run: Run) -> Record:
    """Follow a Gaussian matrix under Gaussian updates of a few columns."""
    n, columns = 100, run.arguments["columns"]
    rng = np.random.default_rng(run.permutation)
    M = rng.standard_normal((n, n))
    following = DECOMPOSITIONS[run.learner](run.arguments["rank"]).fit(M)
    cut = run.learner == "TISVD"  # which follows the matrix that it has cut to rank k
    clock, error = Clock(), 0.0
    for update in range(run.arguments["updates"]):
        D1, D2 = rng.standard_normal((2, n, columns))
        before = following.reconstruct() if cut else M
        with clock.running():
            following.update(D1, D2)
        M = before + D1 @ D2.T
        if update % 100 == 0:
            s = np.linalg.svd(M, compute_uv=False)[: len(following.s)]
            error = max(error, float(np.max(np.abs(following.s - s) / s)))
    return {"n_rows": run.arguments["updates"], "seconds": clock.seconds, "error": error}


def _learn(run: Run) -> Record:
    """Play chunk by chunk; the clock of learning stands while a chunk is read and counted."""
    player = LearnerPlayer(run.method, run.make_learner(), seed=run.permutation)
    reading, resident = Clock(), []
    positive, last = 0, np.empty(0)
    for X, y in reading.over(_chunks(run)):
        scores = player.play(X, y).scores
        positive += int(np.count_nonzero(y > 0.0))
        last = np.concatenate([last, scores])[-_LAST:]
        resident.append(resident_bytes())
    if player.rounds == 0:
        raise ValueError(f"{run.data} has no rows")
    at, engine = player.checkpoint(), player.engine
    since_switch = engine.rounds_since_switch
    outcome = {
        "n_rows": at.rounds,
        "minority": min(positive, at.rounds - positive),  # mistakes of always the other answer
        "mistakes": at.mistakes,
        "mistakes_as_published": at.mistakes_as_published,
        "warm_up_rounds": 0 if since_switch is None else at.rounds - since_switch,
        "share_of_plus": float(np.mean(last >= 0.0)),
        "seconds": at.seconds,
        "updates": engine.learner.map_updates(engine.memory),
        "stored_points": at.stored_points,
        "state_bytes": at.state_bytes,
    }
    if _is_stream(run.data):
        outcome["read_seconds"] = reading.seconds
        outcome["resident_bytes_first"] = resident[0]  # of the process, after a chunk
        outcome["resident_bytes_peak"] = max(resident)  # at the end of a chunk
    return outcome


def check_data(data: str) -> None:
    """Read what runs on a data set will play; raise an error if it is missing or wrong."""
    if _is_stream(data):
        _prepared(data)
    else:
        _data(data)
        _orders(data)


def _is_stream(name: str) -> bool:
    """Return whether a data set is played chunk by chunk, in its own order."""
    return name in names(None) and describe(name).time_order


def _chunks(run: Run) -> Iterator[Chunk]:
    """Return what is to be played: large streams in chunks, other data in one."""
    if not _is_stream(run.data):
        yield _stream(run)
        return
    n_rows = describe(run.data).rows
    missing = run.rows or n_rows
    for X, y in _prepared(run.data)(_CHUNK):
        yield X[:missing], y[:missing]
        missing -= min(missing, len(y))
        if missing == 0:
            return
    if run.rows == 0:
        given = n_rows - missing
        raise ValueError(f"{run.data} has {n_rows:,} rows, but its files gave {given:,}")


def _stream(run: Run) -> Chunk:
    X, y = _data(run.data)
    published = _orders(run.data)
    made = run.permutation >= len(published)
    rows = order(len(y), run.permutation) if made else published[run.permutation]
    if run.repeats:
        X, y = adversarial(X, y, 500, run.repeats, rows[:500])
        X[:, -1] = 0.0  # by a loop bound in the authors' driver
        return X, y
    rows = rows[: run.rows or None]
    return X[rows], y[rows]

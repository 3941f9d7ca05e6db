"""A run: one method on one stream. What it is, what playing it gives, and who it is."""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from forks import __version__, learners
from forks.datasets import (
    describe,
    names,
    order,
    prepare,
    published_orders,
    read_signs,
)
from forks.engine import Engine, Learner, Vector, one_thread
from forks.evaluate.clock import warm_up
from forks.evaluate.provenance import environment
from forks.experiments.reproduce.floored import FlooredGaussian
from forks.experiments.reproduce.records import Record
from forks.kernels import Gaussian
from forks.linalg import TISVD, RandomizedSVD
from forks.losses import LOSSES
from forks.streams import Chunk, adversarial

_PRESETS = ("as_published", "as_released")
DONE, FAILED = "done", "failed"
_DECOMPOSITIONS: dict[str, Any] = {"TISVD": TISVD, "RandomizedSVD": RandomizedSVD}
_LOSSES = LOSSES["classification"]
_CHUNK = 10_000  # rows of a large stream at a time
_LAST = 1_000  # rounds that tell what a learner answers in the end


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is to be played.

    Parameters
    ----------
    experiment : str
        The table or figure that it belongs to.
    data : str
        Name of a data set, or path of a file.
    method : str
        Row of the table.
    learner : str
        A class of `forks.learners`, or one of its presets: "FORKS.as_released".
    arguments : dict
        Of the learner; "bandwidth" is that of the Gaussian kernel, "floor" the value below which
        the kernel counts as zero (see `forks.experiments.reproduce.floored`), "loss" a name.
    permutation : int
        Which order of the rows: a published one where there is one, else made from this seed.
        Streams in the order of time keep it. It is the learner's seed, too.
    repeats : int
        0 for the data as they are, r for the adversarial game with r repeats of 500 points.
    rows : int
        Rows to play, 0 for all.
    """

    experiment: str
    data: str
    method: str
    learner: str
    arguments: dict[str, Any] = field(default_factory=dict)
    permutation: int = 0
    repeats: int = 0
    rows: int = 0

    @property
    def key(self) -> str:
        """Who it is: runs that are told alike are the same run."""
        told = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def needs_data(self) -> bool:
        """Does it play rows of a data set, or what it makes itself?"""
        return self.learner not in _DECOMPOSITIONS

    def make_learner(self) -> Learner:
        """Return the learner, or say what is wrong with its name or arguments."""
        name, _, preset = self.learner.partition(".")
        made: Any = getattr(learners, name, None)
        is_there = preset == "" or (preset in _PRESETS and hasattr(made, preset))
        if name not in learners.__all__ or not is_there:
            raise ValueError(f"learner must be one of forks.learners, got {self.learner!r}")
        arguments = dict(self.arguments)
        if not isinstance(arguments.get("bandwidth", ""), str):  # a word is the learner's own
            width, floor = float(arguments.pop("bandwidth")), arguments.pop("floor", None)
            arguments["kernel"] = (
                Gaussian(width) if floor is None else FlooredGaussian(width, float(floor))
            )
        if "loss" in arguments:
            if arguments["loss"] not in _LOSSES:
                known = ", ".join(_LOSSES)
                raise ValueError(f"loss must be one of {known}, got {arguments['loss']!r}")
            arguments["loss"] = _LOSSES[arguments["loss"]]()
        learner: Learner = (getattr(made, preset) if preset else made)(**arguments)
        return learner


def play(run: Run) -> Record:
    """Play a run on one thread; a failure is a record with its reason."""
    told = {"key": run.key, **asdict(run)}
    try:
        with one_thread():
            outcome = _decompose(run) if run.learner in _DECOMPOSITIONS else _learn(run)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return {**told, "status": FAILED, "reason": reason, **_made_with()}
    return {**told, "status": DONE, **outcome, **_made_with()}


def _made_with() -> Record:
    return {"forks": __version__, **environment(), "machine": platform.machine()}


def _decompose(run: Run) -> Record:
    """Follow a Gaussian matrix under Gaussian updates of a few columns."""
    n, columns = 100, run.arguments["columns"]
    rng = np.random.default_rng(run.permutation)
    M = rng.standard_normal((n, n))
    following = _DECOMPOSITIONS[run.learner](run.arguments["rank"]).fit(M)
    cut = run.learner == "TISVD"  # which follows the matrix that it has cut to rank k
    seconds, error = 0.0, 0.0
    for update in range(run.arguments["updates"]):
        D1, D2 = rng.standard_normal((2, n, columns))
        before = following.reconstruct() if cut else M
        start = time.process_time()
        following.update(D1, D2)
        seconds += time.process_time() - start
        M = before + D1 @ D2.T
        if update % 100 == 0:
            s = np.linalg.svd(M, compute_uv=False)[: len(following.s)]
            error = max(error, float(np.max(np.abs(following.s - s) / s)))
    return {"n_rows": run.arguments["updates"], "seconds": seconds, "error": error}


def _learn(run: Run) -> Record:
    """Play chunk by chunk; the clock of learning stands while a chunk is read and counted."""
    learner = run.make_learner()
    tally, cost = _Tally(), _Cost()
    chunks = cost.reading(_chunks(run))
    chunk = next(chunks, None)
    if chunk is None:
        raise ValueError(f"{run.data} has no rows")
    _compile(learner, chunk[0])
    engine = Engine(learner, chunk[0].shape[1], 1, np.random.default_rng(run.permutation))
    while chunk is not None:
        X, y = chunk
        start = time.process_time()
        scores = engine.learn(X, y.reshape(-1, 1))[:, 0]
        cost.seconds += time.process_time() - start
        tally.count(scores, y, learner.rounds_since_switch(engine.memory))
        cost.resident.append(_resident_bytes())
        chunk = next(chunks, None)
    outcome = {
        **tally.told(),
        "seconds": cost.seconds,
        "updates": learner.map_updates(engine.memory),
        "stored_points": engine.stored_points,
        "state_bytes": engine.state_bytes,
    }
    if _is_stream(run.data):
        outcome["read_seconds"] = cost.read_seconds
        outcome["resident_bytes_first"] = cost.resident[0]  # of the process, after a chunk
        outcome["resident_bytes_peak"] = max(cost.resident)  # at the end of a chunk
    return outcome


@dataclass
class _Cost:
    seconds: float = 0.0
    read_seconds: float = 0.0
    resident: list[int] = field(default_factory=list)

    def reading(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Return chunks on, and add up the time that they take to come."""
        while True:
            start = time.process_time()
            chunk = next(chunks, None)
            self.read_seconds += time.process_time() - start
            if chunk is None:
                return
            yield chunk


@dataclass
class _Tally:
    """Rounds and mistakes so far."""

    rounds: int = 0
    positive: int = 0
    mistakes: int = 0
    published: int = 0
    since_switch: int | None = None
    last: Vector = field(default_factory=lambda: np.empty(0))

    def count(self, scores: Vector, y: Vector, since_switch: int | None) -> None:
        """Count a chunk, after which so many rounds have been played since the switch."""
        wrong = (scores >= 0.0) != (y > 0.0)
        # the paper leaves out the mistakes of stage one, and still divides by all rounds
        counted = len(y) if since_switch is None else min(since_switch, len(y))
        self.rounds += len(y)
        self.positive += int(np.sum(y > 0.0))
        self.mistakes += int(wrong.sum())
        self.published += int(wrong[len(y) - counted :].sum())
        self.since_switch = since_switch
        self.last = np.concatenate([self.last, scores[-_LAST:]])[-_LAST:]

    def told(self) -> Record:
        """Return what a record has of it."""
        counted = self.rounds if self.since_switch is None else self.since_switch
        return {
            "n_rows": self.rounds,
            "minority": min(self.positive, self.rounds - self.positive),  # the other answer's
            "mistakes": self.mistakes,
            "mistakes_as_published": self.published,
            "warm_up_rounds": self.rounds - counted,
            "share_of_plus": float(np.mean(self.last >= 0.0)),
        }


def _resident_bytes() -> int:
    """Return the memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


_warm: set[Any] = set()


def _compile(learner: Learner, X: Any) -> None:
    """Compile, or load, all that a pass runs: once for each kind of learner and of rows."""
    rule = learner.rule()
    kind = (type(rule), *(type(part) for part in rule[:2]), type(X))
    if kind not in _warm:
        warm_up(learner, sparse=issparse(X), late=False)
        _warm.add(kind)


def check_data(data: str) -> None:
    """Read what runs on a data set will play, or say what is missing or wrong."""
    if _is_stream(data):
        _prepared(data)
    else:
        _data(data)
        _orders(data)


@lru_cache(maxsize=8)
def _data(name: str) -> tuple[Any, Vector]:
    return read_signs(name)


@lru_cache(maxsize=8)
def _orders(name: str) -> Any:
    return published_orders(name)


def _is_stream(name: str) -> bool:
    """Is it a data set that is played chunk by chunk, in its own order?"""
    return name in names(None) and describe(name).time_order


@lru_cache(maxsize=1)
def _prepared(name: str) -> Callable[[int], Iterator[Chunk]]:
    return prepare(name)


def _chunks(run: Run) -> Iterator[Chunk]:
    """Return what is to be played: large streams in chunks, other data in one."""
    if not _is_stream(run.data):
        yield _stream(run)
        return
    missing = run.rows or describe(run.data).rows
    for X, y in _prepared(run.data)(_CHUNK):
        yield X[:missing], y[:missing]
        missing -= min(missing, len(y))
        if missing == 0:
            return
    if run.rows == 0:
        given = describe(run.data).rows - missing
        raise ValueError(
            f"{run.data} has {describe(run.data).rows:,} rows, but its files gave {given:,}"
        )


def _stream(run: Run) -> tuple[Any, Vector]:
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

"""All models of a service: a folder each below `models` in the folder of its state."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forks.serve import insight
from forks.serve.following import Follower
from forks.serve.keeper import Keeper
from forks.serve.table_model import Settings
from forks.serve.worker import Worker
from forks.streams.sources import Source

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LOCK = "lock"


class StateError(Exception):
    """A folder of state that cannot be used."""


class Service:
    """Named models, each with its worker.

    Parameters
    ----------
    state : path
        Folder of the state; one process at a time.
    settings : Settings
        Of new models.
    every, seconds
        See `Worker`.
    **kept
        `most`, `age` and `keep_journal` of `Keeper`.
    """

    def __init__(
        self,
        state: str | Path,
        settings: Settings | None = None,
        *,
        every: int = 50_000,
        seconds: float = 60.0,
        **kept: Any,
    ) -> None:
        self.state = Path(state)
        self.settings = settings or Settings()
        self.every, self.seconds = every, seconds
        self._kept = kept
        (self.state / "models").mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.state / _LOCK)
        self.workers: dict[str, Worker] = {}
        self.followers: dict[str, Follower] = {}  # by the names of their models
        for folder in sorted((self.state / "models").iterdir()):
            if folder.is_dir() and NAME.fullmatch(folder.name):
                self._start(folder.name)

    def add(self, name: str, begin: bytes | None = None, settings: Settings | None = None) -> None:
        """Add a model, new or begun with a model file; `ValueError` if there is one."""
        if not NAME.fullmatch(name):
            raise ValueError(
                f"the name {name!r} must be of lower-case letters, digits, _ and -, at most 64"
            )
        if name in self.workers:
            raise ValueError(f"there is a model {name!r} already")
        self._start(name, begin, settings)

    def _start(
        self, name: str, begin: bytes | None = None, settings: Settings | None = None
    ) -> None:
        folder = self.state / "models" / name
        keeper = Keeper(folder, settings or self.settings, begin, **self._kept)
        worker = Worker(name, keeper, self.every, self.seconds)
        worker.start()
        self.workers[name] = worker

    def follow(
        self, name: str, source: Source, label: str | None, say: Callable[[str], None]
    ) -> None:
        """Have a model learn a stream, from the first message on that it does not know."""
        if name not in self.workers:
            raise ValueError(f"there is no model {name!r} that could learn from {source.name}")
        if name in self.followers:
            raise ValueError(f"the model {name!r} learns from a stream already")
        follower = self.followers[name] = Follower(self.workers[name], source, label, say)
        follower.open()
        follower.start()

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of a model."""
        worker = self.workers[name]
        keeper = worker.keeper
        with keeper.turns.reading():
            model = keeper.model
            columns = [] if model.encoder is None else model.encoder.columns_
            classes = getattr(model.estimator, "classes_", None)
            told = {
                "name": name,
                "ready": model.ready,
                "task": model.task,
                "rows": model.rounds,
                "columns": [{"name": column.name, "kind": column.kind} for column in columns],
                "classes": None if classes is None else classes.tolist(),
                "figures": model.figures(),
                "key": getattr(model.encoder, "key", model.settings.key),
                "keys": getattr(model.estimator, "n_keys_", None),
            }
        return {
            **told,
            "waiting_labels": keeper.pending.n,
            "late_labels": dict(keeper.applier.fates),
            "expected_delay": keeper.applier.expected,
            "queue": worker.waiting,
            "checkpoint": {"rows": keeper.saved_rounds, "time": keeper.saved_at},
            "journal_bytes": keeper.journal.size,
            "storage_fault": worker.storage_fault or None,
            "stream": self._stream(name),
        }

    def _stream(self, name: str) -> dict[str, Any] | None:
        """Return what is known of the stream that a model learns from, if it does."""
        follower, streams = self.followers.get(name), self.workers[name].keeper.applier.streams
        if follower is None:
            return None
        return {
            "url": follower.source.name,
            "fault": follower.fault or None,
            "next": streams.begin(follower.source.identity),
            "counts": dict(streams.counts),
            "last_refused": streams.fault or None,
        }

    def relevance(self, name: str) -> dict[str, float]:
        """Return the relevance of the features of a model, by their names."""
        return insight.relevance(self.workers[name].keeper)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return what happened to a model."""
        return insight.events(self.workers[name].keeper)

    def close(self) -> None:
        """Do what waits, write checkpoints, and let the state go."""
        for follower in self.followers.values():
            follower.stop()
        for worker in self.workers.values():
            worker.stop()
        self.followers.clear()
        self.workers.clear()
        os.close(self._lock)


def _locked(path: Path) -> int:
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StateError(f"{path.parent} is in use by another service") from None
    return descriptor

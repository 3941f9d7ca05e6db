"""One model per key on a Ray cluster: actors, each of which has a share of the keys.

A key learns from its own rows wherever it is, beside a common model that stays as it is: see
`forks.keyed.apart`. So answers do not depend on how many actors there are, or on batches. What the
actors have learned is kept in a folder from time to time. One that dies begins again with its file
there, and gets the batches since then once more, which this process has kept.

Ray is an extra, ``pip install 'forks-learn[ray]'``. Workers need this package, too.
"""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from forks.distributed.executors import until_done
from forks.distributed.on_ray import RayExecutor, connected, losses_of
from forks.engine.checks import whole
from forks.estimators.saving import as_bytes
from forks.files import remove_temporary, write_atomically
from forks.keyed import load
from forks.keyed.apart import ApartLearner, ApartRows
from forks.keyed.keys import checked_keys
from forks.keyed.shares import gathered, share_numbers, share_of

_NOTE = "checkpoint.json"  # tells which files belong together
Batch = tuple[list[Any], ApartRows]


class KeyedActors:
    """A keyed model whose keys are on the actors of a Ray cluster, and learn there.

    The common model, the map and what keys share stay as they are in `model`; each key learns from
    its own rows. If the folder has a checkpoint, the actors go on from it: the next row is number
    `n_rows_` of the stream.

    Parameters
    ----------
    model : KeyedRegressor or KeyedClassifier
        One that has learned 512 rows at least. Keys that it knows go on from there. Its `max_keys`
        holds for each actor.
    folder : str or path
        Where checkpoints are kept: one that all machines of the cluster share.
    actors : int, optional
        How many there are; by default as many as the cluster has CPUs, or as the checkpoint has.
    every : int
        A checkpoint is made after so many rows. Until then they are kept in this process.
    tries : int
        How often a batch is done at most if its actor dies.
    """

    def __init__(
        self,
        model: Any,
        folder: str | Path,
        *,
        actors: int | None = None,
        every: int = 100_000,
        tries: int = 3,
    ) -> None:
        self._learner = ApartLearner(copy.deepcopy(model))  # whatever becomes of the other one
        self._mark, self.folder = _mark_of(self._learner), Path(folder).absolute()
        self._every, self._tries = whole("every", every, 1), whole("tries", tries, 1)
        asked = None if actors is None else whole("actors", actors, 1)
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / _NOTE).exists():
            self._read_note(asked)
        else:
            self.n_rows_, self.n_actors = 0, asked or RayExecutor().workers
            for k in range(self.n_actors):
                share_of(self._learner.model, k, self.n_actors).save(self._file(k, 0))
            self._write_note()
        self._kept_rows = self.n_rows_  # of the checkpoint
        self._since: list[list[Batch]] = [[] for _ in range(self.n_actors)]
        self._actors: dict[int, Any] = {}

    def prequential(self, keys: Any, X: Any, y: Any) -> np.ndarray:
        """Answer the next rows of the stream, each before its label is learned.

        Whatever is raised, nothing of the rows is learned.

        Parameters
        ----------
        keys : sequence of str or int, of length n_rows
            The key of each row.
        X : array or data frame of shape (n_rows, n_features)
            The rows; numbers may be missing (NaN).
        y : sequence of length n_rows
            Labels. Those that are None or NaN are missing: such rows are answered, not learned.

        Returns
        -------
        answers : array
            As `prequential` of the model returns them, in the order of the rows.
        """
        if self.n_rows_ - self._kept_rows >= self._every:
            self.checkpoint()
        keys, rows = checked_keys(keys), self._learner.checked(X, y)
        if len(keys) != len(rows.X):
            raise ValueError(f"keys has {len(keys)} entries, but X has {len(rows.X)} rows")
        numbers = share_numbers(keys, self.n_actors)
        parts = {int(k): np.flatnonzero(numbers == k) for k in np.unique(numbers)}
        batches = {k: ([keys[i] for i in own], rows.part(own)) for k, own in parts.items()}
        answers = self._asked([*parts], lambda k, actor: actor.play.remote(*batches[k]))
        out = np.empty((len(keys), *next(iter(answers.values())).shape[1:]))
        for k, own in parts.items():
            out[own] = answers[k]
        for k, batch in batches.items():
            self._since[k].append(batch)
        self.n_rows_ += len(keys)
        return out

    def checkpoint(self) -> None:
        """Keep in the folder what all keys have learned; the files before are removed."""
        if self.n_rows_ == self._kept_rows:
            return
        files = [str(self._file(k, self.n_rows_)) for k in range(self.n_actors)]
        self._asked(list(range(self.n_actors)), lambda k, actor: actor.save.remote(files[k]))
        self._write_note()  # from here on it is the new one that counts
        self._kept_rows = self.n_rows_
        self._since = [[] for _ in range(self.n_actors)]
        self._remove_old_files()

    def model(self) -> Any:
        """Return a copy of the model with what the keys have learned; makes a checkpoint.

        It answers as the actors would. It may learn further, all keys and the common model
        together, and be the model of other actors. It brings all keys to this machine.
        """
        self.checkpoint()
        files = (self._file(k, self.n_rows_) for k in range(self.n_actors))
        return gathered(self._learner.model, map(load, files))

    def close(self) -> None:
        """Make a checkpoint, and end the actors."""
        self.checkpoint()
        self._end([*self._actors])

    def __enter__(self) -> "KeyedActors":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._end([*self._actors])

    # ---- actors --------------------------------------------------------------------------------

    def _asked(self, which: list[int], ask: Callable[[int, Any], Any]) -> dict[int, Any]:
        """Return what actors answer; those that have died begin anew, and are asked again."""
        ray = connected()

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            asked = [self._begun(which[i], ask) for i in left]
            for i, references in zip(left, asked, strict=True):
                try:
                    yield i, ray.get(references)[-1]
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except losses_of(ray):
                    self._end([which[i]])

        try:
            return dict(zip(which, until_done(self._tries, len(which), attempt), strict=True))
        except BaseException:  # also an interrupt: who knows what they have learned?
            self._end(which)
            raise

    def _begun(self, k: int, ask: Callable[[int, Any], Any]) -> list[Any]:
        """Return references to what an actor is asked, having sent it what it has missed."""
        if k in self._actors:
            return [ask(k, self._actors[k])]
        actor = connected().remote(max_restarts=0)(_Share)
        self._actors[k] = actor.remote(str(self._file(k, self._kept_rows)))
        missed = self._actors[k].learn.remote(self._since[k])  # calls are done in their order
        return [missed, ask(k, self._actors[k])]

    def _end(self, which: list[int]) -> None:
        for k in which:
            if k in self._actors:
                with suppress(Exception):  # it may be gone
                    connected().kill(self._actors[k])
                del self._actors[k]

    # ---- files ---------------------------------------------------------------------------------

    def _file(self, k: int, n_rows: int) -> Path:
        return self.folder / f"share-{k}-of-{self.n_actors}-after-{n_rows}.forks"

    def _write_note(self) -> None:
        note = {"rows": self.n_rows_, "actors": self.n_actors, "model": self._mark}
        write_atomically(self.folder / _NOTE, json.dumps(note).encode())

    def _read_note(self, asked: int | None) -> None:
        path = self.folder / _NOTE
        try:
            note = json.loads(path.read_bytes())
            self.n_rows_, self.n_actors = int(note["rows"]), int(note["actors"])
            of_this_model = note["model"] == self._mark
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: this is no checkpoint ({error})") from None
        if not of_this_model:
            raise ValueError(f"{path}: the checkpoint is that of another model")
        if asked not in (None, self.n_actors):
            raise ValueError(f"actors is {asked}, and the checkpoint {path} has {self.n_actors}")
        self._remove_old_files()

    def _remove_old_files(self) -> None:
        """Remove all files that are not those of the checkpoint, whoever was killed."""
        remove_temporary(self.folder)
        kept = {self._file(k, self.n_rows_) for k in range(self.n_actors)}
        for path in {*self.folder.glob("share-*.forks")} - kept:
            path.unlink(missing_ok=True)


def _mark_of(learner: ApartLearner) -> str:
    """Return what no other model has: a checkpoint is that of one common model and one map."""
    shared = learner.model.corrections_.shared.tobytes()
    common = as_bytes(learner.model.common_)
    return hashlib.sha256(learner.mark + shared + common).hexdigest()


class _Share:
    """What runs on an actor: the keys of a share. The file is read when the first rows come."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.learner: ApartLearner | None = None

    def learn(self, batches: list[Batch]) -> None:
        if self.learner is None:
            self.learner = ApartLearner(load(self.path))
        for keys, rows in batches:
            self.learner.play_here(keys, rows)

    def play(self, keys: list[Any], rows: ApartRows) -> np.ndarray:
        assert self.learner is not None  # `learn` comes first
        return self.learner.play_here(keys, rows)

    def save(self, path: str) -> None:
        assert self.learner is not None
        self.learner.model.save(path)

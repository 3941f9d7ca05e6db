"""What the keyed River models share: a River model for all, and corrections for each key."""

import threading
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from forks.compat._labels import weight_of
from forks.engine import Matrix
from forks.keyed.base import check_parameters
from forks.keyed.corrections import Corrections
from forks.keyed.keys import checked_key


class KeyedModel:
    """Learns dicts one at a time, each with its key in a field.

    Of a classifier the last output is that of a class that has not been seen, as in the common
    model: a class that comes begins with its corrections.
    """

    _classifies: bool
    key: Hashable

    def _start(
        self, common: Any, key: Hashable, rank: int, forgetting: float, max_keys: int | None
    ) -> None:
        check_parameters(rank, forgetting, max_keys)
        self.key, self.rank, self.forgetting, self.max_keys = key, rank, forgetting, max_keys
        self.effort, self.max_features, self.seed = common.effort, common.max_features, common.seed
        self._common = common
        self._corrections: Corrections | None = None  # until the first label
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: part for name, part in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for `load`: data and no code, written whole or not at all."""
        from forks.compat._keyed_saving import save

        save(path, self)

    @classmethod
    def _unit_test_skips(cls) -> set[str]:
        """Return the checks of River that take the key away."""
        return {
            "check_emerging_features",
            "check_disappearing_features",
            "check_radically_disappearing_features",
        }

    @property
    def n_keys(self) -> int:
        """How many keys have come."""
        return 0 if self._corrections is None else len(self._corrections.table)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a dict of features and its label or target; `w` is a factor of its loss."""
        with self._lock:
            key, rest = self._split(x)
            weight = weight_of(w)
            common, corrections = self._common, self._corrections
            given = np.reshape(common._learn_one(rest, y, weight), (1, -1))
            target = np.reshape(common._target(common._known, y), (1, -1))
            row = common._index.array
            if corrections is None:
                corrections = self._corrections = self._new(row.shape[1], given.shape[1])
            corrections.widen_rows(row.shape[1])
            if given.shape[1] > corrections.rule.outputs:
                self._widen(corrections, given.shape[1])
            numbers = corrections.reserve([key])
            corrections.play(numbers, row, given, target, np.array([weight]))

    def _new(self, n_features: int, n_outputs: int) -> Corrections:
        return Corrections(
            n_features,
            n_outputs,
            classifies=self._classifies,
            rank=self.rank,
            forgetting=float(self.forgetting),
            max_keys=self.max_keys,
        )

    def _widen(self, corrections: Corrections, n: int) -> None:
        """Go on with n outputs: new ones come before the last one, and are copies of it."""
        old = corrections.rule.outputs
        places = [*range(old - 1), *[old - 1] * (n - old + 1)]
        corrections.widen_outputs(np.eye(old)[places], lambda part: part[:, places])

    def _answer_one(self, x: dict[Any, Any]) -> Matrix | None:
        """Return the answer to a dict, one number per output; None before the first label."""
        key, rest = self._split(x)
        score = self._common._score_one(rest)
        if score is None or self._corrections is None:
            return None
        given = np.reshape(score, (1, -1))
        return self._corrections.answers([key], self._common._index.array, given, True)

    def _split(self, x: dict[Any, Any]) -> tuple[Any, dict[Any, Any]]:
        """Return the key and the features of a dict."""
        if self.key not in x:
            raise ValueError(f"x has no {self.key!r}, the field of the key")
        key, fault = checked_key(x[self.key])
        if fault is not None:
            raise ValueError(f"the field {self.key!r} of x: the key {fault}")
        return key, {name: value for name, value in x.items() if name != self.key}

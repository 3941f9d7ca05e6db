"""Corrections of a common model, one for each key: the map, the records, and the passes over rows.

The formulas are in `forks.parts.pooling` and `forks.parts.shared_map`. The map is fitted when so
many rows have come as `STARTS` says; each time the rows so far are learned again, in its features.
After the last start it is fixed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Memory, Vector, one_thread
from forks.engine.locks import ReadWriteLock
from forks.engine.shared import Shared
from forks.estimators.first_rows import rows_until
from forks.keyed.table import KeyTable
from forks.parts.calibration import CalibrationRule
from forks.parts.pooling import (
    FIRST,
    MENDS,
    PoolingRule,
    begun,
    play,
    record_size,
    scratch_of,
    widened,
)
from forks.parts.shared_map import features_of, fit_shared_map, new_map

STARTS = (32, 128, 512)
LANDMARKS = 100
STRENGTHS = (1.0, 10.0, 100.0)
BLOCK = 2048  # rows at a time


class CorrectedRows(NamedTuple):
    """Rows of a stream, as corrections learn them."""

    X: Matrix
    numbers: Counter  # of the keys
    given: Matrix  # scores of the common model
    Y: Matrix
    weights: Vector

    def part(self, which: Any) -> "CorrectedRows":
        return CorrectedRows(*(part[which] for part in self))

    def with_more(self, rows: "CorrectedRows") -> "CorrectedRows":
        """Return these rows and more of them."""
        both: Any = zip(self, rows, strict=True)
        return CorrectedRows(*(np.concatenate(parts) for parts in both))


class Corrections(Shared):
    """What keys know beyond the common model; its lock is that of the whole model.

    If it `classifies`, the scores of the common model are probabilities, as 2 p - 1, else numbers.
    `rank` is that of the corrections, beside the bias; `forgetting` is how much less each row of a
    key counts with the next one. For `max_keys` and `folder` see `KeyTable`.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        classifies: bool,
        rank: int,
        forgetting: float,
        max_keys: int | None = None,
        folder: Any = None,
    ) -> None:
        super().__init__()
        experts = FIRST + len(STRENGTHS)
        self.rule = PoolingRule(
            CalibrationRule(), classifies, rank + 1, n_outputs, experts, 1.0 - forgetting
        )
        self.forgetting = forgetting
        self.strengths = np.array(STRENGTHS)
        self.shared = begun(self.rule)
        self.n_features = n_features  # that the map knows
        self.map: Memory = new_map(n_features, LANDMARKS, rank)
        self.table = KeyTable(record_size(rank + 1, n_outputs, experts), max_keys, folder)
        none = np.zeros((0, n_outputs))
        numbers = np.zeros(0, np.int64)
        nothing = CorrectedRows(np.zeros((0, n_features)), numbers, none, none, np.zeros(0))
        self.first: CorrectedRows | None = nothing  # rows of the stream, until the last start

    def _settle(self) -> None:
        """Do nothing: rows are learned in blocks that nothing cuts."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=ReadWriteLock())

    @property
    def block(self) -> int:
        """How many rows are learned at a time."""
        return BLOCK if self.table.max_keys is None else min(BLOCK, self.table.max_keys)

    @property
    def mends(self) -> int:
        """How many rows were left out because numbers would have overflowed."""
        return int(self.shared[MENDS])

    def reserve(self, keys: list[Any]) -> Counter:
        """Return the numbers of keys, at most `block` of them, whose records are in memory now."""
        numbers = self.table.add(keys)
        self.table.slots_for(numbers)
        return numbers

    def play(
        self, numbers: Counter, X: Matrix, given: Matrix, Y: Matrix, weights: Vector
    ) -> Matrix:
        """Return the answers to rows, each before its target is learned."""
        rows = CorrectedRows(X, numbers, given, Y, weights)
        out, start, n = np.empty_like(Y), 0, len(Y)
        while start < n:
            more = n - start if self.first is None else self._to_start(weights[start:])
            part = slice(start, start + more)
            some = rows.part(part)
            out[part] = self._learn(some)
            if self.first is not None:
                self.first = self.first.with_more(some.part(some.weights != 0.0))
                if len(self.first.Y) in STARTS:
                    self._start_again(self.first)
            start = part.stop
        return out

    def _to_start(self, weights: Vector) -> int:
        """Return after how many rows the map is fitted again; those of weight 0 do not count."""
        assert self.first is not None
        count = len(self.first.Y)
        return rows_until(next(start for start in STARTS if start > count) - count, weights)

    def _start_again(self, first: CorrectedRows) -> None:
        """Fit the map to the rows so far, and learn them in its features."""
        n_features = first.X.shape[1]
        if n_features > self.n_features:
            self.map = new_map(n_features, LANDMARKS, self.rule.features - 1)
            self.n_features = n_features
        with one_thread():
            self.map = fit_shared_map(self.map, first.X, LANDMARKS)
        self.shared = begun(self.rule)
        self.table.clear()
        for start in range(0, len(first.Y), self.block):
            self._learn(first.part(slice(start, start + self.block)))
        if len(first.Y) == STARTS[-1]:
            self.first = None

    def _learn(self, rows: CorrectedRows) -> Matrix:
        slots = self.table.slots_for(rows.numbers)
        return self._pass(self.table.records, slots, rows, True)

    def answers(self, keys: list[Any], X: Matrix, given: Matrix, ahead: bool) -> Matrix:
        """Return the answers to rows, a block of them, learning nothing; new keys add nothing.

        Only if the rows are `ahead`, the next of the stream, do they lean on the last targets.
        """
        known, slots = np.unique(self.table.numbers_of(keys), return_inverse=True)
        rows = CorrectedRows(X, slots, given, given, np.zeros(len(given)))
        return self._pass(self.table.copies(known), slots, rows, ahead)

    def _pass(self, records: Matrix, slots: Counter, rows: CorrectedRows, ahead: bool) -> Matrix:
        X, _, given, Y, weights = rows
        phi, out = features_of(self.map, X[:, : self.n_features]), np.empty_like(given)
        play.over(self.rule)(
            self.rule, self.strengths, self.shared, records, slots, phi, given, Y, weights,
            scratch_of(self.rule), ahead, out,
        )  # fmt: skip
        return out

    # ---- features and outputs that come late -------------------------------------------------

    def widen_rows(self, n_features: int) -> None:
        """Expect wider rows; features that were not there were 0.

        Those that come after the last start have no corrections.
        """
        first = self.first
        if first is not None and n_features > first.X.shape[1]:
            X = np.zeros((len(first.X), n_features))
            X[:, : first.X.shape[1]] = first.X
            self.first = first._replace(X=X)

    def widen_outputs(self, factors: Matrix, expanded: Callable[[Matrix], Matrix]) -> None:
        """Go on with other outputs; whatever fails, all is as it was.

        `factors`, of shape (new outputs, old outputs), are what corrections of the new outputs are
        of the old ones. `expanded` returns scores or targets of the first rows, for the new ones.
        """
        rule = self.rule._replace(outputs=len(factors))
        size = record_size(rule.features, rule.outputs, rule.experts)
        table = KeyTable(size, self.table.max_keys, self.table.folder)
        names, start = list(self.table.numbers), 0
        for records in self.table.blocks():
            more = widened(self.rule, records, factors)
            table.put(names[start : start + len(more)], more)
            start += len(more)
        first, before = self.first, self.table
        if first is not None:
            first = first._replace(given=expanded(first.given), Y=expanded(first.Y))
        self.__dict__.update(rule=rule, table=table, first=first)  # in one step
        before.close()

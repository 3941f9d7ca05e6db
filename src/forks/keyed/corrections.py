"""Corrections of a common model, one for each key: the map, the records, and the passes over rows.

The formulas are in `forks.parts.pooling` and `forks.parts.shared_map`. The map is fitted when so
many rows have come as `STARTS` says; each time the rows so far are learned again, in its features.
After the last start it is fixed.
"""

from typing import Any, NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Memory, Vector, entry, one_thread
from forks.keyed.table import KeyTable
from forks.parts.calibration import CalibrationRule
from forks.parts.pooling import (
    FIRST,
    MENDS,
    PoolingRule,
    begun,
    learn,
    record_size,
    view_record,
    write_answer,
)
from forks.parts.shared_map import features_of, fit_shared_map, new_map

STARTS = (32, 128, 512)
LANDMARKS = 100
STRENGTHS = (1.0, 10.0, 100.0)
BLOCK = 4096  # rows at a time


class RowsSoFar(NamedTuple):
    """The rows since the beginning of the stream, until the last start."""

    X: Matrix
    numbers: Counter  # of the keys
    given: Matrix  # scores of the common model
    Y: Matrix

    def with_more(self, *rows: Any) -> "RowsSoFar":
        """Return these rows and more of them."""
        return RowsSoFar(*map(np.concatenate, zip(self, rows, strict=True)))


class Corrections:
    """What keys know beyond the common model.

    Parameters
    ----------
    n_features, n_outputs : int
        Widths of rows and of targets.
    classifies : bool
        Are the scores of the common model probabilities, as 2 p - 1? Else they are numbers.
    rank : int
        Features of the corrections, beside the bias.
    forgetting : float
        How much less each row of a key counts with the next one.
    max_keys, folder
        See `KeyTable`.
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
        experts = FIRST + len(STRENGTHS)
        self.rule = PoolingRule(
            CalibrationRule(), classifies, rank + 1, n_outputs, experts, 1.0 - forgetting
        )
        self.forgetting = forgetting
        self.strengths = np.array(STRENGTHS)
        self.shared = begun(self.rule)
        self.map: Memory = new_map(n_features, LANDMARKS, rank)
        self.table = KeyTable(record_size(rank + 1, n_outputs, experts), max_keys, folder)
        none = np.zeros((0, n_outputs))
        numbers = np.zeros(0, np.int64)
        self.first: RowsSoFar | None = RowsSoFar(np.zeros((0, n_features)), numbers, none, none)

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

    def play(self, numbers: Counter, X: Matrix, given: Matrix, Y: Matrix) -> Matrix:
        """Return the answers to rows, each before its target is learned."""
        out, start, n = np.empty_like(Y), 0, len(Y)
        while start < n:
            stop = n
            if self.first is not None:
                before = len(self.first.Y)
                stop = min(n, start + next(s for s in STARTS if s > before) - before)
            rows = slice(start, stop)
            part = numbers[rows], X[rows], given[rows], Y[rows]
            out[rows] = self._learn(*part)
            if self.first is not None:
                self.first = self.first.with_more(part[1], part[0], *part[2:])
                if len(self.first.Y) in STARTS:
                    self._start_again(self.first)
            start = stop
        return out

    def _start_again(self, first: RowsSoFar) -> None:
        """Fit the map to the rows so far, and learn them in its features."""
        with one_thread():
            self.map = fit_shared_map(self.map, first.X, LANDMARKS)
        self.shared = begun(self.rule)
        self.table.clear()
        for start in range(0, len(first.Y), self.block):
            rows = slice(start, start + self.block)
            self._learn(first.numbers[rows], first.X[rows], first.given[rows], first.Y[rows])
        if len(first.Y) == STARTS[-1]:
            self.first = None

    def _learn(self, numbers: Counter, X: Matrix, given: Matrix, Y: Matrix) -> Matrix:
        out = np.empty_like(Y)
        phi, slots = features_of(self.map, X), self.table.slots_for(numbers)
        _play.over(self.rule)(
            self.rule, self.strengths, self.shared, self.table.records, slots, phi, given, Y,
            *self._scratch(), out,
        )  # fmt: skip
        return out

    def answers(self, keys: list[Any], X: Matrix, given: Matrix, ahead: bool) -> Matrix:
        """Return the answers to rows, learning nothing; those of new keys are the common ones.

        Only if the rows are `ahead`, the next of the stream, do they lean on the last targets.
        """
        out = np.empty_like(given)
        for start in range(0, len(keys), BLOCK):
            rows = slice(start, start + BLOCK)
            numbers, slots = np.unique(self.table.numbers_of(keys[rows]), return_inverse=True)
            _answer.over(self.rule)(
                self.rule, self.strengths, self.shared, self.table.copies(numbers), slots,
                features_of(self.map, X[rows]), given[rows], *self._scratch(), ahead, out[rows],
            )  # fmt: skip
        return out

    def _scratch(self) -> tuple[Matrix, Matrix, Vector, Vector, Vector, Vector]:
        n, outputs = self.rule.features, self.rule.outputs
        work, c = np.zeros((n + 1 + outputs, n)), np.zeros((self.rule.experts, outputs))
        return work, c, *(np.zeros(outputs) for _ in range(4))  # type: ignore[return-value]


# ---- compiled --------------------------------------------------------------------------------


@entry
def _play(rule, strengths, shared, records, slots, phi, given, Y, work, c, f, m, z, g, out):
    for t in range(Y.shape[0]):
        record = view_record(rule, records[slots[t]])
        scratch = work, c, f, m, z
        write_answer(rule, strengths, shared, record, phi[t], given[t], scratch, True, out[t])
        learn(rule, shared, record, phi[t], given[t], f, Y[t], c, m, z, g)


@entry
def _answer(rule, strengths, shared, records, slots, phi, given, work, c, f, m, z, g, ahead, out):
    for t in range(phi.shape[0]):
        record = view_record(rule, records[slots[t]])
        scratch = work, c, f, m, z
        write_answer(rule, strengths, shared, record, phi[t], given[t], scratch, ahead, out[t])

"""Keys that learn apart, wherever their rows are: what a key keeps, as bytes.

An engine that spreads keys over machines has no place where all rows pass one after the other. What
keys have in common, the common model, the map and the numbers that all keys share, then stays as it
is in a model that has learned already; a key learns its own record from its own rows. So its
answers depend on its rows in their order alone, however they are spread and cut into batches.
"""

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Counter, Matrix, Vector, entry
from forks.estimators.inputs import finite_or_missing
from forks.keyed.base import KeyedEstimator
from forks.keyed.corrections import Corrections
from forks.keyed.keys import checked_keys
from forks.keyed.two_steps import blocks_of
from forks.parts.pooling import learn, scratch_of, view_record, write_answer
from forks.parts.shared_map import features_of

_MARK = 8  # bytes that tell to which map a record belongs


class ApartRows(NamedTuple):
    """Rows that keys can learn apart."""

    X: Matrix
    Y: Matrix  # targets
    known: np.ndarray  # whether there is a label

    def part(self, which: Any) -> "ApartRows":
        """Return some of the rows."""
        return ApartRows(*(part[which] for part in self))


class ApartLearner:
    """Learns the rows of one key after the other, from a keyed model that stays as it is.

    The model has learned 512 rows at least, so that its map is fixed. Keys that it knows go on from
    what it knows of them.
    """

    def __init__(self, model: KeyedEstimator) -> None:
        if not isinstance(model, KeyedEstimator) or not hasattr(model, "corrections_"):
            raise ValueError(f"model must be a keyed one that has learned rows, got {model!r}")
        if model.corrections_.first is not None:
            raise ValueError(
                f"model has learned {model.n_rounds_} rows, and its features are not fixed yet: "
                "let it learn 512 at least"
            )
        self.model = model
        self.mark = _mark_of(model.corrections_)  # that of records with this map

    @property
    def bytes_per_key(self) -> int:
        """Bytes of what a key keeps."""
        return _MARK + self.model.corrections_.table.nbytes

    def play(self, key: Any, kept: bytes | None, X: Any, y: Any) -> tuple[np.ndarray, bytes]:
        """Answer the next rows of a key, each before its label is learned.

        Parameters
        ----------
        key : str or int
            The key.
        kept : bytes, optional
            What this method has returned for the rows before; None if there were none.
        X : array or data frame of shape (n_rows, n_features)
            The rows; numbers may be missing (NaN).
        y : sequence of length n_rows
            Labels. Those that are None or NaN are missing: such rows are answered, not learned.

        Returns
        -------
        answers : array
            As `prequential` of the model returns them.
        kept : bytes
            What the key keeps now.
        """
        (key,) = checked_keys([key])
        record = self.record_of(key, kept)
        rows = self.checked(X, y)
        out = self._played(record[None], np.zeros(len(rows.X), np.int64), rows)
        return _shaped(out), self.mark + record.tobytes()

    def play_here(self, keys: Sequence[Any], rows: ApartRows) -> np.ndarray:
        """Answer the next rows of many keys, each before its label is learned.

        What the keys learn is kept in the table of the model, which must be the learner's own; all
        else stays as it is.

        Parameters
        ----------
        keys : sequence of str or int
            The key of each row, as `checked_keys` returns them.
        rows : ApartRows
            What `checked` has returned.

        Returns
        -------
        answers : array
            As those of `play`.
        """
        corrections = self.model.corrections_
        table, out = corrections.table, np.empty_like(rows.Y)
        for part in blocks_of(len(keys), corrections.block):
            slots = table.slots_for(table.add(list(keys[part])))
            out[part] = self._played(table.records, slots, rows.part(part))
        return _shaped(out)

    def checked(self, X: Any, y: Any) -> ApartRows:
        """Return rows and labels, as `play` takes them, that can be learned; or raise an error."""
        rows = self._checked_rows(X)
        if len(y) != len(rows):
            raise ValueError(f"y has {len(y)} entries, but X has {len(rows)} rows")
        known = np.array([label == label and label is not None for label in y], dtype=bool)
        targets = np.zeros((len(rows), self.model.corrections_.rule.outputs))
        if known.any():
            labels = [label for label, is_known in zip(y, known, strict=True) if is_known]
            checked = self.model._checked_labels(np.array(labels), len(labels), False, None)
            targets[known] = self.model._targets_of(checked)
        return ApartRows(rows, targets, known)

    def _checked_rows(self, X: Any) -> Matrix:
        """Return rows that can be learned; arrays as they should be are checked in less time."""
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
        if plain and X.ndim == 2 and X.shape[1] == self.model.n_features_in_ and len(X):
            return finite_or_missing(self.model, X)
        return self.model._checked_rows(X)

    def _played(self, records: Matrix, slots: Counter, rows: ApartRows) -> Matrix:
        """Return the answers to rows whose records are in these slots, and learn them there."""
        corrections, n = self.model.corrections_, len(rows.X)
        rule, out = corrections.rule, np.empty_like(rows.Y)
        given = np.ascontiguousarray(self.model._common_answers(rows.X, False).reshape(n, -1))
        # Features that came late have no corrections.
        phi = features_of(corrections.map, rows.X[:, : corrections.n_features])
        _play_apart.over(rule)(
            rule, corrections.strengths, corrections.shared, corrections.shared.copy(), records,
            slots, phi, given, rows.Y, rows.known, scratch_of(rule), out,
        )  # fmt: skip
        return out

    def record_of(self, key: Any, kept: bytes | None) -> Vector:
        """Return the numbers of a key, which is what a keyed model has of it."""
        table = self.model.corrections_.table
        if kept is None:
            return table.copies(table.numbers_of([key]))[0]
        if len(kept) != self.bytes_per_key or kept[:_MARK] != self.mark:
            raise ValueError(f"what was kept of the key {key!r:.80} is that of another model")
        return np.frombuffer(kept, offset=_MARK).copy()


def _mark_of(corrections: Corrections) -> bytes:
    """Return a checksum of the map and the rule, in which the numbers of a key have a meaning."""
    parts = [*corrections.map, np.frombuffer(repr(corrections.rule).encode(), np.uint8)]
    sums = [zlib.crc32(np.ascontiguousarray(part).tobytes()) for part in parts]
    return np.array([sums[0], zlib.crc32(repr(sums[1:]).encode())], np.uint32).tobytes()


def _shaped(out: Matrix) -> np.ndarray:
    return out[:, 0] if out.shape[1] == 1 else out


@entry
def _play_apart(rule, strengths, start, shared, records, slots, phi, given, Y, known, scratch, out):
    for t in range(Y.shape[0]):
        view = view_record(rule, records[slots[t]])
        for i in range(start.shape[0]):
            shared[i] = start[i]
        write_answer(rule, strengths, shared, view, phi[t], given[t], scratch, True, out[t])
        if known[t]:
            learn(rule, shared, view, phi[t], given[t], Y[t], 1.0, scratch)

"""`forks run`: from the files to the end of the pass."""

import shlex
import shutil
import sys
import tempfile
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forks.cli._app import part_of, tell
from forks.cli._files import input_file, input_of, names_of_features, read_model, shuffled
from forks.cli._keyed import (
    beside_keys,
    check_has_key,
    check_same_key,
    make_keyed_model,
    with_keys,
)
from forks.cli._models import check_labels, guess_task, make_model, settings_of
from forks.cli._reading import Columns, Following, Opening, given
from forks.cli._streams import publishing, stream_input
from forks.cli._understood import show_understood
from forks.evaluate import learn
from forks.evaluate.files import save
from forks.evaluate.rows import labelled_of, labels_among
from forks.evaluate.session import CHECKPOINT, StreamLabelError
from forks.features import TableEncoder
from forks.features.table import CellError
from forks.features.table.copies import copies_of_label
from forks.features.table.kinds import LEFT_OUT
from forks.keyed.encoded import encoder_beside, encoder_state
from forks.streams import StreamError
from forks.streams.columns import RawTable
from forks.streams.sources import is_url

_OWN = ("--label", "--weights")  # what a model of a program does not know of columns
_MINUTE = 60.0  # seconds from one checkpoint of an endless stream to the next, at most


class _Begin(NamedTuple):
    """What a run begins with."""

    model: Any  # None if the first rows decide on it
    encoder: Any
    known: Any  # how earlier files were read, or None
    task: str | None = None  # of what was learned before
    rows: int = 0  # that a checkpoint to go on from has learned
    place: dict[str, Any] | None = None  # in the stream that it has learned


def learn_files(options: Any, keeping: dict[str, Any], show: Any) -> tuple[Any, list[str]]:
    """Learn the files that the options name; return the end of the run, and names of features.

    `keeping` are the options of `forks.evaluate.learn`, `show` is called with every record.
    """
    settings = settings_of(options.settings)
    begin = begin_of(options)
    with ExitStack() as stack:
        file = stack.enter_context(opened(options, begin))
        chunks = shuffled(file, options.seed) if options.shuffle else file.chunks()
        first = next(chunks, None)
        if first is None and not begin.place:
            raise StreamError(f"{file.name} has no rows")
        model, encoder = prepared(options, begin, file, first, settings)
        played, read = 0, 0

        def as_rows(chunk: Any) -> tuple[Any, ...]:
            nonlocal read
            X = chunk.X if encoder is not None else numbers_of(file, chunk.X)
            y = _labels_of(file, chunk)
            if model._task == "classification":
                _check_classes(file, read, y)
            read += len(y)
            return (X, y, *([] if chunk.weights is None else [chunk.weights]))

        def keep(model: Any, encoder: Any, rows: int) -> None:
            """Save what was learned when the pass ends, in whatever way."""
            nonlocal played
            played = rows
            if options.save is not None:
                save_model(options.save, model, encoder, file.input)
                if sys.exc_info()[0] is not None:
                    tell(f"what was learned from {rows:,} rows is in {options.save}")

        state_after = getattr(file, "state_after", None)  # of a stream that can be sought in
        publisher = stack.enter_context(publishing(keeping, file))
        try:
            finished = learn(
                model,
                map(as_rows, chain([] if first is None else [first], chunks)),
                classes=classes_of(options.classes, model, _present(first.y) if first else None),
                on_record=show,
                note=_described(options),
                encoder=encoder,
                beside={"input": file.input.as_json()},
                state_after=state_after,
                seconds=None if state_after is None else _MINUTE,
                publisher=publisher,
                on_end=keep,
                **keeping,
            )
        except StreamLabelError as error:
            advice = "--classes lists all that can come" if options.classes else ""
            fault = f"{file.where(error.row)}: {error.what}"
            raise StreamError(f"{fault}; {advice}" if advice else fault) from None
        except CellError as error:
            raise cell_fault(file, played, error) from None
    return finished, names_of_features(encoder, file.input, finished.model.n_features_in_)


def opened(options: Any, begin: _Begin) -> Any:
    """Return the files or the stream that the options name."""
    if any(map(is_url, options.paths)):
        return stream_input(options, begin.known, begin.place, begin.rows)
    if begin.place:
        raise ValueError(f"--checkpoint {options.checkpoint} is of a stream, not of files")
    if said := given(options, Following):
        raise ValueError(f"{', '.join(said)}: only for streams of nats:// and kafka://")
    return input_file(options, begin.known, begin.model)


def begin_of(options: Any) -> _Begin:
    """Return what the run goes on from: a checkpoint, a saved model, or nothing."""
    model = None
    if options.model is not None:
        saved = read_model(options.model)
        model = saved.model
    elif options.resume and (options.checkpoint / CHECKPOINT).exists():
        saved = read_model(options.checkpoint)
    else:
        return _Begin(None, None, None)
    known = input_of(saved)
    if options.model is not None and known is not None and (said := given(options, Columns)):
        raise ValueError(f"--model knows its columns: {', '.join(said)} cannot change them")
    encoder = encoder_beside(saved)
    if known is None and hasattr(model, "feature_names_in_"):
        said = [option for option in given(options, Columns) if option not in _OWN]
        if said:
            raise ValueError(f"--model knows its columns: {', '.join(said)} cannot change them")
    if model is not None:
        check_has_key(options.model, model, encoder)
        check_same_key(options.key, encoder, options.model)
        return _Begin(model, encoder, known, model._task)
    note = saved.note if isinstance(saved.note, dict) else {}
    rows = int(note.get("run", {}).get("rows", 0))
    return _Begin(None, encoder, known, saved.model._task, rows, note.get("stream"))


def prepared(
    options: Any, begin: _Begin, file: Any, first: Any, settings: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the model and the encoder, made by the first rows if they are new."""
    if begin.model is None and begin.place is None:
        y = _present(_labels_of(file, first))
        task, why = guess_task(y)
        if options.task != "auto":
            task, why = str(options.task), "told"
        check_labels(file, y, task, told=options.task != "auto")
    else:
        task, why = str(begin.task), "as the model learned it"
        if first is not None and begin.place is None:
            check_labels(file, _present(_labels_of(file, first)), task, told=True)
    encoder, model = begin.encoder, begin.model
    if begin.known is None and model is None:
        encoder = _first_encoder(options, file, first, task)
    if model is None and options.key is not None:
        model = make_keyed_model(task, settings, options.seed, str(options.effort or "fast"))
    elif model is None:
        effort, learner = options.effort or "balanced", options.learner or "adaptive"
        model = make_model(task, learner, settings, options.seed, str(effort))
    width = first.X.shape[1] if encoder is None else len(encoder.get_feature_names_out())
    show_understood(file, encoder, task, why, width)
    if encoder is not None and begin.encoder is None:
        _warn_of_copies(encoder, first, task)
    return model, encoder


def _warn_of_copies(encoder: Any, first: Any, task: str) -> None:
    """Tell of columns which copy the label, and so make predictions that are too good."""
    used = [column.name for column in encoder.columns_ if column.kind not in LEFT_OUT]
    if names := copies_of_label({name: first.X[name] for name in used}, first.y, task):
        these = "column" if len(names) == 1 else "columns"
        copy = "copies" if len(names) == 1 else "copy"
        options = " ".join(f"--drop {shlex.quote(name)}" for name in names)
        tell(
            f"{these} {', '.join(map(repr, names))} {copy} the label in the first rows; if it is "
            f"not known when a row is predicted: {options}"
        )


def _first_encoder(options: Any, file: Any, first: Any, task: str) -> Any:
    """Return an encoder for the first rows; None if they are no table."""
    if options.key is not None:
        rest = beside_keys(file, options.key, first)
        return with_keys(file, options.key, new_encoder(file, rest, task, options.hash_bits))
    return new_encoder(file, first, task, options.hash_bits) if file.input.is_table else None


def new_encoder(file: Any, first: Any, task: str, hash_bits: int) -> Any:
    """Return an encoder for a table, having looked at its first rows."""
    kinds = {name: kind for name, kind in (file.kinds or {}).items() if name in first.X}
    encoder = TableEncoder(kinds=kinds, hash_bits=hash_bits, task=task)
    try:
        encoder.look(first.X, first.y)
    except CellError as error:
        raise cell_fault(file, 0, error) from None
    except ValueError as error:
        raise StreamError(f"{file.name}: {error}") from None
    file.leave_out([column.name for column in encoder.columns_ if column.kind in LEFT_OUT])
    return encoder


def cell_fault(file: Any, before: int, error: Any) -> Exception:
    """Return the error about a cell that cannot be encoded, behind so many rows of the stream."""
    where = file.where(before + error.row)
    return StreamError(f"{where}, column {error.column!r}: {error.fault}")


def _check_classes(file: Any, before: int, y: Any) -> None:
    """Check that labels which are numbers are whole; `before` rows came before them."""
    if y.dtype.kind == "f" and len(parts := np.flatnonzero(np.isfinite(y) & (y != np.round(y)))):
        row = int(parts[0])
        raise StreamError(
            f"{file.where(before + row)}: the label {y[row]:g} is no class, which is text or a "
            "whole number (--task regression learns numbers)"
        )


def numbers_of(file: Any, rows: Any, encode: Any = None, before: int = 0) -> Any:
    """Return rows as a model takes them; so many of the file come before them.

    A table is encoded, or if it has numbers only a matrix, for models without an encoder.
    """
    if not isinstance(rows, RawTable):
        return rows
    if encode is not None:
        try:
            return encode(rows)
        except CellError as error:
            raise cell_fault(file, before, error) from None
    for name, column in rows.items():
        if column.dtype.kind != "f" or np.isnan(column).any():
            raise StreamError(
                f"{file.name}: column {name!r} has text or gaps, and the model learned numbers"
            )
    return np.column_stack(list(rows.values()))


def save_model(path: Path, model: Any, encoder: Any, known: Any) -> None:
    """Write a model, how its files were read, and the encoder; to standard output for "-"."""
    note, arrays = encoder_state(encoder)
    note = {"input": known.as_json(), **note}
    if str(path) != "-":
        save(path, model, note, arrays)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.forks"
        save(file, model, note, arrays)
        with open(file, "rb") as saved:
            shutil.copyfileobj(saved, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _described(options: Any) -> dict[str, Any]:
    """Return the options that a run must be resumed with, as JSON, by their names."""
    told: dict[str, Any] = {}
    for kind in (Opening, Columns):
        told |= part_of(options, kind)
    del told["chunk"]  # results do not depend on it
    for name in ("task", "classes", "learner", "effort", "settings", "seed", "shuffle"):
        told[name] = getattr(options, name)
    for name in ("day_first", "month_first"):  # checkpoints of before there were these have none
        if not told[name]:
            del told[name]
    if options.key is not None:  # nor have they keys
        told["key"] = options.key
    names = {name: f"--{name.replace('_', '-')}" for name in told} | {"settings": "--set"}
    plain = {k: list(v) if isinstance(v, list | tuple) else v for k, v in told.items()}
    return {names[name]: value for name, value in plain.items()}


def _labels_of(file: Any, rows: Any) -> Any:
    if rows.y is None:
        label = file.input.label_name
        if label is None:
            raise StreamError(f"{file.name}: which column has the labels? --label names it")
        raise StreamError(f"{file.name} has no column {label!r}, which has the labels")
    return rows.y


def _present(y: Any) -> Any:
    """Return the labels that are not missing."""
    return labels_among(y, labelled_of(y))


def classes_of(told: str | None, model: Any, y: Any) -> Any:
    """Return the classes that were told; without them any may come."""
    if model._task == "regression":
        if told:
            raise ValueError("--classes is for classification")
        return None
    if not told:
        return None
    labels = told.split(",")
    if y is None or y.dtype.kind not in "biuf":
        return np.unique(labels)
    try:
        return np.unique([float(label) for label in labels])
    except ValueError:
        raise ValueError("--classes must be numbers, as the labels are") from None

"""`forks run --key COLUMN`: one model for each key."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import typer

from forks.cli._learning import cell_fault, classes_of, new_encoder
from forks.cli._reading import given, input_file
from forks.cli._report import line, show_figures, show_json
from forks.cli._understood import show_understood

# What a keyed run does not do yet, or cannot.
_OTHERS = (
    *("model", "save", "predictions", "metrics", "checkpoint", "resume", "plot"),
    *("learner", "settings", "shuffle", "weights"),
)
_WINDOW = 1000


def run_keyed(options: Any) -> None:
    """Learn files by key, each row predicted first, and print the figures."""
    from forks.streams import StreamError

    said = {name.removeprefix("--") for name in given(options, type(options))}
    if others := [name for name in _OTHERS if name in said]:
        names = ", ".join("--set" if name == "settings" else f"--{name}" for name in others)
        raise ValueError(f"--key has no {names}; forks.keyed has models to save and to load")
    with input_file(options, None) as file:
        chunks = file.chunks()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{file.name} has no rows")
        model, measures, rows = _learned(options, file, first, chain([first], chunks))
    known = {name: value for name, value in measures.figures().items() if value == value}
    figures: dict[str, Any] = {"rows": rows, **known}
    if hasattr(model, "classes_"):
        for name in ("", "recent_"):
            figures[f"{name}mistake_rate"] = 1.0 - figures[f"{name}accuracy"]
        figures["mistakes"] = round(figures["mistake_rate"] * rows)
        figures["classes"] = [str(label) for label in model.classes_]
        figures["confusion"] = measures.confusion.tolist()
    more = {"keys": model.n_keys_, "bytes_per_key": model.bytes_per_key_}
    if options.as_json:
        show_json(figures, more)
    else:
        size = f"{model.n_keys_:,} keys of {model.bytes_per_key_:,} bytes"
        typer.echo(f"{line(figures)}; {size}\n")
        show_figures(figures, _WINDOW)


def _learned(options: Any, file: Any, first: Any, chunks: Iterator[Any]) -> tuple[Any, Any, int]:
    """Return the model, its figures, and how many rows it has learned."""
    from forks.features.table import CellError

    _check_key(file, options.key, first)
    encoder, model, measures, classes = _prepared(options, file, first)
    read = 0
    for chunk in chunks:
        keys = _keys(file, options.key, chunk, read)
        try:
            X = encoder.learn_transform(_without(chunk.X, options.key), chunk.y)
        except CellError as error:
            raise cell_fault(file, read, error) from None
        read += len(keys)
        _learn(model, measures, classes, keys, X, chunk.y)
    return model, measures, model.n_rounds_


def _prepared(options: Any, file: Any, first: Any) -> tuple[Any, Any, Any, Any]:
    """Return encoder, model, measures and classes, by the options and the first rows."""
    import numpy as np

    from forks.cli._models import check_labels, guess_task
    from forks.evaluate import ClassificationMeasures, RegressionMeasures
    from forks.evaluate.rows import labelled_of, labels_among
    from forks.keyed import KeyedClassifier, KeyedRegressor

    labels = labels_among(first.y, labelled_of(first.y))
    task, why = guess_task(labels)
    if options.task != "auto":
        task, why = str(options.task), "told"
    check_labels(file, labels, task, told=options.task != "auto")
    rest = first._replace(X=_without(first.X, options.key))
    encoder = new_encoder(file, rest, task, options.hash_bits)
    show_understood(file, encoder, task, why, len(encoder.get_feature_names_out()))
    settings = {"effort": str(options.effort or "fast"), "random_state": options.seed}
    kind = KeyedRegressor if task == "regression" else KeyedClassifier
    model: Any = kind(**settings)
    told = classes_of(options.classes, model, labels)
    if task == "regression":
        return encoder, model, RegressionMeasures(), None
    classes = np.unique(labels) if told is None else told
    return encoder, model, ClassificationMeasures(classes), classes


def _learn(model: Any, measures: Any, classes: Any, keys: list[Any], X: Any, y: Any) -> None:
    """Learn the rows that have a label, each predicted first."""
    import numpy as np

    from forks.estimators.labels import class_probabilities
    from forks.evaluate.rows import labelled_of, labels_among

    known = labelled_of(y)
    chosen = np.arange(len(keys)) if known is None else np.flatnonzero(known)
    if len(chosen) == 0:
        return
    y = labels_among(y, known)
    answers = model.prequential([keys[i] for i in chosen], X[chosen], y, classes)
    if classes is None:
        measures.update(y, answers)
    else:
        positive = class_probabilities(0.5 + 0.5 * answers.reshape(len(y), -1))
        measures.update(y, model.labels_of(answers), probabilities=positive)


def _check_key(file: Any, key: str, first: Any) -> None:
    from forks.streams import StreamError
    from forks.streams.columns import RawTable

    if not isinstance(first.X, RawTable) or key not in first.X:
        names = ", ".join(first.X) if isinstance(first.X, RawTable) else "no names"
        raise StreamError(f"{file.name} has no column {key!r} beside the label; it has {names}")


def _without(table: Any, key: str) -> Any:
    from forks.streams.columns import RawTable

    return RawTable({k: v for k, v in table.items() if k != key}, table.shape[0])


def _keys(file: Any, key: str, chunk: Any, before: int) -> list[Any]:
    """Return the keys of some rows: text, or whole numbers."""
    from forks.features.table.cells import is_missing
    from forks.streams import StreamError

    keys = []
    for row, cell in enumerate(chunk.X[key].tolist()):
        whole = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
        fault = "the key is missing" if is_missing(cell) else None
        if fault is None and not isinstance(whole, str | int):
            fault = f"{cell!r} is no key: keys are text or whole numbers"
        if fault is not None:
            raise StreamError(f"{file.where(before + row)}, column {key!r}: {fault}")
        keys.append(whole)
    return keys

"""`forks run --jobs N`: one model from many cores, by fork and merge."""

from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import typer

from forks import distributed
from forks.cli._files import shuffled
from forks.cli._learning import begin_of, classes_of, numbers_of, opened, prepared, save_model
from forks.cli._models import settings_of
from forks.cli._reading import given
from forks.cli._report import line, show_figures, show_json
from forks.evaluate import ClassificationMeasures, RegressionMeasures
from forks.evaluate.predictions import probabilities_of
from forks.evaluate.rows import labelled_of, labels_among
from forks.evaluate.session import WINDOW
from forks.keyed.base import KeyedEstimator
from forks.streams import StreamError
from forks.streams.columns import joined
from forks.streams.sources import is_url

# What needs one model that learns one row after the other, in one process.
_OTHERS = (
    *("key", "predictions", "metrics", "checkpoint", "resume", "every", "plot"),
    *("progress", "weights", "until-end", "first", "skip-bad"),
)
_MEANING = (
    "Each row was predicted before it was learned, by the fork that learned it, which knew the\n"
    "rows of its part and those of all parts up to the last merge: one model knows more."
)


def run_jobs(options: Any) -> None:
    """Learn files with several processes, and print the figures."""
    said = {name.removeprefix("--") for name in given(options, type(options))}
    if others := [name for name in _OTHERS if name in said]:
        names = ", ".join(f"--{name}" for name in others)
        raise ValueError(f"--jobs has no {names}: that needs one process")
    if any(map(is_url, options.paths)):
        raise ValueError("--jobs needs files that can be read to their end, not a stream")
    model, y, scores, unlabelled = _learned(options)
    figures = _figures(model, y, scores, WINDOW)
    if unlabelled:
        figures["unlabelled"] = unlabelled
    if options.as_json:
        show_json(figures, {"jobs": options.jobs, "mends": model.n_mends_})
        return
    many = "one process" if options.jobs == 1 else f"{options.jobs} processes"
    text = f"{line(figures)}; {many}, one part of the rows each"
    if unlabelled:
        text += f"; {unlabelled:,} rows without a label were left out"
    to_stdout = str(options.save) == "-"
    typer.echo(text, err=to_stdout)
    typer.echo(f"{_MEANING}\n", err=to_stdout)
    if not to_stdout:
        show_figures(figures, WINDOW)


def _learned(options: Any) -> tuple[Any, Any, Any, int]:
    """Return the model, the labels, the scores, and how many rows have no label."""
    settings, begin = settings_of(options.settings), begin_of(options)
    if isinstance(begin.model, KeyedEstimator):
        raise ValueError(f"{options.model} has a model for each key, and --jobs learns one for all")
    with opened(options, begin) as file:
        chunks = shuffled(file, options.seed) if options.shuffle else file.chunks()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{file.name} has no rows")
        model, encoder = prepared(options, begin, file, first, settings)
        X, labels = _rows(file, encoder, chain([first], chunks))
        known = labelled_of(labels)
        y = labels_among(labels, known)
        if len(y) == 0:
            raise StreamError(f"{file.name} has no row with a label")
        classes = classes_of(options.classes, model, y)
        _check_classes(file, model, known, y, classes)
        X = X if known is None else X[known]
        model, scores = distributed.prequential(
            (X, y), model, executor=options.jobs, partitions=options.jobs, classes=classes
        )
    if options.save is not None:
        save_model(options.save, model, encoder, file.input)
    return model, y, scores, len(labels) - len(y)


def _rows(file: Any, encoder: Any, chunks: Any) -> tuple[Any, Any]:
    """Return all rows as numbers, and their labels."""
    parts, labels, read = [], [], 0
    for chunk in chunks:
        learning = None if encoder is None else partial(encoder.learn_transform, y=chunk.y)
        parts.append(numbers_of(file, chunk.X, learning, read))
        labels.append(chunk.y)
        read += parts[-1].shape[0]
    return joined(parts), np.concatenate(labels)


def _check_classes(file: Any, model: Any, known: Any, y: Any, classes: Any) -> None:
    """Check that labels are among those that are told, or that the model knows."""
    if classes is None and hasattr(model, "classes_"):
        classes = model.classes_
    if classes is None:
        return
    others = np.flatnonzero(~np.isin(y, classes))
    if len(others):
        row = others[0] if known is None else np.flatnonzero(known)[others[0]]
        names = ", ".join(map(str, classes))
        raise StreamError(
            f"{file.where(int(row))}: the label {y[others[0]]} is not among the classes {names}"
        )


def _figures(model: Any, y: Any, scores: Any, window: int) -> dict[str, Any]:
    """Return the figures of all rows, in the order of the files."""
    if not hasattr(model, "classes_"):
        errors = RegressionMeasures(window)
        errors.update(y, scores)
        return {"rows": len(y), **_known(errors)}
    measures, answers = ClassificationMeasures(model.classes_, window), model.labels_of(scores)
    measures.update(y, answers, scores, probabilities_of(model.learner_, scores))
    figures: dict[str, Any] = {"rows": len(y), **_known(measures)}
    figures["mistakes"] = int((answers != y).sum())
    for name in ("", "recent_"):
        figures[f"{name}mistake_rate"] = 1.0 - figures[f"{name}accuracy"]
    figures["classes"] = [str(label) for label in model.classes_]
    figures["confusion"] = measures.confusion.tolist()
    return figures


def _known(measures: Any) -> dict[str, float]:
    return {name: value for name, value in measures.figures().items() if value == value}

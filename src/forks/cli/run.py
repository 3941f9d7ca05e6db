"""`forks run`."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import (
    check_picture,
    count_option,
    file_option,
    folder_option,
    part_of,
    text_option,
)
from forks.cli._inputs import (
    FILE,
    FORMAT,
    input_of,
    interrupts,
    names_of_features,
    plain_warnings,
    shuffled,
)
from forks.cli._progress import progress
from forks.cli._report import line, show_figures, show_json

_TASK = "auto: classification if the first labels are text, or at most 20 different whole numbers."
Effort = StrEnum("Effort", ["FAST", "BALANCED", "BEST"])
Missing = StrEnum("Missing", ["ERROR", "ZERO"])
Task = StrEnum("Task", ["AUTO", "CLASSIFICATION", "REGRESSION"])


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options of `forks.streams.tables.InputFile`."""

    format: Annotated[str | None, FORMAT] = None
    label: Annotated[
        str | None, text_option("COLUMN", "Column of the labels. [default: the last]")
    ] = None
    features: Annotated[
        int | None, count_option("Largest index of LIBSVM rows; needed for those from stdin.")
    ] = None
    categorical: Annotated[
        list[str], text_option("COLUMN", "A column to hash; again for more. Text always is.")
    ] = ()  # type: ignore[assignment]
    hash_bits: Annotated[int, count_option("Text is hashed into 2^BITS columns.", at_most=24)] = 8
    missing: Annotated[Missing, typer.Option(help="Empty cells among numbers.")] = Missing.ERROR
    chunk: Annotated[int, count_option("Rows read, and first looked at.")] = 10_000


@dataclass(frozen=True, kw_only=True)
class Modelling:
    """Options that choose the model."""

    task: Annotated[Task, typer.Option(help=_TASK)] = Task.AUTO
    classes: Annotated[
        str | None, text_option("A,B,...", "All labels. [default: those of the first chunk]")
    ] = None
    learner: Annotated[
        str | None,
        text_option("NAME", "Any that `forks compare` has. [default: adaptive, see --effort]"),
    ] = None
    effort: Annotated[
        Effort | None,
        typer.Option(help="Time and memory of the default learner. [default: balanced]"),
    ] = None
    settings: Annotated[
        list[str], text_option("KEY=VALUE", "A parameter; again for more.", "--set")
    ] = ()  # type: ignore[assignment]
    seed: Annotated[int, count_option("Seed of all draws.", at_least=0)] = 0
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Learn the rows of a file in random order."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Options of `forks.evaluate.learn`."""

    predictions: Annotated[
        Path | None, file_option("CSV", "Predictions, each before its label.")
    ] = None
    metrics: Annotated[Path | None, file_option("JSONL", "Records as JSON lines.")] = None
    checkpoint: Annotated[Path | None, folder_option("Folder for checkpoints.")] = None
    every: Annotated[int, count_option("Rows between records, and between checkpoints.")] = 10_000
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the checkpoint, if there is one; else begin."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Showing:
    """Options of what is printed."""

    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            help="Rows per second and time left, on stderr. [default: on a terminal]",
        ),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the last figures as one JSON object.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Options(Showing, Keeping, Modelling, Reading):
    """Options of `forks run`."""

    path: Annotated[str, FILE]
    model: Annotated[Path | None, file_option("FILE", "Go on with a saved model.")] = None
    save: Annotated[Path | None, file_option("FILE", "Write the model here.")] = None
    plot: Annotated[Path | None, file_option("PNG", "A picture.", callback=check_picture)] = None


def run(options: Options) -> None:
    """Learn a stream: predict each row, then learn it.

    A run that was killed goes on with --checkpoint DIR --resume and the same options, and ends
    with the same model, predictions and metrics, byte for byte. Ctrl-C and SIGTERM write a
    checkpoint first.

    Exit status: 0 done, 1 failed while running, 2 bad options or input, 130 interrupted, 143
    terminated.
    """
    if options.resume and options.checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the folder to go on from")
    if options.model is not None and (options.learner or options.settings or options.effort):
        raise ValueError(
            "--model has its own learner: --learner, --effort and --set cannot change it"
        )
    with plain_warnings(), interrupts(options.checkpoint):
        if options.plot is not None:
            from forks.experiments.curve import draw  # rather an error now than after an hour
        with progress(options.path, options.every, options.progress) as show:
            finished, names = _learn(options, show)
        if options.plot is not None:
            draw(finished, options.plot, names, Path(options.path).name)
    _report(finished, options)


def _report(finished: Any, options: Options) -> None:
    """Print the figures of a run."""
    from forks.evaluate.session import WINDOW

    figures, mends = finished.figures, finished.model.n_mends_
    if options.as_json:
        show_json(figures, {"mends": mends, "last_mend": finished.model.last_mend_})
        return
    text = line(figures)
    if mends:
        text += f", {mends:,} steps mended, the last in row {finished.model.last_mend_:,}"
    typer.echo(text + "\n")
    show_figures(figures, WINDOW)


def _learn(options: Options, show: Any) -> tuple[Any, list[str]]:
    """Return the end of the run, and the names of features."""
    from forks.cli._models import make_model, settings_of, task_of
    from forks.estimators.saving import read, save
    from forks.evaluate import learn
    from forks.evaluate.session import StreamLabelError
    from forks.streams import StreamError
    from forks.streams.tables import InputFile

    settings = settings_of(options.settings)
    before = None if options.model is None else read(options.model)
    known = None if before is None else input_of(before)
    with InputFile(options.path, known=known, **part_of(options, Reading)) as file:
        chunks = shuffled(file, options.seed) if options.shuffle else file.chunks()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{file.name} has no rows")
        y = _labels_of(file, first)
        if before is not None:
            model, task = before.model, before.model._task
        else:
            task = task_of(y) if options.task == Task.AUTO else options.task
            effort = options.effort or Effort.BALANCED
            learner = options.learner or "adaptive"
            model = make_model(task, learner, settings, options.seed, str(effort))
        if task == Task.REGRESSION and y.dtype.kind not in "biuf":
            raise StreamError(f"{file.name}: the labels are text, and regression needs numbers")
        try:
            finished = learn(
                model,
                ((rows.X, _labels_of(file, rows)) for rows in chain([first], chunks)),
                classes=_classes(options.classes, task, y),
                on_record=show,
                note=_described(options),
                **part_of(options, Keeping),
            )
        except StreamLabelError as error:
            raise StreamError(
                f"{file.name}, {error.fault}; --classes lists all that can come"
            ) from None
        if options.save is not None and file.input is not None:  # it is known by now
            save(options.save, finished.model, {"input": file.input.as_json()})
    return finished, names_of_features(file.input, finished.model.n_features_in_)


def _described(options: Options) -> dict[str, Any]:
    """Return the options that a run must be resumed with, as JSON."""
    described = {**part_of(options, Reading), **part_of(options, Modelling)}
    lists = {name: list(described[name]) for name in ("categorical", "settings")}
    return {**described, **lists, "classes": options.classes.split(",") if options.classes else []}


def _labels_of(file: Any, rows: Any) -> Any:
    if rows.y is None:
        from forks.streams import StreamError

        raise StreamError(f"{file.name} has no column {file.input.label!r}, which has the labels")
    return rows.y


def _classes(given: str | None, task: str, y: Any) -> Any:
    """Return the classes that were given; without them, others may come at any time."""
    import numpy as np

    if task == Task.REGRESSION:
        if given:
            raise ValueError("--classes is for classification")
        return None
    if not given:
        return None
    labels = given.split(",")
    if y.dtype.kind not in "biuf":
        return np.unique(labels)
    try:
        return np.unique([float(label) for label in labels])
    except ValueError:
        raise ValueError("--classes must be numbers, as the labels are") from None

"""`forks run`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
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
from forks.cli._inputs import interrupts, plain_warnings
from forks.cli._learning import learn_files
from forks.cli._paths import check_folder, check_outputs
from forks.cli._reading import FILE, Columns, Opening, given

_TASK = "auto: classification if the first labels are text, or at most 20 different whole numbers."
_OUTPUTS = ("save", "predictions", "metrics", "plot")
Effort = StrEnum("Effort", ["FAST", "BALANCED", "BEST"])
Task = StrEnum("Task", ["AUTO", "CLASSIFICATION", "REGRESSION"])


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
class Options(Keeping, Modelling, Columns, Opening):
    """Options of `forks run`."""

    paths: Annotated[list[str], FILE]
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on with a saved model, or a checkpoint (DIR)."),
    ] = None
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
    if options.model is not None and (said := given(options, Modelling)):
        said = [option for option in said if option not in ("--shuffle", "--seed")]
        if said:
            raise ValueError(f"--model has its own learner: {', '.join(said)} cannot change it")
    check_outputs(**{name: getattr(options, name) for name in _OUTPUTS})
    check_folder("--checkpoint", options.checkpoint)
    with plain_warnings(), interrupts(options.checkpoint):
        if options.plot is not None:
            from forks.experiments.curve import draw  # rather an error now than after an hour
        with _progress() as show:
            finished, names = learn_files(options, part_of(options, Keeping), show)
        if options.plot is not None:
            draw(finished, options.plot, names)
    text, mends = _line(finished.figures), finished.model.n_mends_
    if mends:
        text += f", {mends:,} steps mended, the last in row {finished.model.last_mend_:,}"
    unlabelled = finished.figures.get("unlabelled", 0)
    if unlabelled:
        text += f"; {unlabelled:,} rows without a label were predicted and not learned"
    typer.echo(text, err=any(str(getattr(options, name)) == "-" for name in _OUTPUTS))


# ---- on the terminal ---------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Any]:
    """Return what shows records: a live line on a terminal, plain lines elsewhere; on stderr."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda figures: typer.echo(_line(figures), err=True)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("learning")
        start, first = time.perf_counter(), None

        def show(figures: dict[str, Any]) -> None:
            nonlocal first
            first = figures["rows"] if first is None else first
            seconds = max(time.perf_counter() - start, 1e-9)
            speed = f", {(figures['rows'] - first) / seconds:,.0f} rows/s"
            progress.update(task, description=_line(figures) + speed)

        yield show


def _line(figures: dict[str, Any]) -> str:
    text = f"{figures['rows']:,} rows"
    if "mistakes" in figures:
        text += f", {figures['mistake_rate']:.2%} mistakes"
        return text + f", {figures['recent_mistake_rate']:.2%} recently"
    error = figures["root_mean_squared_error"]
    return text + f", root mean squared error {error if error is None else format(error, '.4g')}"

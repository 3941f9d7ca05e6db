"""`forks run`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import (
    NOTHING,
    Effort,
    Task,
    check_picture,
    count_option,
    file_option,
    folder_option,
    part_of,
    text_option,
)
from forks.cli._inputs import interrupts, plain_warnings
from forks.cli._paths import check_folder, check_not_read, check_outputs
from forks.cli._progress import progress
from forks.cli._reading import FILE, Columns, Following, Opening, given, starting
from forks.cli._report import line, show_figures, show_json
from forks.cli._understood import counted

_TASK = "auto: classification if the first labels are text, or at most 20 different whole numbers."
_OUTPUTS = ("save", "predictions", "metrics", "plot")


def _learners() -> list[str]:
    from forks.learners.catalogue import CATALOGUE

    return ["adaptive", *(method.name for method in CATALOGUE)]


@dataclass(frozen=True, kw_only=True)
class Modelling:
    """Options that choose the model."""

    task: Annotated[Task, typer.Option(help=_TASK)] = Task.AUTO
    classes: Annotated[
        str | None, text_option("A,B,...", "All labels that may come. [default: any]")
    ] = None
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Any that `forks compare` has. [default: adaptive, see --effort]",
            autocompletion=lambda incomplete: starting(_learners(), incomplete),
        ),
    ] = None
    effort: Annotated[
        Effort | None,
        typer.Option(help="Time and memory of the default learner. [default: balanced]"),
    ] = None
    settings: Annotated[
        list[str], text_option("KEY=VALUE", "A parameter; again for more.", "--set")
    ] = NOTHING
    seed: Annotated[int, count_option("Seed of all draws.", at_least=0)] = 0
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Learn the rows of a file in random order."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Options of `forks.evaluate.learn`."""

    predictions: Annotated[
        str | None,
        text_option(
            "CSV|URL",
            "Predictions, each before its label; also to nats://host/subject, kafka://broker/topic.",
        ),
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
class Options(Showing, Keeping, Following, Modelling, Columns, Opening):
    """Options of `forks run`."""

    paths: Annotated[list[str], FILE]
    key: Annotated[
        str | None, text_option("COLUMN", "One model for each value of a column; see forks.keyed.")
    ] = None
    jobs: Annotated[
        int | None,
        count_option("Threads, which learn parts of the rows; merged into one model."),
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on with a saved model, or a checkpoint (DIR)."),
    ] = None
    save: Annotated[Path | None, file_option("FILE", "Write the model here.")] = None
    plot: Annotated[Path | None, file_option("PNG", "A picture.", callback=check_picture)] = None


def run(options: Options) -> None:
    """Learn a stream: predict each row, then learn it.

    Kinds of columns, missing values, delimiter and task are found from the first rows, and said.
    What was learned is saved also if Ctrl-C, SIGTERM or a fault ends the run.

    A run that was killed goes on with --checkpoint DIR --resume and the same options, and ends
    with the same model, predictions and metrics, byte for byte. The next part of a pipe goes on
    with --model, also from a checkpoint.

    With --jobs N the rows are dealt to N threads, whose models are merged in rounds. Each row is
    predicted by the one that learns it, which knows fewer rows than one model would.

    Exit status: 0 done, 1 failed while running, 2 bad options or input, 130 interrupted, 143
    terminated.
    """
    if options.jobs is not None:
        _check_model(options)
        check_outputs(save=options.save)
        with plain_warnings(), interrupts(None):
            from forks.cli._jobs import run_jobs

            run_jobs(options)
        return
    if options.key is not None and options.learner is not None:
        raise ValueError("--key has a learner of its own: --learner cannot change it")
    if options.resume and options.checkpoint is None:
        raise ValueError("--resume needs --checkpoint, the folder to go on from")
    _check_model(options)
    check_outputs(**{name: _path(getattr(options, name)) for name in _OUTPUTS})
    check_folder("--checkpoint", options.checkpoint)
    with plain_warnings(), interrupts(options.checkpoint):
        from forks.cli._learning import learn_files

        if options.plot is not None:
            from forks.experiments.curve import draw  # rather an error now than after an hour
        only = options.paths[0] if len(options.paths) == 1 else "-"
        with progress(only, options.every, options.progress) as show:
            finished, names = learn_files(options, part_of(options, Keeping), show)
        if options.plot is not None:
            draw(finished, options.plot, names, Path(options.paths[0]).name)
    _report(finished, options)


def _check_model(options: Options) -> None:
    """Raise an error if options would change a model to go on with."""
    if options.model is None:
        return
    said = given(options, Modelling)
    if said := [option for option in said if option not in ("--shuffle", "--seed")]:
        raise ValueError(f"--model has its own learner: {', '.join(said)} cannot change it")
    others = {name: getattr(options, name) for name in _OUTPUTS if name != "save"}
    check_not_read([options.model], others)


def _path(output: str | Path | None) -> Path | None:
    """Return the path of an output, None if it is none."""
    from forks.streams.sources import is_url

    return None if output is None or is_url(output) else Path(output)


def _report(finished: Any, options: Options) -> None:
    """Print the figures of a run."""
    from forks.evaluate.session import WINDOW

    model, figures, mends = finished.model, finished.figures, finished.model.n_mends_
    keyed = hasattr(model, "n_keys_")
    if options.as_json:
        more = {"mends": mends, "last_mend": model.last_mend_}
        if keyed:
            more |= {"keys": model.n_keys_, "bytes_per_key": model.bytes_per_key_}
        show_json(figures, more)
        return
    text = line(figures)
    if keyed:
        text += f", {model.n_keys_:,} keys of {model.bytes_per_key_:,} bytes"
    if mends:
        text += f", {mends:,} steps mended"
        if model.last_mend_ is not None:
            text += f", the last in row {model.last_mend_:,}"
    to_stdout = [name for name in _OUTPUTS if str(getattr(options, name)) == "-"]
    unlabelled = figures.get("unlabelled", 0)
    if unlabelled:
        were = "was" if unlabelled == 1 else "were"
        text += f"; {counted(unlabelled, 'row')} without a label {were} predicted and not learned"
    typer.echo(text + "\n", err=bool(to_stdout))
    if not to_stdout:
        show_figures(figures, WINDOW)

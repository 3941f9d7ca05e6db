"""`forks run`, `forks predict` and `forks info`."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from forks.cli._failures import check_picture, failures_in_one_line

_FILE = typer.Argument(
    metavar="FILE", help="{endings}; others are LIBSVM. Text may be compressed. - for stdin."
)
_FORMAT = typer.Option(metavar="FORMAT", help="{formats}. [default: by the file's name]")


class _FormatsInHelp(TyperCommand):
    """Writes the table of formats into its help; only then, as importing it takes a second."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from forks.streams.formats import FORMATS

        endings = ", ".join(end for known in FORMATS.values() for end in known.endings)
        params: list[Any] = self.params
        for param in params:
            if param.help in (_FILE.help, _FORMAT.help):
                param.help = param.help.format(endings=endings, formats=", ".join(FORMATS))
        super().format_help(ctx, formatter)


def _run(
    file: Annotated[str, _FILE],
    format: Annotated[str | None, _FORMAT] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the labels. [default: the last]"),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Largest index of LIBSVM rows; needed for those from stdin."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to hash; again for more. Text always is."),
    ] = None,
    hash_bits: Annotated[
        int, typer.Option(min=1, max=24, help="Text is hashed into 2^BITS columns.")
    ] = 8,
    missing: Annotated[
        str, typer.Option(metavar="POLICY", help="Empty cells among numbers: error, or zero.")
    ] = "error",
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK",
            help="classification, regression, or auto: classification if the first labels are "
            "text, or at most 20 different whole numbers.",
        ),
    ] = "auto",
    classes: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="All labels. [default: those of the first chunk]"),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Any that `forks compare` has. [default: Adaptive]"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter; again for more."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the learner's draws.")] = 0,
    model: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Go on with a saved model."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="FILE", help="Write the model here.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="CSV", help="Predictions, each before its label."),
    ] = None,
    metrics: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="JSONL", help="Records as JSON lines.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="PNG", callback=check_picture, help="A picture."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="DIR", help="Folder for checkpoints."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Rows between records, and between checkpoints.")
    ] = 10_000,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the checkpoint, if there is one; else begin."),
    ] = False,
    chunk: Annotated[int, typer.Option(min=1, help="Rows read, and first looked at.")] = 10_000,
) -> None:
    """Learn a stream: predict each row, then learn it.

    A run that was killed goes on with --checkpoint DIR --resume and the same options, and ends
    with the same model, predictions and metrics, byte for byte. Ctrl-C and SIGTERM write a
    checkpoint first.

    Exit status: 0 done, 1 failed while running, 2 bad options or input, 130 interrupted, 143
    terminated.
    """
    with _interrupts(checkpoint), failures_in_one_line(bad_input=2, missing_file=2):
        from forks.run.command import RunOptions, run

        if resume and checkpoint is None:
            raise ValueError("--resume needs --checkpoint, the folder to go on from")
        options = RunOptions(
            path=file,
            format=_known_format(format),
            label=label,
            features=features,
            categorical=tuple(categorical or ()),
            hash_bits=hash_bits,
            missing=_one_of("--missing", missing, ("error", "zero")) or "error",
            chunk=chunk,
            task=task,
            classes=tuple(classes.split(",")) if classes else (),
            learner=learner,
            settings=tuple(set_ or ()),
            seed=seed,
            model=model,
            every=every,
            predictions=predictions,
            metrics=metrics,
            checkpoint=checkpoint,
            resume=resume,
            save=save,
            plot=plot,
        )
        with _progress() as show:
            finished = run(options, on_record=show)
        typer.echo(_line(finished.figures) + _mends(finished.model))


def _predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of `forks run --save`.")],
    file: Annotated[str, _FILE],
    format: Annotated[str | None, _FORMAT] = None,
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, metavar="CSV", help="[default: stdout]")
    ] = None,
) -> None:
    """Predict the rows of a file with a saved model; a table need not have labels."""
    with _interrupts(None), failures_in_one_line(bad_input=2, missing_file=2):
        from forks.run.command import predict

        counted = predict(
            model,
            file,
            format=_known_format(format),
            output=output,
            write=lambda text: typer.echo(text, nl=False),
        )
        rows, labelled = counted["rows"], counted["labelled"]
        text = f"{rows:,} rows"
        if labelled and counted["squared_error"]:
            text += f", root mean squared error {(counted['squared_error'] / labelled) ** 0.5:.4g}"
        elif labelled:
            text += f", {counted['mistakes'] / labelled:.2%} of {labelled:,} labels missed"
        typer.echo(text, err=True)


def _info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model, or a checkpoint DIR.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Tell what a model file holds."""
    with failures_in_one_line(bad_input=2, missing_file=2):
        from forks.run.command import as_text, describe

        told = describe(model)
        typer.echo(json.dumps(told, indent=2) if as_json else as_text(told))


def add_stream_commands(main: typer.Typer) -> None:
    """Add the three commands to the command line."""
    main.command("run", cls=_FormatsInHelp)(_run)
    main.command("predict", cls=_FormatsInHelp)(_predict)
    main.command("info")(_info)


def _known_format(format: str | None) -> str | None:
    from forks.streams.formats import FORMATS

    return _one_of("--format", format, tuple(FORMATS))


def _one_of(option: str, value: str | None, choices: tuple[str, ...]) -> str | None:
    if value is not None and value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {value!r}")
    return value


@contextmanager
def _interrupts(checkpoint: Path | None) -> Iterator[None]:
    """Tell how to go on after Ctrl-C, or after SIGTERM, which is taken for one."""
    came = signal.SIGINT

    def terminate(number: int, frame: Any) -> None:
        nonlocal came
        came = signal.SIGTERM
        as_interrupt: Any = signal.getsignal(signal.SIGINT)  # at some moments it has to wait
        as_interrupt(signal.SIGINT, frame)

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, say
    ours = usual and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if ours else None
    try:
        yield
    except KeyboardInterrupt:
        more = f"; --checkpoint {checkpoint} --resume goes on" if checkpoint else ""
        typer.echo(f"Interrupted{more}", err=True)
        raise typer.Exit(128 + came) from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)


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


def _mends(model: Any) -> str:
    if not model.n_mends_:
        return ""
    return f", {model.n_mends_:,} steps mended, the last in row {model.last_mend_:,}"


def _line(figures: dict[str, Any]) -> str:
    text = f"{figures['rows']:,} rows"
    if "mistakes" in figures:
        text += f", {figures['mistake_rate']:.2%} mistakes"
        return text + f", {figures['recent_mistake_rate']:.2%} recently"
    error = figures["root_mean_squared_error"]
    return text + f", root mean squared error {error if error is None else format(error, '.4g')}"

"""`forks predict`."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import file_option
from forks.cli._inputs import input_of, interrupts, plain_warnings, read_model
from forks.cli._learning import matrix_of
from forks.cli._paths import check_outputs
from forks.cli._reading import FILE, Opening, input_file


@dataclass(frozen=True, kw_only=True)
class Options(Opening):
    """Options of `forks predict`."""

    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Of `forks run --save`, or a checkpoint (DIR).")
    ]
    paths: Annotated[list[str], FILE]
    output: Annotated[Path | None, file_option("CSV", "[default: stdout]")] = None


def predict(options: Options) -> None:
    """Predict the rows of a file with a saved model; a table need not have labels."""
    check_outputs(output=options.output)
    with plain_warnings(), interrupts():
        rows, labelled, tally = _predict(options)
    text = f"{rows:,} rows"
    if labelled:
        figures = tally.figures(labelled)
        if "mistakes" in figures:
            text += f", {figures['mistakes'] / labelled:.2%} of {labelled:,} labels missed"
        else:  # of a regressor
            text += f", root mean squared error {figures['squared_error'] ** 0.5:.4g}"
    typer.echo(text, err=True)


def _predict(options: Options) -> tuple[int, int, Any]:
    """Write the predictions; return the rows, those with a label, and what was counted of them."""
    import numpy as np

    from forks.evaluate._rows import labelled_of, labels_among
    from forks.evaluate.metrics import ClassTally, ErrorTally, Played
    from forks.evaluate.predictions import heading, prediction_lines
    from forks.files import replacing
    from forks.streams import StreamError

    saved = read_model(options.model)
    model = saved.model
    if not hasattr(model, "engine_"):
        raise ValueError(f"{options.model} holds a model that has learned nothing")
    width, classes = model.n_features_in_, getattr(model, "classes_", None)
    tally = ErrorTally(None) if classes is None else ClassTally(classes, None, 1)
    rows = labelled = 0
    to_file = options.output is not None and str(options.output) != "-"
    with (
        input_file(options, input_of(saved), width) as file,
        replacing(options.output) if to_file else nullcontext() as target,  # type: ignore[arg-type]
    ):
        encoded = _encoding(saved, file)
        for chunk in file.chunks():
            X, y = encoded(chunk, rows), chunk.y
            if X.shape[1] != width:
                raise StreamError(
                    f"{file.name} has rows of {X.shape[1]} features, but the model of {width}"
                )
            scores = None if classes is None else model.decision_function(X)
            answers = model.predict(X) if classes is None else model.labels_of(scores)
            text = prediction_lines(rows, answers, scores, y)
            if rows == 0:
                text = heading(classes, labelled=y is not None) + text
            typer.echo(text, nl=False) if target is None else target.write(text.encode())
            rows += len(answers)
            if y is not None:
                known = labelled_of(y)
                known = np.ones(len(y), bool) if known is None else known
                labelled += int(known.sum())
                played = Played(answers, scores, np.ones(len(answers), bool)).of(known)
                tally.add(labels_among(y, known), None, played)
        if rows == 0:
            raise StreamError(f"{file.name} has no rows")
    for note in file.notes:
        typer.echo(f"Note: {note}", err=True)
    return rows, labelled, tally


def _encoding(saved: Any, file: Any) -> Any:
    """Return the function that makes rows of numbers of chunks, as the model learned them."""
    from forks.evaluate._encoder import encoder_beside
    from forks.features.table import CellError
    from forks.streams import StreamError
    from forks.streams.columns import RawTable

    encoder = encoder_beside(saved)

    def encoded(chunk: Any, before: int) -> Any:
        if not isinstance(chunk.X, RawTable):
            return chunk.X
        if encoder is None:
            return matrix_of(file, chunk.X)
        try:
            return encoder.transform(chunk.X)
        except CellError as error:
            name, row = file.where(before + error.row)
            fault = f"{name}, row {row}, column {error.column!r}: {error.fault}"
            raise StreamError(fault) from None

    return encoded

"""`forks predict`."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import file_option
from forks.cli._inputs import FILE, FORMAT, input_of, interrupts


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks predict`."""

    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of `forks run --save`.")]
    path: Annotated[str, FILE]
    format: Annotated[str | None, FORMAT] = None
    output: Annotated[Path | None, file_option("CSV", "[default: stdout]")] = None


def predict(options: Options) -> None:
    """Predict the rows of a file with a saved model; a table need not have labels."""
    with interrupts():
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

    from forks.estimators.saving import read
    from forks.evaluate.metrics import ClassTally, ErrorTally, Played
    from forks.evaluate.predictions import heading, prediction_lines
    from forks.files import replacing
    from forks.streams import StreamError
    from forks.streams.tables import InputFile

    saved = read(options.model)
    model = saved.model
    if not hasattr(model, "engine_"):
        raise ValueError(f"{options.model} holds a model that has learned nothing")
    width, classes = model.n_features_in_, getattr(model, "classes_", None)
    tally = ErrorTally(None) if classes is None else ClassTally(classes, None, 1)
    rows = labelled = 0
    with (
        InputFile(
            options.path, known=input_of(saved), format=options.format, features=width
        ) as file,
        nullcontext() if options.output is None else replacing(options.output) as target,
    ):
        for X, y in file.chunks():
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
                labelled += len(answers)
                tally.add(y, None, Played(answers, scores, np.ones(len(answers), bool)))
        if rows == 0:
            raise StreamError(f"{file.name} has no rows")
    return rows, labelled, tally

"""`forks predict`."""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._app import count_option, file_option, tell
from forks.cli._inputs import interrupts, plain_warnings
from forks.cli._paths import check_not_read, check_outputs
from forks.cli._reading import FILE, Opening
from forks.cli._report import show_json
from forks.cli._understood import counted


@dataclass(frozen=True, kw_only=True)
class Options(Opening):
    """Options of `forks predict`."""

    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Of `forks run --save`, or a checkpoint (DIR).")
    ]
    paths: Annotated[list[str], FILE]
    output: Annotated[Path | None, file_option("CSV", "[default: stdout]")] = None
    explain: Annotated[
        int | None,
        count_option("Features that moved each answer most: feature_1, effect_1, ..."),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON; needs --output and labels.")
    ] = False


def predict(options: Options) -> None:
    """Predict the rows of files with a saved model.

    Columns are found by name; labels need not be there.
    The columns are row, prediction, score (score_A, score_B, ... for more than two classes),
    probability_A, probability_B, ... and, if the file has labels, label.
    """
    if options.as_json and options.output is None:
        raise ValueError("--json needs --output, since predictions go to stdout without it")
    check_outputs(output=options.output)
    check_not_read([options.model], {"output": options.output})
    with plain_warnings(), interrupts():
        rows, labelled, measures = _predict(options)
    figures = _figures(measures) if labelled else {}
    if options.as_json:
        show_json({"rows": rows, "labelled": labelled}, figures)
        return
    text = counted(rows, "row")
    if "accuracy" in figures:
        text += f", {1.0 - figures['accuracy']:.2%} of {counted(labelled, 'label')} missed"
    elif figures.get("root_mean_squared_error") is not None:
        text += f", root mean squared error {figures['root_mean_squared_error']:.4g}"
    typer.echo(text, err=True)


def _figures(measures: Any) -> dict[str, Any]:
    """Return the figures over all rows; the order of rows to predict means nothing."""
    ordered = ("recent_", "last_", "kappa_temporal")
    figures = {k: v for k, v in measures.figures().items() if not k.startswith(ordered)}
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def _predict(options: Options) -> tuple[int, int, Any]:
    """Write the predictions; return the rows, those with a label, and what was counted of them."""
    from forks.cli._files import input_file, input_of, names_of_features, read_model
    from forks.cli._keyed import check_has_key
    from forks.cli._learning import numbers_of
    from forks.evaluate import ClassificationMeasures, RegressionMeasures
    from forks.files import replacing
    from forks.keyed.encoded import encoder_beside
    from forks.streams import StreamError

    saved = read_model(options.model)
    model, known, encoder = saved.model, input_of(saved), encoder_beside(saved)
    keyed = hasattr(model, "n_keys_")
    if not (keyed or hasattr(model, "engine_")):
        raise ValueError(f"{options.model} holds a model that has learned nothing")
    check_has_key(options.model, model, encoder)
    if keyed and options.explain is not None:
        raise ValueError("--explain is not for models with a key")
    width, classes = model.n_features_in_, getattr(model, "classes_", None)
    measures = RegressionMeasures() if classes is None else ClassificationMeasures(classes)
    rows = labelled = 0
    to_file = options.output is not None and str(options.output) != "-"
    with (
        input_file(options, known, model) as file,
        replacing(options.output) if to_file else nullcontext() as target,  # type: ignore[arg-type]
    ):
        names = names_of_features(encoder, known, width)
        for chunk in file.chunks():
            X, y = numbers_of(file, chunk.X, getattr(encoder, "transform", None), rows), chunk.y
            if X.shape[1] != width:
                raise StreamError(
                    f"{file.name} has rows of {X.shape[1]} features, but the model of {width}"
                )
            table = _table(model, X, y, options.explain, names)
            text = table.lines(rows)
            if rows == 0:
                text = table.heading(classes) + text
            typer.echo(text, nl=False) if target is None else target.write(text.encode())
            rows += len(table.answers)
            if y is not None:
                labelled += _count(measures, y, table)
        if rows == 0:
            raise StreamError(f"{file.name} has no rows")
    for note in file.notes:
        tell(note)
    return rows, labelled, measures


def _count(measures: Any, y: Any, table: Any) -> int:
    """Count the rows that have a label; return how many there are."""
    from forks.evaluate.rows import labelled_of, labels_among

    known = labelled_of(y)
    some: Any = slice(None) if known is None else known
    answers = table.answers[some]
    parts = () if table.scores is None else (table.scores, table.probabilities)
    scores = [None if part is None else part[some] for part in parts]
    if len(answers):
        measures.update(labels_among(y, known), answers, *scores)
    return len(answers)


def _table(model: Any, X: Any, y: Any, explain: int | None, names: list[str]) -> Any:
    """Return the predictions of rows."""
    import numpy as np

    from forks.estimators.explaining import strongest
    from forks.evaluate.predictions import Predictions, probabilities_of

    keyed = hasattr(model, "n_keys_")
    rows = X if keyed else (X,)
    moved = None
    if explain is not None:
        features, effects = strongest(model.explain(X), explain)
        moved = np.array([*names, ""], object)[features], effects
    if not hasattr(model, "classes_"):
        return Predictions(model.predict(*rows), y=y, effects=moved)
    scores = model.decision_function(*rows)
    if keyed:
        probabilities = model.probabilities_of(scores)
    else:
        probabilities = probabilities_of(model.learner_, scores)
        if probabilities is not None and len(model.classes_) == 1:
            probabilities = np.ones((len(scores), 1))
    return Predictions(model.labels_of(scores), scores, probabilities, y, moved)

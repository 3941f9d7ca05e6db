"""`forks merge`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._paths import check_outputs


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks merge`."""

    models: Annotated[
        list[Path], typer.Argument(metavar="FORK...", help="Of `forks fork`, which have learned.")
    ]
    output: Annotated[
        Path,
        typer.Option("--output", "-o", dir_okay=False, metavar="MODEL", help="The merged model."),
    ]
    close: Annotated[
        bool,
        typer.Option("--close", help="Go on without the forks that are not there."),
    ] = False


def merge(options: Options) -> None:
    """Make one model of forks that have learned apart.

    Columns are read as the first of them reads them. If forks are missing, the result waits for
    them: it can be merged with them later.
    """
    from forks.cli._files import read_model
    from forks.cli._keyed import refuse_keyed
    from forks.estimators import merge as merged
    from forks.estimators.saving import save

    check_outputs(output=options.output)
    saved = [read_model(path) for path in options.models]
    for path, each in zip(options.models, saved, strict=True):
        refuse_keyed(path, each.model)
    _check_inputs(options.models, saved)
    try:
        model = merged([each.model for each in saved], close=options.close or None)
    except ValueError as error:
        message = str(error)
        for i, path in enumerate(options.models):
            message = message.replace(f"models[{i}]", str(path))
        raise ValueError(message) from None
    save(options.output, model, saved[0].note, saved[0].arrays)
    missing = 0 if model._origin is None else model._origin.n - len(model._origin.parts)
    waits = f"; forks that are missing: {missing:,} (--close goes on without)" if missing else ""
    typer.echo(f"{model.n_rounds_:,} rows{waits}")


def _check_inputs(paths: list[Path], saved: list[Any]) -> None:
    """Check that all models read the same columns in the same way."""
    first = _columns(saved[0])
    for path, each in zip(paths, saved, strict=True):
        if _columns(each) != first:
            raise ValueError(f"{paths[0]} and {path} cannot be merged: their columns differ")


def _columns(saved: Any) -> Any:
    from forks.keyed.encoded import encoder_beside

    note = saved.note if isinstance(saved.note, dict) else {}
    encoder = encoder_beside(saved)
    names = None if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
    return note.get("input"), names

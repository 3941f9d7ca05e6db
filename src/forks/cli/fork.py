"""`forks fork`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import count_option, folder_option
from forks.cli._paths import check_folder


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks fork`."""

    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Of `forks run --save`.")]
    n: Annotated[int, count_option("How many.", "--number", "-n")]
    folder: Annotated[Path, folder_option("Where they are written, as fork-0.forks, ...")] = Path()
    rows: Annotated[
        int, count_option("Rows that they will learn together, if known.", at_least=0)
    ] = 0


def fork(options: Options) -> None:
    """Make models that learn apart, for `forks merge`.

    Each of them learns by `forks run DATA --model FORK --save FORK`.
    """
    from forks.cli._files import read_model
    from forks.cli._keyed import refuse_keyed
    from forks.estimators.saving import save

    check_folder("--folder", options.folder)
    saved = read_model(options.model)
    refuse_keyed(options.model, saved.model)
    if not hasattr(saved.model, "engine_"):
        raise ValueError(f"{options.model}: the model has learned nothing yet")
    forks = saved.model.fork(options.n, options.rows)
    paths = [options.folder / f"fork-{k}.forks" for k in range(options.n)]
    for path in paths:
        if path.exists():
            raise ValueError(f"{path} is there already: --folder names another folder")
    options.folder.mkdir(parents=True, exist_ok=True)
    for path, model in zip(paths, forks, strict=True):
        save(path, model, saved.note, saved.arrays)
        typer.echo(str(path))

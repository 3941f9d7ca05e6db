"""`forks demo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import check_picture


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks demo`."""

    rows: Annotated[int, typer.Option(min=1_000, help="Rows of the stream.")] = 200_000
    seed: Annotated[int, typer.Option(min=0, help="Seed of stream and models.")] = 0
    picture: Annotated[
        Path, typer.Option(dir_okay=False, callback=check_picture, help="File to draw to.")
    ] = Path("forks-demo.png")


def demo(options: Options) -> None:
    """Learn a drifting stream live and draw the mistake rate."""
    from forks.experiments.demo import run_demo

    run_demo(**vars(options))

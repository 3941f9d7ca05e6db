"""`forks demo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from forks.cli._app import check_picture, count_option, file_option


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks demo`."""

    rows: Annotated[int, count_option("Rows of the stream.", at_least=1_000)] = 200_000
    seed: Annotated[int, count_option("Seed of stream and models.", at_least=0)] = 0
    picture: Annotated[Path, file_option("PNG", "File to draw to.", callback=check_picture)] = Path(
        "forks-demo.png"
    )


def demo(options: Options) -> None:
    """Learn a drifting stream live and draw the mistake rate."""
    from forks.experiments.demo import run_demo

    run_demo(**vars(options))

"""`forks demo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import check_picture, count_option, file_option, folder_option


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks demo`."""

    rows: Annotated[int, count_option("Rows of the stream.", at_least=1_000)] = 200_000
    seed: Annotated[int, count_option("Seed of stream and models.", at_least=0)] = 0
    picture: Annotated[Path, file_option("PNG", "File to draw to.", callback=check_picture)] = Path(
        "forks-demo.png"
    )
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve a model that learns it, with a live page.")
    ] = False
    port: Annotated[int, count_option("Port of --serve.", at_most=65_535)] = 8000
    rate: Annotated[int, count_option("Rows a second of --serve.")] = 1_000
    state: Annotated[Path, folder_option("Folder of the state of --serve.")] = Path("forks-demo")


def demo(options: Options) -> None:
    """Learn a drifting stream live and draw the mistake rate.

    With --serve a service learns it, with a live page.
    """
    if options.serve:
        from forks.cli.serve import needs_serve

        with needs_serve():
            from forks.serve.demo import run_demo as run_service
        run_service(options.state, "127.0.0.1", options.port, float(options.rate), typer.echo)
        return
    from forks.experiments.demo import run_demo

    run_demo(rows=options.rows, seed=options.seed, picture=options.picture)

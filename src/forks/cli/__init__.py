"""The command line, one file a command: options, a call of the room that does the work, a report.

Commands import what does their work, and with it the rooms, when they are called: `forks --help`
needs none of them, but for the names of experiments.
"""

from typing import Annotated

import typer

from forks import __version__
from forks.cli import (
    bench,
    client,
    compare,
    data,
    demo,
    fork,
    info,
    merge,
    predict,
    reproduce,
    run,
    serve,
)
from forks.cli._app import add, group
from forks.cli._inputs import FileCommand

main = group(
    "Online kernel learning: one pass, bounded memory, microseconds per example.", completion=True
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forks {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


add(main, "run", run.Options, run.run, cls=FileCommand)
add(main, "predict", predict.Options, predict.predict, cls=FileCommand)
add(main, "info", info.Options, info.info)
add(main, "fork", fork.Options, fork.fork)
add(main, "merge", merge.Options, merge.merge)
add(main, "serve", serve.Options, serve.serve)
add(main, "client", client.Options, client.client)
add(main, "demo", demo.Options, demo.demo, missing_file=1)
add(main, "compare", compare.Options, compare.compare)
add(main, "reproduce", reproduce.Options, reproduce.reproduce)
add(main, "bench", bench.Options, bench.bench, missing_file=1)
data_commands = group("List the benchmark data sets, and fetch them.")
add(data_commands, "list", data.ListOptions, data.list_data, missing_file=1)
add(data_commands, "fetch", data.FetchOptions, data.fetch_data, missing_file=1)
main.add_typer(data_commands, name="data")

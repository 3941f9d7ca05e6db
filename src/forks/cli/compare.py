"""`forks compare`."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from forks.cli._app import NOTHING, count_option, file_option, text_option
from forks.cli._paths import check_not_read, check_outputs
from forks.cli._reading import dataset_names, starting

Order = StrEnum("Order", ["SHUFFLED", "FILE"])
Task = StrEnum("Task", ["CLASSIFICATION", "REGRESSION"])


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks compare`."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Name of a data set or of a generated stream (abrupt, rotation, ...), or a file "
            "of any kind that `forks run` takes.",
            autocompletion=lambda incomplete: starting(dataset_names(), incomplete),
        ),
    ]
    methods: Annotated[
        list[str],
        text_option(
            "NAME", "A method of ours, or default; again for more. [default: all]", "--method"
        ),
    ] = NOTHING
    models: Annotated[
        list[str],
        text_option(
            "NAME",
            "One of others: river:linear_model.LogisticRegression, sklearn:SGDClassifier, with "
            "arguments in brackets if any; again for more.",
            "--model",
        ),
    ] = NOTHING
    label: Annotated[
        str | None, text_option("COLUMN", "Column of the labels. [default: the last]")
    ] = None
    task: Annotated[
        Task | None, typer.Option(help="[default: that of the data set, or by the labels]")
    ] = None
    order: Annotated[
        Order | None,
        typer.Option(help="Of the rows. [default: file for data sets in the order of time]"),
    ] = None
    scale: Annotated[
        bool, typer.Option(help="Features scaled online for all methods, or left as they are.")
    ] = True
    budget: Annotated[
        int | None, count_option("Points that a method may keep. [default: 50, large data 100]")
    ] = None
    bandwidth: Annotated[
        float | None,
        typer.Option(min=0.0, help="Of the Gaussian kernel. [default: median distance of rows]"),
    ] = None
    n_permutations: Annotated[
        int | None, count_option("Orders of the rows. [default: 20]", "--permutations")
    ] = None
    rows: Annotated[int | None, count_option("Rows to play. [default: all]")] = None
    batch: Annotated[
        int, count_option("Rows that models of scikit-learn predict before they learn them.")
    ] = 1
    seed: Annotated[int, count_option("Seed of orders and methods.", at_least=0)] = 0
    jobs: Annotated[int | None, count_option("Processes. [default: one per core]")] = None
    output: Annotated[Path | None, file_option("FILE", "JSON file for the runs.")] = None


def compare(options: Options) -> None:
    """Play methods side by side on a data set.

    They are ours, and models of River and scikit-learn. Each row is predicted before it is learned,
    and every row counts.
    """
    from forks.cli._models import guess_task
    from forks.experiments.compare import run_compare

    check_outputs(output=options.output)
    check_not_read([options.data], {"output": options.output})
    run_compare(**vars(options), task_of=lambda y: guess_task(y)[0])

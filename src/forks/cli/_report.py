"""What `forks run` and `forks predict` say of their figures: a line, a table, or JSON."""

import json
from collections.abc import Iterator
from typing import Any

import typer

from forks.cli._understood import counted

_MOST_CLASSES = 10  # beyond, the confusion matrix is not printed
# Names of figures, how they are printed, and what they are in the table.
_OF_CLASSES = (
    ("accuracy", ".2%", "accuracy"),
    ("balanced_accuracy", ".2%", "balanced accuracy"),
    ("f1", ".4f", "F1"),
    ("auc", ".4f", "AUC"),
    ("log_loss", ".4f", "log loss"),
    ("brier_score", ".4f", "Brier score"),
    ("kappa", ".4f", "kappa"),
    ("kappa_temporal", ".4f", "kappa-temporal"),
    ("mistake_rate", ".2%", "mistakes"),
    ("last_label_mistake_rate", ".2%", "  repeating the last label"),
    ("majority_mistake_rate", ".2%", "  always the most frequent class"),
)
_OF_NUMBERS = (
    ("root_mean_squared_error", ".4g", "root mean squared error"),
    ("last_value_root_mean_squared_error", ".4g", "  repeating the last label"),
    ("mean_value_root_mean_squared_error", ".4g", "  always the mean label"),
    ("mean_absolute_error", ".4g", "mean absolute error"),
    ("median_absolute_error", ".4g", "median absolute error"),
    ("r2", ".4f", "R2"),
)


def line(figures: dict[str, Any]) -> str:
    """Return rows and errors in one line."""
    text = counted(figures["rows"], "row")
    if "mistakes" in figures:
        text += f", {figures['mistake_rate']:.2%} mistakes"
        return text + f", {figures['recent_mistake_rate']:.2%} recently"
    error = figures["root_mean_squared_error"]
    return text + f", root mean squared error {error if error is None else format(error, '.4g')}"


def show_figures(figures: dict[str, Any], window: int) -> None:
    """Print the figures of a run over all rows and over the last ones, and what was confused."""
    from forks.experiments.report import Table, plain_console

    console = plain_console()
    recently = min(window, figures["rows"])
    console.print(Table(["", "all rows", f"last {recently:,}"], [*_rows(figures)]))
    if 2 <= len(figures.get("classes", ())) <= _MOST_CLASSES:
        console.print()
        answered = [f"answered {label}" for label in figures["classes"]]
        matrix = zip(figures["classes"], figures["confusion"], strict=True)
        rows = [[f"label {label}", *(f"{n:,}" for n in counts)] for label, counts in matrix]
        console.print(Table(["", *answered], rows))


def _rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    """Return the rows of the table, without figures that there are none of."""
    for name, form, title in _OF_CLASSES if "mistakes" in figures else _OF_NUMBERS:
        pair = figures.get(name), figures.get(f"recent_{name}")
        if pair != (None, None):
            yield [title, *("" if value is None else format(value, form) for value in pair)]


def show_json(figures: dict[str, Any], more: dict[str, Any]) -> None:
    """Print figures as one JSON object."""
    typer.echo(json.dumps({**figures, **more}))

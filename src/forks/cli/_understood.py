"""What `forks run` says before it learns: what it took the file, its columns and its labels for."""

from typing import Any

import typer

from forks.cli._app import tell

_WIDTH = 88  # characters of a line
_NAMES = {
    "number": "numbers",
    "category": "categories",
    "time": "times",
    "text": "text",
    "constant": "constant",
    "identifier": "left out",
    "dropped": "left out",
}


def show_understood(file: Any, encoder: Any, task: str, why: str, features: int) -> None:
    """Print files, label, task and kinds of columns on stderr."""
    for note in file.notes:
        tell(note)
    label = file.input.label_name
    name = "label" if label is None else f"label {label}"
    typer.echo(f"{name}: {task} ({why}); {counted(features, 'feature')}", err=True)
    if encoder is not None:
        for line in kinds_lines(encoder.columns_):
            typer.echo(line, err=True)


def counted(n: int, noun: str) -> str:
    """Return a number of things: 1 row, 2 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def kinds_lines(columns: Any) -> list[str]:
    """Return the columns of each kind as a line, or a part of them if they are many."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(_NAMES[column.kind], []).append(_shown(column))
    lines = []
    for kind, names in groups.items():
        text = f"  {kind:<11}{len(names):>5}  "
        room = _WIDTH - len(text)
        lines.append(text + _fitting(names, room))
    return lines


def _shown(column: Any) -> str:
    if column.kind in ("category", "identifier", "constant") and column.why != "told":
        return f"{column.name} ({column.why})"
    if column.kind == "time" and column.why.endswith("first"):  # not of ISO dates
        other = "; else --month-first" if "assumed" in column.why else ""
        return f"{column.name} ({column.why}{other})"
    return str(column.name)


def _fitting(names: list[str], room: int) -> str:
    shown: list[str] = []
    for i, name in enumerate(names):
        rest = len(names) - i - 1
        more = f", and {rest:,} more" if rest else ""
        if shown and len(", ".join([*shown, name])) + len(more) > room:
            return f"{', '.join(shown)}, and {len(names) - i:,} more"
        shown.append(name)
    return ", ".join(shown)

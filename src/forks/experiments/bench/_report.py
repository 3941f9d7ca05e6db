"""Records as tables on the terminal, as Markdown and as JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from forks.evaluate.provenance import environment
from forks.experiments.bench._record import Record
from forks.files import write_atomically

_COLUMNS = 8  # of a table of curves


class Sheet(NamedTuple):
    """A table: the first column is text, the others are numbers with their units."""

    header: list[str]
    rows: list[list[str]]


def sheets(records: Sequence[Record]) -> Iterator[Sheet]:
    """Make a table of the columns, one for each axis that records lie on, and one for the rest."""
    if any(record.column for record in records):
        yield _columns([record for record in records if record.column])
    for axis in dict.fromkeys(record.against for record in records if record.against):
        yield _curves(axis, [record for record in records if record.against == axis])
    single = [record for record in records if not record.against and not record.column]
    if single:
        rows = [[record.name, _measured(record), _goal(record)] for record in single]
        yield Sheet(["", "measured", "goal"], rows)


def _columns(records: Sequence[Record]) -> Sheet:
    columns = list(dict.fromkeys(record.column for record in records))
    cells = {(record.name, record.column): record for record in records}
    rows = []
    for name in dict.fromkeys(record.name for record in records):
        row = [cells.get((name, column)) for column in columns]
        rows.append([name, *("" if record is None else _measured(record) for record in row)])
    return Sheet(["", *columns], rows)


def _curves(axis: str, records: list[Record]) -> Sheet:
    places = sorted({record.at for record in records if record.at is not None})
    if len(places) > _COLUMNS:
        step = (len(places) - 1) / (_COLUMNS - 1)
        places = [places[round(step * i)] for i in range(_COLUMNS)]
    rows = []
    for name in dict.fromkeys(record.name for record in records):
        curve = {record.at: record for record in records if record.name == name}
        unit = next(iter(curve.values())).unit
        values = [number(curve[at].value) if at in curve else "" for at in places]
        rows.append([f"{name}, {unit}", *values])
    return Sheet([f"{axis} =", *map(number, places)], rows)


def number(value: float | None) -> str:
    """Write a number with three significant digits, or all of them above 100."""
    if value is None:
        return ""
    return f"{value:,.0f}" if 99.95 <= abs(value) < 1e9 else f"{value:.3g}"


def _measured(record: Record) -> str:
    if record.value is None:
        return f"none: {record.reason}"
    return f"{number(record.value)} {record.unit}".strip()


def _goal(record: Record) -> str:
    if record.at_least is None and record.at_most is None:
        return ""
    if record.at_least is not None and record.at_most is not None:
        goal = f"{record.at_least:g} to {record.at_most:g}"
    else:
        goal = f"≥ {record.at_least:g}" if record.at_least is not None else f"≤ {record.at_most:g}"
    if record.met is None:
        return goal
    return f"{goal}, met" if record.met else f"{goal}, NOT met"


def show(console: Console, title: str, records: Sequence[Record]) -> None:
    """Print the tables of one part."""
    console.print(f"\n[bold]{title}[/bold]")
    for sheet in sheets(records):
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for i, heading in enumerate(sheet.header):
            table.add_column(heading, justify="right" if i else "left")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)


def write_json(path: Path, records: Sequence[Record]) -> None:
    """Write one flat record per measured number."""
    about = environment()
    flat = [{**asdict(record), **about} for record in records]
    path.write_text(json.dumps(flat, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


class Section(NamedTuple):
    """One part of the report."""

    title: str
    note: str
    records: Sequence[Record]
    picture: str  # file name, or empty


def write_markdown(path: Path, command: str, sections: Sequence[Section]) -> None:
    """Write tables and pictures."""
    about = environment()
    cpu, cores = about.pop("cpu"), about.pop("cores")
    versions = ", ".join(f"{name} {value}" for name, value in about.items())
    lines = [
        "# Benchmark of forks",
        "",
        f"Made by `{command}` on {cpu} ({cores} cores; one is used), with {versions}.",
        "Times are CPU time on one thread; contenders take turns, and the best of several runs of",
        "each counts; compilation is kept apart.",
    ]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.note]
        for sheet in sheets(section.records):
            lines += ["", _row(sheet.header), _row(["---", *["--:"] * (len(sheet.header) - 1)])]
            lines += map(_row, sheet.rows)
        if section.picture:
            lines += ["", f"![{section.title}]({section.picture})"]
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

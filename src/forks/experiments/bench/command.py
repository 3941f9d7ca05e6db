"""What `forks bench` does: measure the parts, keep their records, write the report."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from forks.experiments.bench import LONG_PARTS, PARTS
from forks.experiments.bench._part import Number, Part, numbers_of, part, tables
from forks.experiments.record import Record, RecordFile, done_keys, key_of, made_with, played
from forks.experiments.report import Section, write_report


def run_bench(
    *,
    quick: bool = False,
    output: Path = Path("build/bench"),
    only: Sequence[str] = (),
    console: Console | None = None,
) -> list[Record]:
    """Measure, print the tables, and write records.jsonl, the report and the pictures.

    Parts that this very code has measured in the folder `output` before are not measured again, so
    that an interrupted benchmark goes on; those named in `only` are measured in any case.
    """
    for name in only:
        if name not in (*PARTS, *LONG_PARTS):
            known = ", ".join((*PARTS, *LONG_PARTS))
            raise ValueError(f"--only: no part {name!r}; there are {known}")
    console = Console(highlight=False) if console is None else console
    parts = {name: part(name) for name in only or PARTS}
    file = RecordFile(output / "records.jsonl")
    file.drop_cut_off_line()
    records = file.read()
    done = set() if only else done_keys(records)
    left = [name for name in parts if key_of(_asked(name, parts[name], quick)) not in done]
    if len(left) < len(parts):
        console.print(f"{len(parts) - len(left)} of {len(parts)} parts were measured before.")
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    # No thread that refreshes: it would take its share of the time that is measured.
    progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
    with progress:
        task = progress.add_task("", total=len(left))
        for name in left:
            progress.update(task, description=parts[name].title, refresh=True)
            records.append(measured(name, parts[name], quick))
            file.append(records[-1])
            title = parts[name].title
            shown = tables(numbers_of(records[-1], title))
            console.print(f"\n[bold]{title}[/bold]", *shown, sep="\n")
            progress.advance(task)
    latest = {record["experiment"]: record for record in records}
    records = [latest[name] for name in parts]
    options = (*(["--quick"] if quick else []), *(f"--only {name}" for name in parts if only))
    report(records, parts, output, " ".join(("forks bench", *options)))
    console.print(f"\nReport: {output / 'report.md'}", soft_wrap=True)
    return records


def _asked(name: str, part: Part, quick: bool) -> dict[str, Any]:
    return {"experiment": name, "effort": part.quick if quick else {}, "source": _source()}


@cache
def _source() -> str:
    """Return a digest of the package's code: other code is another benchmark."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted((*package.rglob("*.py"), *package.rglob("*.c"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def measured(name: str, part: Part, quick: bool) -> Record:
    """Measure a part; if it fails, the record has the numbers up to there."""
    numbers: list[Number] = []
    asked = _asked(name, part, quick)

    def measure() -> dict[str, Any]:
        for number in part.measure(**asked["effort"]):
            numbers.append(number)
        return {}

    record = played(asked, measure)
    return {**record, "numbers": [asdict(number) for number in numbers]}


def report(
    records: Sequence[Record], parts: Mapping[str, Part], output: Path, command: str
) -> None:
    """Write report.md, report.html and the pictures from records alone."""
    about = {name: records[0][name] for name in made_with() if name in records[0]}
    cpu, cores = about.pop("cpu"), about.pop("cores")
    about.pop("machine", "")
    versions = ", ".join(f"{name} {value}" for name, value in about.items())
    opening = (
        f"Made by `{command}` on {cpu} ({cores} cores; one is used), with {versions}.\n"
        "Times are CPU time on one thread; contenders take turns, and the best of several runs of\n"
        "each counts; compilation is kept apart."
    )
    sections = [_section(record, parts[record["experiment"]]) for record in records]
    write_report(output, ["# Benchmark of forks", opening], sections)


def _section(record: Record, part: Part) -> Section:
    numbers = numbers_of(record, part.title)
    draw = part.draw if any(number.against for number in numbers) else None
    return Section(
        record["experiment"],
        part.doc,
        blocks=list(tables(numbers)),
        draw=None if draw is None else lambda: draw(numbers),
    )

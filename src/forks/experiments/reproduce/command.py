"""What `forks reproduce` does: plan, play what is missing, write the report."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from forks.experiments.record import DONE, Record, RecordFile
from forks.experiments.report import Block, Section, bullets, with_progress, write_report
from forks.experiments.reproduce.agreement import agreement
from forks.experiments.reproduce.chapters import NAMES, Chapter, chapter
from forks.experiments.reproduce.plan_file import ENDINGS, plan_chapter, read_plan
from forks.experiments.reproduce.playing import check_data, missing_runs, play_runs
from forks.experiments.reproduce.runs import Run

CHAPTERS = {name: chapter(name) for name in NAMES}


def run_reproduce(
    what: str,
    *,
    quick: bool = False,
    output: Path = Path("build/reproduce"),
    jobs: int = -1,
    console: Console | None = None,
) -> list[Record]:
    """Play an experiment, or all, as far as its records are missing; write the report.

    `what` is an experiment of the paper, "all", which skips an experiment whose data are missing,
    or a plan file (see `forks.experiments.reproduce.plan_file`), for which `quick` changes nothing.
    Records and report are in the folder `output`.
    """
    console = Console(highlight=False) if console is None else console
    plans = _plans(what, quick)
    file = output / "records.jsonl"
    records = RecordFile(file).read()
    missing = {name: missing_runs(plan, records) for name, plan in plans.items()}
    for name, reason in _data_faults(missing, skip=what == "all").items():
        console.print(f"{name}: skipped: {reason}", soft_wrap=True)
        del missing[name]
    for name, runs in missing.items():
        console.print(f"{name}: {len(plans[name]):,} runs, {len(runs):,} to play", soft_wrap=True)
        played = play_runs(runs, file, jobs)
        records += with_progress(played, len(runs), console, "{0[method]} on {0[data]}".format)
    report(records, output, f"forks reproduce {what}{' --quick' if quick else ''}")
    console.print(f"Report: {output / 'report.md'} and report.html", soft_wrap=True)
    return records


def _plans(what: str, quick: bool) -> dict[str, list[Run]]:
    """Return the runs that are asked for, by their experiments."""
    if Path(what).suffix.lower() in ENDINGS:
        return read_plan(Path(what))
    if what != "all" and what not in CHAPTERS:
        known = ", ".join(CHAPTERS)
        raise ValueError(f"WHAT must be one of {known}, all, or a plan file, got {what!r}")
    chosen = {name: CHAPTERS[name] for name in CHAPTERS if what in ("all", name)}
    return {name: list(own.plan(**own.quick if quick else {})) for name, own in chosen.items()}


def _data_faults(plans: dict[str, list[Run]], skip: bool) -> dict[str, str]:
    """Read all that is to be played, before anything is; return the plans with missing files.

    A fault in a file is an error, and so is a file that is missing, unless its plan may be skipped.
    """
    faults: dict[str, str] = {}
    for name, runs in plans.items():
        for data in dict.fromkeys(run.data for run in runs if run.needs_data):
            try:
                check_data(data)  # which reads a data set once
            except FileNotFoundError as error:
                if not skip:
                    raise
                faults.setdefault(name, str(error))
    return faults


def report(records: Iterable[Record], output: Path, command: str) -> None:
    """Write report.md, report.html, the pictures and the CSV files from records alone."""
    # of a run that failed and was played again, the last record
    records = list({record["key"]: record for record in records}.values())
    opening: list[Block] = ["# The paper's experiments", f"Made by `{command}`."]
    compared = agreement(records)
    if compared:
        opening += ["## Agreement with the printed mistake rates", *compared]
    others = dict.fromkeys(r["experiment"] for r in records if r["experiment"] not in CHAPTERS)
    chapters = {**CHAPTERS, **{name: plan_chapter(name) for name in others}}
    by_name = {name: [r for r in records if r["experiment"] == name] for name in chapters}
    sections = [_section(name, chapters[name], own) for name, own in by_name.items() if own]
    write_report(output, opening, sections)


def _section(name: str, chapter: Chapter, records: Sequence[Record]) -> Section:
    played = [r for r in records if r["status"] == DONE]
    failed = [r for r in records if r["status"] != DONE]
    reasons = (f"failed: {r['method']} on {r['data']}: {r['reason']}" for r in failed)
    draw, csv = chapter.draw, chapter.csv
    return Section(
        name,
        chapter.doc,
        blocks=chapter.tables(played) if played else [],
        draw=(lambda: draw(played)) if draw and played else None,
        last=[bullets(dict.fromkeys(reasons))],
        csv=csv(played) if csv and played else "",
    )

"""The command: plan, play what is missing, write the report."""

import io
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from forks.experiments.reproduce.ablation import ablation_table
from forks.experiments.reproduce.agreement import agreement
from forks.experiments.reproduce.document import (
    Block,
    Heading,
    Paragraph,
    Picture,
    to_html,
    to_markdown,
)
from forks.experiments.reproduce.figures import draw_decompositions, draw_theta
from forks.experiments.reproduce.plan_file import ENDINGS, read_plan
from forks.experiments.reproduce.plans import EXPERIMENTS, FULL, QUICK
from forks.experiments.reproduce.records import Record, RecordFile
from forks.experiments.reproduce.report import (
    decomposition_table,
    failures,
    plan_tables,
    rate_tables,
    table,
    table_1,
    theta_table,
    update_time_table,
)
from forks.experiments.reproduce.runner import missing_runs, play_runs
from forks.experiments.reproduce.runs import DONE, Run, check_data
from forks.experiments.reproduce.trade_off import draw_trade_off, trade_off_lines, trade_off_table
from forks.files import write_atomically


class Chapter(NamedTuple):
    """How an experiment is told."""

    title: str
    text: str
    write: Callable[[Sequence[Record]], list[Block]]
    draw: Callable[[Sequence[Record]], Any] | None = None
    tabular: bool = False  # is there a CSV of its lines?
    tabulate: Callable[[Sequence[Record], str], str] = table  # what makes it


CHAPTERS = {
    "table1": Chapter(
        "Table 1: fixed budget",
        "Methods as in the authors' code, sizes as in the paper's text: B = 50 up to 10,000 rows, "
        "100 above, and buffers of 2 B; on the large data sets also the sizes of the authors' "
        "driver (buffer 200, s_p 150, s_m 100, k 15), on the small ones the two-stage methods also "
        "with kernel values below 1.2e-7 taken as zero, as in sums in single precision. The "
        "columns: what the paper prints; then "
        "ours. As the paper counts: the mistakes of stage one are left out of NOGD, SkeGD and "
        "FORKS, and all rounds are divided by. Every round: every mistake counts. The authors' "
        "widths: bandwidth 50 for SkeGD and FORKS, 8 for the others. Best width: the bandwidth of "
        "the grid with the lowest rate, for each method. One width for all: the one with the "
        "lowest mean over methods. Time and points are those at the best width, every round.",
        table_1,
        tabular=True,
    ),
    "adversarial": Chapter(
        "Adversarial environments",
        "500 points, each repeated r times, labels flipped in every second block; bandwidth 50. "
        "Sizes as in the authors' code (B = 100, where the text says 200), and like there the last "
        "feature is left at zero.",
        lambda records: rate_tables(records, "adversarial"),
        tabular=True,
    ),
    "theta": Chapter(
        "TISVD against a full SVD, over the update cycle",
        "FORKS as released on cod-rna, s_p 150, s_m 100, k 15, bandwidth 50, an update round every "
        "theta N rounds with loss. The same recursion, dense: at each update the matrix of rank k "
        "plus the change is decomposed by a dense solver and cut to k; where TISVD agrees with "
        "it, what TISVD loses to the full SVD is truncation and not arithmetic. More pairs: TISVD "
        "keeps more than k inside, and the map still uses k (`extra_rank`).",
        theta_table,
        draw_theta,
    ),
    "updates": Chapter(
        "Time of an update round",
        "FORKS as released on 20,000 rows of cod-rna, k 50, s_m 100, buffer 2 s_p, an update round "
        "every 20 rounds with loss: CPU time of a pass beyond that of the same pass without update "
        "rounds, divided by their number. All of the update round is in it: kernel values, the "
        "decomposition of Phi_pp, and the new map.",
        update_time_table,
    ),
    "tisvd": Chapter(
        "TISVD against the randomised SVD",
        "A Gaussian 100 x 100 matrix under Gaussian updates of three columns, k = 30. The errors "
        "are against dense decompositions of the same running matrix.",
        decomposition_table,
        draw_decompositions,
    ),
    "defaults": Chapter(
        "The default learner, nothing tuned",
        "`FORKSClassifier()`, which is `forks.learners.Adaptive`, and the same with one part at a "
        "time changed. Mean and deviation of the mistake rate in %, every round counted; german "
        "and spambase in the published orders. With repeats: the adversarial games, 500 points "
        "repeated and every second block lying. Time is CPU time of a pass of the default learner.",
        ablation_table,
    ),
    "flights": Chapter(
        "Three million flights",
        "Is a flight 15 minutes late or more? One pass in the order of time, as the paper plays "
        "KuaiRec: sizes as in the authors' code for it, one bandwidth for all methods. Features "
        "are made as the stream goes, from flights that had landed by then. Seconds are CPU time "
        "of learning on one core, the median over seeds; reading and encoding are apart. Beyond "
        "the paper's plan: three seeds for the methods that draw at random, with the deviation "
        "over them, and under the squared hinge first-order methods with a tenth of the step 0.2.",
        trade_off_table,
        draw_trade_off,
        tabular=True,
        tabulate=trade_off_lines,
    ),
    "kuairec": Chapter(
        "KuaiRec",
        "The small matrix in the order of time: 212 features, watched beyond 0.75 of the video or "
        "not, bandwidth 25. Seconds are CPU time of learning on one core; reading is apart.",
        trade_off_table,
        draw_trade_off,
        tabular=True,
        tabulate=trade_off_lines,
    ),
}


def run_reproduce(
    what: str,
    *,
    quick: bool = False,
    output: Path = Path("build/reproduce"),
    jobs: int = -1,
    console: Console | None = None,
) -> list[Record]:
    """Play an experiment, or all, as far as its records are missing; write the report.

    Parameters
    ----------
    what : str
        An experiment of the paper, "all" for all of them, or a plan file (.toml or .json, see
        `forks.experiments.reproduce.plan_file`). With "all", an experiment whose data are
        missing is skipped.
    quick : bool
        Three permutations and a coarse grid; 100,000 rows of the large streams and two budgets; a
        plan file is played as it is.
    output : path
        Folder of `records.jsonl` and of the report.
    jobs : int
        Processes; -1 for one per core.
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
        records += _played(runs, file, jobs, console)
    write_report(records, output, f"forks reproduce {what}{' --quick' if quick else ''}")
    console.print(f"Report: {output / 'report.md'} and report.html", soft_wrap=True)
    return records


def _plans(what: str, quick: bool) -> dict[str, list[Run]]:
    """Return the runs that are asked for, by their experiments."""
    if Path(what).suffix.lower() in ENDINGS:
        plans: dict[str, list[Run]] = {}
        for run in read_plan(Path(what)):
            plans.setdefault(run.experiment, []).append(run)
        return plans
    if what != "all" and what not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ValueError(f"WHAT must be one of {known}, all, or a plan file, got {what!r}")
    effort = QUICK if quick else FULL
    return {name: list(EXPERIMENTS[name](effort)) for name in EXPERIMENTS if what in ("all", name)}


def _data_faults(plans: dict[str, list[Run]], skip: bool) -> dict[str, str]:
    """Read all that is to be played, before anything is; give the plans with missing files.

    A fault in a file is an error, and so is a file that is missing, unless its plan may be skipped.
    """
    missing: dict[str, str] = {}
    checked: dict[str, str] = {}
    for name, runs in plans.items():
        for data in dict.fromkeys(run.data for run in runs if run.needs_data):
            if data not in checked:
                checked[data] = _missing_file(data, skip)
            if checked[data]:
                missing.setdefault(name, checked[data])
    return missing


def _missing_file(data: str, skip: bool) -> str:
    """Check a data set; give what is missing, if that is to be skipped, or nothing."""
    try:
        check_data(data)
    except FileNotFoundError as error:
        if not skip:
            raise
        return str(error)
    return ""


def _played(missing: list[Any], file: Path, jobs: int, console: Console) -> list[Record]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)
    records = []
    with progress if console.is_terminal else nullcontext():
        bar = progress.add_task("", total=len(missing))
        for record in play_runs(missing, file, jobs):
            records.append(record)
            told = f"{record['method']} on {record['data']}"
            progress.update(bar, advance=1, description=told)
    return records


def write_report(records: Sequence[Record], output: Path, command: str) -> None:
    """Write report.md, report.html, the pictures and the CSV files from records alone."""
    output.mkdir(parents=True, exist_ok=True)
    records = _last_of_each(records)
    blocks: list[Block] = [
        Heading(1, "The paper's experiments"),
        Paragraph(f"Made by `{command}`."),
    ]
    compared = agreement(records)
    if compared:
        blocks += [Heading(2, "Agreement with the printed mistake rates"), *compared]
    others = dict.fromkeys(r["experiment"] for r in records if r["experiment"] not in CHAPTERS)
    for name, chapter in {**CHAPTERS, **{name: _plan_chapter(name) for name in others}}.items():
        own = [record for record in records if record["experiment"] == name]
        if not own:
            continue
        blocks += [Heading(2, chapter.title), Paragraph(chapter.text)]
        if any(record["status"] == DONE for record in own):
            blocks += chapter.write(own)
            if chapter.draw is not None:
                picture = io.BytesIO()
                chapter.draw(own).savefig(picture, format="png")
                write_atomically(output / f"{name}.png", picture.getvalue())
                blocks.append(Picture(chapter.title, f"{name}.png"))
            if chapter.tabular:
                write_atomically(output / f"{name}.csv", chapter.tabulate(own, name).encode())
        blocks += failures(own, name)
    write_atomically(output / "report.html", to_html(blocks, output).encode())
    write_atomically(output / "report.md", to_markdown(blocks).encode())


def _plan_chapter(name: str) -> Chapter:
    return Chapter(
        name,
        "From a plan file. Mistakes in %: mean and deviation over permutations.",
        lambda records: plan_tables(records, name),
    )


def _last_of_each(records: Sequence[Record]) -> list[Record]:
    """One record per run: a run that failed and was played again has two."""
    return list({record["key"]: record for record in records}.values())

"""Runs, records, plans and the report of `forks reproduce`."""

import csv
import inspect
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("matplotlib", reason="the report draws with matplotlib")

from forks.cli import main
from forks.datasets import load, permutations
from forks.evaluate import is_mistake
from forks.experiments.record import RecordFile
from forks.experiments.reproduce import chapters, command
from forks.experiments.reproduce.chapters import NAMES
from forks.experiments.reproduce.chapters.table1 import ROWS
from forks.experiments.reproduce.command import CHAPTERS
from forks.experiments.reproduce.paper import DRIVERS_SIZES, FLOORED, plain_name, printed
from forks.experiments.reproduce.playing import missing_runs, play, play_runs
from forks.experiments.reproduce.rates import as_published, every_round, lines
from forks.experiments.reproduce.runs import Run
from forks.kernels import Gaussian, kernel_block
from forks.learners import FORKS, NOGD, RBP
from forks.losses import SquaredHinge
from forks_against_oracle import engine_run
from kept_points import kept_points

RBP_RUN = Run(
    experiment="table1",
    data="german",
    method="RBP",
    learner="RBP",
    arguments={"budget": 50, "bandwidth": 8.0},
)
NOGD_RUN = Run(
    experiment="table1",
    data="german",
    method="NOGD",
    learner="NOGD",
    arguments={"budget": 100, "rank": 5, "bandwidth": 8.0},
    permutation=2,
)


# ---- runs ------------------------------------------------------------------------------------


def test_runs_that_are_told_alike_are_the_same():
    again = Run(**{**RBP_RUN.__dict__, "arguments": {"bandwidth": 8.0, "budget": 50}})
    assert again.key == RBP_RUN.key
    runs = [run for chapter in CHAPTERS.values() for run in chapter.plan(**chapter.quick)]
    assert len({run.key for run in runs}) == len(runs)


def test_learners_are_made_from_their_names():
    assert RBP_RUN.make_learner() == RBP(kernel=Gaussian(8.0), budget=50)
    arguments = {"bandwidth": 2.0, "loss": "squared_hinge", "rank": 3}
    run = Run(
        experiment="x", data="y", method="z", learner="FORKS.as_released", arguments=arguments
    )
    expected = FORKS.as_released(kernel=Gaussian(2.0), loss=SquaredHinge(), rank=3)
    assert run.make_learner() == expected
    for chapter in CHAPTERS.values():
        for run in chapter.plan(**chapter.quick):
            if run.needs_data:
                run.make_learner()


def test_small_kernel_values_can_be_taken_as_zero():
    run = Run(**{**RBP_RUN.__dict__, "arguments": {"bandwidth": 1.0, "floor": 1e-3}})
    kernel = run.make_learner().kernel
    X = np.array([[0.0], [3.0], [5.0]])
    plain = kernel_block(Gaussian(1.0), X, kept_points(X), 3)
    assert 0.0 < plain[0, 2] < 1e-3 < plain[0, 1]
    expected = np.where(plain >= 1e-3, plain, 0.0)
    np.testing.assert_array_equal(kernel_block(kernel, X, kept_points(X), 3), expected)


@pytest.mark.needs_data
def test_a_record_has_both_counts():
    record = play(NOGD_RUN)
    X, y = load("german")
    order = permutations("german")[2]
    learner = NOGD(kernel=Gaussian(8.0), budget=100, rank=5)
    scores, engine = engine_run(learner, X[order], y[order], seed=2)
    wrong = is_mistake(scores, y[order])
    rounds = learner.rounds_since_switch(engine.memory)
    assert record["status"] == "done"
    assert record["mistakes"] == wrong.sum()
    assert record["mistakes_as_published"] == wrong[-rounds:].sum() < wrong.sum()
    assert record["warm_up_rounds"] == 1000 - rounds > 100
    assert record["minority"] == 300
    assert record["stored_points"] == 100
    assert json.loads(json.dumps(record)) == record
    first = play(RBP_RUN)
    assert first["mistakes"] == first["mistakes_as_published"]
    assert {"numpy", "numba", "python", "cores"} <= set(first)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"learner": "Magic"}, "learner must be one of forks.learners, got 'Magic'"),
        ({"arguments": {"budget": 0}}, "budget must be at least 1, got 0"),
        ({"data": "nothing"}, "'nothing' is neither a file nor one of the data sets german"),
    ],
)
def test_a_failing_run_is_a_record_with_a_reason(changes, reason):
    record = play(Run(**{**RBP_RUN.__dict__, **changes}))
    assert record["status"] == "failed"
    assert reason in record["reason"]


# ---- records ---------------------------------------------------------------------------------


@pytest.mark.needs_data
def test_a_killed_run_ends_with_the_same_records(tmp_path):
    runs = list(CHAPTERS["adversarial"].plan(permutations=2))[::2]
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    expected = list(play_runs(runs, whole, jobs=1))
    script = (
        "import sys; from pathlib import Path\n"
        "from forks.experiments.reproduce.chapters.adversarial import plan\n"
        "from forks.experiments.reproduce.playing import play_runs\n"
        "runs = list(plan(permutations=2))[::2]\n"
        "list(play_runs(runs, Path(sys.argv[1]), jobs=1))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(killed)])
    deadline = time.monotonic() + 60
    while len(RecordFile(killed).read()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = RecordFile(killed).read()
    assert len(kept) >= 3
    missing = missing_runs(runs, kept)
    assert len(missing) == len(runs) - len(kept)
    list(play_runs(missing, killed, jobs=1))

    def results(records):
        left_out = {"seconds"}
        return sorted(
            json.dumps({k: v for k, v in r.items() if k not in left_out}) for r in records
        )

    assert results(RecordFile(killed).read()) == results(expected)


def test_runs_that_failed_are_played_again():
    done = {"key": RBP_RUN.key, "status": "done"}
    failed = {"key": NOGD_RUN.key, "status": "failed"}
    assert missing_runs([RBP_RUN, NOGD_RUN], [done, failed]) == [NOGD_RUN]


# ---- plans and the paper's numbers -----------------------------------------------------------


def test_the_plans_have_what_the_paper_has():
    table = list(CHAPTERS["table1"].plan())
    grid = {2.0**p for p in np.arange(-5, 7.5, 0.5)}
    of_text = [run for run in table if run.method == plain_name(run.method)]
    assert len(of_text) == 6 * 20 * (9 * 25 + 2)  # 50 is not in the grid
    for ending in (DRIVERS_SIZES, FLOORED):  # on the three large sets, on the three small ones
        assert sum(run.method.endswith(ending) for run in table) == 3 * 20 * (3 * 25 + 2)
    assert {run.arguments["bandwidth"] for run in table} == grid | {50.0}
    wide = {run.method for run in of_text if run.arguments["bandwidth"] == 50.0}
    assert wide == {"SkeGD", "FORKS"}
    for run in table:
        assert printed(run.method, run.data) is not None
    for run in CHAPTERS["adversarial"].plan():
        assert printed(run.method, run.data, run.repeats) is not None
    assert printed("FORKS", "german") == (26.425, 0.562, 0.008)
    assert printed("FORKS", "german", 20).rate == 2.960
    assert printed("KOGD", "german") is None


@pytest.mark.needs_data
def test_the_plans_know_the_data():
    for name in ("german", "svmguide3", "spambase"):
        assert ROWS[name] == len(load(name)[1])


# ---- the report ------------------------------------------------------------------------------

TINY = {
    "table1": {"permutations": 2, "bandwidths": (8.0, 64.0)},
    "adversarial": {"permutations": 2},
    "theta": {"permutations": 2, "thetas": (0.05,)},
    "updates": {"repeats": 1, "sketch_sizes": (60,)},
    "tisvd": {"updates": (150,)},
}


def shortened(run):
    """The run on small data, or None."""
    if run.experiment == "table1":
        return run if ROWS[run.data] < 5_000 else None
    if run.experiment == "adversarial":
        return run if run.data == "german" else None
    rows = {"theta": 5_000, "updates": 3_000}.get(run.experiment, run.rows)
    return replace(run, rows=rows)


def small(name):
    whole = CHAPTERS[name].plan

    def plan(**effort):
        return filter(None, map(shortened, whole(**effort)))

    return CHAPTERS[name]._replace(plan=plan, quick=TINY[name])


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Small data sets only, cod-rna's first rows for theta."""
    folder = tmp_path_factory.mktemp("reproduce")
    patch = pytest.MonkeyPatch()
    patch.setattr(command, "CHAPTERS", {name: small(name) for name in TINY})
    result = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--output", str(folder)])
    again = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--output", str(folder)])
    patch.undo()
    return folder, result, again


@pytest.mark.needs_data
def test_everything_is_played_once(reproduced):
    folder, first, again = reproduced
    assert first.exit_code == 0, first.output
    assert "table1: 168 runs, 168 to play" in first.output
    assert "table1: 168 runs, 0 to play" in again.output
    records = RecordFile(folder / "records.jsonl").read()
    assert len(records) == 168 + 20 + 12 + 3 + 2
    assert {record["status"] for record in records} == {"done"}


@pytest.mark.needs_data
def test_the_report_comes_from_the_records_alone(reproduced, tmp_path):
    folder, _, _ = reproduced
    records = RecordFile(folder / "records.jsonl").read()
    command.report(records, tmp_path, "forks reproduce all --quick")
    for name in ("report.md", "table1.csv", "adversarial.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    text = (folder / "report.md").read_text()
    assert "`forks reproduce all --quick`" in text
    for picture in re.findall(r"\]\((.*\.png)\)", text):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    # the best of four columns of three tables, and of two columns of two
    assert text.count("**") >= 2 * (4 * 3 + 2 * 2)
    assert "always the majority class: 30.00 %" in text


@pytest.mark.needs_data
def test_cells_are_means_over_permutations(reproduced):
    folder, _, _ = reproduced
    records = RecordFile(folder / "records.jsonl").read()
    records = [r for r in records if r["experiment"] == "table1"]
    own = [r for r in records if (r["data"], r["method"]) == ("german", "FORKS")]
    (line,) = (one for one in lines(records) if (one.data, one.method) == ("german", "FORKS"))
    for cell, rate in ((line.published, as_published), (line.every, every_round)):
        means = {
            bandwidth: np.mean([rate(r) for r in own if r["arguments"]["bandwidth"] == bandwidth])
            for bandwidth in (8.0, 64.0)
        }
        assert cell.mean == min(means.values())
        assert means[cell.bandwidth] == cell.mean
        assert cell.runs == 2
    assert line.published.mean < line.every.mean
    with (folder / "table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[8]["every_mean"]) == line.every.mean
    assert len({row["common_bandwidth"] for row in rows if row["data"] == "german"}) == 1


def test_failed_runs_stand_in_the_report(tmp_path):
    good = {"key": "a", "status": "done", "experiment": "tisvd", "method": "TISVD", "data": "d"}
    good |= {"arguments": {"updates": 5}, "n_rows": 5, "seconds": 1.0, "error": 0.0}
    bad = {**good, "key": "b", "status": "failed", "reason": "no luck"}
    command.report([good, bad], tmp_path, "forks reproduce tisvd")
    assert "- failed: TISVD on d: no luck" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_is_complete(name):
    chapter = CHAPTERS[name]
    inspect.signature(chapter.plan).bind(**chapter.quick)
    title, _, text = chapter.doc.partition("\n")
    assert title.endswith(".")
    assert text.strip()
    assert next(iter(chapter.plan(**chapter.quick))).experiment == name


def test_every_file_of_a_chapter_is_listed():
    files = Path(chapters.__file__).parent.glob("[!_]*.py")
    assert {file.stem for file in files} == set(NAMES)


def test_an_experiment_is_one_file_and_one_line(monkeypatch, tmp_path):
    """As CONTRIBUTING says: here the file is outside the package, and the line a patch."""
    source = Path(chapters.__file__).with_name("tisvd.py").read_text()
    source = source.replace('"tisvd"', '"mine"').replace("TISVD against", "Mine against")
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.setattr(chapters, "__path__", [*chapters.__path__, str(tmp_path)])
    made = chapters.chapter("mine")
    monkeypatch.delitem(sys.modules, "forks.experiments.reproduce.chapters.mine")
    monkeypatch.setattr(command, "CHAPTERS", {"mine": made._replace(quick={"updates": (20,)})})
    command.run_reproduce("mine", quick=True, output=tmp_path / "out", jobs=1)
    text = (tmp_path / "out" / "report.md").read_text()
    assert "## Mine against the randomised SVD" in text
    assert "![Mine against the randomised SVD](mine.png)" in text


@pytest.mark.parametrize("what", ["table9", ""])
def test_an_unknown_experiment_is_named(what):
    result = CliRunner().invoke(main, ["reproduce", what])
    assert result.exit_code == 2
    assert f"WHAT must be one of {', '.join(NAMES)}, all, or a plan file" in result.output


@pytest.mark.needs_data
def test_german_is_the_papers_where_nothing_is_left_to_chance():
    rates = []
    for permutation in range(20):
        run = Run(
            experiment="table1",
            data="german",
            method="Projectron",
            learner="Projectron",
            arguments={"budget": 50, "bandwidth": 8.0},
            permutation=permutation,
        )
        rates.append(every_round(play(run)))
    assert abs(np.mean(rates) - printed("Projectron", "german").rate) < 0.1

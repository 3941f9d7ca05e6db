"""The large streams of `forks reproduce`: plans, play in chunks, bad files, the report."""

import bz2
import csv
import io
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("matplotlib", reason="the report draws with matplotlib")

from forks.cli import main
from forks.datasets.flights import ROW, read_flights
from forks.experiments.record import RecordFile
from forks.experiments.report import to_markdown
from forks.experiments.reproduce import command, playing
from forks.experiments.reproduce.command import CHAPTERS
from forks.experiments.reproduce.large import LOSSES, draw, large_csv, points_of, tables
from forks.experiments.reproduce.playing import play
from forks.experiments.reproduce.runs import Run
from forks.kernels import Gaussian
from forks.learners import FOGD, FORKS
from forks.losses import SquaredHinge
from forks_against_oracle import engine_run
from made_up_kuairec import write_kuairec

HEADER = "date,delay,distance,origin,destination\n"
flights, kuairec = (CHAPTERS[name].plan for name in ("flights", "kuairec"))
FORKS_RUN = next(run for run in flights((100,)) if run.method == "FORKS")
TINY = {"budgets": (20,), "rows": 400}
FEW = ("RBP", "FOGD, B/4", "PROS-N-KONS", "FORKS")  # of each kind one: the others take compiling


@pytest.fixture(autouse=True)
def nothing_prepared():
    """Files of other tests stand elsewhere."""
    playing._prepared.cache_clear()
    yield
    playing._prepared.cache_clear()


def some_flights(n, seed=0):
    """Flights whose delays depend on the airport."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(n, ROW)
    rows["minute"] = 16_300_000 + np.sort(rng.integers(0, n // 12 + 1, n))
    rows["distance"] = rng.integers(50, 2_500, n)
    rows["origin"], rows["destination"] = rng.integers(0, 12, (2, n))
    rows["delay"] = rng.normal(2.0 * rows["origin"] - 5.0, 15.0)
    return rows


def text_of(rows):
    dates = rows["minute"].astype("datetime64[m]")
    ends = [[f"AA{chr(65 + a)}" for a in rows[name]] for name in ("origin", "destination")]
    cells = zip(dates, rows["delay"], rows["distance"], *ends, strict=True)
    return HEADER + "".join(",".join(map(str, row)) + "\n" for row in cells)


def few(name, **quick):
    """A chapter of some methods and one seed."""
    whole = CHAPTERS[name].plan

    def plan(**effort):
        return (r for r in whole(**effort) if r.method in FEW and r.permutation == 0)

    return CHAPTERS[name]._replace(plan=plan, quick=quick)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def put_flights(folder, text):
    path = folder / "flights-3m.csv.bz2"
    path.write_bytes(bz2.compress(text.encode()))
    return path


# ---- plans -----------------------------------------------------------------------------------


def test_the_plans_have_the_sizes_of_the_authors_driver():
    plan = list(flights())
    first = [r for r in plan if r.permutation == 0 and not r.method.endswith("step/10")]
    methods = {run.method for run in first}
    assert len(methods) == 10  # nine, and FOGD twice
    with_loss = len(methods) - 3 - 1
    assert len(first) == 5 * 3 + 5 * 2 * with_loss + 2
    assert len({run.key for run in plan}) == len(plan)
    for method in {run.method for run in plan}:
        seeds = {run.permutation for run in plan if run.method == method}
        nothing_drawn = method.split(",")[0] in ("BPA-S", "Projectron", "NOGD")
        assert seeds == ({0} if nothing_drawn else {0, 1, 2})
    tenth = [run for run in plan if run.method.endswith("step/10")]
    assert {run.arguments["loss"] for run in tenth} == {"squared_hinge"}
    for run in tenth:
        learner = run.make_learner()
        assert (learner.eta if "FOGD" in run.method else learner.step_size) == 0.02
    assert FORKS_RUN.make_learner() == FORKS.as_released(
        kernel=Gaussian(2.5),
        buffer=100,
        sketch_size=75,
        n_landmarks=15,
        rank=10,
        update_cycle=14999,
    )
    assert len({run.arguments["bandwidth"] for run in plan}) == 1
    plan = list(kuairec())
    (run,) = [
        run
        for run in plan
        if run.method == "FORKS"
        and run.arguments["buffer"] == 450
        and run.arguments["loss"] == "squared_hinge"
    ]
    assert run.make_learner() == FORKS.as_released(
        kernel=Gaussian(25.0),
        loss=SquaredHinge(),
        buffer=450,
        sketch_size=337,
        n_landmarks=67,
        rank=45,
        update_cycle=int(0.005 * (4_494_578 - 450)),
    )
    assert {run.arguments.get("budget") for run in plan if run.method == "RBP"} == set(
        range(100, 501, 50)
    )
    assert {run.rows for run in plan} == {0}
    assert {run.permutation for run in plan} == {0}
    quick = list(kuairec(**CHAPTERS["kuairec"].quick))
    assert {run.rows for run in quick} == {100_000}
    assert {run.arguments.get("budget") for run in quick if run.method == "RBP"} == {100, 500}


# ---- play ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["FORKS", "NOGD", "RBP"])
def test_chunks_are_played_as_one_stream(folder, monkeypatch, method):
    rows = some_flights(1_500)
    put_flights(folder, text_of(rows))
    monkeypatch.setattr(playing, "_CHUNK", 70)
    run = next(run for run in flights((20,), rows=1_234) if run.method == method)
    record = play(run)
    assert record["status"] == "done", record
    path = folder / "whole.flights"
    rows.tofile(path)
    X, y = next(read_flights(path, chunk=1_234))
    scores, engine = engine_run(run.make_learner(), X, y, seed=0)
    wrong = (scores >= 0.0) != (y > 0.0)
    rounds = engine.learner.rounds_since_switch(engine.memory)
    assert record["n_rows"] == 1_234
    assert record["mistakes"] == wrong.sum() > 0
    counted = 1_234 if rounds is None else rounds
    assert record["mistakes_as_published"] == wrong[1_234 - counted :].sum()
    assert record["warm_up_rounds"] == 1_234 - counted
    assert record["minority"] == min((y > 0).sum(), (y < 0).sum())
    assert record["share_of_plus"] == np.mean(scores[-1_000:] >= 0.0)
    assert record["stored_points"] == engine.stored_points
    assert record["read_seconds"] > 0.0
    assert json.loads(json.dumps(record)) == record


def test_memory_does_not_grow_with_the_stream(tmp_path, monkeypatch):
    n = 400_000
    path = tmp_path / "many.flights"
    some_flights(n).tofile(path)
    monkeypatch.setattr(playing, "_prepared", lambda name: lambda c: read_flights(path, chunk=c))
    monkeypatch.setattr(playing._prepared, "cache_clear", lambda: None, raising=False)
    record = play(next(run for run in flights((100,), rows=n) if run.method == "FORKS"))
    assert record["n_rows"] == n
    assert 0 < record["resident_bytes_first"] <= record["resident_bytes_peak"]
    growth = record["resident_bytes_peak"] - record["resident_bytes_first"]
    assert growth < n * 13 * 8 / 4  # a quarter of what the rows would take


@pytest.mark.slow
@pytest.mark.needs_data
def test_three_million_flights_take_less_than_ten_seconds_in_flat_memory():
    record = play(FORKS_RUN)
    assert record["n_rows"] == 3_000_000
    assert record["minority"] == 626_590
    assert record["seconds"] < 10.0
    assert record["resident_bytes_peak"] - record["resident_bytes_first"] < 30e6
    assert record["mistakes"] < record["minority"]


def test_a_file_with_too_few_rows_is_no_success(folder):
    put_flights(folder, text_of(some_flights(300)))
    record = play(Run(**{**FORKS_RUN.__dict__, "rows": 0}))
    assert record["status"] == "failed"
    assert "flights-3m has 3,000,000 rows, but its files gave 300" in record["reason"]


def test_kuairec_is_played(folder):
    write_kuairec(folder / "kuairec")
    for run in kuairec((20,), rows=1_000):
        if run.method not in ("RBP", "FORKS"):
            continue
        record = play(run)
        assert record["status"] == "done", record
        assert record["n_rows"] == 1_000
        assert record["data"] == "kuairec"


def test_fogd_has_the_frequencies_of_its_name():
    made = {
        run.method: run.make_learner()
        for run in flights((100,))
        if run.arguments.get("loss") == "hinge"
    }
    assert made["FOGD"] == FOGD(kernel=Gaussian(2.5), budget=100)
    assert made["FOGD, B/4"].n_frequencies == 25


# ---- the command -----------------------------------------------------------------------------


def reproduce(monkeypatch, *arguments):
    for name in ("flights", "kuairec"):
        monkeypatch.setitem(command.CHAPTERS, name, command.CHAPTERS[name]._replace(quick=TINY))
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments), "--quick", "--jobs", "1"])


def one_line(result):
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    return result.stderr


def test_kuairec_without_its_files_says_what_to_get(folder, tmp_path, monkeypatch):
    told = one_line(reproduce(monkeypatch, "kuairec", "--output", tmp_path / "out"))
    for part in ("small_matrix.csv", "user_features.csv", "item_categories.csv"):
        assert f"kuairec/{part}" in told
    assert "https://kuairec.com" in told
    assert str(folder) in told
    assert not (tmp_path / "out").exists()


BROKEN = {
    "cut off": (lambda whole: whole[: len(whole) // 2], r"cannot be read beyond row \d+"),
    "no column": (lambda _: bz2.compress(b"date,delay\n"), "has no column 'distance'"),
    "bad row": (
        lambda _: bz2.compress((HEADER + "2001-01-01T00:01,x,3,AAA,BBB\n").encode()),
        "row 1, column 'delay': 'x' is not",
    ),
    "not bz2": (lambda _: b"hello", "cannot be read beyond row 0"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_one_line_and_leaves_the_records(folder, tmp_path, monkeypatch, fault):
    out = tmp_path / "out"
    kept = {"key": "kept", "status": "failed", "experiment": "x", "method": "y", "data": "z"}
    RecordFile(out / "records.jsonl").append({**kept, "arguments": {}, "reason": "no luck"})
    before = (out / "records.jsonl").read_bytes()
    path = put_flights(folder, text_of(some_flights(5_000)))
    breaking, pattern = BROKEN[fault]
    path.write_bytes(breaking(path.read_bytes()))
    told = one_line(reproduce(monkeypatch, "flights", "--output", out))
    assert "flights-3m.csv.bz2" in told
    assert re.search(pattern, told)
    assert (out / "records.jsonl").read_bytes() == before
    assert list((tmp_path / "cache").rglob("*.part")) == []


def test_all_leaves_out_what_is_not_there(folder, tmp_path, monkeypatch):
    put_flights(folder, text_of(some_flights(500)))
    chapters = {name: few(name) for name in ("kuairec", "flights")}
    monkeypatch.setattr(command, "CHAPTERS", chapters)
    result = reproduce(monkeypatch, "all", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "kuairec: skipped: data set 'kuairec' needs the files" in result.output
    text = (tmp_path / "out" / "report.md").read_text()
    assert "## Three million flights" in text
    assert "## KuaiRec" not in text


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Both experiments, small, with their report."""
    folder = tmp_path_factory.mktemp("large")
    patch = pytest.MonkeyPatch()
    patch.setenv("FORKS_DATA", str(folder))
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    chapters = {name: few(name, budgets=(20, 40), rows=400) for name in ("flights", "kuairec")}
    patch.setattr(command, "CHAPTERS", chapters)
    put_flights(folder, text_of(some_flights(500)))
    write_kuairec(folder / "kuairec")
    results = []
    for what in ("flights", "kuairec", "flights"):
        playing._prepared.cache_clear()
        arguments = ["reproduce", what, "--quick", "--jobs", "1", "--output", str(folder / "out")]
        results.append(CliRunner().invoke(main, arguments))
    patch.undo()
    return folder / "out", results


def test_a_run_is_played_once(reported):
    out, results = reported
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert "flights: 12 runs, 12 to play" in results[0].output
    assert "flights: 12 runs, 0 to play" in results[2].output
    records = RecordFile(out / "records.jsonl").read()
    assert len(records) == 24
    assert {record["status"] for record in records} == {"done"}


def test_the_report_comes_from_the_records_alone(reported, tmp_path):
    out, _ = reported
    records = RecordFile(out / "records.jsonl").read()
    command.report(records, tmp_path, "forks reproduce flights --quick")
    for name in ("report.md", "flights.csv", "kuairec.csv"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()
    for name in ("flights.png", "kuairec.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    text = (out / "report.md").read_text()
    for title in ("Three million flights", "KuaiRec", "hinge loss", "squared hinge loss"):
        assert title in text
    own = [r for r in records if r["experiment"] == "flights"]
    share = 100 * own[0]["minority"] / 400
    assert f"always the majority class: {share:.2f} % mistakes" in text


def test_lines_are_the_records(reported):
    out, _ = reported
    records = RecordFile(out / "records.jsonl").read()
    own = [r for r in records if r["experiment"] == "kuairec"]
    lines = list(csv.DictReader(io.StringIO(large_csv(own))))
    assert len(lines) == len(own) == 12
    for record in own:
        size = record["arguments"].get("budget", record["arguments"].get("buffer", ""))
        loss = record["arguments"].get("loss", "")
        (line,) = [
            line
            for line in lines
            if (line["method"], line["loss"], line["budget"]) == (record["method"], loss, str(size))
        ]
        assert float(line["every"]) == 100.0 * record["mistakes"] / 400
        assert float(line["published"]) == 100.0 * record["mistakes_as_published"] / 400
        assert float(line["seconds"]) == record["seconds"]
    table = to_markdown(tables(own))
    best = min(100.0 * r["mistakes"] / 400 for r in own if r["arguments"].get("loss") == "hinge")
    assert f"**{best:.2f}**" in table


def test_the_figure_has_a_curve_for_each_method_and_loss(reported):
    out, _ = reported
    own = [r for r in RecordFile(out / "records.jsonl").read() if r["experiment"] == "flights"]
    axes = draw(own).axes
    assert len(axes) == 3 * len(LOSSES)
    for axis in axes:
        labels = {line.get_label() for line in axis.lines}
        assert {run["method"] for run in own} <= labels
    hinge = next(line for line in axes[0].lines if line.get_label() == "FORKS")
    played = [r for r in own if r["method"] == "FORKS" and r["arguments"]["loss"] == "hinge"]
    assert sorted(hinge.get_xdata()) == sorted(r["seconds"] for r in played)
    assert sorted(hinge.get_ydata()) == sorted(100.0 * r["mistakes"] / 400 for r in played)


def test_seeds_are_summed_up(reported):
    out, _ = reported
    own = [r for r in RecordFile(out / "records.jsonl").read() if r["experiment"] == "flights"]
    (first,) = [
        r
        for r in own
        if r["method"] == "FORKS"
        and r["arguments"]["loss"] == "hinge"
        and r["arguments"]["buffer"] == 20
    ]
    played = [
        {**first, "mistakes": 100, "seconds": 1.0},
        {**first, "mistakes": 140, "seconds": 5.0},
    ]
    (point,) = points_of([first | {"mistakes": 120, "seconds": 2.0}, *played])
    assert (point.seeds, point.every, point.seconds) == (3, 30.0, 2.0)
    assert point.deviation == pytest.approx(100 * np.std([100, 120, 140]) / 400)
    table = to_markdown(tables([*played, {**first, "mistakes": 120}]))
    assert f"**30.00** ± {point.deviation:.2f}" in table


def test_a_quick_run_does_not_hide_a_full_one(reported):
    out, _ = reported
    own = [r for r in RecordFile(out / "records.jsonl").read() if r["experiment"] == "flights"]
    longer = [{**r, "key": r["key"] + "+", "n_rows": 800, "seconds": 9.0} for r in own]
    text = to_markdown(tables([*own, *longer]))
    assert "### 400 rounds, hinge loss" in text
    assert "### 800 rounds, hinge loss" in text
    line = draw([*own, *longer]).axes[0].lines[0]
    assert set(line.get_xdata()) == {9.0}

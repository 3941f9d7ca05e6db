"""`forks run` and `forks predict` on tables as they come, pipes that end, and runs that go on."""

import csv
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import forks
from forks.cli import _progress, main
from forks.estimators.saving import read

OLD = Path(__file__).parent / "old"
LEARNER = ["--learner", "FOGD", "--set", "budget=5"]


def call(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def checked(*arguments, **options):
    result = call(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments, status=2, **options):
    result = call(*arguments, **options)
    assert result.exit_code == status, result.output
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: "), result.stderr
    return last


def rows_of(n=300, seed=0):
    """Return lines of a table with gaps in numbers, text and labels."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        a, b = rng.normal(size=2).round(3)
        town = rng.choice(["Rome", "Oslo", "NA"])
        y = "yes" if a > 0 else "no"
        lines.append(f"{'NA' if i % 10 == 3 else a},{town},{b},2020-01-{i % 28 + 1:02}")
        lines[-1] += f",{'' if i % 8 == 5 else y}\n"
    return lines


HEADER = "a,town,b,day,y\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(HEADER + "".join(rows_of()))
    return path


def lines_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_rows_without_a_label_are_predicted_and_not_learned(table, tmp_path):
    out, saved, metrics = tmp_path / "o.csv", tmp_path / "m", tmp_path / "m.jsonl"
    keep = ["--predictions", out, "--save", saved, "--metrics", metrics]
    result = checked("run", table, *LEARNER, *keep)
    unlabelled = sum(i % 8 == 5 for i in range(300))
    assert f"{unlabelled} rows without a label were predicted and not learned" in result.stdout
    lines = lines_of(out)[1:]
    assert len(lines) == 300
    assert [i for i, line in enumerate(lines) if line[-1] == ""] == [*range(5, 300, 8)]
    (record,) = map(json.loads, metrics.read_text().splitlines())
    assert record["unlabelled"] == unlabelled
    wrong = sum(line[1] != line[-1] for line in lines if line[-1])
    assert record["mistakes"] == wrong
    assert record["mistake_rate"] == wrong / (300 - unlabelled)


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_without_a_label_change_nothing(numbers, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)).round(3)
    labelled = rng.random(200) < 0.8
    lines = [f"{a},{b},{(a - b if numbers else a > b) if known else ''}\n"
             for (a, b), known in zip(rows, labelled, strict=True)]  # fmt: skip
    kept = []
    for some in (np.ones(200, bool), labelled):
        path, out = tmp_path / "t.csv", tmp_path / "o.csv"
        chosen = [line for line, there in zip(lines, some, strict=True) if there]
        path.write_text("a,b,y\n" + "".join(chosen))
        checked("run", path, "--effort", "fast", "--predictions", out)
        kept.append([line[1:] for line in lines_of(out)[1:] if line[-1]])
    assert kept[0] == kept[1]


def test_what_was_understood_is_said_and_kept(table, tmp_path):
    saved = tmp_path / "m"
    said = checked("run", table, *LEARNER, "--save", saved).stderr
    assert "label y: classification (2 classes: no, yes)" in said
    assert "  numbers        2  a, b" in said
    assert "  categories     1  town (2 values)" in said
    assert "  times          1  day" in said
    told = json.loads(checked("info", saved, "--json").stdout)
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {"a": "number", "town": "category", "b": "number", "day": "time"}
    shown = checked("info", saved).stdout.split("columns\n")[1].splitlines()
    values = [float(line[0]) for line in lines_of(table)[1:] if line[0] not in ("NA", "?", "")]
    assert shown[0] == f"  a     number    {min(values):.6g} to {max(values):.6g}"
    assert shown[1] == "  town  category  missing, Oslo, Rome"
    assert shown[3].startswith("  day   time      20")
    assert {"least", "largest", "mean"} <= told["columns"][0].keys()
    dropped = ["--drop", "d*", "--drop", "town", "--categorical", "b"]
    said = checked("run", table, *LEARNER, *dropped).stderr
    assert "numbers        1  a\n" in said
    assert "categories     1  b\n" in said


def test_results_do_not_depend_on_chunks(table, tmp_path):
    """But for what the first one decides on: it is as large here."""
    one, two = tmp_path / "1", tmp_path / "2"
    known = ["--learner", "FOGD"]
    checked("run", table, *known, "--save", one)
    first = tmp_path / "first"
    checked("run", table, *known, "--every", 7, "--save", two)
    assert one.read_bytes() == two.read_bytes()
    checked("run", table, "--model", one, "--chunk", 1, "--save", first)
    checked("run", table, "--model", one, "--chunk", 13, "--save", two)
    assert first.read_bytes() == two.read_bytes()


def test_a_checkpoint_goes_on_with_other_rows_and_finds_columns_by_name(table, tmp_path):
    folder, out = tmp_path / "ck", tmp_path / "o.csv"
    checked("run", table, *LEARNER, "--checkpoint", folder)
    more = tmp_path / "more.csv"
    order = [4, 2, 0, 3, 1]
    lines = [HEADER, *rows_of(50, seed=1)]
    cells = [line.strip().split(",") for line in lines]
    more.write_text("".join(",".join(row[j] for j in order) + "\n" for row in cells))
    straight = tmp_path / "straight.csv"
    straight.write_text("".join(lines))
    for model in (folder, folder / "checkpoint.forks"):
        checked("predict", model, more, "--output", out)
        first = out.read_bytes()
        checked("predict", model, straight, "--output", out)
        assert out.read_bytes() == first
    one, two = tmp_path / "1", tmp_path / "2"
    checked("run", more, "--model", folder, "--save", one)
    checked("run", straight, "--model", folder / "checkpoint.forks", "--save", two)
    assert one.read_bytes() == two.read_bytes()
    assert "ck" in checked("info", folder).stdout


def test_a_fault_loses_nothing(table, tmp_path):
    saved, folder = tmp_path / "m", tmp_path / "ck"
    with open(table, "a") as file:
        file.write("oops,Rome,1,2020-01-01,yes\n")
    options = [*LEARNER, "--chunk", 100, "--save", saved, "--checkpoint", folder]
    result = call("run", table, *options)
    assert result.exit_code == 2
    *_, note, error = result.stderr.splitlines()
    assert note == f"Note: what was learned from 300 rows is in {saved}"
    assert "t.csv, row 301, column 'a': 'oops' is not a number (--na 'oops'" in error
    rounds = forks.load(saved).n_rounds_
    assert rounds == forks.load(folder / "checkpoint.forks").n_rounds_ == 300
    checked("predict", saved, table, "--na", "oops")


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_pipe_shows_and_saves_what_came(number, tmp_path):
    saved, out = tmp_path / "m", tmp_path / "o.csv"
    command = [sys.executable, "-m", "forks.cli", "run", "-", *LEARNER, "--save", str(saved)]
    process = subprocess.Popen(
        [*command, "--predictions", str(out)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write(HEADER + "".join(rows_of(120)) + "1,Ro")  # a row that is not whole
    process.stdin.flush()
    end = time.monotonic() + 100
    while process.poll() is None and time.monotonic() < end:
        if out.exists() and out.read_bytes().count(b"\n") == 121:
            break
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    assert f"what was learned from 120 rows is in {saved}" in stderr
    assert len(lines_of(out)) == 121
    assert forks.load(saved).n_rounds_ == 120


def test_several_files_folders_and_patterns(table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    lines = rows_of()
    for i in range(3):
        (folder / f"{i}.csv").write_text(HEADER + "".join(lines[100 * i : 100 * (i + 1)]))
    whole, out = tmp_path / "whole", tmp_path / "parts-out"
    checked("run", table, *LEARNER, "--chunk", 100, "--save", whole)
    files = [folder / f"{i}.csv" for i in range(3)]
    for paths in ([folder], [folder / "*.csv"], files):
        checked("run", *paths, *LEARNER, "--save", out)
        assert out.read_bytes() == whole.read_bytes()
    (folder / "README.md").write_text("# Rows of three days\n")
    (folder / "_SUCCESS").write_text("")
    result = checked("run", folder, *LEARNER, "--save", out)
    assert out.read_bytes() == whole.read_bytes()
    notes = [line for line in result.stderr.splitlines() if line.startswith("Note: left out")]
    assert len(notes) == 1
    assert "README.md" in notes[0]
    assert "_SUCCESS" in notes[0]
    (folder / "1.csv").write_text(HEADER + "".join(lines[100:200]) + "1,2\n")
    fault = refused("run", folder, *LEARNER)
    assert "1.csv, row 101 (line 102): 2 fields, but the first row has 5" in fault
    assert "no file" in refused("run", folder / "*.tsv")


@pytest.mark.parametrize("name", ["save", "predictions", "metrics", "plot"])
def test_paths_are_checked_before_the_pass(name, table, tmp_path):
    ending = ".png" if name == "plot" else ""
    fault = refused("run", table, f"--{name}", tmp_path / "no" / f"x{ending}")
    assert f"--{name}: there is no folder" in fault
    assert "label" not in fault
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert "--checkpoint" in refused("run", table, "--checkpoint", blocked / "ck")
    other = "metrics" if name != "metrics" else "save"
    same = tmp_path / f"same{ending}"
    assert "name the same file" in refused("run", table, f"--{name}", same, f"--{other}", same)


def test_files_that_are_read_are_not_written_over(table, tmp_path):
    model = tmp_path / "model.forks"
    checked("run", table, *LEARNER, "--save", model)
    before = table.read_bytes(), model.read_bytes()
    lost = "is a file that is read, and would be lost"
    for name in ("save", "predictions", "metrics"):
        assert f"--{name}: {table} {lost}" in refused("run", table, *LEARNER, f"--{name}", table)
        assert lost in refused("run", tmp_path / "*.csv", *LEARNER, f"--{name}", table)
    assert lost in refused("run", table, "--jobs", "1", "--save", table)
    for written in (table, model):
        assert lost in refused("run", table, "--model", model, "--metrics", written)
        assert lost in refused("predict", model, table, "--output", written)
    (tmp_path / "link.csv").symlink_to(table)
    assert lost in refused("predict", model, table, "--output", tmp_path / "link.csv")
    assert lost in refused("compare", table, "--method", "FOGD", "--output", table)
    assert "no folder" in refused("compare", table, "--output", tmp_path / "no" / "runs.json")
    assert (table.read_bytes(), model.read_bytes()) == before
    checked("run", table, "--model", model, "--save", model)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--label", "b"], "--model knows its columns: --label cannot change them"),
        (["--drop", "a", "--hash-bits", "4"], "--drop, --hash-bits cannot change them"),
        (["--task", "regression"], "--model has its own learner: --task cannot change it"),
        (["--classes", "a,b"], "--classes cannot change it"),
        (["--set", "budget=3"], "--model has its own learner: --set cannot change it"),
    ],
)
def test_options_that_do_not_apply_are_errors(options, fault, table, tmp_path):
    saved = tmp_path / "m"
    checked("run", table, *LEARNER, "--save", saved)
    assert fault in refused("run", table, "--model", saved, *options)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--features", "3"], "--features is for rows of indices, and {} is csv"),
        (["--zero-based"], "--zero-based is for LIBSVM rows, and {} is csv"),
    ],
)
def test_options_of_other_formats_are_errors(options, fault, table):
    assert fault.format(table) in refused("run", table, *options)


def test_models_made_in_python_predict_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    model = forks.OnlineKernelClassifier({"name": "FOGD", "budget": 5}).fit(X, X[:, 0] > 0)
    saved, path = tmp_path / "m", tmp_path / "t.csv"
    model.save(saved)
    path.write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},0\n" for a, b, c in X))
    scores = [float(line.split(",")[2]) for line in
              checked("predict", saved, path).stdout.splitlines()[1:]]  # fmt: skip
    np.testing.assert_array_equal(scores, model.decision_function(X))
    path = tmp_path / "t.svm"
    path.write_text("1 1:2\n")  # narrower
    assert len(checked("predict", saved, path).stdout.splitlines()) == 2
    path = tmp_path / "gap.csv"
    path.write_text("a,b,c,y\n1,NA,2,0\n")
    assert "gap.csv: column 'b' has text or gaps" in refused("predict", saved, path)


def test_outputs_may_be_standard_output(table, tmp_path):
    out = tmp_path / "o.csv"
    checked("run", table, *LEARNER, "--predictions", out)
    result = checked("run", table, *LEARNER, "--predictions", "-")
    assert result.stdout == out.read_text()
    assert "300 rows" in result.stderr
    saved = tmp_path / "m"
    checked("run", table, *LEARNER, "--save", saved)
    shown = checked("predict", saved, table).stdout
    assert checked("predict", saved, table, "--output", "-").stdout == shown
    assert not Path("-").exists()


def test_a_resumed_run_names_the_option_that_differs(table, tmp_path):
    options = ["--checkpoint", tmp_path / "ck", "--every", 100]
    checked("run", table, *LEARNER, *options)
    fault = refused("run", table, *LEARNER, *options, "--resume", "--drop", "b")
    assert fault.endswith("is of a run with another --drop")
    fault = refused("run", table, *LEARNER, *options[:3], 50, "--resume", "--seed", 1)
    assert fault.endswith("is of a run with another --every, --seed")
    checked("run", table, *LEARNER, *options, "--resume", "--chunk", 30)  # which does not matter


def test_weights_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 2)).round(3), np.arange(200) % 3 / 2
    y = np.where(X[:, 0] > X[:, 1], "on", "off")
    cells = zip(X.tolist(), w, y, strict=True)
    path, saved, out = tmp_path / "t.csv", tmp_path / "m", tmp_path / "o.csv"
    path.write_text("a,w,b,y\n" + "".join(f"{a},{v},{b},{k}\n" for (a, b), v, k in cells))
    checked(
        "run", path, "--weights", "w", "--effort", "fast", "--save", saved, "--predictions", out
    )
    plain = forks.OnlineKernelClassifier(effort="fast", random_state=0)
    scores = plain.prequential(X, y, sample_weight=w)
    np.testing.assert_array_equal([float(line[2]) for line in lines_of(out)[1:]], scores)
    assert read(saved).note["input"]["weights"] == "w"


def test_a_stream_of_one_class(tmp_path):
    path, saved, out = tmp_path / "t.csv", tmp_path / "m", tmp_path / "o.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},on\n" for i in range(50)))
    result = checked("run", path, "--effort", "fast", "--save", saved, "--predictions", out)
    assert "label y: classification (1 class: on)" in result.stderr
    for lines in (
        lines_of(out),
        [*csv.reader(checked("predict", saved, path).stdout.splitlines())],
    ):
        assert lines[0] == ["row", "prediction", "score_on", "probability_on", "label"]
        assert {len(line) for line in lines} == {5}
    path.write_text("a,y\n1,off\n2,on\n")
    checked("run", path, "--model", saved, "--save", saved)
    assert forks.load(saved).classes_.tolist() == ["off", "on"]


def test_labels_that_are_hardly_classes_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,name\n" + "".join(f"{i % 7},n{i}\n" for i in range(100)))
    fault = refused("run", path)
    assert "the label has 100 different values in 100 rows, which are hardly classes" in fault


@pytest.mark.parametrize("chunk", [100, 1000])
def test_a_number_that_is_no_class_is_named(tmp_path, chunk):
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    labels = ["2.5" if i == 250 else i % 3 for i in range(300)]
    path.write_text("a,y\n" + "".join(f"{i % 7},{y}\n" for i, y in enumerate(labels)))
    told = ["--chunk", chunk, "--task", "classification", "--save", saved]
    fault = refused("run", path, *LEARNER, *told)
    assert "t.csv, row 251: the label 2.5 is no class" in fault
    assert saved.exists() == (chunk == 100)  # with what was learned before


def test_one_of_a_kind_is_said_in_the_singular(tmp_path):
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    path.write_text("a,y\n1,yes\n2,no\n3,\n")
    result = checked("run", path, *LEARNER, "--save", saved)
    assert "; 1 feature\n" in result.stderr
    assert "; 1 row without a label was predicted and not learned" in result.stdout
    path.write_text("a,y\n1,yes\n")
    assert checked("predict", saved, path).stderr.startswith("1 row, ")


def test_a_column_without_labels_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y,\n" + "".join(f"{i % 7},{i % 2},\n" for i in range(300)))
    assert "not one of the first rows has a label in column 'c3' (--label" in refused("run", path)


def test_the_task_is_found(tmp_path):
    path = tmp_path / "t.csv"
    for labels, said in [
        ([i % 5 for i in range(100)], "classification (5 classes: 0, 1, 2, 3, 4)"),
        ([i % 30 for i in range(100)], "regression (30 different numbers in 100 rows)"),
        ([i / 4 for i in range(100)], "regression (100 different numbers in 100 rows)"),
        ([1.5] * 30, "regression (always 1.5); 1 feature\n"),
        ([*range(18)], "regression (18 different numbers in 18 rows)"),
        (["NA", 1, 2] * 30, "classification (2 classes: 1, 2)"),
    ]:
        path.write_text("a,y\n" + "".join(f"{i % 3},{y}\n" for i, y in enumerate(labels)))
        assert f"label y: {said}" in checked("run", path, *LEARNER).stderr


def test_a_time_that_is_none_is_named(tmp_path):
    path = tmp_path / "t.csv"
    days = [f"2020-01-{i % 28 + 1:02}" for i in range(50)]
    days[30] = "2020-02-31"
    path.write_text("day,y\n" + "".join(f"{day},{i % 2}\n" for i, day in enumerate(days)))
    for chunk in (10, 100):
        fault = refused("run", path, *LEARNER, "--chunk", chunk)
        assert "t.csv, row 31, column 'day': '2020-02-31' is no date or time such as 20" in fault
    path.write_text("id,y\n" + "".join(f"k{i},{i % 2}\n" for i in range(200)))
    assert "t.csv: no column is left to encode" in refused("run", path)


def test_dates_with_the_day_or_the_month_first(tmp_path):
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    starts = {"%d.%m.%Y": "day first", "%m/%d/%Y": "month first"}
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(60)]
    for form, words in starts.items():
        rows = [f"{day.strftime(form)},{day.day % 2}\n" for day in days]
        path.write_text("day,y\n" + "".join(rows))
        assert f"  times          1  day ({words})\n" in checked("run", path, *LEARNER).stderr
        whole, folder = tmp_path / "whole.csv", tmp_path / "c"
        checked("run", path, *LEARNER, "--predictions", whole)
        halves, keep = tmp_path / "halves.csv", ["--checkpoint", folder, "--every", 20]
        path.write_text("day,y\n" + "".join(rows[:40]) + "no day,1\n")
        refused("run", path, *LEARNER, *keep, "--chunk", 20, "--predictions", halves)
        path.write_text("day,y\n" + "".join(rows))
        resumed = [*LEARNER, *keep, "--chunk", 20, "--predictions", halves, "--resume"]
        checked("run", path, *resumed)
        assert halves.read_bytes() == whole.read_bytes()
    path.write_text("day,y\n" + "".join(f"{i}/{i}/2024,{i % 2}\n" for i in range(1, 13)))
    said = checked("run", path, *LEARNER).stderr
    assert "  times          1  day (assumed day first; else --month-first)\n" in said
    said = checked("run", path, *LEARNER, "--month-first", "d*", "--save", saved).stderr
    assert "  times          1  day (told, month first)\n" in said
    path.write_text("day,y\n12/31/2024,1\n")
    checked("predict", saved, path)
    path.write_text("day,y\n31/12/2024,1\n")
    fault = refused("predict", saved, path)
    assert "t.csv, row 1, column 'day': '31/12/2024' is no date or time with the month fi" in fault


def test_the_note_of_a_run_is_that_of_earlier_versions(table, tmp_path):
    """Options that there were not do not keep a checkpoint of before from being resumed."""
    checked("run", table, *LEARNER, "--checkpoint", tmp_path)
    note = read(tmp_path / "checkpoint.forks").note
    words = set(json.dumps(note).split('"'))
    assert "--time" in words
    assert not {"--day-first", "--month-first", "--key"} & words


def test_columns_that_copy_the_label_are_named(tmp_path):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = [(a, 1 + (a > 0), "yes" if a > 0 else "no") for a in rng.normal(size=200).round(3)]
    path.write_text("a,the code,y\n" + "".join(f"{a},{code},{y}\n" for a, code, y in rows))
    said = checked("run", path, *LEARNER).stderr
    assert "Note: column 'the code' copies the label in the first rows; if it is not" in said
    assert said.count("copies") == 1
    assert "--drop 'the code'\n" in said
    assert "copies" not in checked("run", path, *LEARNER, "--drop", "the code").stderr
    path.write_text("a,cm,b,m\n" + "".join(f"{a},{100 * a},{100 * a},{a}\n" for a, *_ in rows))
    said = checked("run", path, *LEARNER).stderr
    assert "Note: columns 'a', 'cm', 'b' copy the label" in said
    assert "--drop a --drop cm --drop b\n" in said


def test_a_model_of_a_frame_finds_columns_by_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = np.where(frame["a"] > 0.0, "yes", "no")
    saved, path = tmp_path / "model.forks", tmp_path / "t.csv"
    model = forks.OnlineKernelClassifier({"name": "fogd", "budget": 5}).fit(frame, y)
    model.save(saved)
    right = model.predict(frame).tolist()
    for columns in (
        ["a", "b", "c", "y"],
        ["c", "a", "more", "b", "y"],
        ["y", "c", "b", "a"],
        ["c", "b", "a"],
    ):
        frame.assign(y=y, more="word")[columns].to_csv(path, index=False)
        result = checked("predict", saved, path, "--output", tmp_path / "out.csv")
        assert [row[1] for row in lines_of(tmp_path / "out.csv")[1:]] == right
        assert "Warning" not in result.stderr
        if columns[-1] == "y":
            assert "of 300 labels missed" in result.stderr
    assert "which column has the labels? --label names it" in refused(
        "run", path, "--model", saved, "--save", saved
    )
    frame.assign(y=y)[["y", "c", "b", "a"]].to_csv(path, index=False)
    result = checked("run", path, "--model", saved, "--label", "y", "--save", saved)
    assert "Warning" not in result.stderr
    again = model.partial_fit(frame, y).decision_function(frame)
    np.testing.assert_allclose(forks.load(saved).decision_function(frame), again, rtol=1e-12)
    model.save(saved)
    assert "is a feature" in refused("run", path, "--model", saved, "--label", "c")
    assert "--drop cannot" in refused("run", path, "--model", saved, "--label", "y", "--drop", "c")
    frame[["a", "b"]].to_csv(path, index=False)
    assert "has no column 'c'; it has a, b" in refused("predict", saved, path)


def test_frequent_words_among_numbers_are_named(tmp_path):
    path, rng = tmp_path / "t.csv", np.random.default_rng(0)
    rows = []
    for i in range(300):
        a, b = (f"{x:.3f}".replace(".", ",") for x in rng.normal(size=2))
        a = ("-", "n d")[i % 2] if i % 15 == 3 else a
        rows.append(f"{a};{b};{('x', i % 3)[i % 4 > 0]};{'-' if i % 9 == 7 else i % 90}\n")
    path.write_text("the size;b;code;y\n" + "".join(rows))
    said = checked("run", path, *LEARNER).stderr
    assert "categories     2  the size (" in said
    taken = "column 'the size' has numbers, but for '-', 'n d' in 20 cells: taken for text"
    assert f"Note: {taken} (--na - --na 'n d' if they are missing)\n" in said
    assert "column 'y' has numbers, but for '-' in 33 cells: taken for text (--na -" in said
    assert said.count("taken for text") == 2
    told = checked("run", path, *LEARNER, "--na", "-", "--na", "n d").stderr
    assert "taken for text" not in told
    assert "regression" in told
    kinds = ("--label", "code", "--categorical", "the size", "--categorical", "y")
    assert "taken for text" not in checked("run", path, *LEARNER, *kinds).stderr
    result = call("run", path, "--label", "the size")
    assert f"Note: {taken}" in result.stderr
    assert "hardly classes" in result.stderr


def test_system_failures_and_bad_input_have_their_status(tmp_path, table):
    assert "there is no file" in refused("run", tmp_path / "nothing.csv")
    (tmp_path / "empty").mkdir()
    assert "has no files" in refused("run", tmp_path / "empty")
    assert "No such file" in refused("predict", tmp_path / "nothing", table)
    assert "No such file" in refused("predict", tmp_path / "empty", table)
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        table.chmod(0)
        assert "Permission denied" in refused("run", table)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_named(table, tmp_path):
    for option in ("--save", "--predictions", "--metrics"):
        fault = refused("run", table, *LEARNER, option, "/dev/full", status=1)
        assert re.fullmatch(r"Error: /dev/full: (cannot write: )?No space left on device", fault)
    command = [sys.executable, "-m", "forks.cli", "run", table, *LEARNER]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "Error: standard output: No space left on device"


def test_models_of_earlier_versions_predict_as_they_did(tmp_path):
    """Made by version 0.1 from `table.csv`, with --missing zero --hash-bits 4."""
    out = tmp_path / "o.csv"
    checked("predict", OLD / "model.forks", OLD / "table.csv", "--output", out)
    expected, found = lines_of(OLD / "predictions.csv"), lines_of(out)
    columns = [found[0].index(name) for name in expected[0]]
    assert [[line[j] for j in columns] for line in found] == expected
    saved = tmp_path / "m"
    checked("run", OLD / "table.csv", "--model", OLD / "model.forks", "--save", saved)
    assert forks.load(saved).n_rounds_ == 120
    checked("predict", saved, OLD / "table.csv")
    assert "label label" in checked("info", OLD / "model.forks").stdout


@pytest.mark.parametrize("name", ["t.jsonl", "t.arff", "t.vw"])
def test_other_formats_are_learned(name, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(a, "xy"[i % 2], int(a > 0)) for i, a in enumerate(rng.normal(size=100).round(3))]
    text = {
        "t.jsonl": "".join(f'{{"a": {a}, "k": "{k}", "y": {y}}}\n' for a, k, y in rows),
        "t.arff": "@relation r\n@attribute a real\n@attribute k {x, y}\n@attribute y {0,1}\n@data\n"
        + "".join(f"{a},{k},{y}\n" for a, k, y in rows),
        "t.vw": "".join(f"{2 * y - 1} |f a:{a} k={k}\n" for a, k, y in rows),
    }[name]
    (tmp_path / name).write_text(text)
    saved = tmp_path / "m"
    result = checked("run", tmp_path / name, *LEARNER, "--save", saved)
    assert "classification (2 classes" in result.stderr
    assert "100 rows" in checked("predict", saved, tmp_path / name).stderr


@pytest.mark.parametrize("held", [False, True])
def test_the_line_of_the_last_record_is_told_once(held, capsys):
    with _progress._lines(_progress.Pace("-", 100), False, held) as show:
        for rows in (100, 200):
            show({"rows": rows, "root_mean_squared_error": 1.0})
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == ["100 rows", "200 rows"][: 2 - held]

    def interrupted():
        with _progress._lines(_progress.Pace("-", 100), False, held) as show:
            show({"rows": 100, "root_mean_squared_error": 1.0})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.startswith("100 rows")  # no other line has its figures

"""The numbers in the README are those of the committed benchmark run."""

import re
from itertools import product
from pathlib import Path

import pytest

from forks.experiments.record import RecordFile
from forks.learners.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PARTS, UNITS = ("passes", "c_loop", "river"), ("µs per row", "µs per event", "%")
RIVER = tuple(product(("Bananas", "Phishing"), ("time", "mistakes")))
ROWS = {  # start of the README's row: names of the records, in the order of the columns
    "**FORKS**, the paper's setting": ("FORKS as published", "FORKS as published: mistakes"),
    "the same in plain NumPy": ("oracle, first rows", "oracle, first rows: mistakes"),
    "scikit-learn": ("scikit-learn", "scikit-learn: mistakes"),
    "a round of FORKS": ("FORKS, regular rounds",),
    "the same round as a C loop": ("C loop by hand",),
    "`KernelClassifier`": tuple(f"{data}: forks, {what}" for data, what in RIVER),
    "River: `RBFSampler": tuple(f"{data}: River, {what}" for data, what in RIVER),
}


def numbers_of(part, folder="bench"):
    records = RecordFile(ROOT / "docs/results" / folder / "records.jsonl.xz").read()
    (numbers,) = [record["numbers"] for record in records if record["experiment"] == part]
    return numbers


@pytest.mark.parametrize("start", ROWS)
def test_the_table_is_that_of_the_benchmark(start):
    table = [n for part in PARTS for n in numbers_of(part) if n["unit"] in UNITS]
    values = {r["name"]: r["value"] for r in table}
    assert len(values) == len(table)  # no two of one name
    (line,) = re.findall(rf"^\| {re.escape(start)}.*$", (ROOT / "README.md").read_text(), re.M)
    cells = [cell.strip(" *%") for cell in line.split("|")[2:-1]]
    for cell, name in zip(cells, ROWS[start], strict=False):
        digits = 3 if name.endswith("mistakes") else 2
        assert float(cell) == float(f"{values[name]:.{digits}g}")


def test_the_table_of_methods_is_that_of_the_benchmark():
    cells = {(n["name"], n["column"]): n["value"] for n in numbers_of("methods")}
    columns = [
        "cod-rna: rows/s",
        "cod-rna: mistakes, %",
        "spambase: rows/s",
        "spambase: mistakes, %",
    ]
    lines = (ROOT / "README.md").read_text().split("| cod-rna: rows/s |")[1].splitlines()[2:]
    table = [line.split("|")[1:-1] for line in lines[: lines.index("")]]
    played = [method.name for method in CATALOGUE if (method.name, columns[0]) in cells]
    assert [row[0].strip() for row in table] == played  # those that were there then
    for name, *row in table:
        for cell, column in zip(row, columns, strict=True):
            value = cells[name.strip(), column]
            expected = round(value) if column.endswith("rows/s") else round(value, 1)
            assert float(cell.strip(" %").replace(",", "")) == expected


def test_the_table_of_the_defaults_is_that_of_the_reproduction():
    report = (ROOT / "docs/results/reproduce/report.md").read_text()
    readme = (ROOT / "README.md").read_text().split("| | german | svmguide3 |")[1].splitlines()
    ours, fast, forks, majority = (
        [c.strip() for c in readme[i].split("|")[2:-1]] for i in range(2, 6)
    )
    names = [cell.strip() for cell in readme[0].split("|")[:-1]]
    streams = ["german", "svmguide3", *names]

    for title, row in (("## The default learner", ours), ("## A single machine", fast)):
        header, *rows = report.split(title)[1].split("\n| | ")[1].splitlines()
        columns = [cell.strip() for cell in header.split("|")[:-1]]
        default = next(line.split("|")[2:-1] for line in rows if line.startswith("| default |"))
        means = {c: cell.split("±")[0].strip() for c, cell in zip(columns, default, strict=True)}
        assert row == [means[stream] for stream in streams]

    behind = report.split("### What is behind the rates of the two-stage methods")[1]
    for stream, own, most in zip(streams, forks, majority, strict=True):
        if "repeats" in stream:
            part = report.split(f"### {stream}\n")[1]
            line = next(row for row in part.splitlines() if row.startswith("| FORKS |"))
            assert f"**{own} ±" in line.split("|")[4]
            assert f"always the majority class: {most} %" in part.split("|")[0]
        else:
            cells = re.findall(rf"^\| {stream} \| FORKS \| (.*) \|$", behind, re.M)[0].split(" | ")
            assert cells[1:3] == [own, most]


def test_the_table_of_streams_that_change_is_that_of_the_benchmark():
    numbers = numbers_of("drift", "drift")
    rates = {(n["name"], n["column"]): n["value"] for n in numbers}
    streams = {n["name"] for n in numbers}
    text = (ROOT / "README.md").read_text().split("## Streams that change")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")]
    peers = ["adaptive random forest", "Hoeffding adaptive tree", "scaled logistic regression"]
    for name, *cells in rows[2:]:
        columns = ["balanced", "fast", *peers]
        expected = [f"{rates[name.strip(), column]:.1f}" for column in columns]
        assert [cell.strip(" *") for cell in cells] == expected
    best = {s for s in streams if rates[s, "balanced"] < min(rates[s, p] for p in peers)}
    assert f"on {len(best)} of {len(streams)} streams" in " ".join(text.split())


def test_the_table_of_the_guide_to_keys_is_that_of_the_benchmark():
    numbers = numbers_of("keyed", "keyed")
    text = (ROOT / "docs/guide/keyed.md").read_text()
    titles = ["beijing-air, fast", "beijing-air, balanced", "made stream, 100,000 keys"]
    columns = ["keyed", "one model", "separate"]
    rates = {(n["name"], n["column"]): n["value"] for n in numbers}
    rows = [
        line.split("|")[2:-1] for line in text.split("## Figures")[1].splitlines() if "|" in line
    ]
    for cells, title in zip(rows[2:], titles, strict=True):
        assert [float(cell) for cell in cells] == [float(f"{rates[title, c]:.3g}") for c in columns]
    speeds = {n["name"]: n["value"] for n in numbers}
    assert f"{round(speeds['rows a second'], -3):,.0f} rows a second" in text
    assert f"{speeds['most memory, half of the keys on disk']:.0f} MB" in text


def test_the_table_of_the_guide_to_text_is_that_of_the_benchmark():
    numbers = numbers_of("wide", "wide")
    columns = ("words", "words, TF-IDF", "words, turned", "source code")
    rates = {(n["name"], n["column"]): n["value"] for n in numbers if n["column"]}
    models = {"`OnlineKernelClassifier()`": "Wide", "Vowpal Wabbit": "VW", "scikit-learn": ""}
    ours = {name for name, _ in rates if name.startswith("Wide")}
    text = (ROOT / "docs/guide/text.md").read_text()
    for start, model in models.items():
        names = {name for name, _ in rates if name.startswith(model)} - (ours - {"Wide"})
        names -= set() if model else {*ours, *(n for n, _ in rates if n.startswith("VW"))}
        (line,) = re.findall(rf"^\| {re.escape(start)}.*$", text, re.M)
        cells = [float(cell.strip(" *")) for cell in line.split("|")[2:-1]]
        best = [min(rates[name, column] for name in names) for column in columns]
        assert cells == [float(f"{rate:.3g}") for rate in best]
    single = {n["name"]: n["value"] for n in numbers if not n["column"]}
    assert f"took {single['words: time of a row']:.0f} µs" in text
    assert f"had {single['words: size of the state']:.1f} MB" in text

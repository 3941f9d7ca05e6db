"""The committed results: the report is what the committed records give, and the text says so."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the report draws with matplotlib")

from forks.datasets import load, permutations
from forks.experiments.record import RecordFile
from forks.experiments.report import to_html
from forks.experiments.reproduce.agreement import comparisons
from forks.experiments.reproduce.chapters.theta import theta_points
from forks.experiments.reproduce.command import report
from forks.kernels import Gaussian
from forks.learners import NOGD
from forks_against_oracle import engine_run

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results" / "reproduce"


@pytest.fixture(scope="module")
def records():
    return RecordFile(RESULTS / "records.jsonl.xz").read()


def test_the_committed_report_comes_from_the_committed_records(records, tmp_path):
    report(records, tmp_path, "forks reproduce all")
    for name in ("report.md", "table1.csv", "adversarial.csv", "flights.csv"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name
    pictures = {path.name for path in RESULTS.glob("*.png")}  # drawn by the matplotlib at hand
    assert {path.name for path in tmp_path.glob("*.png")} == pictures


class Cells(HTMLParser):
    """Collects the rows of all tables."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("th", "td")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def test_the_committed_page_has_the_tables_of_the_report():
    text, page = ((RESULTS / f"report.{kind}").read_text() for kind in ("md", "html"))
    assert page == to_html(text, RESULTS)
    lines = [line for line in text.splitlines() if line.startswith("|") and "| --:" not in line]
    rows = [line.replace("**", "").split("|")[1:-1] for line in lines]
    expected = [[cell.strip() for cell in row] for row in rows]
    parser = Cells()
    parser.feed(page)
    assert parser.rows == expected


def test_tisvd_loses_to_truncation_and_not_to_arithmetic(records):
    points = theta_points(r for r in records if r["experiment"] == "theta")
    assert len(points) == 8
    for point in points:
        assert abs(point.rates["tisvd"].mean - point.rates["recursive"].mean) < 0.02


def test_the_text_quotes_the_report():
    """Every rate of the form `a ± b (w)` in the text stands in the report."""
    text = (DOCS / "reproduction.md").read_text()
    report = (RESULTS / "report.md").read_text()
    quoted = re.findall(r"\d+\.\d\d ± \d+\.\d\d(?: \([\d.]+\))?", text)
    assert len(quoted) >= 10
    assert [number for number in quoted if number not in report] == []


def test_the_text_counts_the_agreements(records):
    found = comparisons(records)
    agreeing = [comparison for comparison in found if comparison.agrees]
    elsewhere = [c for c in found if not c.agrees and c.elsewhere]
    text = " ".join((DOCS / "reproduction.md").read_text().split())
    assert f"{len(agreeing)} of the {len(found)} printed rates" in text
    assert f"{len(elsewhere)} more agree" in text


def test_the_tables_name_their_cells():
    with (RESULTS / "table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    widths = {row["method"]: row["authors_bandwidth"] for row in rows}
    assert widths["FORKS"] == widths["SkeGD, driver's sizes"] == "50.0"
    assert widths["NOGD"] == widths["RBP"] == "8.0"
    assert {row["authors_runs"] for row in rows} == {"20"}


@pytest.mark.needs_data
def test_a_quarter_of_nogds_scores_on_spambase_are_rounding_errors():
    X, y = load("spambase")
    order = permutations("spambase")[0]
    learner = NOGD(kernel=Gaussian(8.0), budget=100, rank=5)
    scores, engine = engine_run(learner, X[order], y[order])
    scores = scores[-learner.rounds_since_switch(engine.memory) :]
    assert 0.2 < np.mean(np.abs(scores) < 1e-12) < 0.35

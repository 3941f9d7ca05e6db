"""Figures of others: the files name their sources, and say what the tables of the package say."""

import csv
from pathlib import Path

import pytest

from forks.experiments.reproduce.paper import printed, published_rows

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "published"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.name)
def test_every_row_has_a_source(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(len(row["source"]) > 20 for row in rows)
    assert all(float(row["mistakes"]) > 0.0 for row in rows)


def test_the_tables_of_the_paper():
    with (FOLDER / "forks-paper.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == published_rows()
    cells = {(row[0], row[1], row[6].rpartition(": ")[2]): row for row in rows[1:]}
    cell = printed("RBP", "german")
    assert cells["german", "RBP", "table 1"][2:5] == [f"{number:g}" for number in cell]
    assert cells["german", "FORKS", "table 1"][5] != "all"
    assert "all" in cells["cod-rna", "BOGD", "adversarial environments, 10 repeats"]

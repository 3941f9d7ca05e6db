"""Figures of others: the files name their sources, and say what the tables of the package say."""

import csv
from pathlib import Path

import pytest

from forks.experiments.reproduce.paper import CELLS, printed

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "published"

TITLE = "Fast Second-Order Online Kernel Learning Through Incremental Matrix Sketching and "
TITLE += "Decomposition"
LEFT_OUT = ("NOGD", "SkeGD", "FORKS")  # methods whose mistakes of stage one are


def published_rows() -> list[list[str]]:
    """Return the cells as rows of a table, each with where it is printed."""
    rows = [["data", "method", "mistakes", "deviation", "seconds", "rounds", "source"]]
    for (method, column), cell in CELLS.items():
        data, _, repeats = column.partition("/")
        counted = "those of stage one left out" if method in LEFT_OUT else "all"
        table = f"adversarial environments, {repeats} repeats" if repeats else "table 1"
        numbers = [f"{cell.rate:g}", f"{cell.deviation:g}", f"{cell.seconds:g}"]
        rows.append([data, method, *numbers, counted, f"{TITLE}: {table}"])
    return rows


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

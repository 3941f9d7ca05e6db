"""Comparison with the printed rates."""

from forks.experiments.reproduce.agreement import agree, agreement, comparisons, off
from forks.experiments.reproduce.paper import DRIVERS_SIZES, Printed, printed
from forks.experiments.reproduce.rates import Cell


def run(method, bandwidth, mistakes, permutation=0, data="cod-rna"):
    return {
        "key": f"{method} {bandwidth} {permutation} {data}",
        "experiment": "table1",
        "data": data,
        "method": method,
        "arguments": {"bandwidth": bandwidth},
        "permutation": permutation,
        "repeats": 0,
        "status": "done",
        "n_rows": 10_000,
        "minority": 3_000,
        "mistakes": mistakes + 100,
        "mistakes_as_published": mistakes,
        "seconds": 1.0,
        "stored_points": 10,
    }


def test_differences_are_in_printed_deviations():
    paper = Printed(rate=20.0, deviation=2.0, seconds=1.0)
    assert off(Cell(23.0, 9.9, 8.0, 20), paper) == 1.5
    assert agree(Cell(18.0, 0.0, 8.0, 20), paper)
    assert not agree(Cell(22.1, 0.0, 8.0, 20), paper)


def test_regimes_are_kept_apart():
    assert printed("FORKS", "cod-rna")[:2] == (12.795, 0.360)
    records = [
        run("FORKS", 50.0, 1_450),
        run("FORKS", 64.0, 1_290),
        run("FORKS" + DRIVERS_SIZES, 50.0, 1_280),
        run("FORKS" + DRIVERS_SIZES, 64.0, 1_000),
    ]
    (found,) = comparisons(records)
    assert (found.authors.mean, found.authors.bandwidth) == (14.5, 50.0)
    assert not found.agrees
    assert {name: cell.mean for name, cell in found.others.items()} == {
        "driver's sizes": 12.8,
        "best width": 12.9,
        "driver's sizes, best width": 10.0,
    }
    assert list(found.elsewhere) == ["driver's sizes", "best width"]
    paragraph, table = agreement(records)
    assert "0 of 1 printed rates agree; 1 more do" in paragraph
    (row,) = table.rows
    assert row[:6] == ["cod-rna", "FORKS", "12.79 ± 0.36", "14.50 ± 0.00 (50)", "+4.74", "no"]
    assert row[6].startswith("driver's sizes: 12.80 ± 0.00 (50) +0.01; best width: 12.90")


def test_a_width_that_was_not_played_is_left_open():
    (found,) = comparisons([run("FORKS", 64.0, 1_290)])
    assert found.authors is None
    assert not found.agrees
    (row,) = agreement([run("FORKS", 64.0, 1_290)])[1].rows
    assert row[3:6] == ["", "", "no"]


def test_methods_that_the_paper_has_not_are_left_out():
    assert agreement([run("KOGD", 8.0, 100)]) == []

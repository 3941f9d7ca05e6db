"""`forks run --key`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from forks.cli import main


def call(*arguments):
    return CliRunner().invoke(main, ["run", *map(str, arguments)])


def refused(*arguments):
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr.splitlines()[-1]


@pytest.fixture
def table(tmp_path):
    """A label that depends on the key; one row has no label."""
    rng = np.random.default_rng(0)
    shift = {"Rome": -2.0, "Oslo": 0.0, "Bonn": 2.0}
    lines = ["town,a,b,y"]
    for i in range(600):
        town, (a, b) = rng.choice(list(shift)), rng.normal(size=2).round(3)
        y = "" if i == 9 else ("yes" if a + shift[town] > 0.0 else "no")
        lines.append(f"{town},{a},{b},{y}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_learns_by_key(table):
    result = call(table, "--key", "town", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["rows"], figures["keys"]) == (599, 3)
    without = json.loads(call(table, "--effort", "fast", "--drop", "town", "--json").stdout)
    assert figures["mistake_rate"] < 0.7 * without["mistake_rate"]
    same = json.loads(call(table, "--key", "town", "--chunk", 50, "--json").stdout)
    assert same["mistakes"] == figures["mistakes"]


def test_numbers_and_what_is_printed(table):
    result = call(table, "--key", "town", "--label", "b")
    assert result.exit_code == 0, result.output
    assert "3 keys of 1,288 bytes" in result.stdout
    assert "root mean squared error" in result.stdout
    assert call(table, "--key", "town", "--categorical", "town").exit_code == 0


def test_classes_that_are_told(table):
    told = json.loads(call(table, "--key", "town", "--classes", "no,perhaps,yes", "--json").stdout)
    assert told["classes"] == ["no", "perhaps", "yes"]
    fault = refused(table, "--key", "town", "--label", "b", "--classes", "no,yes")
    assert "--classes is for classification" in fault


def test_what_it_refuses(table, tmp_path):
    assert "has no column 'nix' beside the label" in refused(table, "--key", "nix")
    assert "has no column 'y' beside the label" in refused(table, "--key", "y")
    fault = refused(table, "--key", "town", "--save", tmp_path / "m", "--set", "a=1")
    assert "--key has no --save, --set" in fault
    assert not (tmp_path / "m").exists()
    assert "row 1, column 'a'" in refused(table, "--key", "a")
    table.write_text(table.read_text().replace("Rome", "NA", 1))
    assert "the key is missing" in refused(table, "--key", "town")

"""Plans of the user's."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from forks.cli import main
from forks.experiments.record import RecordFile
from forks.experiments.reproduce.plan_file import PlanError, read_plan

PLAN = """
[[experiments]]
name = "budgets"
data = "rows.libsvm"
permutations = 2
rows = 200

[[experiments.methods]]
learner = "RBP"
arguments = { budget = [10, 20], bandwidth = [1.0, 2.0] }

[[experiments.methods]]
learner = "NOGD"
label = "Nystrom"
arguments = { budget = 20, rank = 5, loss = "squared_hinge" }
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, 3, 1)
    dump_svmlight_file(X, y, str(tmp_path / "rows.libsvm"), zero_based=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def reproduce(path, output):
    return CliRunner().invoke(
        main, ["reproduce", str(path), "--output", str(output), "--jobs", "1"]
    )


def test_lists_stand_for_all_combinations(folder):
    plan = read_plan(folder / "plan.toml")
    assert list(plan) == ["budgets"]
    runs = plan["budgets"]
    assert len(runs) == 2 * (2 * 2 + 1)
    assert {run.method for run in runs} == {
        "RBP, budget 10, bandwidth 1.0",
        "RBP, budget 10, bandwidth 2.0",
        "RBP, budget 20, bandwidth 1.0",
        "RBP, budget 20, bandwidth 2.0",
        "Nystrom",
    }
    assert {run.data for run in runs} == {str(folder / "rows.libsvm")}
    assert {(run.experiment, run.rows) for run in runs} == {("budgets", 200)}
    assert len({run.key for run in runs}) == len(runs)


def test_json_says_the_same(folder):
    (folder / "plan.json").write_text(json.dumps(tomllib.loads(PLAN)))
    assert read_plan(folder / "plan.json") == read_plan(folder / "plan.toml")


def test_a_plan_is_played_once_and_has_its_chapter(folder):
    output = folder / "out"
    first = reproduce(folder / "plan.toml", output)
    assert first.exit_code == 0, first.output
    assert "budgets: 10 runs, 10 to play" in first.output
    again = reproduce(folder / "plan.toml", output)
    assert "budgets: 10 runs, 0 to play" in again.output
    records = RecordFile(output / "records.jsonl").read()
    assert [record["status"] for record in records] == ["done"] * 10
    assert {record["n_rows"] for record in records} == {200}
    report = (output / "report.md").read_text()
    assert "## budgets" in report
    own = [100 * r["mistakes"] / 200 for r in records if r["method"] == "Nystrom"]
    assert f"| Nystrom | {np.mean(own):.2f} ± {np.std(own):.2f} |" in report
    assert "| | every round | as the paper counts | ms | points |" in report
    assert "<h2>budgets</h2>" in (output / "report.html").read_text()
    assert not list(output.glob("*.part"))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"RBP"', '"Magic"', "experiment 1 (budgets), method 1: learner must be one of"),
        ('"RBP"', '"RBP.init"', "method 1: learner must be one of forks.learners, got 'RBP.init'"),
        ("rank = 5", "colour = 5", "method 2: NOGD.__init__() got an unexpected keyword"),
        ("rank = 5", "rank = 50", "method 2: rank must be at most the budget"),
        ("squared_hinge", "steep", "method 2: loss must be one of 'hinge'"),
        ('"rows.libsvm"', '"iris"', "(budgets): 'iris' is neither a file nor one of german"),
        ('"rows.libsvm"', "3", "data must be a name or a path, got 3"),
        ('"rows.libsvm"', "[]", "data must not be empty"),
        (
            "permutations = 2",
            "permutations = 0",
            "(budgets): permutations must be at least 1, got 0",
        ),
        ("rows = 200", "row = 200", "'row' is none of data, methods, name, permutations, rows"),
        ('name = "budgets"', 'name = "theta"', "the name 'theta' is that of one of the paper's"),
        ('name = "budgets"', "", "experiment 1: name must be text, got None"),
        ("[10, 20]", "[10, 10]", "method 1: there are two methods 'RBP, budget 10, bandwidth 1.0'"),
        ("learner", "learner = ", "plan.toml: cannot be read"),
        ("experiments", "trials", "plan.toml: 'trials' is none of experiments"),
    ],
)
def test_a_fault_is_one_line_that_names_file_and_entry(folder, old, new, told):
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    with pytest.raises(PlanError):
        read_plan(folder / "plan.toml")
    result = reproduce(folder / "plan.toml", folder / "out")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "plan.toml" in result.stderr
    assert told in result.stderr
    assert not (folder / "out").exists()


def test_a_plan_file_that_is_not_there_is_named(folder):
    result = reproduce(folder / "other.json", folder / "out")
    assert result.exit_code == 2
    assert "there is no plan file" in result.stderr


def test_the_example_of_the_documentation_is_a_plan(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "reproduction.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "plan.toml").write_text(example)
    (tmp_path / "my-rows.csv").write_text("a,label\n1,0\n2,1\n")
    (runs,) = read_plan(tmp_path / "plan.toml").values()
    assert len(runs) == 2 * 5 * 3
    assert {run.rows for run in runs} == {1000}

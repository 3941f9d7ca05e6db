"""The benchmark plays through at tiny sizes, and a part that fails becomes a line."""

import inspect
import json
import math
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("matplotlib", reason="the benchmark draws with matplotlib")

from forks.datasets import load
from forks.experiments import bench
from forks.experiments.bench import LONG_PARTS, PARTS, command, stationary
from forks.experiments.bench._data import Stream, data_set, shuffled
from forks.experiments.bench._part import Number, Part, numbers_of, part, tables
from forks.experiments.bench._timing import Timed, best_times, slope_of_upper_half, timed
from forks.experiments.bench.command import measured, report, run_bench
from forks.experiments.record import Missing, RecordFile
from forks.learners import KOGD, RBP

RESULTS = Path(__file__).parents[3] / "docs" / "results"
TINY = {
    "passes": {"rows": 1_200, "oracle_rows": 400, "repeats": 1},
    "classifier": {"rows": 1_200, "repeats": 1},
    "changes": {"rows": 40_000, "seeds": 1},
    "cycles": {"rows": 1_200, "orders": 1, "cycles": (20,)},
    "regression": {"rows": 1_200, "flights_rows": 600, "forest_rows": 50},
    "methods": {"rows": 1_200, "repeats": 1},
    "method_rounds": {"rows": 1_200, "repeats": 1},
    "rebuilding": {"rows": 400},
    "c_loop": {"rows": 1_200, "repeats": 1},
    "one_row": {"rows": 1_200, "calls": 50, "estimator_calls": 5, "repeats": 1},
    "river": {"made_up_events": 5, "river_events": 40, "repeats": 1},
    "events": {"rows": 500, "repeats": 1},
    "state": {},
    "counts": {},
    "faithful": {"runs": 2},
    "growth": {
        "rounds": 50,
        "repeats": 1,
        "budgets": (50, 100),
        "landmarks": (10, 20),
        "ranks": (5, 10),
        "widths": (2, 4),
        "nonzeros": (2, 4),
    },
    "endless": {"rows": 3_000, "chunk": 300, "cycle": 100},
    "tisvd_accuracy": {"updates": 20, "long": 40},
    "tisvd_time": {"sizes": (60, 120), "full_up_to": 60, "repeats": 1},
    "endurance": {"rows": 6_000, "concept": 1_000, "window": 2, "cycle": 100},
    "stationary": {"rows": 1_000, "growing": 400},
    "capacity": {
        "rows": 5_000,
        "repeats": 1,
        "landmarks": (30,),
        "forks_merged": (2,),
        "n_keys": 800,
        "spark": False,
    },
    "merging": {
        "names": ("cod-rna",),
        "rows": 1_000,
        "orders": 1,
        "efforts": ("fast",),
        "shards": (2,),
        "timed_rows": 5_100,
        "large": (),
    },
    "literature": {"rows": 200, "efforts": ("fast",)},
    "trust": {"rows": 400, "sets": (), "streams": ("stationary",), "others": False},
    "keyed": {
        "air_rows": 300,
        "efforts": ("fast",),
        "n_keys": 12,
        "rows_of_a_key": (30, 90),
        "separate": 2,
    },
    "wide": {
        "rows": 120,
        "width": 2_000,
        "sets": (),
        "widths": (300,),
        "narrow_rows": 60,
        "repeats": 1,
        "peers": False,
    },
}
NEED_DATA = {"classifier", "counts", "faithful", "methods", "regression"}


def _stream():
    rng = np.random.default_rng(1)
    X = 40.0 * rng.standard_normal((1_200, 8))
    return Stream(
        X, np.where(np.prod(X[:, :2], axis=1) + rng.standard_normal(1_200) > 0, 1.0, -1.0)
    )


def _has_data():
    try:
        return load("german") is not None
    except FileNotFoundError:
        return False


def _silent():
    return Console(quiet=True)


def tiny(name):
    return part(name)._replace(quick=TINY[name])


@pytest.fixture(autouse=True)
def made_up_cod_rna(monkeypatch):
    def load_some(name):
        return _stream() if name == "cod-rna" else load(name)

    monkeypatch.setattr("forks.experiments.bench._data.load", load_some)
    for cached in (data_set, shuffled):
        cached.cache_clear()
    yield
    for cached in (data_set, shuffled):
        cached.cache_clear()


def use_parts(monkeypatch, **parts):
    monkeypatch.setattr(command, "PARTS", tuple(parts))
    monkeypatch.setattr(command, "LONG_PARTS", ())
    monkeypatch.setattr(command, "part", parts.__getitem__)


# ---- every part ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PARTS if name != "compilation"])
def test_every_part_gives_finite_numbers(name):
    record = json.loads(json.dumps(measured(name, tiny(name), quick=True)))
    numbers = numbers_of(record, "title")
    if record["status"] == "failed":
        lacking = NEED_DATA if not _has_data() else set()
        assert name in lacking | ({"c_loop"} if shutil.which("cc") is None else set())
        assert "Error" not in record["reason"], record["reason"]
        return
    assert numbers
    for number in numbers:
        assert number.value is not None, number
        assert math.isfinite(number.value), number
    if part(name).draw is not None:
        part(name).draw(numbers)
    value = {number.name: number.value for number in numbers}
    if name == "passes":
        assert value["largest difference of scores"] < 1e-7
    if name == "tisvd_accuracy":
        assert value["rank-3 updates: orthogonality error after 40"] < 1e-12
        assert value["rank-deficient updates: worst relative error of a singular value"] < 1e-9
    if name == "endless":
        assert value["update rounds"] > 10


@pytest.mark.parametrize("name", [*PARTS, *LONG_PARTS])
def test_a_part_is_complete(name):
    own = part(name)
    inspect.signature(own.measure).bind(**own.quick)
    title, _, text = own.doc.partition("\n")
    assert title.endswith(".")
    assert text.strip()


def test_every_file_of_a_part_is_listed():
    files = {file.stem for file in Path(bench.__file__).parent.glob("[!_]*.py")}
    assert files - {"command"} == {*PARTS, *LONG_PARTS}


# ---- records and report ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "command_line"),
    [
        ("bench", "forks bench"),
        ("capacity", "forks bench --only capacity"),
        ("drift", "forks bench --only drift"),
        ("endurance", "forks bench --only endurance"),
        ("endurance/lasting", "forks bench --only lasting"),
        ("literature", "forks bench --only literature"),
        ("merging", "forks bench --only merging"),
        ("spark", "forks bench --only spark"),
        ("stationary", "forks bench --only stationary"),
        ("tables", "forks bench --only tables --only table_speed"),
        ("trust", "forks bench --only trust"),
        ("wide", "forks bench --only wide"),
    ],
)
def test_the_committed_report_comes_from_the_committed_records(folder, command_line, tmp_path):
    records = RecordFile(RESULTS / folder / "records.jsonl.xz").read()
    parts = {record["experiment"]: part(record["experiment"]) for record in records}
    report(records, parts, tmp_path, command_line)
    text = (tmp_path / "report.md").read_bytes()
    assert text == (RESULTS / folder / "report.md").read_bytes()
    pictures = {path.name for path in (RESULTS / folder).glob("*.png")}
    assert {path.name for path in tmp_path.glob("*.png")} == pictures


def test_a_record_has_numbers_versions_and_the_machine(tmp_path, monkeypatch):
    use_parts(monkeypatch, state=part("state"))
    (record,) = run_bench(output=tmp_path, console=_silent())
    assert RecordFile(tmp_path / "records.jsonl").read() == [record]
    wanted = {"experiment", "effort", "source", "numbers", "numpy", "scipy", "numba", "cpu"}
    assert wanted | {"forks", "scikit-learn", "python", "cores"} <= set(record)
    assert {"name", "value", "unit", "settings"} <= set(record["numbers"][0])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert f"Made by `forks bench` on {record['cpu']}" in text
    assert (tmp_path / "report.html").is_file()


def test_a_curve_is_named_with_its_unit_if_it_has_one():
    numbers = [
        Number("speed", 2.0, "µs", against="n", at=1.0),
        Number("rate", 3.0, against="n", at=1.0),
    ]
    (table,) = tables(numbers)
    assert [row[0] for row in table.rows] == ["speed, µs", "rate"]


def test_a_failing_part_becomes_a_line_and_the_others_go_on(tmp_path, monkeypatch):
    def failing():
        yield Number("before", 1.0)
        raise ZeroDivisionError("nothing left\nto divide")

    def lacking():
        raise Missing("no such thing here")

    def working():
        yield Number("on a curve", 2.0, against="n", at=1.0)

    def undrawable(numbers):
        raise ValueError("no ink")

    parts = {
        "a": Part("First.", failing),
        "b": Part("Second.", lacking),
        "c": Part("Third.", working, {}, undrawable),
    }
    use_parts(monkeypatch, **parts)
    console = Console(record=True, quiet=False, width=100, file=(tmp_path / "out").open("w"))
    records = run_bench(output=tmp_path, console=console)
    numbers = [n for r in records for n in numbers_of(r, parts[r["experiment"]].title)]
    assert [(number.name, number.value, number.reason) for number in numbers] == [
        ("before", 1.0, ""),
        ("First", None, "ZeroDivisionError: nothing left"),
        ("Second", None, "no such thing here"),
        ("on a curve", 2.0, ""),
    ]
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "No picture: ValueError: no ink" in text
    for shown in (text, console.export_text()):
        assert "none: ZeroDivisionError: nothing left" in shown
        assert "none: no such thing here" in shown


def test_an_interrupted_benchmark_goes_on(tmp_path, monkeypatch):
    played = []

    def counted(name, fails=False):
        def measure(n=1):
            played.append(name)
            if fails and played.count(name) == 1:
                raise KeyboardInterrupt
            yield Number(name, float(n))

        return Part(f"Part {name}.", measure, {"n": 2})

    use_parts(monkeypatch, a=counted("a"), b=counted("b", fails=True))
    with pytest.raises(KeyboardInterrupt):
        run_bench(output=tmp_path, console=_silent())
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write('{"cut off')
    run_bench(output=tmp_path, console=_silent())
    assert played == ["a", "b", "b"]
    assert len(RecordFile(tmp_path / "records.jsonl").read()) == 2
    run_bench(output=tmp_path, console=_silent(), only=["a"])  # named, and so measured again
    run_bench(output=tmp_path, console=_silent(), quick=True)  # another effort
    assert played == ["a", "b", "b", "a", "a", "b"]
    monkeypatch.setattr(command, "_source", lambda: "other code")
    run_bench(output=tmp_path, console=_silent())
    assert played[-2:] == ["a", "b"]
    records = RecordFile(tmp_path / "records.jsonl").read()
    assert [number["value"] for r in records for number in r["numbers"]] == [1, 1, 1, 2, 2, 1, 1]


def test_only_some_parts(monkeypatch, tmp_path):
    parts = {n: Part(f"{n}.", lambda n=n: [Number(n, 1.0)]) for n in ("a", "b", "c")}
    use_parts(monkeypatch, **parts)
    monkeypatch.setattr(command, "PARTS", ("a", "b"))
    monkeypatch.setattr(command, "LONG_PARTS", ("c",))
    run_bench(quick=True, output=tmp_path, console=_silent(), only=["c", "a", "c"])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "`forks bench --quick --only c --only a`" in text
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["c", "a"]
    with pytest.raises(ValueError, match="no part 'd'; there are a, b, c"):
        run_bench(quick=True, output=tmp_path / "none", console=_silent(), only=["a", "d"])
    assert not (tmp_path / "none").exists()
    run_bench(quick=True, output=tmp_path, console=_silent())
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "`forks bench --quick`" in text
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["a", "b"]


def test_a_part_is_one_file_and_one_line(monkeypatch, tmp_path):
    """As CONTRIBUTING says: here the file is outside the package, and the line a patch."""
    source = Path(bench.__file__).with_name("state.py").read_text()
    (tmp_path / "mine.py").write_text(source.replace("Bytes of state.", "My bytes."))
    monkeypatch.setattr(bench, "__path__", [*bench.__path__, str(tmp_path)])
    monkeypatch.setattr(command, "LONG_PARTS", ("mine",))
    run_bench(output=tmp_path / "out", console=_silent(), only=["mine"])
    monkeypatch.delitem(sys.modules, "forks.experiments.bench.mine")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## My bytes\n" in text
    assert "| FORKS as released | " in text


def test_goals_are_met_or_not():
    numbers = [
        Number("a", 1.0, at_least=0.5),
        Number("b", 1.0, "s", at_most=0.5),
        Number("c", 1.0, at_least=0.5, at_most=2.0),
        Number("d", None, at_most=1.0, reason="gone"),
        Number("e", 2_000.4),
    ]
    (table,) = tables(numbers)
    assert [row[1:] for row in table.rows] == [
        ["1", "≥ 0.5, met"],
        ["1 s", "≤ 0.5, NOT met"],
        ["1", "0.5 to 2, met"],
        ["none: gone", "≤ 1"],
        ["2,000", ""],
    ]


# ---- single parts ----------------------------------------------------------------------------


def test_stationary_looks_at_the_middle_and_the_end(monkeypatch):
    made = [("RBP", RBP(), True), ("KOGD", KOGD(), False)]
    monkeypatch.setattr(stationary, "learners", lambda task, source: made)
    monkeypatch.setattr(stationary, "TASKS", ("classification",))
    numbers = stationary.measure(**TINY["stationary"])
    found = {(number.name, number.column): number.value for number in numbers}
    assert found["RBP, classification, scaled", "rows"] == 1_000
    assert found["KOGD, classification, weighted", "rows"] == 400
    assert found["KOGD, classification, scaled", "end"] < 45.0
    assert found["runs saved and loaded", ""] == 2 * len(stationary.SOURCES)


def test_endurance_looks_at_memory_speed_and_rounding():
    record = measured("endurance", tiny("endurance"), quick=True)
    numbers = numbers_of(record, "Endurance")
    assert record["status"] == "done", record
    assert all(math.isfinite(number.value) for number in numbers)
    value = {number.name: number.value for number in numbers if not number.against}
    assert value["rows"] == 6_000
    assert value["concepts"] == 6
    assert value["default: new starts"] >= 3
    assert value["FORKS: update rounds"] > 10
    assert 0.0 < value["FORKS: orthogonality error, worst of all"] < 1e-12
    for name in ("default", "fast", "FORKS"):
        assert 0.0 < value[f"{name}: least eigenvalue of P / largest, least of all"] < 1.0
    curves = {number.name for number in numbers if number.against == "rows"}
    assert {"rows per second, FORKS", "mistake rate, default"} < curves
    part("endurance").draw(numbers)


def test_endurance_would_see_what_rounding_can_do():
    from forks.experiments.bench.endurance import EPSILON, runners

    stream = _stream()
    default, fast, sketched = runners(stream, cycle=100)
    for runner in (default, fast, sketched):
        runner.learn(*stream)
        runner.look()
        assert runner.ratios[0] > 0.0
    engine = default.player.engine
    over_time = engine.learner
    over_time.state_of(over_time.view(engine.memory), 0).newton.P.d[0] = 0.0
    engine = fast.player.engine
    engine.learner.view(engine.memory).newton.P.d[0] = 0.0
    engine = sketched.player.engine
    view = engine.learner.view(engine.memory)
    view.hot.roots[0, 0] = 0.0
    for runner in (default, fast, sketched):
        runner.look()
        assert runner.ratios[1] < EPSILON**2
    view.sketch.vectors_transposed[0] *= 1.0 + 1e-6
    sketched.look()
    assert sketched.errors[1] < 1e-12 < sketched.errors[2]


def test_without_data_the_reason_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("forks.experiments.bench._data.load", load)
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    record = measured("passes", tiny("passes"), quick=True)
    assert "set FORKS_DATA" in record["reason"]


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    record = measured("c_loop", tiny("c_loop"), quick=True)
    assert "no C compiler" in record["reason"]


def test_a_fresh_process_reports_its_times(monkeypatch):
    from forks.experiments.bench import compilation

    monkeypatch.setattr(compilation, "_CODE", "print('noise'); print('[0.25, 2.0]')")
    numbers = list(compilation.measure(warm_starts=1))
    assert [(number.value, number.met) for number in numbers] == [
        (0.25, None),
        (2.0, True),
        (2.0, False),
    ]


def test_contenders_take_turns_after_a_warm_up():
    order = []

    def contender(name):
        return lambda: timed(lambda: order.append(name) or len(order))

    times = best_times({"a": contender("a"), "b": contender("b")}, 2)
    assert order == ["a", "b"] * 3
    assert times["a"].result > 2  # not that of the warm-up


def test_the_shortest_time_counts():
    turns = iter([9.0, 3.0, 1.0, 2.0])
    assert best_times({"a": lambda: Timed(next(turns), "")}, 3)["a"].seconds == 1.0


def test_the_slope_is_that_of_the_upper_half():
    assert slope_of_upper_half([1, 2, 4, 8], [5.0, 1.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert slope_of_upper_half([2, 4], [1.0, 2.0]) == pytest.approx(1.0)


def test_one_model_per_key():
    numbers = list(part("keyed").measure(**TINY["keyed"]))
    assert all(number.value is not None and math.isfinite(number.value) for number in numbers)
    columns = {number.column for number in numbers if number.name.startswith("made stream")}
    assert columns == {"keyed", "one model", "separate"}
    assert {number.name for number in numbers} >= {"rows a second", "bytes of a key"}


@pytest.mark.slow
def test_capacity():
    numbers = list(part("capacity").measure(**TINY["capacity"]))
    assert all(number.value is not None and math.isfinite(number.value) for number in numbers)
    values = {number.name: number.value for number in numbers if not number.column}
    per_key, cores = (
        "one model per key: rows a second of CPU time",
        "needs: cores, one model per key",
    )
    assert values[cores] == pytest.approx(1e6 / values[per_key])
    assert values["needs: bytes of all keys"] == pytest.approx(1.288)
    compared = [number.column for number in numbers if number.column]
    assert compared == ["measured", "simulated", "ratio"] * 2

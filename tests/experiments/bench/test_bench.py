"""The benchmark plays through at tiny sizes, and a part that fails becomes a line."""

import dataclasses
import json
import math
import re
import shutil

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("forks.experiments.bench", reason="the benchmark needs matplotlib")

from forks.datasets import load
from forks.experiments.bench import _runner, c_loop, compilation, passes, stationary
from forks.experiments.bench._clock import best_times, slope_of_upper_half
from forks.experiments.bench._data import Stream
from forks.experiments.bench._effort import QUICK, Effort
from forks.experiments.bench._record import Missing, Record
from forks.experiments.bench._runner import LONG_PARTS, PARTS, Part, run
from forks.learners import KOGD, RBP


def _stream():
    rng = np.random.default_rng(1)
    X = 40.0 * rng.standard_normal((1_200, 8))
    return Stream(
        X, np.where(np.prod(X[:, :2], axis=1) + rng.standard_normal(1_200) > 0, 1.0, -1.0)
    )


TINY = Effort(
    repeats=1,
    data=_stream,
    rows=1_200,
    oracle_rows=400,
    call_rows=50,
    estimator_rows=5,
    river_rows=40,
    event_rows=500,
    compile=False,
    drift_rows=40_000,
    drift_seeds=1,
    update_cycles=(20,),
    orders=1,
    flights_rows=600,
    forest_rows=50,
    growth_rows=50,
    budgets=(50, 100),
    landmarks=(10, 20),
    ranks=(5, 10),
    widths=(2, 4),
    nonzeros=(2, 4),
    endless_rows=3_000,
    endless_chunk=300,
    endless_cycle=100,
    endurance_rows=6_000,
    endurance_concept=1_000,
    endurance_window=2,
    endurance_cycle=100,
    stationary_rows=1_000,
    stationary_growing=400,
    svd_updates=20,
    svd_long=40,
    svd_sizes=(60, 120),
    svd_full_up_to=60,
    svd_batch=2,
)


NEED_DATA = {"counts", "defaults", "faithful", "regression"}


def _real_data():
    try:
        return load("cod-rna") is not None
    except FileNotFoundError:
        return False


def _silent():
    return Console(quiet=True)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    output = tmp_path_factory.mktemp("bench") / "new"
    return run(PARTS, TINY, output, "forks bench", _silent()), output


def test_every_part_gives_finite_numbers(full):
    records, _ = full
    parts = {record.part for record in records if record.value is not None}
    lacking = {"compilation"} | ({"c_loop"} if shutil.which("cc") is None else set())
    data = _real_data()
    assert parts == {part.name for part in PARTS} - lacking - (set() if data else NEED_DATA)
    for record in records:
        if record.value is None:
            assert record.part in (lacking if data else lacking | NEED_DATA | {"methods"})
            assert record.reason
        else:
            assert math.isfinite(record.value), record


def test_tisvd_and_the_oracle_agree(full):
    records, _ = full
    value = {record.name: record.value for record in records}
    assert value["largest difference of scores"] < 1e-7
    assert value["rank-3 updates: orthogonality error after 40"] < 1e-12
    assert value["rank-deficient updates: worst relative error of a singular value"] < 1e-9
    assert value["update rounds"] > 10


def test_results_are_flat_records_with_versions_and_machine(full):
    records, output = full
    stored = json.loads((output / "results.json").read_text(encoding="utf-8"))
    assert len(stored) == len(records)
    wanted = {"part", "name", "value", "unit", "settings", "numpy", "scipy", "numba"}
    wanted |= {"scikit-learn", "python", "cpu", "cores"}
    assert all(wanted <= set(record) for record in stored)


def test_the_report_names_its_command_and_shows_its_pictures(full):
    _, output = full
    text = (output / "report.md").read_text(encoding="utf-8")
    assert "`forks bench`" in text
    pictures = re.findall(r"\]\((.*\.png)\)", text)
    assert pictures == ["growth.png", "endless.png", "tisvd_time.png"]
    for picture in pictures:
        assert (output / picture).read_bytes().startswith(b"\x89PNG")


def test_a_failing_part_becomes_a_line_and_the_others_go_on(tmp_path):
    def failing(effort):
        yield Record(name="before", value=1.0)
        raise ZeroDivisionError("nothing left\nto divide")

    def lacking(effort):
        raise Missing("no such thing here")

    def working(effort):
        yield Record(name="on a curve", value=2.0, against="n", at=1.0)

    def undrawable(records):
        raise ValueError("no ink")

    parts = (
        Part("a", "First", "", failing),
        Part("b", "Second", "", lacking),
        Part("c", "Third", "", working, undrawable),
    )
    console = Console(record=True, quiet=False, width=100, file=(tmp_path / "out").open("w"))
    records = run(parts, TINY, tmp_path, "forks bench", console)
    assert [(record.name, record.value, record.reason) for record in records] == [
        ("before", 1.0, ""),
        ("First", None, "ZeroDivisionError: nothing left"),
        ("Second", None, "no such thing here"),
        ("on a curve", 2.0, ""),
        ("Third: picture", None, "ValueError: no ink"),
    ]
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    for text in (report, console.export_text()):
        assert "none: ZeroDivisionError: nothing left" in text
        assert "none: no such thing here" in text


def test_main_names_the_quick_command(tmp_path, monkeypatch):
    seen = []
    part = Part(
        "a", "First", "", lambda effort: [Record(name="x", value=float(seen.append(effort) or 1))]
    )
    monkeypatch.setattr(_runner, "PARTS", (part,))
    _runner.main(quick=True, output=tmp_path, console=_silent())
    assert seen == [QUICK]
    assert "`forks bench --quick`" in (tmp_path / "report.md").read_text(encoding="utf-8")


def _long(name):
    return next(part for part in LONG_PARTS if part.name == name)


def test_stationary_looks_at_the_middle_and_the_end(tmp_path, monkeypatch):
    made = [("RBP", RBP(), True), ("KOGD", KOGD(), False)]
    monkeypatch.setattr(stationary, "learners", lambda task, source: made)
    monkeypatch.setattr(stationary, "TASKS", ("classification",))
    records = run([_long("stationary")], TINY, tmp_path, "forks bench --only stationary", _silent())
    found = {(record.name, record.column): record.value for record in records}
    assert found["RBP, classification, scaled", "rows"] == 1_000
    assert found["KOGD, classification, weighted", "rows"] == 400
    assert found["KOGD, classification, scaled", "end"] < 45.0
    assert found["runs saved and loaded", ""] == 2 * len(stationary.SOURCES)


def test_endurance_looks_at_memory_speed_and_rounding(tmp_path):
    records = run([_long("endurance")], TINY, tmp_path, "forks bench --only endurance", _silent())
    assert all(math.isfinite(record.value) for record in records)
    value = {record.name: record.value for record in records if not record.against}
    assert value["rows"] == 6_000
    assert value["concepts"] == 6
    assert value["default: new starts"] >= 3
    assert value["FORKS: update rounds"] > 10
    assert 0.0 < value["FORKS: orthogonality error, worst of all"] < 1e-12
    for name in ("default", "FORKS"):
        assert 0.0 < value[f"{name}: least eigenvalue of P / largest, least of all"] < 1.0
    curves = {record.name for record in records if record.against == "rows"}
    assert {"rows per second, FORKS", "mistake rate, default"} < curves
    assert "![Endurance](endurance.png)" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_endurance_would_see_what_rounding_can_do():
    from forks.experiments.bench.endurance import (
        _EPSILON,
        _runners,
    )

    X, y = _stream()
    default, sketched = _runners(TINY)
    for runner in (default, sketched):
        runner.learn(X, y.reshape(-1, 1))
        runner.look()
        assert runner.ratios[0] > 0.0
    default.engine.learner.view(default.engine.memory).newton.P.d[0] = 0.0
    view = sketched.engine.learner.view(sketched.engine.memory)
    view.hot.roots[0, 0] = 0.0
    for runner in (default, sketched):
        runner.look()
        assert runner.ratios[1] < _EPSILON**2
    view.sketch.vectors_transposed[0] *= 1.0 + 1e-6
    sketched.look()
    assert sketched.errors[1] < 1e-12 < sketched.errors[2]


def test_only_some_parts(monkeypatch, tmp_path):
    def part(name):
        return Part(name, name, "", lambda effort: [Record(name=name, value=1.0)])

    monkeypatch.setattr(_runner, "PARTS", (part("a"), part("b")))
    monkeypatch.setattr(_runner, "LONG_PARTS", (part("c"),))
    _runner.main(quick=True, output=tmp_path, console=_silent(), only=["c", "a", "c"])
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "`forks bench --quick --only c --only a`" in report
    assert re.findall(r"^## (.*)", report, re.MULTILINE) == ["c", "a"]
    with pytest.raises(ValueError, match="no part 'd'; there are a, b, c"):
        _runner.main(quick=True, output=tmp_path / "none", console=_silent(), only=["a", "d"])
    assert not (tmp_path / "none").exists()
    _runner.main(quick=True, output=tmp_path, console=_silent())
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)", report, re.MULTILINE) == ["a", "b"]


def test_without_data_the_reason_says_what_to_do(monkeypatch, tmp_path):
    from forks.experiments.bench._data import cod_rna, shuffled

    shuffled.cache_clear()
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Missing, match="set FORKS_DATA"):
        list(passes.measure(dataclasses.replace(TINY, data=cod_rna)))


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(Missing, match="no C compiler"):
        list(c_loop.measure(TINY))


def test_a_fresh_process_reports_its_times(monkeypatch):
    monkeypatch.setattr(compilation, "_CODE", "print('noise'); print('[0.25, 2.0]')")
    records = list(compilation.measure(dataclasses.replace(TINY, compile=True)))
    assert [(record.value, record.met) for record in records] == [
        (0.25, None),
        (2.0, True),
        (2.0, False),
    ]


def test_contenders_take_turns_after_a_warm_up():
    order = []

    def contender(name):
        def prepare():
            return lambda: order.append(name) or len(order)

        return prepare

    timed = best_times({"a": contender("a"), "b": contender("b")}, 2)
    assert order == ["a", "b"] * 3
    assert timed["a"].result > 2  # not that of the warm-up


def test_the_slope_is_that_of_the_upper_half():
    assert slope_of_upper_half([1, 2, 4, 8], [5.0, 1.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert slope_of_upper_half([2, 4], [1.0, 2.0]) == pytest.approx(1.0)

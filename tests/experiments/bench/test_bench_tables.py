"""The benchmark of tables: what a person would make of one, and what peers are given."""

import numpy as np
import pandas as pd
import pytest

from forks.experiments.bench import _table_peers as peers
from forks.experiments.bench import table_speed, tables
from forks.experiments.bench._tables import Chosen, Taken, prepared


def _taken(tmp_path, classifies=False, n=400):
    rng = np.random.default_rng(0)
    cities = rng.choice(["Oslo", "Rome", "Bonn"], n)
    streets = rng.choice([f"street {i}" for i in range(60)], n)
    x = rng.normal(size=n)
    y = 3.0 * x + 5.0 * (cities == "Rome") + 20.0
    x[::50] = np.nan
    at = pd.date_range("2020-01-01", periods=n, freq="h").astype(str)
    frame = pd.DataFrame({"at": at, "x": x, "city": cities, "street": streets, "id": range(n)})
    label = np.where(y > 20.0, "up", "down") if classifies else y
    path = tmp_path / "made.csv"
    frame.assign(y=label).to_csv(path, index=False)
    chosen = Chosen(
        name="made",
        data="none",
        classifies=classifies,
        drop=("id",),
        few=("city",),
        many=("street",),
        time="at",
    )
    if not classifies:
        label[7] = np.nan
    return Taken(chosen, path, frame, label)


@pytest.mark.parametrize("classifies", [False, True])
def test_by_hand_no_row_has_its_own_label(tmp_path, classifies):
    taken = _taken(tmp_path, classifies)
    X = prepared(taken)
    assert np.isfinite(X).all()
    changed = taken.y.copy()
    opposite = {"up": "down", "down": "up"}
    changed[200] = opposite[changed[200]] if classifies else 1e6
    other = prepared(Taken(taken.chosen, taken.path, taken.frame, changed))
    np.testing.assert_allclose(X[:201], other[:201], rtol=1e-10)
    assert not np.allclose(X[201:], other[201:])


@pytest.mark.parametrize("classifies", [False, True])
def test_pipelines_of_river_learn(tmp_path, classifies):
    pytest.importorskip("river")
    taken = _taken(tmp_path, classifies)
    always = 50.0 if classifies else float(np.nanstd(taken.y))
    models = peers.river_models(taken)
    assert [*models] == ["River, linear", "River, PA", "River, tree", peers.FOREST]
    outcome = peers.play_river(taken, models["River, PA"]())
    assert outcome.error < always
    assert (outcome.absolute is None) == classifies


def test_vw_gets_labels_and_words(tmp_path):
    taken = _taken(tmp_path)
    lines = list(peers._lines(taken, None, (0.0, 1.0)))
    assert lines[7].startswith(" | ")  # no label
    assert lines[1].startswith(f"{taken.y[1]:.9g} | ")
    assert "street_" in lines[0]
    assert "f0:" not in lines[50]  # a gap


@pytest.mark.slow
@pytest.mark.parametrize("play", [tables._run, tables._by_hand])
def test_the_default_model_plays_the_table(play, tmp_path):
    outcome = play(_taken(tmp_path))
    assert 0.0 < outcome.error < 4.0  # the deviation of the labels
    assert outcome.absolute < outcome.error


def test_speed_of_numbers(monkeypatch):
    monkeypatch.setattr(table_speed.datasets, "at_hand", lambda name: False)
    numbers = {n.name: n.value for n in table_speed.measure(numbers=500, repeats=1)}
    assert numbers["numbers as CSV, forks"] > 0.0
    assert "numbers as CSV, pandas" in numbers


def test_tables_that_are_not_at_hand_are_named(monkeypatch):
    monkeypatch.setattr(tables.datasets, "at_hand", lambda name: False)
    numbers = list(tables.measure(peers=False))
    assert {number.reason for number in numbers} == {"not at hand"}
    assert "nomao" in {number.name for number in numbers}

"""Keyed models in files: they go on bit for bit, wherever keys were, and damage is found."""

import os

import numpy as np
import pandas as pd
import pytest
from keyed_streams import keyed_stream

import forks
from forks.files import LargeFile, pack, unpack
from forks.keyed import KeyedClassifier, KeyedRegressor, load

KEYS, X, Y = keyed_stream(900, 40)
LABELS = np.where(Y > 0.0, "up", "down")


@pytest.mark.parametrize("rows", [20, 200, 700])
@pytest.mark.parametrize("kind", [KeyedRegressor, KeyedClassifier])
def test_a_loaded_model_goes_on_bit_for_bit(tmp_path, kind, rows):
    y = Y if kind is KeyedRegressor else LABELS
    model = kind(rank=5).partial_fit(KEYS[:rows], X[:rows], y[:rows])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert (again.n_keys_, again.n_rounds_) == (model.n_keys_, rows)
    rest = KEYS[rows:], X[rows:], y[rows:]
    np.testing.assert_array_equal(again.prequential(*rest), model.prequential(*rest))
    np.testing.assert_array_equal(again.predict(KEYS, X), model.predict(KEYS, X))
    for each, name in ((model, "a"), (again, "b")):
        each.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_keys_on_disk_change_no_bit(tmp_path):
    plain = KeyedRegressor(rank=5)
    small = KeyedRegressor(rank=5, max_keys=7, folder=tmp_path)
    np.testing.assert_array_equal(plain.prequential(KEYS, X, Y), small.prequential(KEYS, X, Y))
    assert small.n_keys_in_memory_ <= 7 < small.n_keys_ == plain.n_keys_ == 40
    np.testing.assert_array_equal(plain.predict(KEYS, X), small.predict(KEYS, X))
    small.max_keys = None  # the only difference in the files
    for each, name in ((plain, "a"), (small, "b")):
        each.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_model_with_keys_on_disk_is_loaded_within_its_bound(tmp_path):
    model = KeyedRegressor(rank=5, max_keys=7, folder=tmp_path).partial_fit(KEYS, X, Y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m", folder=tmp_path)
    assert again.n_keys_in_memory_ <= 7
    np.testing.assert_array_equal(model.predict(KEYS, X), again.predict(KEYS, X))


def test_names_and_kinds_of_keys_are_kept(tmp_path):
    frame = pd.DataFrame(X[:50], columns=list("abcd"))
    keys = [1, "1", "größe", -(2**63), '"'] * 10
    model = KeyedRegressor(rank=3).partial_fit(keys, frame, Y[:50])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert list(again.corrections_.table.numbers) == keys[:5]
    assert again.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        again.predict(keys[:1], frame.rename(columns={"a": "z"})[:1])


def test_a_file_of_before_there_were_weights(tmp_path):
    model = KeyedRegressor(rank=3).partial_fit(KEYS[:99], X[:99], Y[:99])
    model.save(tmp_path / "m")
    header, arrays = unpack("m", (tmp_path / "m").read_bytes())
    assert (arrays.pop("first.weights") == 1.0).all()
    (tmp_path / "old").write_bytes(pack(header, arrays, header["library"]))
    rest = KEYS[99:], X[99:], Y[99:]
    np.testing.assert_array_equal(
        load(tmp_path / "old").prequential(*rest), model.prequential(*rest)
    )


def test_a_new_model_can_be_saved(tmp_path):
    KeyedRegressor(rank=3, max_keys=5).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.get_params()["rank"] == 3
    assert not hasattr(again, "corrections_")


def test_the_file_is_one_of_this_package(tmp_path):
    KeyedRegressor(rank=3).partial_fit(KEYS[:99], X[:99], Y[:99]).save(tmp_path / "m")
    header, arrays = unpack("m", (tmp_path / "m").read_bytes())
    assert header["estimator"] == "KeyedRegressor"
    assert arrays["records"].shape[0] == header["fitted"]["n_keys"]
    small = list(LargeFile(tmp_path / "m").blocks(size=64))
    assert len([name for name, _ in small if name == "records"]) == arrays["records"].shape[0]
    with pytest.raises(forks.ModelFileError, match=r"forks\.keyed\.load"):
        forks.load(tmp_path / "m")
    forks.OnlineKernelRegressor(effort="fast").fit(X[:9], Y[:9]).save(tmp_path / "other")
    with pytest.raises(forks.ModelFileError, match="no keyed estimator"):
        load(tmp_path / "other")


def test_damage_is_found(tmp_path):
    path = tmp_path / "m"
    KeyedRegressor(rank=3).partial_fit(KEYS[:99], X[:99], Y[:99]).save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 60):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(forks.ModelFileError, match="cannot be loaded"):
            load(path)
    for length in (0, 7, 8, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(forks.ModelFileError, match="cannot be loaded"):
            load(path)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    model = KeyedRegressor(rank=3).partial_fit(KEYS[:99], X[:99], Y[:99])
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    model.partial_fit(KEYS[99:], X[99:], Y[99:])
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]

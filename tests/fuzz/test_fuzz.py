"""A short run of the fuzzer, and whether it would notice."""

import contextlib
import random
import warnings

import pytest

pytest.importorskip("pyarrow", reason="the Parquet reader needs it")

from fuzz_files import targets
from fuzzing import Finding, Target, fuzz


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_readers_refuse_damaged_files_clearly(target, tmp_path):
    counts = fuzz(target, 700, seed=1, folder=tmp_path)
    assert counts.inputs == counts.accepted + counts.refused == 700
    assert counts.accepted > 20
    assert counts.refused > 300
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_whole_files_are_read(target, tmp_path):
    for name, raw in target.seeds():
        path = tmp_path / name
        path.write_bytes(raw)
        times = 0
        for i in range(20):
            with contextlib.suppress(ValueError):  # some options do not fit some files
                target.read(path, random.Random(i))
                times += 1
        assert times > 3, name


def _break(path, rng):
    del rng
    if path.read_bytes() != b"good":
        raise KeyError("what")


def _complain(path, rng):
    del rng
    if path.read_bytes() != b"good":
        raise ValueError("something is wrong")


def _ramble(path, rng):
    del rng
    if path.read_bytes() != b"good":
        raise ValueError(f"{path}\nis wrong")


def _warn(path, rng):
    del rng
    if path.read_bytes() != b"good":
        warnings.warn("odd", stacklevel=1)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (_break, "KeyError"),
        (_complain, "does not name"),
        (_ramble, "not one short line"),
        (_warn, "UserWarning"),
    ],
)
def test_the_fuzzer_notices(read, message, tmp_path):
    target = Target("bad", lambda: [("file", b"good")], read, ValueError)
    with pytest.raises(Finding, match=message):
        fuzz(target, 50, seed=0, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1  # the input is kept

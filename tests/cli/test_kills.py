"""Runs killed at random moments: each, resumed, ends as if it had never been killed."""

import os
import random
import time

import numpy as np
import pytest

from killable import finished, forks_process, kill

FILES = ("model.forks", "predictions.csv", "metrics.jsonl", "folder/checkpoint.forks")


def write_stream(path, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0, 1, -1)
    entries = [" ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row)) for row in X]
    path.write_text("".join(f"{t} {e}\n" for t, e in zip(y, entries, strict=True)))


def write_table(path, n):
    """Write a table with gaps, categories, times, rows without a label and a class that is late."""
    rng = np.random.default_rng(0)
    lines = ["a,town,b,day,y"]
    for i in range(n):
        a, b = rng.normal(size=2).round(4)
        town = f"t{rng.integers(200)}"
        y = "high" if a > 1.0 and i > n // 2 else "yes" if a * b > 0 else "no"
        gap = "NA" if i % 11 == 3 else b
        lines.append(f"{a},{town},{gap},2020-02-{i % 28 + 1:02},{'' if i % 9 == 5 else y}")
    path.write_text("\n".join(lines))


def command(folder, stream, every, learner):
    return [
        "run", stream, "--every", every, "--chunk", 700, "--resume",
        "--checkpoint", folder / "folder", "--save", folder / "model.forks",
        "--predictions", folder / "predictions.csv", "--metrics", folder / "metrics.jsonl",
        *learner,
    ]  # fmt: skip


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def wait_for_learning(process, folder, before):
    """Wait until the process writes; starting up is not what is tested."""
    end = time.monotonic() + 60.0
    checkpoint = folder / "folder" / "checkpoint.forks"
    while process.is_alive() and time.monotonic() < end:
        now = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        if now != before:
            return
        time.sleep(0.001)


def killed_run(folder, arguments, rng, longest):
    """Start a run and kill it at a random moment; tell whether it was killed."""
    checkpoint = folder / "folder" / "checkpoint.forks"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
    process = forks_process(*arguments)
    wait_for_learning(process, folder, before)
    time.sleep(rng.uniform(0.0, longest))
    return kill(process)


def play(tmp_path, rows, every, kills, learner, longest, again=0.6, write=write_stream):
    stream = tmp_path / "stream"
    write(stream, rows)
    whole = tmp_path / "whole"
    whole.mkdir()
    finished(*command(whole, stream, every, learner))
    expected = content(whole)
    rng, killed, folder, number = random.Random(0), 0, None, 0
    while killed < kills:
        if folder is None:
            folder, number = tmp_path / f"run{number}", number + 1
            folder.mkdir()
        if killed_run(folder, command(folder, stream, every, learner), rng, longest):
            killed += 1
            if rng.random() < again and killed < kills:  # to be killed again, later on
                continue
        finished(*command(folder, stream, every, learner))
        assert content(folder) == expected
        assert sorted(os.listdir(folder / "folder")) == ["checkpoint.forks"]
        folder = None
    return killed


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_few_kills(tmp_path):
    learner = ["--learner", "FOGD", "--set", "budget=5"]
    assert play(tmp_path, 3000, 50, kills=3, learner=learner, longest=0.1, again=1.0) == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_few_kills_with_a_table(tmp_path):
    learner = ["--learner", "FOGD", "--set", "budget=5"]
    options = {"longest": 0.1, "again": 1.0, "write": write_table}
    assert play(tmp_path, 2500, 50, kills=3, learner=learner, **options) == 3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("write", [write_stream, write_table])
@pytest.mark.parametrize(
    "learner",
    [[], ["--learner", "SkeGD", "--set", "update_cycle=7"]],
    ids=["default", "SkeGD"],
)
def test_fifty_kills(tmp_path, learner, write):
    """A checkpoint every 20 rows: writing takes most of the time, and is what is killed most."""
    assert play(tmp_path, 4000, 20, kills=50, learner=learner, longest=1.0, write=write) == 50

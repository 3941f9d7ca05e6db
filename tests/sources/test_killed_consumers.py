"""Consumers killed again and again: the model is, byte for byte, that of an unbroken one."""

import json
import os
import random
import signal
import time

import pytest
from brokers import made_up_rows
from test_following import followed, learned_at_once, n_labelled

from forks.estimators.saving import read
from killable import finished, forks_process, kill

FILES = ("model", "predictions", "metrics", "ck/checkpoint.forks")


def command(folder, url, *options):
    outputs = ["--checkpoint", folder / "ck", "--save", folder / "model"]
    outputs += ["--predictions", folder / "predictions", "--metrics", folder / "metrics"]
    return ["run", url, "--effort", "fast", "--every", 60, "--resume", *outputs, *options]


def content(folder):
    return [(folder / name).read_bytes() for name in FILES]


def killed_while_it_learns(folder, arguments, rng):
    """Start a consumer, kill it at some moment after it has written, and tell whether it ran."""
    checkpoint = folder / "ck" / "checkpoint.forks"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
    process = forks_process(*arguments)
    deadline = time.monotonic() + 60.0
    while process.is_alive() and time.monotonic() < deadline:
        now = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
        if now != before:
            break
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 0.05))
    return kill(process)


def play(broker, stream, tmp_path, kills, rows_a_kill):
    rng, n = random.Random(1), rows_a_kill * (kills + 1)
    broker.make(stream, made_up_rows(n))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    finished(*command(whole, broker.url(stream)), "--until-end")
    killed = sum(
        killed_while_it_learns(parts, command(parts, broker.url(stream)), rng) for _ in range(kills)
    )  # without --until-end: they would go on for ever
    learned = read(parts / "ck" / "checkpoint.forks").note["run"]["rows"]
    assert 0 < learned < n  # the last one, too, was killed while it learned
    said = finished(*command(parts, broker.url(stream)), "--until-end")
    assert killed == kills
    assert f"{n:,} rows" in said
    assert content(parts) == content(whole)


def test_runs_that_are_killed_end_as_one_that_was_not(broker, stream, tmp_path):
    play(broker, stream, tmp_path, kills=3, rows_a_kill=400)


@pytest.mark.slow
def test_runs_that_are_killed_twenty_times(broker, stream, tmp_path):
    play(broker, stream, tmp_path, kills=20, rows_a_kill=1_000)


def test_predictions_of_killed_runs_are_all_there_and_agree(broker, stream, tmp_path):
    rng, rows = random.Random(3), made_up_rows(700)
    broker.make(stream, rows)
    name = f"{stream}_out"
    if broker.kind == "nats":
        broker.make(name, duplicate_window=0.1)  # seconds that it knows ids, or doubles were gone
    out = broker.url(f"{name}.it" if broker.kind == "nats" else name)
    told = ["run", broker.url(stream), "--effort", "fast", "--every", 60, "--resume"]
    told += ["--checkpoint", tmp_path / "ck", "--predictions", out]
    for _ in range(2):
        assert killed_while_it_learns(tmp_path, told, rng)
    finished(*told, "--until-end")
    data = broker.read(name)
    found = {}
    for _, value in data:
        record = json.loads(value)
        assert found.setdefault(record["id"], record) == record
    assert sorted(record["row"] for record in found.values()) == list(range(1, 701))


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_run_that_waits_with_all_that_it_learned(broker, stream, tmp_path, by):
    broker.make(stream, made_up_rows(230))
    process = forks_process(*command(tmp_path, broker.url(stream)))
    lines, deadline = 0, time.monotonic() + 60.0
    while lines < 231 and time.monotonic() < deadline:
        path = tmp_path / "predictions"
        lines = path.read_text().count("\n") if path.exists() else 0
        time.sleep(0.01)
    os.kill(process.pid, by)
    process.join(30.0)
    assert process.exitcode == 128 + by
    saved = [(tmp_path / name).read_bytes() for name in ("model", "predictions")]
    finished(*command(tmp_path, broker.url(stream)), "--until-end")
    assert [(tmp_path / name).read_bytes() for name in ("model", "predictions")] == saved


def written(state):
    """Return the journal's segments and their sizes: they change with every record."""
    found = (state / "models" / "m").glob("journal-*")
    try:
        return sorted((path.name, path.stat().st_size) for path in found)
    except FileNotFoundError:  # a checkpoint has removed one
        return None


def play_service(broker, stream, tmp_path, kills, rows_a_kill):
    rng, rows = random.Random(2), made_up_rows(rows_a_kill * (kills + 1))
    publish = {"partitions": 1} if broker.kind == "kafka" else {}
    broker.make(stream, *([] if broker.kind == "nats" else [rows[:1]]))
    sent = 0 if broker.kind == "nats" else 1
    state, killed = tmp_path / "state", 0
    for i in range(kills):
        before, end = written(state), rows_a_kill * (i + 1)
        process = forks_process(
            "serve", "m", "--state", state, "--port", 0, "--effort", "fast", "--every", 150,
            "--from", broker.url(stream), "--label", "y",
        )  # fmt: skip
        while sent < end:  # some before it is there, some while it learns
            some = rows[sent : min(end, sent + rng.randint(1, 60))]
            broker.publish(stream, some, **publish)
            sent += len(some)
        deadline = time.monotonic() + 60.0
        while written(state) == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.05))
        killed += kill(process)
    broker.publish(stream, rows[sent:], **publish)
    assert killed == kills
    told, data = followed(state, broker.url(stream), n_labelled(rows), "y")
    assert told["rows"] == told["stream"]["counts"]["learned"] == n_labelled(rows)
    assert data == learned_at_once(tmp_path / "alone", rows)


def test_services_that_are_killed_learn_every_message_once(broker, stream, tmp_path):
    play_service(broker, stream, tmp_path, kills=3, rows_a_kill=120)


@pytest.mark.slow
def test_services_that_are_killed_twenty_times(broker, stream, tmp_path):
    play_service(broker, stream, tmp_path, kills=20, rows_a_kill=300)

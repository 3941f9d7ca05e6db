"""`forks serve --from`: a model of a service that learns a stream, through its journal."""

import json
import time

import pytest
from brokers import made_up_rows
from typer.testing import CliRunner

from forks.cli import main
from forks.serve.bodies import Form
from forks.serve.keeper import Keeper
from forks.serve.messages import Messages
from forks.serve.operations import Kind, from_record, operation
from forks.serve.service import Service
from forks.serve.table_model import Settings
from forks.streams.sources import Message, make_source

FAST = Settings(effort="fast")


def messages_of(rows):
    return [Message(i % 2, i // 2, row.encode()) for i, row in enumerate(rows)]


def learned_at_once(folder, rows):
    """Return the model that has learned the rows one after the other."""
    keeper = Keeper(folder, FAST)
    for row in rows:
        content = json.loads(row)
        label = content.pop("y")
        if label is not None:
            body = json.dumps({"rows": [content], "labels": [label]}).encode()
            keeper.do([operation(Kind.LEARN, Form.JSON, body, 0.0, 0)])
    data = keeper.as_bytes()
    keeper.close()
    return data


def wait_until(service, learned, seconds=30.0):
    deadline = time.monotonic() + seconds
    while service.info("m")["stream"]["counts"].get("learned", 0) < learned:
        assert time.monotonic() < deadline, service.info("m")["stream"]
        time.sleep(0.02)


def followed(folder, url, learned, label=None):
    """Start a service that follows a stream, and stop it when so many rows are learned."""
    service = Service(folder, FAST)
    if "m" not in service.workers:
        service.add("m")
    service.follow("m", make_source(url), label, print)
    wait_until(service, learned)
    told, data = service.info("m"), service.workers["m"].keeper.as_bytes()
    service.close()
    return told, data


def n_labelled(rows):
    return sum(json.loads(row)["y"] is not None for row in rows)


def test_a_service_learns_a_stream_and_goes_on_after_a_stop(broker, stream, tmp_path):
    rows = made_up_rows(330)
    broker.make(stream, rows[:180])
    told, _ = followed(tmp_path / "state", broker.url(stream), n_labelled(rows[:180]))
    assert told["rows"] == n_labelled(rows[:180])
    broker.publish(stream, [*rows[180:250], "no JSON", '{"a": 1, "y": [1]}', *rows[250:]])
    told, data = followed(tmp_path / "state", broker.url(stream), n_labelled(rows))
    assert told["rows"] == told["stream"]["counts"]["learned"] == n_labelled(rows)
    assert told["stream"]["counts"]["refused"] == 2
    assert told["stream"]["counts"]["unlabelled"] == len(rows) - n_labelled(rows)
    assert data == learned_at_once(tmp_path / "alone", rows)


def test_messages_that_come_again_or_in_another_grouping_are_learned_once(tmp_path):
    rows = made_up_rows(240)
    sent = messages_of(rows)
    keeper = Keeper(tmp_path / "state", FAST)
    for start in range(0, 240, 40):
        some = sent[max(0, start - 25) : start + 40]  # the last ones again
        content = Messages({"kind": "test", "stream": "s"}, "y", some)
        keeper.do([operation(Kind.STREAM, Form.LINES, content.body(), 0.0, 0)])
        if start == 80:
            keeper.checkpoint()
    again = keeper.applier.streams.counts["delivered_again"]
    assert again == 5 * 25
    data = keeper.as_bytes()
    keeper.close()
    assert data == learned_at_once(tmp_path / "alone", rows)
    reopened = Keeper(tmp_path / "state", FAST)  # a checkpoint, and a replay of the rest
    assert reopened.as_bytes() == data
    assert reopened.applier.streams.begin({"kind": "test", "stream": "s"}) == {0: 120, 1: 120}
    assert reopened.applier.streams.counts["delivered_again"] == again
    reopened.close()


def test_a_record_of_messages_is_what_it_was():
    content = Messages({"kind": "nats"}, None, [Message(0, 7, b"\xff"), Message(1, 8, b"")])
    read = from_record(operation(Kind.STREAM, Form.LINES, content.body(), 1.5, 3).record())
    assert read.content == content
    assert (read.n_rows, read.time, read.rounds) == (2, 1.5, 3)


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["--from", "nats://127.0.0.1:1/s"], "nats://127.0.0.1:1/s: there is no NATS server", 1),
        (["--from", "http://host/s"], "--from takes [NAME=]URL", 2),
        (["a", "b", "--from", "nats://h/s"], "must say which model learns the stream: a, b", 2),
        (["a", "--from", "x=nats://h/s"], "there is no model 'x' that could learn from nats", 2),
    ],
)
def test_a_stream_that_cannot_be_followed(arguments, said, status, tmp_path, monkeypatch):
    monkeypatch.setattr("forks.streams.sources.nats.CONNECT", 0.5)
    result = CliRunner().invoke(main, ["serve", "--state", str(tmp_path / "state"), *arguments])
    assert result.exit_code == status
    assert said in result.output

"""`forks run` on streams of a NATS server and of a Kafka mock cluster."""

import pytest
from brokers import made_up_rows
from typer.testing import CliRunner

from forks.cli import main

FAST = ("--effort", "fast", "--no-progress")


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def learned(folder, source, *options):
    """Learn a stream or a file; return model, predictions and metrics."""
    folder.mkdir(exist_ok=True)
    outputs = {name: folder / name for name in ("save", "predictions", "metrics")}
    told = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    result = call("run", source, *FAST, *told, *options)
    assert result.exit_code == 0, result.output
    return {name: path.read_bytes() for name, path in outputs.items()}


def test_a_stream_is_learned_as_a_file_of_its_messages(broker, stream, tmp_path):
    rows = made_up_rows(400)
    broker.make(stream, rows)
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows))
    of_file = learned(tmp_path / "file", file, "--chunk", 100, "--every", 150)
    found = learned(tmp_path / "stream", broker.url(stream), "--until-end", "--every", 150)
    assert found == of_file


@pytest.mark.parametrize("key", [(), ("--key", "town")], ids=["", "by key"])
def test_a_run_goes_on_where_its_checkpoint_ends(broker, stream, tmp_path, key):
    rows = made_up_rows(500)
    broker.make(stream, rows[:230])
    resumed = (*key, "--until-end", "--every", 100, "--checkpoint", tmp_path / "ck", "--resume")
    learned(tmp_path / "parts", broker.url(stream), *resumed)
    learned(tmp_path / "parts", broker.url(stream), *resumed)  # nothing new
    broker.publish(stream, rows[230:])
    model = learned(tmp_path / "parts", broker.url(stream), *resumed)["save"]
    whole = learned(tmp_path / "whole", broker.url(stream), *key, "--until-end", "--every", 100)
    assert model == whole["save"]


def test_a_checkpoint_may_lie_inside_a_message(nats_server, stream, tmp_path):
    rows = made_up_rows(210)
    url = nats_server.url(stream)
    nats_server.make(stream, ["\n".join(rows[i : i + 7]) for i in range(0, 140, 7)])
    nats_server.publish(stream, [rows[0] + '\n{"a": "no number"}'])
    nats_server.publish(stream, ["\n".join(rows[140:])])
    resumed = ("--until-end", "--every", 50, "--checkpoint", tmp_path / "ck", "--resume")
    result = call("run", url, *FAST, *resumed)  # the first 100 rows end inside the 15th message
    assert result.exit_code == 2
    fault = f"{url}, sequence 21, line 2, column 'a': 'no number' is not a number"
    assert fault in result.output.splitlines()[-1]
    nats_server.run(lambda client: client.jetstream().delete_msg(stream, 21))
    assert call("run", url, *FAST, *resumed, "--save", tmp_path / "model").exit_code == 0
    whole = learned(tmp_path / "whole", url, "--until-end", "--every", 50)
    assert (tmp_path / "model").read_bytes() == whole["save"]


def test_a_message_that_is_no_object_is_an_error_or_skipped(broker, stream, tmp_path):
    rows = made_up_rows(150)
    broker.make(stream, [*rows[:120], "[1, 2]", *rows[120:]])
    result = call("run", broker.url(stream), "--until-end", *FAST)
    where = "sequence 121" if broker.kind == "nats" else "offset"
    assert result.exit_code == 2
    assert where in result.output
    assert "not JSON objects: not an object" in result.output.splitlines()[-1]
    result = call("run", broker.url(stream), "--until-end", "--skip-bad", *FAST)
    assert result.exit_code == 0
    (note,) = [line for line in result.output.splitlines() if line.startswith("Note: ")]
    assert where in note
    assert note.endswith("; passed over, 1 so far")
    assert "150 rows" in result.output


def test_a_cell_that_is_no_number_may_be_taken_for_missing(broker, stream, tmp_path):
    rows = made_up_rows(150)
    wrong = rows[120].replace('"a": ', '"a": "off", "was": ')
    gap = rows[120].replace('"a": ', '"was": ')
    found = []
    for name, row in (("wrong", wrong), ("gap", gap)):
        broker.make(f"{stream}_{name}", [*rows[:120], row, *rows[121:]])
        url = broker.url(f"{stream}_{name}")
        save = ("--save", tmp_path / name)
        result = call("run", url, "--until-end", "--skip-bad", *save, *FAST)
        assert result.exit_code == 0
        found.append((tmp_path / name).read_bytes())
        told = "column 'a': 'off' is not a number, and taken for missing; passed over, 1 so far"
        assert (told in result.output) == (name == "wrong")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nats://127.0.0.1:1/s", "nats://127.0.0.1:1/s: there is no NATS server"),
        ("kafka://127.0.0.1:1/t", "kafka://127.0.0.1:1/t: there is no Kafka broker"),
    ],
)
def test_a_broker_that_is_not_there_is_one_line(url, said, monkeypatch):
    monkeypatch.setattr("forks.streams.sources.nats.CONNECT", 0.5)
    monkeypatch.setattr("forks.streams.sources.kafka.CONNECT", 0.5)
    result = call("run", url)
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert line.startswith(f"Error: {said}")


def test_a_stream_that_is_not_there_is_named(broker):
    result = call("run", broker.url("nobody"))
    assert result.exit_code == 1
    assert f"{broker.url('nobody')}: there is no" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nats://host",), "nats://host:4222/ is no URL of a stream, such as nats://"),
        (("kafka:///topic",), "is no URL of a stream, such as kafka://"),
        (("nats://h/s", "nats://h/t"), "a stream of a broker is learned alone"),
        (("nats://h/s", "--shuffle"), "--shuffle needs a file"),
        (("nats://h/s?colour=red",), "has no option 'colour'"),
        (("nats://h/s", "--delimiter", ";"), "--delimiter"),
        (("nats://h/s", "--one-based"), "--zero-based is for files"),
        (("rows.csv", "--until-end", "--skip-bad"), "--until-end, --skip-bad: only for streams"),
    ],
)
def test_what_cannot_be_asked_for(arguments, said):
    result = call("run", *arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_passwords_are_never_shown(tmp_path):
    from forks.streams.sources.urls import read_url

    url = read_url("kafka://me:secret@a:1,b/topic?sasl.mechanism=PLAIN")
    assert (url.user, url.password, url.hosts) == ("me", "secret", ("a:1", "b:9092"))
    assert url.options == {"sasl.mechanism": "PLAIN"}
    assert "secret" not in url.shown + repr(url)


def test_checkpoints_of_other_streams_are_refused(nats_server, stream, tmp_path):
    rows = made_up_rows(120)
    nats_server.make(stream, rows)
    nats_server.make(f"{stream}_2", rows)
    resumed = (*FAST, "--until-end", "--checkpoint", tmp_path / "ck", "--resume")
    assert call("run", nats_server.url(stream), *resumed).exit_code == 0
    result = call("run", nats_server.url(f"{stream}_2"), *resumed)
    assert result.exit_code == 2
    assert "is not what the checkpoint was learned from" in result.output
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(rows))
    result = call("run", file, *resumed)
    assert result.exit_code == 2
    assert "is of a stream, not of files" in result.output


def test_a_stream_that_removes_what_was_read_is_refused(nats_server, stream):
    nats_server.make(stream, retention="workqueue")
    result = call("run", nats_server.url(stream), "--until-end")
    assert result.exit_code == 2
    assert "retention is 'workqueue'" in result.output

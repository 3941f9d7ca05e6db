"""The sources themselves, against a NATS server and a Kafka mock cluster."""

import random
import time
from itertools import pairwise

import pytest
from brokers import Nats, mock_cluster

from forks.cli import _streams
from forks.streams import StreamError
from forks.streams.sources import BrokerError, kafka, make_source
from killable import kill


def opened(url, offsets=None, until_end=True, say=print):
    source = make_source(url, until_end=until_end, say=say)
    source.open(offsets or {})
    return source


def taken(source, seconds=30.0):
    """Return all messages of a source that ends."""
    found, deadline = [], time.monotonic() + seconds
    while not source.ended:
        assert time.monotonic() < deadline
        found += source.take(70, 0.2)
    source.close()
    return found


def numbers(messages):
    return [int(message.data) for message in messages]


def test_all_messages_come_in_their_order_from_any_of_them_on(broker, stream):
    broker.make(stream, [str(i) for i in range(300)])
    messages = taken(opened(broker.url(stream)))
    assert numbers(messages) == list(range(300))
    known = {}
    for message in messages[:123]:
        known[message.partition] = message.offset + 1
    assert numbers(taken(opened(broker.url(stream), known))) == list(range(123, 300))


def test_the_end_is_what_was_there_at_the_start(broker, stream):
    broker.make(stream, ["0", "1", "2"])
    source = opened(broker.url(stream))
    broker.publish(stream, ["3"])
    assert numbers(taken(source)) == [0, 1, 2]


def test_without_an_end_it_goes_on_with_what_comes(broker, stream):
    broker.make(stream, ["0"])
    source = opened(broker.url(stream), until_end=False)
    assert numbers(source.take(10, 5.0)) == [0]
    assert source.take(10, 0.1) == []
    broker.publish(stream, ["1"])
    assert numbers(source.take(10, 5.0)) == [1]
    assert not source.ended
    source.close()


def test_a_position_beyond_the_end_is_of_another_stream(broker, stream):
    broker.make(stream, ["0"])
    source = make_source(broker.url(stream))
    with pytest.raises(StreamError, match="it is another"):
        source.open({0: 50})
    source.close()


def test_what_is_lost_or_doubled_on_the_way_comes_from_another_consumer(nats_server, stream):
    nats_server.make(stream, [str(i) for i in range(400)])
    source, rng = opened(nats_server.url(stream)), random.Random(0)
    usual = type(source._reader).fetch
    consumers = set()

    async def faulty(reader, most, timeout):
        consumers.add(reader._consumer)
        found = await usual(reader, most, timeout=timeout)
        at = rng.randrange(len(found))
        fault = rng.choice(["none", "lost", "doubled", "swapped"])
        if fault == "lost":
            del found[at]
        elif fault == "doubled":
            found.insert(at, found[at])
        elif fault == "swapped":
            found[at], found[0] = found[0], found[at]
        return found

    usual_consume = type(source)._consume

    async def refused(self):
        if rng.random() < 0.3:
            raise OSError("no consumer now")
        await usual_consume(self)

    patch = pytest.MonkeyPatch()
    patch.setattr(type(source._reader), "fetch", faulty)
    patch.setattr(type(source), "_consume", refused)
    patch.setattr("forks.streams.sources.nats._PAUSE", 0.02)
    try:
        assert numbers(taken(source)) == list(range(400))
    finally:
        patch.undo()
    assert len(consumers) > 3


def test_a_subject_may_be_chosen_and_messages_may_be_gone(nats_server, stream):
    nats_server.make(stream)
    for i in range(30):
        nats_server.publish(stream, [str(i)], subject=f"s{i % 3}")
    chosen = opened(f"{nats_server.url(stream)}?subject={stream}.s1")
    assert numbers(taken(chosen)) == list(range(1, 30, 3))
    nats_server.run(lambda client: client.jetstream().purge_stream(stream, seq=21))
    said = []
    assert numbers(taken(opened(nats_server.url(stream), {0: 11}, say=said.append))) == list(
        range(20, 30)
    )
    assert said == [
        f"{nats_server.url(stream)}: sequences 11 to 20 are gone from the stream and cannot be "
        "learned"
    ]


def test_a_broker_that_goes_away_is_waited_for(tmp_path, stream):
    server, said = Nats(tmp_path), []
    server.make(stream, ["0", "1"])
    source = opened(server.url(stream), until_end=False, say=said.append)
    assert numbers(source.take(10, 5.0)) == [0, 1]
    server.stop()
    assert source.take(10, 0.5) == []
    assert source.take(10, 0.5) == []
    server.start()
    server.publish(stream, ["2", "3"])
    found, deadline = [], time.monotonic() + 30.0
    while len(found) < 2 and time.monotonic() < deadline:
        found += source.take(10, 0.5)
    assert numbers(found) == [2, 3]
    source.close()
    server.stop()
    away, back = said
    assert away.startswith(f"{server.url(stream)} is away (")
    assert back == f"{server.url(stream)} is back"


def test_brokers_of_kafka_that_go_away_are_told_of(stream):
    process, host = mock_cluster(stream, 5)
    said = []
    source = opened(f"kafka://{host}/{stream}", until_end=False, say=said.append)
    assert numbers(source.take(10, 10.0)) == list(range(5))
    kill(process)
    deadline = time.monotonic() + 20.0
    while not said and time.monotonic() < deadline:
        assert source.take(10, 0.2) == []
    source.close()
    assert said == [f"kafka://{host}/{stream} is away (no broker answers): waiting for it"]


def test_partitions_are_merged_by_time_and_none_runs_far_ahead(kafka_cluster, stream, monkeypatch):
    monkeypatch.setattr(kafka, "_MANY", 20)
    kafka_cluster.make(stream, [str(i) for i in range(600)])
    source = opened(kafka_cluster.url(stream))
    messages = taken(source)
    assert numbers(messages) == list(range(600))
    assert len({message.partition for message in messages}) == 3
    of_first = [message.offset for message in messages if message.partition == 0]
    assert all(a < b for a, b in pairwise(of_first))


def test_settings_of_librdkafka_come_from_the_url(kafka_cluster, stream):
    kafka_cluster.make(stream, ["0"])
    url = kafka_cluster.url(stream)
    assert numbers(taken(opened(f"{url}?fetch.min.bytes=1&client.id=me"))) == [0]
    for option, said in {
        "nonsense=1": "No such configuration property",
        "enable.auto.commit=true": "enable.auto.commit cannot be set",
    }.items():
        with pytest.raises(ValueError, match=said):
            opened(f"{url}?{option}")


@pytest.mark.parametrize(("kind", "package"), [("nats", "nats-py"), ("kafka", "confluent-kafka")])
def test_a_client_that_is_not_installed_is_named(kind, package, monkeypatch):
    monkeypatch.setattr("forks.streams.sources.find_spec", lambda name: None)
    with pytest.raises(ImportError) as error:
        make_source(f"{kind}://host/s")
    assert str(error.value) == f"{kind}:// needs {package}: pip install 'forks-learn[{kind}]'"


def test_a_wrong_password_is_an_error_that_does_not_tell_it(tmp_path, monkeypatch):
    monkeypatch.setattr("forks.streams.sources.nats.CONNECT", 20.0)
    server = Nats(tmp_path, "--user", "me", "--pass", "right")
    source = make_source(f"nats://me:wrong@{server.host}/s")
    begin = time.monotonic()
    with pytest.raises(BrokerError, match="Authorization") as error:
        source.open({})
    assert time.monotonic() - begin < 10.0
    assert "wrong" not in str(error.value)
    source.close()
    server.stop()


def test_messages_that_are_skipped_are_told_of_now_and_then(capsys):
    skipped = _streams._Skipped()
    for i in range(1, 120):
        skipped(f"message {i}")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[2][:-1] for line in lines] == ["1", "2", "3", "10", "100"]

"""Rows of a source: each once, whatever is delivered, and the position behind any of them."""

import random

import pytest

from forks.streams import StreamError
from forks.streams.sources import Message, Place, position_as_json, position_from_json
from forks.streams.sources.feed import Feed, rows_of


class Scripted:
    """A source that delivers what it is told to, several messages at a look."""

    name = "test://s"
    identity = {"kind": "test", "stream": "s"}  # noqa: RUF012

    def __init__(self, messages, rng):
        self._messages, self._rng = list(messages), rng
        self.opened = None

    def open(self, offsets):
        self.opened = offsets

    @property
    def ended(self):
        return not self._messages

    def take(self, most, wait):
        n = min(most, self._rng.randint(1, 5))
        found, self._messages = self._messages[:n], self._messages[n:]
        return found

    def where(self, partition, offset):
        return f"{self.name}, {partition}/{offset}"


def partitioned(rng, n=60):
    """Return messages of three partitions, of none to three rows each."""
    messages, offsets, row = [], [0, 0, 0], 0
    for _ in range(n):
        p = rng.randrange(3)
        lines = [f'{{"row": {row + i}}}' for i in range(rng.randint(0, 3))]
        row += len(lines)
        messages.append(Message(p, offsets[p], "\n".join(lines).encode()))
        offsets[p] += rng.choice([1, 1, 4])  # offsets have gaps in topics that are compacted
    return messages, row


def redelivered(messages, rng):
    """Return the messages with some that come again: the last one, or a whole part of the past."""
    found = []
    for i, message in enumerate(messages):
        found.append(message)
        if rng.random() < 0.3:
            found.append(message)
        if rng.random() < 0.1:
            found += messages[max(0, i - rng.randint(1, 20)) : i + 1]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_every_row_comes_once_whatever_comes_again(seed):
    rng = random.Random(seed)
    messages, n = partitioned(rng)
    feed = Feed(Scripted(redelivered(messages, rng), rng), {})
    found = []
    while rows := feed.take(rng.randint(1, 12)):
        found += [row.value["row"] for row in rows]
    assert found == list(range(n))


@pytest.mark.parametrize("seed", range(20))
def test_a_feed_goes_on_behind_any_row(seed):
    rng = random.Random(seed)
    messages, n = partitioned(rng)
    feed = Feed(Scripted(messages, rng), {})
    taken = [row.value["row"] for row in feed.take(rng.randint(2, n))]
    known = rng.randint(1, len(taken))
    position = position_from_json(position_as_json(feed.position_after(known)))
    source = Scripted(redelivered(messages, rng), rng)  # more than was asked for
    again = Feed(source, position)
    again.open()
    assert source.opened == {p: place.offset for p, place in position.items()}
    assert [row.value["row"] for row in again.take(n + 1)] == list(range(known, n))


def test_a_first_look_waits_for_all_its_rows():
    messages = [Message(0, i, b'{"a": 1}') for i in range(50)]
    feed = Feed(Scripted(messages, random.Random(0)), {})
    assert len(feed.take(40, exactly=True)) == 40
    assert len(feed.take(40, exactly=True)) == 10
    assert feed.take(40) == []


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'{"a": 1}', [{"a": 1}]),
        (b'{"a": {"b": 2}}\n', [{"a.b": 2}]),
        (b'{"a": 1}\n\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        (b'{\n  "a": 1,\n  "b": {"c": 2}\n}', [{"a": 1, "b.c": 2}]),
        (b"", []),
        (b" \n", []),
    ],
)
def test_a_message_is_an_object_or_lines_of_them(data, rows):
    assert rows_of(Message(0, 0, data)) == rows


@pytest.mark.parametrize(
    "data", [b"[1]", b"7", b"no", b'{"a": 1}\n[]', b"\xff\xfe", b'{"a": 1} {"a": 2}', b"[" * 10**5]
)
def test_anything_else_is_a_fault_that_names_the_message(data):
    source = Scripted([Message(2, 5, data)], random.Random(0))
    with pytest.raises(StreamError, match=r"^test://s, 2/5: not JSON objects"):
        Feed(source, {}).take(1)
    heard = []
    source = Scripted([Message(2, 5, data), Message(2, 6, b'{"a": 1}')], random.Random(0))
    (row,) = Feed(source, {}, heard.append).take(1)
    assert row.next == Place(7)
    assert heard[0].startswith("test://s, 2/5: ")


@pytest.mark.parametrize("given", [None, [], {"x": [1, 2]}, {"0": 3}, {"0": [1, 2, 3]}])
def test_a_position_that_is_none(given):
    with pytest.raises(ValueError, match="the position in the stream is wrong"):
        position_from_json({"0": [1], "1": given} if not isinstance(given, dict) else given)

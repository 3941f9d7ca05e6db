"""Streams of brokers as sources of rows: NATS JetStream and Kafka.

A message is a JSON object, or several as JSON lines. Where a message is in the stream is part of
what is kept with a model: on resume the source is opened there, and each row is learned once,
whatever the broker delivers again.
"""

from forks.streams.sources.source import (
    BrokerError,
    Message,
    Place,
    Position,
    Say,
    Source,
    position_as_json,
    position_from_json,
)
from forks.streams.sources.urls import is_url, read_url

__all__ = [
    "BrokerError",
    "Message",
    "Place",
    "Position",
    "Say",
    "Source",
    "is_url",
    "make_source",
    "position_as_json",
    "position_from_json",
]


def make_source(text: str, *, until_end: bool = False, say: Say = lambda line: None) -> Source:
    """Return the source that a URL names; it connects when it is opened.

    Parameters
    ----------
    text : str
        `nats://host:port/stream` or `kafka://broker:port/topic`.
    until_end : bool
        Does it end with what is there when it is opened?
    say : callable
        Called with a line if the broker goes away or comes back.
    """
    url = read_url(text)
    if url.kind == "kafka":
        from forks.streams.sources.kafka import Topic

        _needs("kafka", "confluent_kafka", text)
        return Topic(url, until_end, say)
    from forks.streams.sources.nats import JetStream

    _needs("nats", "nats", text)
    return JetStream(url, until_end, say)


def _needs(extra: str, module: str, text: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ImportError(f"{extra}:// needs {module}: pip install 'forks-learn[{extra}]'")

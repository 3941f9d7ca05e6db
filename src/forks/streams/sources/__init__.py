"""Streams of brokers as sources of rows: NATS JetStream and Kafka.

A message is a JSON object, or several as JSON lines. Where a message is in the stream is part of
what is kept with a model: on resume the source is opened there, and each row is learned once,
whatever the broker delivers again.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

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
from forks.streams.sources.urls import Url, is_url, read_url

if TYPE_CHECKING:
    from forks.streams.sources.publishing import Publisher

__all__ = [
    "BrokerError",
    "Message",
    "Place",
    "Position",
    "Say",
    "Source",
    "is_url",
    "make_publisher",
    "make_source",
    "position_as_json",
    "position_from_json",
]

_CLIENTS = {  # modules, and how to get them
    "nats": ("nats", "nats-py: pip install 'forks-learn[nats]'"),
    "kafka": ("confluent_kafka", "confluent-kafka: pip install 'forks-learn[kafka]'"),
}


def make_source(text: str, *, until_end: bool = False, say: Say = lambda line: None) -> Source:
    """Return the source that a URL names; it connects when it is opened.

    Parameters
    ----------
    text : str
        `nats://host:port/stream` or `kafka://broker:port/topic`.
    until_end : bool
        Does it end with what is there when it is opened?
    say : callable
        Called with a line if the broker goes away or comes back, or if messages are gone.
    """
    from forks.streams.sources.kafka import Topic
    from forks.streams.sources.nats import JetStream

    url = _installed(text)
    return Topic(url, until_end, say) if url.kind == "kafka" else JetStream(url, until_end, say)


def make_publisher(text: str, say: Say = lambda line: None) -> "Publisher":
    """Return what sends messages to the subject or the topic that a URL names."""
    from forks.streams.sources.publishing import PUBLISHERS

    url = _installed(text)
    return PUBLISHERS[url.kind](url, say)


def _installed(text: str) -> Url:
    """Return the parts of a URL whose client is installed."""
    url = read_url(text)
    module, package = _CLIENTS[url.kind]
    if find_spec(module) is None:
        raise ImportError(f"{url.kind}:// needs {package}")
    return url

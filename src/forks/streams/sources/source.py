"""What a source is: messages of a broker, each with a place that can be sought again."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

Say: TypeAlias = Callable[[str], None]


class BrokerError(ConnectionError):
    """A broker that is not there, or that refuses; the message names its URL."""


class Message(NamedTuple):
    """A message, and where it is."""

    partition: int  # 0 where there is only one
    offset: int  # grows within the partition
    data: bytes


class Place(NamedTuple):
    """What comes next in a partition: a message, and how many of its rows came already."""

    offset: int
    rows: int = 0


Position: TypeAlias = dict[int, Place]  # of every partition that something came from


class Source(Protocol):
    """A stream of a broker.

    Within a partition messages come in the order of their offsets, each once or, after a fault,
    again; whoever reads them drops those that it knows. The broker keeps no account of what was
    read: the reader does, and opens the source where it wants to go on.
    """

    name: str  # the URL, without a password

    def open(self, offsets: dict[int, int]) -> None:
        """Connect, and go to these messages; partitions without one begin with their first.

        Raises
        ------
        BrokerError
            If there is no broker, or no such stream.
        StreamError
            If the stream is not one that can be read on from there.
        """

    @property
    def identity(self) -> dict[str, Any]:
        """What tells the stream from others, as JSON; known once it is open."""

    @property
    def ended(self) -> bool:
        """Whether all has come that there is to come."""

    def take(self, most: int, wait: float) -> list[Message]:
        """Return the next messages, none if nothing comes within about so many seconds.

        A broker that has gone away is waited for.
        """

    def where(self, partition: int, offset: int) -> str:
        """Name a message, for an error."""

    def close(self) -> None:
        """Let the broker go."""


class Presence:
    """Says once that a broker has gone away, and once that it is back."""

    def __init__(self, name: str, say: Say) -> None:
        self.name, self._say = name, say
        self.away = False

    def lost(self, why: object) -> None:
        """Note that the broker does not answer."""
        if not self.away:
            self.away = True
            self._say(f"{self.name} is away ({why}): waiting for it")

    def found(self) -> None:
        """Note that the broker answers."""
        if self.away:
            self.away = False
            self._say(f"{self.name} is back")


def position_as_json(position: Position) -> dict[str, list[int]]:
    """Return a position for a file."""
    return {str(partition): list(place) for partition, place in sorted(position.items())}


def position_from_json(given: Any) -> Position:
    """Return a position that a file has, or raise `ValueError`."""
    try:
        return {int(partition): Place(*map(int, place)) for partition, place in given.items()}
    except (AttributeError, TypeError, ValueError):
        raise ValueError("the position in the stream is wrong") from None

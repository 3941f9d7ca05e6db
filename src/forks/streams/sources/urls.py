"""URLs of streams: nats://host:port/stream and kafka://broker:port/topic."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

PORTS = {"nats": 4222, "kafka": 9092}
_EXAMPLES = {"nats": "nats://host:4222/stream", "kafka": "kafka://broker:9092/topic"}


@dataclass(frozen=True)
class Url:
    """A URL in its parts."""

    kind: str  # nats or kafka
    hosts: tuple[str, ...]  # host:port
    stream: str  # or a topic, or a subject
    options: dict[str, str] = field(default_factory=dict)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The URL without user, password and options."""
        return f"{self.kind}://{','.join(self.hosts)}/{self.stream}"


def is_url(text: object) -> bool:
    """Return whether a text is the URL of a stream, and no path."""
    return str(text).partition("://")[0] in PORTS and "://" in str(text)


def read_url(text: str) -> Url:
    """Return the parts of a URL, or raise `ValueError`."""
    parts = urlsplit(text)
    kind, stream = parts.scheme, unquote(parts.path.strip("/"))
    who, _, where = parts.netloc.rpartition("@")
    hosts = tuple(_with_port(host, PORTS[kind]) for host in where.split(",") if host)
    user, colon, password = who.partition(":")
    url = Url(
        kind,
        hosts,
        stream,
        dict(parse_qsl(parts.query, keep_blank_values=True)),
        unquote(user) if who else None,
        unquote(password) if colon else None,
    )
    if not hosts or not stream or "/" in stream:
        raise ValueError(f"{url.shown} is no URL of a stream, such as {_EXAMPLES[kind]}")
    return url


def _with_port(host: str, usual: int) -> str:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):  # no port, or an address of version 6 without one
        return f"{host}:{usual}"
    if not name or not port.isdigit():
        raise ValueError(f"{host!r} is no host:port")
    return host

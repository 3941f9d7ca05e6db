"""How much a client may ask for: size of bodies, rows, requests at a time and per second."""

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """The limits of a service."""

    body: int = 16 * 2**20  # bytes
    rows: int = 100_000  # of a request
    concurrent: int = 512  # requests that are worked on at a time
    rate: float = 0.0  # requests a second of one client; 0 for no limit
    burst: int = 200  # that may come at once beyond it
    seconds: float = 30.0  # for a body to come


class Buckets:
    """A bucket of requests for each client, which fills with time."""

    def __init__(self, limits: Limits) -> None:
        self._rate, self._burst = limits.rate, float(limits.burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_for(self, client: str) -> float:
        """Take one request out of a client's bucket; return the seconds to wait if it is empty."""
        if self._rate <= 0.0:
            return 0.0
        now = time.monotonic()
        level, since = self._buckets.pop(client, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        wait = 0.0 if level >= 1.0 else (1.0 - level) / self._rate
        self._buckets[client] = (level if wait else level - 1.0, now)
        while len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return wait

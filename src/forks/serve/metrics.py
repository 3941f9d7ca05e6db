"""What Prometheus may know of a service."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from forks.serve.service import Service

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics(Collector):
    """Requests, counted by the event loop alone, and the state of the models when it is asked for.

    The counters of prometheus_client are for many threads: locks, five microseconds a request.
    """

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Models(service))
        self.registry.register(self)
        self._requests: Counter[tuple[str, int]] = Counter()  # by endpoint and status
        self._times: dict[str, _Times] = {}  # by endpoint
        self.n_requests = 0
        self.last_seconds: list[float] = []  # of the latest requests, for the page

    def count(self, endpoint: str, status: int, seconds: float) -> None:
        self._requests[endpoint, status] += 1
        times = self._times.get(endpoint)
        if times is None:
            times = self._times[endpoint] = _Times()
        times.numbers[bisect_left(_SECONDS, seconds)] += 1
        times.sum += seconds
        self.n_requests += 1
        self.last_seconds.append(seconds)
        if len(self.last_seconds) > 2_000:
            del self.last_seconds[:1_000]

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "forks_requests", "Requests, by endpoint and status.", labels=["endpoint", "status"]
        )
        for (endpoint, status), n in list(self._requests.items()):
            requests.add_metric([endpoint, str(status)], n)
        seconds = HistogramMetricFamily(
            "forks_request_seconds", "Time from a request to its answer.", labels=["endpoint"]
        )
        for endpoint, times in list(self._times.items()):
            bounds = [*map(str, _SECONDS), "+Inf"]
            buckets = list(zip(bounds, accumulate(times.numbers), strict=True))
            seconds.add_metric([endpoint], buckets, times.sum)
        yield from (requests, seconds)


class _Times:
    """How many requests took how long: up to each of some seconds, and longer."""

    def __init__(self) -> None:
        self.numbers = [0] * (len(_SECONDS) + 1)
        self.sum = 0.0


class _Models(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        def counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
            return CounterMetricFamily(f"forks_{name}", text, labels=["model", *labels])

        followed = "Of the stream that is followed: rows learned, messages refused, ..."
        rows = counter("rows_learned", "Rows learned.")
        late = counter("late_labels", "Labels that came by id.", "fate")
        failures = counter("storage_failures", "Writes that the disk refused.")
        streams = counter("stream", followed, "what")
        gauges = {
            name: GaugeMetricFamily(f"forks_{name}", text, labels=["model"])
            for name, (text, _) in _GAUGES.items()
        }
        figures = GaugeMetricFamily(
            "forks_figure", "Figures over all rows and the last ones.", labels=["model", "figure"]
        )
        for name, worker in list(self._service.workers.items()):
            told = self._service.info(name)
            rows.add_metric([name], told["rows"])
            failures.add_metric([name], worker.failures)
            for fate, n in told["late_labels"].items():
                late.add_metric([name, fate], n)
            for what, n in (told["stream"] or {"counts": {}})["counts"].items():
                streams.add_metric([name, what], n)
            for gauge, (_, value) in _GAUGES.items():
                gauges[gauge].add_metric([name], value(told))
            for figure, value in told["figures"].items():
                if isinstance(value, int | float):
                    figures.add_metric([name, figure], value)
        yield from (rows, late, failures, streams, *gauges.values(), figures)


_GAUGES: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {  # texts, and values
    "waiting_labels": ("Rows that wait for their labels.", itemgetter("waiting_labels")),
    "queue": ("Requests that wait for the learner.", itemgetter("queue")),
    "journal_bytes": ("Bytes of the journal.", itemgetter("journal_bytes")),
    "checkpoint_time_seconds": (
        "When the last checkpoint was written, in seconds since 1970.",
        lambda told: told["checkpoint"]["time"],
    ),
    "storage_refused": (
        "Whether the disk refused the last write.",
        lambda told: told["storage_fault"] is not None,
    ),
}

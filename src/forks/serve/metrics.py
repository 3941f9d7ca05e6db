"""What Prometheus may know of a service."""

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from forks.serve.service import Service

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counters of requests, and the state of the models when it is asked for."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Models(service))
        self.requests = Counter(
            "forks_requests",
            "Requests, by endpoint and status.",
            ["endpoint", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "forks_request_seconds",
            "Time from a request to its answer.",
            ["endpoint"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self.n_requests = 0
        self.last_seconds: list[float] = []  # of the latest requests, for the page

    def count(self, endpoint: str, status: int, seconds: float) -> None:
        if (endpoint, status) not in self._known:  # labels are looked up under a lock
            counter, times = self.requests.labels(endpoint, status), self.seconds.labels(endpoint)
            self._known[endpoint, status] = counter, times
        counter, times = self._known[endpoint, status]
        counter.inc()
        times.observe(seconds)
        self.n_requests += 1
        self.last_seconds.append(seconds)
        if len(self.last_seconds) > 2_000:
            del self.last_seconds[:1_000]


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

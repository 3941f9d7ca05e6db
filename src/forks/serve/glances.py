"""What the page shows of a service at one moment, and the moments before it.

A glance is taken once a second whether or not anybody looks. What is drawn over time is kept for
ten minutes as points, each as the JSON that is sent, so that a page that has just been opened is
not empty. To find out which features matter takes longer than a glance, so that is done apart.
"""

import os
import resource
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from forks import __version__
from forks.serve import insight
from forks.serve.context import Context

KEPT = 600  # points
_EVENTS, _CLASSES = 20, 20  # that are sent each time
_SECONDS = 10  # of the requests whose latency is told
_FEATURES = 12  # whose relevance is: those that have mattered most
_RATES = {  # figures that are drawn: of the answers, then of the label before, repeated
    "classification": ("accuracy", "last_label_mistake_rate"),
    "regression": ("root_mean_squared_error", "last_value_root_mean_squared_error"),
}
_json = msgspec.json.Encoder().encode


class Track:
    """The last points of a model or of the service: their times, and the JSON that is sent."""

    def __init__(self) -> None:
        self.points: deque[tuple[float, msgspec.Raw]] = deque(maxlen=KEPT)

    def add(self, now: float, told: dict[str, Any]) -> None:
        self.points.append((now, msgspec.Raw(_json({"time": now, **told}))))

    def since(self, moment: float) -> list[msgspec.Raw]:
        """Return the points after a moment, oldest first."""
        return [json for time, json in list(self.points) if time > moment]


class Relevance(NamedTuple):
    """How much features matter after so many rows, and the most that each has mattered so far."""

    rows: int
    values: dict[str, float]
    most: dict[str, float]

    def then(self, rows: int, found: dict[str, float]) -> "Relevance":
        """Return what is known after another look: the features that have mattered most."""
        most = {name: max(value, self.most.get(name, 0.0)) for name, value in found.items()}
        names = sorted(most, key=lambda name: -most[name])[:_FEATURES]
        values = {name: round(found[name], 4) for name in names}
        return Relevance(rows, values, {name: most[name] for name in names})


class Glances:
    """Looks at a service.

    `latest` has the last glance: the service, and models by name.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.service = Track()
        self.models: dict[str, Track] = {}
        self.latest: dict[str, Any] = {"models": {}}
        self._relevance: dict[str, Relevance] = {}
        self._drawn: dict[str, Relevance] = {}  # the one that the last point with one has
        self._before: tuple[float, dict[str, int]] | None = None  # time, and rows of the models
        self._requests: deque[int] = deque(maxlen=_SECONDS + 1)  # so far, at the last glances

    # ---- once a second -----------------------------------------------------------------------

    def take(self, now: float | None = None) -> None:
        """Look at the service and all its models."""
        now = time.time() if now is None else now
        told = {name: self._model(name) for name in list(self._context.service.workers)}
        rows = {name: each["rows"] for name, each in told.items()}
        then, learned = self._before or (now, rows)
        seconds = now - then if now > then else 1.0  # clocks may be put back
        self._before = now, rows
        for name, each in told.items():
            each["rows_per_second"] = (rows[name] - learned.get(name, rows[name])) / seconds
            self.models.setdefault(name, Track()).add(now, self._drawn_of(each))
        of_service = {**self._requests_in(seconds), "memory": memory_in_use()}
        self.service.add(now, of_service)
        self.latest = {
            "time": now,
            "version": __version__,
            "started": self._context.started,
            **of_service,
            "models": told,
        }

    def _requests_in(self, seconds: float) -> dict[str, Any]:
        """Return the requests since the last glance, and the latency of the latest ones."""
        metrics = self._context.metrics
        n = metrics.n_requests
        before = self._requests[-1] if self._requests else n
        self._requests.append(n)
        return {
            "requests": n,
            "requests_per_second": (n - before) / seconds,
            **_quantiles(metrics.last_seconds, n - self._requests[0]),
        }

    def _model(self, name: str) -> dict[str, Any]:
        service = self._context.service
        told = service.info(name)
        figures, columns, classes = (told.pop(key) for key in ("figures", "columns", "classes"))
        classes = classes or []
        keeper = service.workers[name].keeper
        known = self._relevance.get(name)
        return {
            **told,
            "n_columns": len(columns),
            "n_classes": len(classes),
            "classes": classes[:_CLASSES],
            **_rates(told["task"], figures),
            "weights": insight.expert_weights(keeper),
            "relevance": known.values if known else {},
            "events": insight.events(keeper),
        }

    def _drawn_of(self, told: dict[str, Any]) -> dict[str, Any]:
        """Return what is drawn of a glance at a model; the relevance only if it is new."""
        name, names = told["name"], ("rows", "rows_per_second", "waiting_labels")
        drawn = {key: told[key] for key in (*names, *_rates(None, {}))}
        drawn["weights"] = [round(weight, 4) for weight in told["weights"]]
        known = self._relevance.get(name)
        if known is not None and known is not self._drawn.get(name):
            self._drawn[name] = known
            drawn["relevance"] = known.values
        return drawn

    # ---- now and then ------------------------------------------------------------------------

    def find_relevance(self, name: str) -> None:
        """Find out which features matter to a model, if it has learned since the last time."""
        worker = self._context.service.workers.get(name)
        if worker is None:
            return
        rows, known = worker.keeper.model.rounds, self._relevance.get(name)
        if known is not None and known.rows == rows:
            return
        found = insight.relevance(worker.keeper)
        if found:
            self._relevance[name] = (known or Relevance(0, {}, {})).then(rows, found)

    # ---- for those who look ------------------------------------------------------------------

    def state(self, chosen: str | None) -> bytes:
        """Return the last glance as JSON: one model with its last events, and lines of all."""
        models = self.latest["models"]
        short = ("name", "ready", "task", "rows", "now", "storage_fault")
        model = models.get(self.chosen(chosen))
        told = {
            **self.latest,
            "models": [{key: each[key] for key in short} for each in models.values()],
            "model": model and {**model, "events": model["events"][-_EVENTS:]},
        }
        return _json(told)

    def history(self, chosen: str | None, since: float) -> bytes:
        """Return the points after a moment as JSON, of the service and of one model."""
        name = self.chosen(chosen)
        told: dict[str, Any] = {"model": name, "service": self.service.since(since)}
        if name is not None:
            events = self.latest["models"][name]["events"]
            told |= {"points": self.models[name].since(since), "events": events}
        return _json(told)

    def chosen(self, name: str | None) -> str | None:
        """Return the name of a model that is there: the one asked for, or else the first."""
        models = self.latest["models"]
        return name if name in models else next(iter(models), None)


def _rates(task: str | None, figures: dict[str, Any]) -> dict[str, float | None]:
    """Return mistakes, or the error of a regression, of the last rows and of all."""
    told: dict[str, float | None] = {}
    for key, prefix in (("now", "recent_"), ("all", "")):
        own, last = (figures.get(prefix + name) for name in _RATES.get(task or "", ("", "")))
        if own is not None and task == "classification":
            own = 1.0 - own
        told |= {key: own, f"last_label_{key}": last}
    return told


def _quantiles(latest: list[float], n: int) -> dict[str, float | None]:
    """Return how long the last n requests took; None if there were none."""
    seconds = sorted(list(latest)[-n:]) if n > 0 else []
    if not seconds:
        return {"p50": None, "p99": None}
    return {key: seconds[int(p * (len(seconds) - 1))] for key, p in (("p50", 0.5), ("p99", 0.99))}


def memory_in_use() -> int:
    """Return the bytes of memory in use, or the most so far where the system tells no more."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")

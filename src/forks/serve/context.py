"""What every request needs: the models, who may do what, limits and metrics."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from forks.serve.access import Access, Role
from forks.serve.exchange import client_of, header
from forks.serve.limits import Buckets, Limits
from forks.serve.metrics import Metrics
from forks.serve.problems import Problem, problem_of
from forks.serve.service import Service
from forks.serve.worker import Worker


@dataclass
class Context:
    """Shared by all requests of an application."""

    service: Service
    access: Access = field(default_factory=lambda: Access([]))
    limits: Limits = field(default_factory=Limits)
    started: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self.metrics = Metrics(self.service)
        self._buckets = Buckets(self.limits)
        self._working = 0
        self.ending = False  # set when the server is told to stop: streams must end

    @contextmanager
    def admitted(self, scope: Any, endpoint: str, role: Role) -> Iterator[None]:
        """Context of a request that may be answered; else a `Problem`. It is counted."""
        begin, status = time.perf_counter(), 200
        self._working += 1
        try:
            self._check(scope, role)
            yield
        except Exception as error:
            status = problem_of(error).status
            raise
        finally:
            self._working -= 1
            self.metrics.count(endpoint, status, time.perf_counter() - begin)

    def _check(self, scope: Any, role: Role) -> None:
        if self._working > self.limits.concurrent:
            raise Problem(429, "too many requests at a time", {"Retry-After": "1"})
        client = client_of(scope)
        if not self.access.is_open:
            kind, _, given = header(scope, b"authorization").partition(" ")
            holder = self.access.holder(given.strip()) if kind.lower() == "bearer" else None
            if holder is None:
                raise Problem(401, "a valid token is needed", {"WWW-Authenticate": "Bearer"})
            if holder.role < role:
                raise Problem(403, f"the token may not {role.name.lower()}")
            client = holder.name
        wait = self._buckets.wait_for(client)
        if wait:
            raise Problem(429, "too many requests", {"Retry-After": f"{max(1, round(wait))}"})

    def worker(self, name: str) -> Worker:
        """Return the worker of a model, or raise a `Problem`."""
        worker = self.service.workers.get(name)
        if worker is None:
            raise Problem(404, f"there is no model {name[:64]!r}")
        return worker

    def check_rows(self, n: int) -> None:
        if n > self.limits.rows:
            raise Problem(413, f"{n:,} rows, but a request may have {self.limits.rows:,}")

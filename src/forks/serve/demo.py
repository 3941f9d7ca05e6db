"""A live demonstration: a service, and a stream that changes, learned at a steady pace."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from forks.serve.client import Client
from forks.serve.context import Context
from forks.serve.running import run
from forks.serve.service import Service
from forks.serve.table_model import Settings
from forks.streams import drifting

_ROWS = 50  # of a request
_LATE = 10  # of them have labels that come later, by id


def run_demo(state: Path, host: str, port: int, rate: float, say: Callable[[str], None]) -> None:
    """Serve a model that learns a drifting stream, `rate` rows a second, until Ctrl-C."""
    service = Service(state, Settings(effort="balanced", task="classification"))
    if "drifting" not in service.workers:
        service.add("drifting")
    seed = service.workers["drifting"].keeper.journal.last  # another stream in each run
    feeder = threading.Thread(target=_feed, args=(f"http://{host}:{port}", rate, seed), daemon=True)

    def begin(line: str) -> None:
        say(line)
        if not feeder.is_alive() and "serves on" in line:
            feeder.start()

    run(Context(service), host, port, begin)


def _feed(url: str, rate: float, seed: int) -> None:
    client = Client(url, "drifting")
    late: dict[str, bool] = {}
    sent = 0
    begin = time.monotonic()
    for X, y in drifting(100_000_000, seed=seed, chunk=_ROWS):
        rows = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in X]
        labels = [bool(label > 0) for label in y]
        try:
            client.learn(rows[_LATE:], labels[_LATE:])
            ids = [f"{seed}-{sent + i}" for i in range(_LATE)]
            client.predict(rows[:_LATE], ids)
            if late:
                client.feedback(late)
        except OSError:  # the service ends
            return
        late = dict(zip(ids, labels, strict=False))
        sent += len(rows)
        time.sleep(max(0.0, begin + sent / rate - time.monotonic()))

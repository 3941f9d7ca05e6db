"""What a process pays before its first prediction: import and compilation, cold and warm."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Missing, Record

_CODE = """
import json, time
start = time.perf_counter()
from forks import FORKSClassifier  # names are looked up when they are first used
imported = time.perf_counter()
import numpy as np
rng = np.random.default_rng(0)
X, y = rng.standard_normal((300, 8)), np.where(rng.random(300) < 0.5, -1, 1)
ready = time.perf_counter()
FORKSClassifier().partial_fit(X, y).predict(X)
done = time.perf_counter()
print(json.dumps([imported - start, done - ready]))
"""


def measure(effort: Effort) -> Iterator[Record]:
    """Time fresh processes, wall-clock: the first with an empty cache, the others with its."""
    if not effort.compile:
        raise Missing("left out of this run")
    with tempfile.TemporaryDirectory() as cache:
        _, first_cold = _process(cache)
        warm = [_process(cache) for _ in range(effort.warm_starts)]
    settings = {"rows": 300, "columns": 8}
    table = (
        ("from forks import FORKSClassifier", min(imported for imported, _ in warm), None),
        ("first partial_fit and predict, cold", first_cold, 10.0),
        ("first partial_fit and predict, warm", min(first for _, first in warm), 0.5),
    )
    for name, value, goal in table:
        yield Record(name=name, value=value, unit="s", at_most=goal, settings=settings)


def _process(cache: str) -> tuple[float, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", _CODE], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Missing(f"a fresh process ended with status {done.returncode}")
    imported, first = json.loads(done.stdout.strip().splitlines()[-1])
    return imported, first

"""Before the first prediction.

Fresh processes, wall-clock: `OnlineKernelClassifier().partial_fit` on 300 rows, then `predict`;
cold with an empty cache of machine code, warm with a filled one.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from forks.experiments.bench._part import Number, Part
from forks.experiments.record import Missing

_CODE = """
import json, time
start = time.perf_counter()
from forks import OnlineKernelClassifier  # names are looked up when they are first used
imported = time.perf_counter()
import numpy as np
rng = np.random.default_rng(0)
X, y = rng.standard_normal((300, 8)), np.where(rng.random(300) < 0.5, -1, 1)
ready = time.perf_counter()
OnlineKernelClassifier().partial_fit(X, y).predict(X)
done = time.perf_counter()
print(json.dumps([imported - start, done - ready]))
"""


def measure(warm_starts: int = 3) -> Iterator[Number]:
    """Time fresh processes: the first with an empty cache, the others with its."""
    with tempfile.TemporaryDirectory() as cache:
        _, cold = _process(cache)
        warm = [_process(cache) for _ in range(warm_starts)]
    imported, first = map(min, zip(*warm, strict=True))
    for name, value, goal in (
        ("from forks import OnlineKernelClassifier", imported, None),
        ("first partial_fit and predict, cold", cold, 10.0),
        ("first partial_fit and predict, warm", first, 0.5),
    ):
        yield Number(name, value, "s", {"rows": 300, "columns": 8}, at_most=goal)


def _process(cache: str) -> tuple[float, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", _CODE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"a fresh process ended with status {done.returncode}")
    imported, first = json.loads(done.stdout.strip().splitlines()[-1])
    return imported, first


PART = Part(__doc__, measure, {"warm_starts": 1})

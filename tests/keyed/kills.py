"""Kill processes that learn a keyed stream and keep their model, at random moments.

Run as a script: FOLDER KILLS SEED. Children are forked from one process that has everything loaded.
A child goes on from the file, if there is one, learns chunk after chunk and saves after each; when
one has come to the end, the file must be that of a run without kills. Prints how many were killed.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from keyed_streams import keyed_stream

from forks.keyed import KeyedRegressor, load

ROWS, CHUNK = 1500, 75
KEYS, X, Y = keyed_stream(ROWS, 60)


def go_on(path, folder):
    """Learn the rest of the stream."""
    model = load(path, folder=folder) if path.exists() else None
    start = 0 if model is None else model.n_rounds_
    model = model or KeyedRegressor(rank=5, max_keys=20, folder=folder)
    for first in range(start, ROWS, CHUNK):
        part = slice(first, first + CHUNK)
        model.partial_fit(KEYS[part], X[part], Y[part]).save(path)


def killed(path, folder, after):
    """Let a child go on, and kill it after some seconds; return whether it was killed."""
    child = os.fork()
    if child == 0:
        go_on(path, folder)
        os._exit(0)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and status != 0:
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)


def main(folder, kills, seed):
    rng, done = random.Random(seed), 0
    expected = folder / "expected"
    start = time.perf_counter()
    go_on(expected, folder)
    longest = time.perf_counter() - start
    path = folder / "model"
    while done < kills:
        if killed(path, folder, rng.uniform(0.0, longest)):
            done += 1
        elif path.read_bytes() == expected.read_bytes():
            path.unlink()
        else:
            raise SystemExit("the model is another one")
    go_on(path, folder)
    same = path.read_bytes() == expected.read_bytes()
    print(done if same else "the model is another one")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))

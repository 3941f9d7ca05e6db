"""The regular round against C.

The same rounds over the same rows from the same trained state: as published, without projection and
updates. The C loop is `regular_round.c`, compiled for this machine with fast-math.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forks.engine import Vector
from forks.experiments.bench._data import Stream, new_engine, published, settings_of, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._timing import Timed, best_times, timed
from forks.experiments.record import Missing
from forks.learners import FORKS
from forks.learners.forks import memory_of
from forks.parts.stage_one import COUNT

_FLAGS = ("-O3", "-march=native", "-ffast-math")
_SAME = 1e-6  # relative: rounding differs, decisions must not


def measure(rows: int = 59_535, repeats: int = 7) -> Iterator[Number]:
    """Time Engine.learn and the C loop over the same rows, from the same trained state."""
    stream = shuffled("cod-rna").first(rows)
    n = len(stream.y)
    learner = published(n, projection="none", update_cycle=0)
    trained = new_engine(learner, stream.X.shape[1])
    targets = stream.targets
    trained.learn(stream.X, targets)
    start = trained.memory.copy()
    if memory_of(start).hot.counts[COUNT.stage] == 0:
        raise Missing("the stream ends in stage one")

    def ours() -> Timed:
        trained.memory = start.copy()
        return timed(lambda: trained.learn(stream.X, targets)[:, 0])

    with tempfile.TemporaryDirectory() as folder:
        rounds = _compiled(Path(folder))

        def theirs() -> Timed:
            return _c_rounds(rounds, learner, memory_of(start).hot, stream)

        scores, c_scores = ours().result, theirs().result
        worst = float(np.max(np.abs(scores - c_scores) / np.maximum(1.0, np.abs(c_scores))))
        if not worst <= _SAME:
            raise Missing(f"the C loop gives other scores: relative difference {worst:.1e}")
        times = best_times({"FORKS, regular rounds": ours, "C loop by hand": theirs}, repeats)
    settings = settings_of(learner, n_rows=n, flags=" ".join(_FLAGS))
    for name, one in times.items():
        yield Number(name, 1e6 * one.seconds / n, "µs per row", settings)
    forks, by_hand = (one.seconds for one in times.values())
    yield Number("FORKS against the C loop", forks / by_hand, "times the time", settings)
    steps = 100.0 * float(np.mean(stream.y * scores < 1.0))
    yield Number("rounds with a Newton step", steps, "%", settings)
    yield Number("largest relative difference of a score", worst, settings=settings)


def _compiled(folder: Path) -> Any:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise Missing("there is no C compiler (cc) on this machine")
    source = Path(__file__).with_name("regular_round.c")
    library = folder / "regular_round.so"
    unit = folder / "regular_round.o"
    # Linked apart: with fast-math in the same command, a library that sets the whole process to
    # flush subnormal numbers to zero when it is loaded.
    for command in (
        [compiler, *_FLAGS, "-fPIC", "-c", str(source), "-o", str(unit)],
        [compiler, "-shared", str(unit), "-o", str(library), "-lm"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"the C compiler failed with status {done.returncode}")
    rounds = ctypes.CDLL(str(library)).regular_rounds
    rounds.argtypes = [ctypes.c_long] * 5 + [ctypes.c_void_p] * 4 + [ctypes.c_double] * 3
    rounds.argtypes += [ctypes.c_void_p] * 4
    rounds.restype = None
    return rounds


def _c_rounds(rounds: Any, learner: FORKS, state: Any, stream: Stream) -> Timed:
    sizes = learner.sizes()
    k, s_m = sizes.rank, sizes.n_landmarks
    n, d = stream.X.shape
    landmarks = state.map.landmarks.columns
    Z = np.ascontiguousarray(state.map.Z[:, :k])
    root = state.roots[0, :, :k]
    w, inverse = state.w[0, :k].copy(), np.ascontiguousarray(root @ root.T)
    scores, work = np.empty(n), np.empty(s_m + 2 * k)
    gamma = 0.5 / learner.kernel.bandwidth**2

    def play() -> Vector:
        read = [array.ctypes.data for array in (stream.X, stream.y, landmarks, Z)]
        written = [array.ctypes.data for array in (w, inverse, scores, work)]
        numbers = (gamma, learner.step_size, learner.curvature)
        rounds(n, d, s_m, k, landmarks.shape[1], *read, *numbers, *written)
        return scores

    return timed(play)


PART = Part(__doc__, measure, {"rows": 20_000, "repeats": 3})

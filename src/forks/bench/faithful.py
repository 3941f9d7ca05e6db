"""FORKS as released against figures of the authors' own code, every round counted."""

from collections.abc import Callable, Iterator

import numpy as np

from forks.bench._data import Stream, new_engine, settings_of
from forks.bench._effort import Effort
from forks.bench._record import Missing, Record
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.streams import adversarial
from forks.streams.datasets import load, permutations

_PERMUTATIONS = 20


def measure(effort: Effort) -> Iterator[Record]:
    """Mean and deviation over permutations, with what the authors' code gave as the goal."""
    try:
        german, orders = Stream(*load("german")), permutations("german")
        cod_rna = Stream(*load("cod-rna"))
    except FileNotFoundError as error:
        raise Missing("the data sets are not at hand: set FORKS_DATA to their folder") from error
    runs = _PERMUTATIONS if effort.rows > 50_000 else 4
    small = FORKS.as_released(
        kernel=Gaussian(64), buffer=100, sketch_size=50, n_landmarks=10, rank=5, update_cycle=300
    )
    yield from _rates("german", 31.2, 0.6, small, lambda run: _ordered(german, orders[run]), runs)
    large = FORKS.as_released(kernel=Gaussian(100))
    yield from _rates("cod-rna", 12.9, 0.1, large, lambda run: _shuffled(cod_rna, run), runs)
    # A loop bound in the authors' driver leaves the last feature out.
    short = Stream(np.ascontiguousarray(german.X[:, :23]), german.y)
    for repeats, goal in ((10, 6.1), (20, 3.4)):
        game = FORKS.as_released(
            kernel=Gaussian(50),
            buffer=100,
            sketch_size=75,
            n_landmarks=15,
            rank=10,
            update_cycle=int(0.005 * (500 * repeats - 100)),
        )

        def stream(run: int, repeats: int = repeats) -> Stream:
            return Stream(*adversarial(*short, 500, repeats, orders[run][:500]))

        yield from _rates(f"adversarial german, r = {repeats}", goal, 0.5, game, stream, runs)


def _rates(
    name: str,
    goal: float,
    within: float,
    learner: FORKS,
    stream: Callable[[int], Stream],
    runs: int,
) -> Iterator[Record]:
    rates = []
    for run in range(runs):
        X, y = stream(run)
        scores = new_engine(learner, X.shape[1], seed=run).learn(X, y.reshape(-1, 1))[:, 0]
        rates.append(100.0 * float(np.mean((scores >= 0.0) != (y > 0.0))))
    settings = {**settings_of(learner), "runs": runs, "authors' code": goal}
    yield Record(
        name=f"{name}: mistakes",
        value=float(np.mean(rates)),
        unit="%",
        at_least=goal - within,
        at_most=goal + within,
        settings=settings,
    )
    yield Record(
        name=f"{name}: standard deviation", value=float(np.std(rates)), unit="%", settings=settings
    )


def _ordered(stream: Stream, order: np.ndarray) -> Stream:
    return Stream(np.ascontiguousarray(stream.X[order]), np.ascontiguousarray(stream.y[order]))


def _shuffled(stream: Stream, seed: int) -> Stream:
    return _ordered(stream, np.random.default_rng(seed).permutation(len(stream.y)))

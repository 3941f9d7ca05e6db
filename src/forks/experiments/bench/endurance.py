"""Fifty million rows of a drifting stream in one process: is the end like the beginning?"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Engine, Matrix, Vector
from forks.experiments.bench._data import SEED
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.experiments.bench._resident import resident_bytes
from forks.kernels import Gaussian
from forks.learners import FORKS, Adaptive
from forks.learners.adaptive import COUNT, AdaptiveState
from forks.linalg.packed_inverse import root
from forks.losses import SquaredHinge
from forks.parts.landmarks import WIDTH
from forks.streams import drifting

_D = 8
SKETCHED = "FORKS"
_REFERENCE = 20  # of a concept's rows, one in so many
_EPSILON = float(np.finfo(np.float64).eps)  # what is smaller may be zero, or less


class Quantity(NamedTuple):
    """One panel of the picture; the learner's name follows that of the quantity."""

    name: str
    unit: str = ""
    logarithmic: bool = False


MEMORY = Quantity("resident memory of the process", "MB")
STATE = Quantity("state of the learner", "MB")
RATE = Quantity("rows per second")
AGAINST = Quantity("rate against the reference")
MISTAKES = Quantity("mistake rate")
EIGENVALUE = Quantity("smallest eigenvalue of P / largest", logarithmic=True)
ORTHOGONALITY = Quantity("orthogonality error", logarithmic=True)
QUANTITIES = (MEMORY, MISTAKES, RATE, AGAINST, EIGENVALUE, ORTHOGONALITY)  # of the picture


class _Runner:
    """A learner on its way, and what the current window has brought so far."""

    def __init__(self, name: str, learner: Any) -> None:
        self.name = name
        self.engine = _new_engine(learner)
        self.rates: list[float] = []
        self.against: list[float] = []  # rates over that of the reference
        self.ratios: list[float] = []
        self.errors: list[float] = []
        self._begin()

    def _begin(self) -> None:
        self.seconds, self.rows, self.mistakes = 0.0, 0, 0
        self.reference_seconds, self.reference_rows = 0.0, 0

    def warm_up(self, X: Matrix, y: Matrix) -> None:
        """Compile, and look at all that is looked at, on rows of which nothing is kept."""
        engine = _new_engine(self.engine.learner)
        engine.learn(X, y)
        self._look(engine)
        self.reference = X[: len(X) // _REFERENCE], y[: len(X) // _REFERENCE]

    def refer(self) -> None:
        """Time a new learner of the kind on rows that are always the same."""
        engine = _new_engine(self.engine.learner)
        start = time.process_time()
        engine.learn(*self.reference)
        self.reference_seconds += time.process_time() - start
        self.reference_rows += len(self.reference[1])

    def learn(self, X: Matrix, y: Matrix) -> None:
        """Learn the rows of a concept."""
        start = time.process_time()
        scores = self.engine.learn(X, y)
        self.seconds += time.process_time() - start
        assert np.isfinite(scores).all()
        self.rows += len(y)
        self.mistakes += int(np.count_nonzero((scores >= 0.0) != (y > 0.0)))

    def look(self) -> None:
        """Look at the state, off the clock."""
        ratio, error = self._look(self.engine)
        self.ratios.append(ratio)
        if error is not None:
            self.errors.append(error)

    def _look(self, engine: Engine) -> tuple[float, float | None]:
        view = engine.learner.view(engine.memory)
        if isinstance(view, AdaptiveState):
            return _ratio(root(view.newton.P, int(view.map.sizes[WIDTH]) + 1)), None
        V = view.sketch.vectors_transposed
        sketched = view.hot.roots[0]
        return _ratio(sketched[:, : len(sketched)]), float(np.abs(V @ V.T - np.eye(len(V))).max())

    def window(self, n_looks: int) -> Iterator[tuple[Quantity, float]]:
        """Return what the window has brought, and begin the next."""
        self.rates.append(self.rows / self.seconds)
        self.against.append(self.rates[-1] * self.reference_seconds / self.reference_rows)
        yield STATE, self.engine.state_bytes / 1e6
        yield RATE, self.rates[-1]
        yield AGAINST, self.against[-1]
        yield MISTAKES, self.mistakes / self.rows
        yield EIGENVALUE, min(self.ratios[-n_looks:])
        if self.errors:
            yield ORTHOGONALITY, max(self.errors[-n_looks:])
        self._begin()

    def summary(self) -> Iterator[Record]:
        """Return what the whole stream has brought."""
        memory, learner = self.engine.memory, self.engine.learner
        middle = float(np.median(self.rates))
        name = f"{self.name}: rows per second, median of the windows"
        yield Record(name=name, value=middle, unit="rows per second")
        for what, rates in (("rate", self.rates), ("rate against the reference", self.against)):
            yield from _steadiness(f"{self.name}: {what}", np.array(rates))
        yield Record(
            name=f"{self.name}: least eigenvalue of P / largest, least of all",
            value=min(self.ratios),
            at_least=_EPSILON**2 if self.errors else _EPSILON,  # of a root, and of P itself
        )
        if self.errors:
            yield Record(
                name=f"{self.name}: orthogonality error, worst of all",
                value=max(self.errors),
                at_most=1e-12,
            )
            updates = float(learner.map_updates(memory))
            yield Record(name=f"{self.name}: update rounds", value=updates)
        else:
            restarts = float(learner.view(memory).counts[COUNT.restarts])
            yield Record(name=f"{self.name}: new starts", value=restarts)


def _steadiness(name: str, rates: Vector) -> Iterator[Record]:
    """Compare the end with the beginning, and the windows with each other."""
    tenth = max(1, len(rates) // 10)
    low, middle, high = np.percentile(rates, (5.0, 50.0, 95.0))
    for what, value, at_least, at_most in (
        (
            "last tenth / second tenth",
            rates[-tenth:].mean() / rates[tenth : 2 * tenth].mean(),
            0.9,
            1.1,
        ),
        ("5th percentile / median", low / middle, 0.9, None),
        ("95th percentile / median", high / middle, None, 1.1),
        ("highest / lowest", rates.max() / rates.min(), None, None),
    ):
        yield Record(name=f"{name}, {what}", value=float(value), at_least=at_least, at_most=at_most)


def _new_engine(learner: Any) -> Engine:
    return Engine(learner, _D, 1, np.random.default_rng(SEED))


def _runners(effort: Effort) -> list[_Runner]:
    sketched = FORKS(
        kernel=Gaussian(_D**0.5),
        loss=SquaredHinge(),
        budget=50,
        rank=20,
        update_cycle=effort.endurance_cycle,
        on_update="carry",
        landmarks="refreshed",
    )
    return [_Runner("default", Adaptive()), _Runner(SKETCHED, sketched)]


def measure(effort: Effort) -> Iterator[Record]:
    """Learn concept by concept; after each look at the state, after each window at the memory."""
    n, concept = effort.endurance_rows, effort.endurance_concept
    n_concepts = n // concept
    runners = _runners(effort)
    rows, labels = next(drifting(concept, _D, 1, seed=SEED + 1, chunk=concept))
    for runner in runners:
        runner.warm_up(rows, labels.reshape(-1, 1))
    resident = []
    chunks = drifting(n, _D, n_concepts, seed=SEED, chunk=concept)
    for number, (X, y) in enumerate(chunks, 1):
        targets = y.reshape(-1, 1)
        for runner in runners:
            runner.refer()
            runner.learn(X, targets)
            runner.refer()
            runner.look()
        if number % effort.endurance_window == 0:
            seen = number * concept
            resident.append(resident_bytes() / 1e6)
            yield _on_curve(MEMORY, MEMORY.name, resident[-1], seen)
            for runner in runners:
                for quantity, value in runner.window(effort.endurance_window):
                    yield _on_curve(quantity, f"{quantity.name}, {runner.name}", value, seen)
    settled = resident[len(resident) // 10 :]
    yield Record(name="rows", value=float(n))
    yield Record(name="concepts", value=float(n_concepts))
    yield Record(
        name="resident memory after the first tenth, most / least",
        value=max(settled) / min(settled),
        at_most=1.05,
    )
    for runner in runners:
        yield from runner.summary()


def _on_curve(quantity: Quantity, name: str, value: float, seen: int) -> Record:
    return Record(name=name, value=value, unit=quantity.unit, against="rows", at=float(seen))


def _ratio(root: Matrix) -> float:
    """Smallest eigenvalue of P over the largest, of a root of P."""
    sizes = np.linalg.svd(root, compute_uv=False)
    return float((sizes[-1] / sizes[0]) ** 2)

"""Endurance.

A drifting stream, `forks.streams.drifting` with 8 features, through three learners in one process,
chunk by chunk, each concept as long as a chunk: the default learner, the one of effort "fast", and
FORKS with update rounds on, weights carried over and landmarks refreshed. Rates are per second of
CPU time, over windows of whole concepts, drawing the rows not included. Concepts are not equally
hard, and a hard one takes more Newton steps; a machine that others use too is not equally fast all
the time: the reference is a new learner of the same kind that learns the same rows each time,
before and after each concept. Orthogonality is the largest entry of |V V' - I| for the eigenvectors
of the sketch, changed by each update and never made anew; eigenvalues are those of P = A^-1 at the
end of each concept, of the default those of its worst expert.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from forks.engine import Engine, Learner, Matrix, Vector
from forks.evaluate import LearnerPlayer, play
from forks.experiments import style
from forks.experiments.bench._data import SEED, Stream, resident_megabytes
from forks.experiments.bench._part import Number, Part, curves
from forks.kernels import Gaussian
from forks.learners import FORKS, Adaptive, OverTime
from forks.learners.adaptive import RESTARTS
from forks.learners.mixture import COUNT, LIVE
from forks.linalg.packed_inverse import root
from forks.losses import SquaredHinge
from forks.parts.landmarks import WIDTH
from forks.streams import drifting

_D = 8
_SKETCHED = "FORKS"
_REFERENCE = 20  # of a concept's rows, one in so many
EPSILON = float(np.finfo(np.float64).eps)  # what is smaller may be zero, or less


# Quantities over the stream; the learner's name follows that of the quantity.
_MEMORY, _STATE = "resident memory of the process", "state of the learner"
_RATE, _AGAINST, _MISTAKES = "rows per second", "rate against the reference", "mistake rate"
_EIGENVALUE, _ORTHOGONALITY = "smallest eigenvalue of P / largest", "orthogonality error"
_COLOURS = {"fast": style.DARK_GREY, _SKETCHED: style.GREY}
_PANELS = (_MEMORY, _MISTAKES, _RATE, _AGAINST, _EIGENVALUE, _ORTHOGONALITY)


class Runner:
    """A learner at work, and its figures so far.

    `reference` are rows that a new learner of the same kind learns again and again.
    """

    def __init__(self, name: str, learner: Learner, reference: Stream) -> None:
        self.name = name
        self.player = LearnerPlayer(name, learner, seed=SEED)
        self.reference = reference
        self.referred = np.zeros(2)  # seconds and rows
        self.before = np.zeros(5)  # at the start of this window
        self.rates: list[float] = []
        self.against: list[float] = []  # rates over that of the reference
        self.ratios: list[float] = []  # smallest eigenvalue of P over the largest
        self.errors: list[float] = []  # orthogonality errors of a sketch

    def refer(self) -> None:
        """Time a new learner of the kind on rows that are always the same."""
        at = play(self.player.learner, [self.reference], seed=SEED)
        self.referred += (at.seconds, at.rounds)

    def learn(self, X: Matrix, y: Vector) -> None:
        scores: Any = self.player.play(X, y).scores
        assert np.isfinite(scores).all()

    def look(self) -> None:
        ratio, error = _looked_at(self.player.engine)
        self.ratios.append(ratio)
        if error is not None:
            self.errors.append(error)

    def window(self, n_looks: int) -> Iterator[tuple[str, float]]:
        """Return the figures of this window, and begin the next."""
        at = self.player.checkpoint()
        now = np.array([at.seconds, at.rounds, at.mistakes, *self.referred])
        (seconds, rows, mistakes, *referred), self.before = now - self.before, now
        self.rates.append(rows / seconds)
        self.against.append(self.rates[-1] * referred[0] / referred[1])
        yield _STATE, self.player.engine.state_bytes / 1e6
        yield _RATE, self.rates[-1]
        yield _AGAINST, self.against[-1]
        yield _MISTAKES, mistakes / rows
        yield _EIGENVALUE, min(self.ratios[-n_looks:])
        if self.errors:
            yield _ORTHOGONALITY, max(self.errors[-n_looks:])

    def summary(self) -> Iterator[Number]:
        """Return the figures of the whole stream."""
        memory, learner = self.player.engine.memory, self.player.learner
        view = learner.view(memory)
        name = f"{self.name}: rows per second, median of the windows"
        yield Number(name, float(np.median(self.rates)), "rows per second")
        yield from _steadiness(f"{self.name}: rate", np.array(self.rates))
        yield from _steadiness(f"{self.name}: {_AGAINST}", np.array(self.against))
        least = EPSILON**2 if self.errors else EPSILON  # of a root, and of P itself
        name = f"{self.name}: least eigenvalue of P / largest, least of all"
        yield Number(name, min(self.ratios), at_least=least)
        if self.errors:
            name = f"{self.name}: orthogonality error, worst of all"
            yield Number(name, max(self.errors), at_most=1e-12)
            yield Number(f"{self.name}: update rounds", float(learner.map_updates(memory)))
        else:
            starts = COUNT.starts if isinstance(learner, OverTime) else RESTARTS
            yield Number(f"{self.name}: new starts", float(view.counts[starts]))


def _looked_at(engine: Engine) -> tuple[float, float | None]:
    """Return the ratio of the eigenvalues of P, and the orthogonality error of a sketch."""
    learner, view = engine.learner, engine.learner.view(engine.memory)
    if isinstance(learner, OverTime):
        live = np.flatnonzero(view.places.status == LIVE).tolist()
        return min(_ratio_of_machine(learner.state_of(view, e)) for e in live), None
    if isinstance(learner, Adaptive):
        return _ratio_of_machine(view), None
    V = view.sketch.vectors_transposed
    sketched = view.hot.roots[0]
    return _ratio(sketched[:, : len(sketched)]), float(np.abs(V @ V.T - np.eye(len(V))).max())


def _ratio_of_machine(view: Any) -> float:
    return _ratio(root(view.newton.P, int(view.map.sizes[WIDTH]) + 1))


def _ratio(root: Matrix) -> float:
    """Return the smallest eigenvalue of P over the largest, of a root of P."""
    sizes = np.linalg.svd(root, compute_uv=False)
    return float((sizes[-1] / sizes[0]) ** 2)


def _steadiness(name: str, rates: Vector) -> Iterator[Number]:
    """Compare the end with the beginning, and the windows with each other."""
    tenth = max(1, len(rates) // 10)
    low, middle, high = np.percentile(rates, (5.0, 50.0, 95.0))
    drift = float(rates[-tenth:].mean() / rates[tenth : 2 * tenth].mean())
    yield Number(f"{name}, last tenth / second tenth", drift, at_least=0.9, at_most=1.1)
    yield Number(f"{name}, 5th percentile / median", float(low / middle), at_least=0.9)
    yield Number(f"{name}, 95th percentile / median", float(high / middle), at_most=1.1)
    yield Number(f"{name}, highest / lowest", float(rates.max() / rates.min()))


def runners(reference: Stream, cycle: int) -> list[Runner]:
    """Return the learners, FORKS with an update every so many rounds with loss."""
    updates: Any = {"update_cycle": cycle, "on_update": "carry", "landmarks": "refreshed"}
    kernel, loss = Gaussian(_D**0.5), SquaredHinge()
    sketched = FORKS(kernel=kernel, loss=loss, budget=50, rank=20, **updates)
    learners = {"default": OverTime(), "fast": Adaptive(), _SKETCHED: sketched}
    return [Runner(name, learner, reference) for name, learner in learners.items()]


def measure(
    rows: int = 50_000_000, concept: int = 100_000, window: int = 10, cycle: int = 1_000
) -> Iterator[Number]:
    """Learn concept by concept; after each look at the state, after each window at the memory.

    `concept` are the rows between two changes, `window` the concepts of a window.
    """
    first = Stream(*next(drifting(concept, _D, 1, seed=SEED + 1, chunk=concept)))
    for runner in runners(first, cycle):  # compile, and look at all that is looked at
        runner.learn(*first)
        runner.look()
    all_of_them = runners(first.first(concept // _REFERENCE), cycle)
    resident = []
    n_concepts = rows // concept
    chunks = drifting(rows, _D, n_concepts, seed=SEED, chunk=concept)
    for number, (X, y) in enumerate(chunks, 1):
        for runner in all_of_them:
            runner.refer()
            runner.learn(X, y)
            runner.refer()
            runner.look()
        if number % window == 0:
            seen = float(number * concept)
            resident.append(resident_megabytes())
            yield Number(_MEMORY, resident[-1], "MB", {}, "rows", seen)
            for runner in all_of_them:
                for name, value in runner.window(window):
                    unit = "MB" if name == _STATE else ""
                    yield Number(f"{name}, {runner.name}", value, unit, {}, "rows", seen)
    settled = resident[len(resident) // 10 :]
    yield Number("rows", float(rows))
    yield Number("concepts", float(n_concepts))
    name = "resident memory after the first tenth, most / least"
    yield Number(name, max(settled) / min(settled), at_most=1.05)
    for runner in all_of_them:
        yield from runner.summary()


def draw(numbers: Sequence[Number]) -> Any:
    """Draw memory, speed, mistakes and what rounding does, over the stream."""
    figure, panels = style.figure(9.6, 8.4, 3, 2)
    found = curves(numbers, "rows")
    for axes, quantity in zip(panels.ravel(), _PANELS, strict=True):
        wanted = [curve for curve in found if curve[0].startswith(quantity)]
        for name, at, values in wanted:
            label = name.removeprefix(quantity).removeprefix(", ")
            axes.plot(at, values, color=_COLOURS.get(label, style.BLUE), label=label or "all")
        if quantity in (_EIGENVALUE, _ORTHOGONALITY):
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.15 * max(max(values) for _, _, values in wanted))
        axes.set_xlim(0, None)
        axes.xaxis.set_major_formatter(style.millions)
        style.finish(axes, "rows seen", quantity + (", MB" if quantity == _MEMORY else ""))
        axes.yaxis.label.set_size(9)
    return figure


PART = Part(__doc__, measure, {"rows": 1_000_000, "concept": 10_000, "window": 5}, draw)

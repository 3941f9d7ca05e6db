"""Every learner of the catalogue on streams without a change: do they learn for ever?

Rows of four normal features; the class is the sign of the product of the first two, one label in
ten flipped; the target of regression is sin(2 x_0) + x_3, with noise of standard deviation 0.5.
Unscaled rows have features in the thousands, and so have the targets of regression.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forks.engine import MENDS, Learner, Matrix, Vector
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor, load
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record
from forks.kernels import Gaussian, Kernel, Polynomial
from forks.learners import FORKS, Adaptive, SkeGD
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import Hinge, SquaredError

_D = 4
_CLEAN = 20_000  # rows that are never learned
_LOOKS = 20  # in the fifth tenth of the stream, and in the last one
_CYCLE = 1_000  # of the learners with update rounds


class Source(NamedTuple):
    """A kind of stream."""

    name: str
    scale: float
    kernel: Kernel
    weighted: bool = False  # sample weights from 1e-3 to 1e3


SOURCES = (
    Source("scaled", 1.0, Gaussian(1.0)),
    Source("unscaled", 1e3, Gaussian(1.0)),
    Source("unscaled, polynomial", 1e3, Polynomial(2)),
    Source("weighted", 1.0, Gaussian(1.0), weighted=True),
)
TASKS = ("classification", "regression")


class Stood(NamedTuple):
    """What became of a model."""

    middle: float  # error in %, or RMSE, mean over the looks
    end: float
    wobble: float  # standard error of the difference of the two
    mends: int
    finite: bool
    loaded: bool  # saved, and loaded with the same predictions

    @property
    def is_worse(self) -> bool:
        """Is the end worse than the middle, by more than what looks at random moments differ?"""
        return self.end > 1.05 * self.middle + 4.0 * self.wobble


def rows_of(
    task: str, source: Source, n: int, seed: tuple[int, ...], clean: bool = False
) -> tuple[Matrix, Vector, Vector | None]:
    """Draw rows, targets and sample weights, with noise or clean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, _D))
    y: Any
    if task == "classification":
        y = X[:, 0] * X[:, 1] > 0.0
        if not clean:
            y = y ^ (rng.random(n) < 0.1)
    else:
        y = np.sin(2.0 * X[:, 0]) + X[:, 3]
        if not clean:
            y = y + 0.5 * rng.normal(size=n)
        y = source.scale * y
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=n) if source.weighted else None
    return source.scale * X, y, weights


def play(learner: Learner, task: str, source: Source, n: int, n_clean: int = _CLEAN) -> Stood:
    """Learn n rows in chunks; look at the clean rows in the middle and at the end."""
    kind = OnlineKernelClassifier if task == "classification" else OnlineKernelRegressor
    model: Any = kind(learner, random_state=0)
    known = {"classes": [False, True]} if task == "classification" else {}
    clean, truth, _ = rows_of(task, source, n_clean, (1,), clean=True)
    n_chunks = 10 * _LOOKS
    errors: dict[int, list[float]] = {4: [], 9: []}  # by the tenth of the stream
    finite = True
    for chunk in range(n_chunks):
        X, y, weights = rows_of(task, source, n // n_chunks, (0, chunk))
        model.partial_fit(X, y, sample_weight=weights, **known)
        finite = finite and bool(np.isfinite(model.engine_.memory.floats).all())
        if chunk // _LOOKS in errors:
            errors[chunk // _LOOKS].append(_error(task, model.predict(clean), truth))
    middle, end = (float(np.mean(tenth)) for tenth in errors.values())
    wobble = float(np.sqrt(sum(np.var(tenth) for tenth in errors.values()) / (_LOOKS - 1)))
    return Stood(middle, end, wobble, mends_of(model), finite, _is_loaded(model, clean))


def _error(task: str, answers: Vector, truth: Vector) -> float:
    if task == "classification":
        return 100.0 * float(np.mean(answers != truth))
    return float(np.sqrt(np.mean((answers - truth) ** 2)))


def mends_of(model: Any) -> int:
    """Count the steps that the learner of a model has left out or mended."""
    view = model.engine_.learner.view(model.engine_.memory)
    return int(getattr(view, "hot", view).counts[MENDS])


def _is_loaded(model: Any, X: Matrix) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        try:
            loaded = load(path)
        except ValueError:  # numbers that are not finite
            return False
    return bool(np.array_equal(loaded.predict(X), model.predict(X)))


def learners(task: str, source: Source) -> Iterator[tuple[str, Learner, bool]]:
    """Name the learners that can learn the stream, and say whether their memory is bounded."""
    loss = Hinge() if task == "classification" else SquaredError()
    setting = Setting(kernel=source.kernel, loss=loss)
    for method in CATALOGUE:
        fourier = method.name == "FOGD" and not isinstance(source.kernel, Gaussian)
        if fourier or (task == "regression" and not method.regression):
            continue
        learner = method.make(setting)
        if not isinstance(learner, Adaptive):  # whose endurance is measured by itself
            yield method.name, learner, method.bounded
    more: dict[str, Any] = {"kernel": source.kernel, "loss": loss, "update_cycle": _CYCLE}
    yield "FORKS with updates", FORKS(landmarks="refreshed", **more), True
    yield "SkeGD with updates", SkeGD(landmarks="refreshed", decomposition="tisvd", **more), True


def measure(effort: Effort) -> Iterator[Record]:
    """Play every learner on every stream."""
    everything = []
    for source in SOURCES:
        for task in TASKS:
            for name, learner, bounded in learners(task, source):
                n = effort.stationary_rows if bounded else effort.stationary_growing
                everything.append(play(learner, task, source, n))
                yield from _line(f"{name}, {task}, {source.name}", task, n, everything[-1])
    yield from _summary(everything)


def _line(name: str, task: str, n: int, played: Stood) -> Iterator[Record]:
    unit = "%" if task == "classification" else ""
    for column, value, its_unit in (
        ("rows", n, ""),
        ("middle", played.middle, unit),
        ("end", played.end, unit),
        ("standard error of the difference", played.wobble, unit),
        ("mends", played.mends, ""),
        ("finite", played.finite, ""),
        ("saved and loaded", played.loaded, ""),
    ):
        yield Record(name=name, value=float(value), unit=its_unit, column=column)


def _summary(everything: Sequence[Stood]) -> Iterator[Record]:
    total = len(everything)
    yield Record(name="runs", value=float(total))
    for name, count in (
        ("runs with finite numbers only", sum(played.finite for played in everything)),
        ("runs saved and loaded", sum(played.loaded for played in everything)),
        ("runs no worse at the end", sum(not played.is_worse for played in everything)),
    ):
        yield Record(name=name, value=float(count), at_least=float(total))

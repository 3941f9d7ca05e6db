"""Streams without a change.

Every learner of the catalogue but the default one, with the catalogue's settings, and FORKS and
SkeGD with an update round every 1,000 losses and landmarks refreshed. Four normal features; the
class is the sign of x_0 x_1, one label in ten flipped (hinge loss); the target is sin(2 x_0) + x_3
with noise 0.5 (squared error). Gaussian kernel, bandwidth 1. Unscaled rows and targets are a
thousand times larger: to a kernel of that bandwidth no two of them are alike; the polynomial kernel
has degree 2. Sample weights, where there are any, go from 1e-3 to 1e3. Errors are those on 20,000
clean rows that are never learned, mean over 20 looks in the fifth tenth of the stream and over 20
in the last. KOGD, SKETCHED-KONS and PROS-N-KONS without a budget grow with the stream and get a
shorter one. Learners with a constant step size or a small budget wobble for ever: the end counts as
worse if it is so by 5 % and four standard errors.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from forks.engine import Learner, Matrix, Vector
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.saving import as_bytes, from_bytes
from forks.evaluate import player_for
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench.lasting import Case, error
from forks.experiments.bench.lasting import rows_of as drawn
from forks.kernels import Gaussian, Kernel, Polynomial
from forks.learners import FORKS, Adaptive, SkeGD
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import Hinge, SquaredError

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
    """The result of one run."""

    middle: float  # error in %, or RMSE, mean over the looks
    end: float
    wobble: float  # standard error of the difference of the two
    mends: int
    finite: bool
    loaded: bool  # saved, and loaded with the same predictions

    @property
    def is_worse(self) -> bool:
        """Whether the end is worse than the middle, by more than looks at random moments differ."""
        return self.end > 1.05 * self.middle + 4.0 * self.wobble


def rows_of(
    task: str, source: Source, n: int, seed: tuple[int, ...], clean: bool = False
) -> tuple[Matrix, Vector, Vector | None]:
    """Draw rows, targets and sample weights, with noise or clean."""
    regression = task == "regression"
    rule = "curve" if regression else "checkers"
    case = Case("", rule, regression=regression, scale=source.scale, weighted=source.weighted)
    X, y, weights = drawn(case, n, np.random.default_rng(seed), noise=not clean)
    return X, source.scale * y if regression else y.astype(bool), weights


def play(learner: Learner, task: str, source: Source, n: int, n_clean: int = _CLEAN) -> Stood:
    """Learn n rows in chunks; look at the clean rows in the middle and at the end."""
    kind = OnlineKernelClassifier if task == "classification" else OnlineKernelRegressor
    model: Any = kind(learner, random_state=0)
    classes = [False, True] if task == "classification" else None
    player = player_for(type(learner).__name__, model, classes=classes)
    clean, truth, _ = rows_of(task, source, n_clean, (1,), clean=True)
    n_chunks = 10 * _LOOKS
    errors: dict[int, list[float]] = {4: [], 9: []}  # by the tenth of the stream
    finite = True
    for chunk in range(n_chunks):
        player.play(*rows_of(task, source, n // n_chunks, (0, chunk)))
        finite = finite and bool(np.isfinite(model.engine_.memory.floats).all())
        if chunk // _LOOKS in errors:
            errors[chunk // _LOOKS].append(error(task == "regression", model.predict(clean), truth))
    middle, end = (float(np.mean(tenth)) for tenth in errors.values())
    wobble = float(np.sqrt(sum(np.var(tenth) for tenth in errors.values()) / (_LOOKS - 1)))
    return Stood(middle, end, wobble, model.n_mends_, finite, _is_loaded(model, clean))


def _is_loaded(model: Any, X: Matrix) -> bool:
    data = as_bytes(model)
    try:
        loaded = from_bytes("the model", data).model
    except ValueError:  # numbers that are not finite
        return False
    return bool(np.array_equal(loaded.predict(X), model.predict(X)))


def learners(task: str, source: Source) -> Iterator[tuple[str, Learner, bool]]:
    """Return names and learners for the stream, and whether the memory of each is bounded."""
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


def measure(rows: int = 5_000_000, growing: int = 4_000) -> Iterator[Number]:
    """Play every learner on every stream; those whose memory grows get so many rows."""
    everything = []
    for source in SOURCES:
        for task in TASKS:
            for name, learner, bounded in learners(task, source):
                n = rows if bounded else growing
                everything.append(play(learner, task, source, n))
                yield from _line(f"{name}, {task}, {source.name}", task, n, everything[-1])
    total = float(len(everything))
    yield Number("runs", total)
    for name, count in (
        ("runs with finite numbers only", sum(played.finite for played in everything)),
        ("runs saved and loaded", sum(played.loaded for played in everything)),
        ("runs no worse at the end", sum(not played.is_worse for played in everything)),
    ):
        yield Number(name, float(count), at_least=total)


def _line(name: str, task: str, n: int, played: Stood) -> Iterator[Number]:
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
        yield Number(name, float(value), its_unit, column=column)


PART = Part(__doc__, measure, {"rows": 100_000, "growing": 2_000})

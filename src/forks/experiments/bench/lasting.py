"""The default learner on streams without a change: is the end as good as the beginning?

Rows are normal, one label in ten is flipped, targets of regression have noise of standard
deviation 0.5. Errors are those on rows without noise that are never learned.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from forks.engine import Matrix, Vector
from forks.estimators import FORKSClassifier, FORKSRegressor
from forks.experiments.bench._data import SEED
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._record import Record

_CLEAN = 20_000
_CHUNK = 100_000
_MORE = 1.05  # times the error after `lasting_middle` rows, at the end

Rule = Callable[[Matrix], Any]


@dataclass(frozen=True)
class Case:
    """A stream, and the estimator that learns it."""

    name: str
    rule: Rule  # labels or targets of rows, without noise
    n_features: int = 4
    parameters: Mapping[str, Any] = field(default_factory=dict)
    regression: bool = False
    scale: float = 1.0
    density: float = 1.0
    weighted: bool = False  # weights from 1e-3 to 1e3


def _checkers(X: Matrix) -> Any:
    return (X[:, 0] * X[:, 1] > 0.0).astype(int)


def _three(X: Matrix) -> Any:
    return _checkers(X) + (X[:, 2] > 0.5)


def _sum(X: Matrix) -> Any:
    return (X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] > 0.0).astype(int)


def _curve(X: Matrix) -> Any:
    return np.sin(2.0 * X[:, 0]) + X[:, -1]


def _inside(X: Matrix) -> Any:
    return (np.abs(X[:, 0]) < 1.0).astype(int)


CASES = (
    Case("classes", _checkers),
    Case("numbers", _curve, regression=True),
    Case("one feature", _inside, 1),
    Case("numbers, one feature", _curve, 1, regression=True),
    Case("50 features", _sum, 50),
    Case("numbers, 50 features", _curve, 50, regression=True),
    Case("sparse, 50 features", _sum, 50, density=0.1),
    Case("weights 1e-3 to 1e3", _checkers, weighted=True),
    Case("numbers, weights 1e-3 to 1e3", _curve, weighted=True, regression=True),
    Case("three classes", _three),
    Case("logistic loss", _checkers, parameters={"loss": "logistic"}),
    Case("features to 1e6", _checkers, scale=1e6),
    Case("features to 1e6, not scaled", _checkers, scale=1e6, parameters={"scaling": None}),
    Case(
        "numbers, features to 1e6, not scaled",
        _curve,
        scale=1e6,
        parameters={"scaling": None},
        regression=True,
    ),
)


def rows_of(
    case: Case, n: int, rng: np.random.Generator, noise: bool = True
) -> tuple[Any, Vector, Vector | None]:
    """Draw rows, labels or targets, and weights."""
    X = rng.normal(size=(n, case.n_features))
    if case.density < 1.0:
        X *= rng.random(X.shape) < case.density
    y = case.rule(X)
    if noise and case.regression:
        y = y + 0.5 * rng.normal(size=n)
    elif noise:
        others = rng.integers(1, int(y.max()) + 1, size=n)  # steps to another class
        y = np.where(rng.random(n) < 0.1, (y + others) % (int(y.max()) + 1), y)
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=n) if case.weighted else None
    X *= case.scale
    return (sparse.csr_array(X) if case.density < 1.0 else X), y, weights


def new_model(case: Case) -> Any:
    """Make the estimator of a case."""
    kind = FORKSRegressor if case.regression else FORKSClassifier
    return kind(**case.parameters)


def error_of(case: Case, model: Any, X: Any, truth: Vector) -> float:
    """Return the share of mistakes in %, or the root mean square error."""
    answers = model.predict(X)
    if case.regression:
        return float(np.sqrt(np.mean((answers - truth) ** 2)))
    return 100.0 * float(np.mean(answers != truth))


class Lasted(NamedTuple):
    """What became of a model."""

    errors: dict[int, float]  # by the number of rows
    mends: int
    seconds: float


def measure(effort: Effort) -> Iterator[Record]:
    """Play all cases."""
    middle, lasting, mends = effort.lasting_middle, 0, 0
    for case in CASES:
        n = effort.lasting_first if case is CASES[0] else effort.lasting_rows
        played = play(case, n, middle)
        ratio = played.errors[n] / played.errors[middle]
        lasting += ratio <= _MORE
        mends += played.mends
        unit = "" if case.regression else "%"
        for column, value, its_unit in (
            ("rows", n, ""),
            (f"error after {middle:,}", played.errors[middle], unit),
            ("at the end", played.errors[n], unit),
            ("ratio", ratio, ""),
            ("mends", played.mends, ""),
            ("time per row", 1e6 * played.seconds / n, "µs"),
        ):
            yield Record(name=case.name, value=float(value), unit=its_unit, column=column)
        for rows, error in played.errors.items():
            relative = error / played.errors[middle]
            yield Record(name=case.name, value=relative, against="rows", at=float(rows))
    yield Record(name=f"ratios up to {_MORE}", value=float(lasting), at_least=float(len(CASES)))
    yield Record(name="mends in all", value=float(mends), at_most=0.0)


def play(case: Case, n: int, middle: int) -> Lasted:
    """Learn n rows in chunks; look at clean rows after `middle` rows, twice as many, and so on."""
    rng = np.random.default_rng(SEED)
    clean, truth, _ = rows_of(case, _CLEAN, rng, noise=False)
    model = new_model(case)
    looks = {middle << k for k in range(n.bit_length())} | {n}
    chunk = min(_CHUNK, middle)
    errors, seconds = {}, 0.0
    for done in range(chunk, n + 1, chunk):
        X, y, weights = rows_of(case, chunk, rng)
        start = time.process_time()
        model.partial_fit(X, y, sample_weight=weights)
        seconds += time.process_time() - start
        if done in looks:
            errors[done] = error_of(case, model, clean, truth)
    return Lasted(errors, model.n_mends_, seconds)

"""The default learner on streams without a change.

`partial_fit` in chunks of 100,000 rows. Rows are normal, with four features or as the name says;
the class is x_0 x_1 > 0, |x_0| < 1 or x_0 + ... + x_4 + x_0 x_1 > 0, one label in ten is flipped;
the target is sin(2 x_0) plus the last feature, with noise of standard deviation 0.5. Errors, in %
or root mean squares, are those on 20,000 rows without noise that are never learned. Rows are drawn
off the clock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from forks.engine import Matrix, Vector
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor
from forks.evaluate import player_for
from forks.experiments import style
from forks.experiments.bench._data import SEED
from forks.experiments.bench._part import Number, Part, curves

_CLEAN = 20_000
_CHUNK = 100_000
_MORE = 1.05  # times the error after `middle` rows, at the end


@dataclass(frozen=True)
class Case:
    """A stream, and the estimator that learns it."""

    name: str
    rule: str  # of `RULES`: labels or targets of rows, without noise
    n_features: int = 4
    parameters: Mapping[str, Any] = field(default_factory=dict)
    regression: bool = False
    scale: float = 1.0
    density: float = 1.0
    weighted: bool = False  # weights from 1e-3 to 1e3


RULES: dict[str, Callable[[Matrix], Any]] = {
    "checkers": lambda X: (X[:, 0] * X[:, 1] > 0.0).astype(int),
    "three": lambda X: RULES["checkers"](X) + (X[:, 2] > 0.5),
    "sum": lambda X: (X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] > 0.0).astype(int),
    "curve": lambda X: np.sin(2.0 * X[:, 0]) + X[:, -1],
    "inside": lambda X: (np.abs(X[:, 0]) < 1.0).astype(int),
}
_RAW: dict[str, Any] = {"scale": 1e6, "parameters": {"scaling": None}}

CASES = (
    Case("classes", "checkers"),
    Case("numbers", "curve", regression=True),
    Case("one feature", "inside", 1),
    Case("numbers, one feature", "curve", 1, regression=True),
    Case("50 features", "sum", 50),
    Case("numbers, 50 features", "curve", 50, regression=True),
    Case("sparse, 50 features", "sum", 50, density=0.1),
    Case("weights 1e-3 to 1e3", "checkers", weighted=True),
    Case("numbers, weights 1e-3 to 1e3", "curve", weighted=True, regression=True),
    Case("three classes", "three"),
    Case("logistic loss", "checkers", parameters={"loss": "logistic"}),
    Case("features to 1e6", "checkers", scale=1e6),
    Case("features to 1e6, not scaled", "checkers", **_RAW),
    Case("numbers, features to 1e6, not scaled", "curve", regression=True, **_RAW),
)


def rows_of(
    case: Case, n: int, rng: np.random.Generator, noise: bool = True
) -> tuple[Any, Vector, Vector | None]:
    """Draw rows, labels or targets, and weights."""
    X = rng.normal(size=(n, case.n_features))
    if case.density < 1.0:
        X *= rng.random(X.shape) < case.density
    y = RULES[case.rule](X)
    if noise and case.regression:
        y = y + 0.5 * rng.normal(size=n)
    elif noise:
        last = max(1, int(y.max()))  # class
        others = rng.integers(1, last + 1, size=n)  # steps to another class
        y = np.where(rng.random(n) < 0.1, (y + others) % (last + 1), y)
    weights = 10.0 ** rng.uniform(-3.0, 3.0, size=n) if case.weighted else None
    X *= case.scale
    return (sparse.csr_array(X) if case.density < 1.0 else X), y, weights


def error(regression: bool, answers: Vector, truth: Vector) -> float:
    """Return the share of mistakes in %, or the root mean square error."""
    if regression:
        return float(np.sqrt(np.mean((answers - truth) ** 2)))
    return 100.0 * float(np.mean(answers != truth))


def measure(
    first_rows: int = 100_000_000, rows: int = 20_000_000, middle: int = 500_000
) -> Iterator[Number]:
    """Play all cases, the first one longer."""
    lasting, mends = 0, 0
    for case in CASES:
        n = first_rows if case is CASES[0] else rows
        errors, mended, seconds = play(case, n, middle)
        ratio = errors[n] / errors[middle]
        lasting += ratio <= _MORE
        mends += mended
        unit = "" if case.regression else "%"
        for column, value, its_unit in (
            ("rows", n, ""),
            (f"error after {middle:,}", errors[middle], unit),
            ("at the end", errors[n], unit),
            ("ratio", ratio, ""),
            ("mends", mended, ""),
            ("time per row", 1e6 * seconds / n, "µs"),
        ):
            yield Number(case.name, float(value), its_unit, column=column)
        for seen, value in errors.items():
            yield Number(case.name, value / errors[middle], against="rows", at=float(seen))
    yield Number(f"ratios up to {_MORE}", float(lasting), at_least=float(len(CASES)))
    yield Number("mends in all", float(mends), at_most=0.0)


def play(case: Case, n: int, middle: int) -> tuple[dict[int, float], int, float]:
    """Learn n rows in chunks; look at clean rows after `middle` rows, twice as many, and so on.

    Return the errors by the number of rows, the mended steps, and the seconds.
    """
    rng = np.random.default_rng(SEED)
    clean, truth, _ = rows_of(case, _CLEAN, rng, noise=False)
    kind = OnlineKernelRegressor if case.regression else OnlineKernelClassifier
    player = player_for(case.name, kind({"name": "adaptive", **case.parameters}, effort="fast"))
    looks = {middle << k for k in range(n.bit_length())} | {n}
    chunk = min(_CHUNK, middle)
    errors = {}
    for seen in range(chunk, n + 1, chunk):
        player.play(*rows_of(case, chunk, rng))
        if seen in looks:
            errors[seen] = error(case.regression, player.model.predict(clean), truth)
    return errors, player.model.n_mends_, player.clock.seconds


def draw(numbers: Sequence[Number]) -> Any:
    """Draw errors over the streams, in multiples of those in the middle."""
    figure, ((axes,),) = style.figure(9.6, 4.8)
    lines = ("-", "--", ":", "-.", (0, (1, 3)))
    for i, (name, at, values) in enumerate(curves(numbers, "rows")):
        look = {"color": style.CYCLE[i % 3], "linestyle": lines[i // 3], "linewidth": 1.5}
        axes.plot(at, values, **look, label=name)
    axes.set_xscale("log")
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(style.millions)
    style.finish(axes, "rows seen", "error over that in the middle")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


PART = Part(__doc__, measure, {"first_rows": 200_000, "rows": 100_000, "middle": 50_000}, draw)

"""What `forks compare` does: every method of the catalogue on one data set, over permutations.

Data, runs, table. A run is one method on one permutation, played in a process of its own pool,
every round counted, each score made before its label is used. Its time is the CPU time of the
engine, without compilation.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console

from forks.datasets import published_orders, read
from forks.estimators.first_rows import median_distance
from forks.evaluate import LearnerPlayer
from forks.experiments.record import grouped
from forks.experiments.report import Table, with_progress
from forks.files import write_atomically
from forks.kernels import Gaussian, check_kernel
from forks.learners.catalogue import CATALOGUE, Method, Setting, find

_SMALL = 10_000  # rows up to which the paper's budget is 50
_MEDIAN_ROWS = 500


@dataclass(frozen=True, kw_only=True)
class Run:
    """One method on one permutation, or the reason why there is no result."""

    method: str
    permutation: int
    mistakes: float = float("nan")  # share of all rounds
    rows_per_second: float = float("nan")
    stored_points: int = 0
    state_bytes: int = 0
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared."""

    data: str
    budget: int
    bandwidth: float
    n_rows: int
    n_permutations: int
    seed: int

    def setting(self) -> Setting:
        """Return what the methods have in common."""
        return Setting(Gaussian(self.bandwidth), self.budget, self.n_rows)


class _Data(NamedTuple):
    """What all runs play; joblib shares large arrays between processes."""

    X: Any
    y: Any
    orders: Any  # the published ones


def run_compare(
    data: str,
    *,
    methods: Sequence[str] = (),
    budget: int | None = None,
    bandwidth: float | None = None,
    n_permutations: int = 20,
    rows: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
) -> list[Run]:
    """Compare methods on a data set, and print the table; `forks compare` has the parameters.

    Where permutations are published, the first ones are those; the seed makes the others.
    """
    chosen = [find(name) for name in methods] if methods else list(CATALOGUE)
    X, y = read(data)
    if len(np.unique(y)) < 2:
        raise ValueError(f"{data}: labels must be of two classes or more, got one: {y[0]:g}")
    n_rows = min(len(y), rows or len(y))
    plan = Comparison(
        data=data,
        budget=budget or (50 if n_rows <= _SMALL else 100),
        bandwidth=_median_bandwidth(X, seed) if bandwidth is None else bandwidth,
        n_rows=n_rows,
        n_permutations=n_permutations,
        seed=seed,
    )
    check_kernel(plan.setting().kernel)
    console = Console(highlight=False) if console is None else console
    rows_and_orders = _Data(X, y, published_orders(data))
    runs = list(_runs(plan, rows_and_orders, chosen, jobs or os.cpu_count() or 1, console))
    _show(console, plan, chosen, runs, X.shape[1])
    if output is not None:
        ordered = [asdict(run) for run in sorted(runs, key=attrgetter("permutation"))]
        output.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**asdict(plan), "runs": ordered}, indent=1)
        write_atomically(output, (text + "\n").encode())
    return runs


def _median_bandwidth(X: Any, seed: int) -> float:
    n = X.shape[0]
    rows = np.random.default_rng(seed).choice(n, min(n, _MEDIAN_ROWS), replace=False)
    return median_distance(X[rows], "euclidean")


def _runs(
    plan: Comparison, data: _Data, methods: Sequence[Method], jobs: int, console: Console
) -> Iterator[Run]:
    """Play all runs, and yield them as they end, under a progress bar."""
    # One permutation of every method first: what one process compiles, the others load.
    tasks = [(m.name, i) for i in range(plan.n_permutations) for m in methods]
    pool = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered")
    runs = pool(delayed(_play)(plan, data, *task) for task in tasks)
    first = "compiling, if this is the first time"
    return with_progress(runs, len(tasks), console, lambda run: run.method, first)


def _play(plan: Comparison, data: _Data, name: str, permutation: int) -> Run:
    """Play one method on one permutation; a failure becomes its result."""
    if permutation < len(data.orders):
        order = data.orders[permutation]
    else:
        order = np.random.default_rng([plan.seed, permutation]).permutation(len(data.y))
    order = order[: plan.n_rows]
    # as an estimator with this random_state draws it
    seed = np.random.RandomState(plan.seed + permutation).randint(2**31 - 1)
    run = Run(method=name, permutation=permutation)
    try:
        learner = find(name).make(plan.setting())
        player = LearnerPlayer(name, learner, seed=seed, classes=np.unique(data.y))
        player.play(data.X[order], data.y[order])
    except Exception as error:
        return replace(run, failure=f"{type(error).__name__}: {error}")
    at = player.checkpoint()
    return replace(
        run,
        mistakes=at.mistake_rate,
        rows_per_second=at.rounds_per_second,
        stored_points=at.stored_points or 0,
        state_bytes=at.state_bytes or 0,
    )


def _show(
    console: Console,
    plan: Comparison,
    methods: Sequence[Method],
    runs: Sequence[Run],
    n_features: int,
) -> None:
    console.print(
        f"{plan.data}: {plan.n_rows:,} rows of {n_features:,} features, "
        f"{plan.n_permutations} permutation{'s' if plan.n_permutations > 1 else ''}; "
        f"budget {plan.budget}, Gaussian kernel of bandwidth {plan.bandwidth:.4g}; "
        "every round counted.",
        soft_wrap=True,
    )
    by_name = grouped(runs, attrgetter("method"))
    rows = [[method.name, *_cells(by_name[method.name])] for method in methods]
    console.print(Table(["", "mistakes", "rows/s", "points", "state"], rows))
    for failure in dict.fromkeys(f"{r.method}: {r.failure}" for r in runs if r.failure):
        console.print(failure, soft_wrap=True)


def _cells(runs: Sequence[Run]) -> list[str]:
    done = [run for run in runs if not run.failure]
    if not done:
        return ["failed", "", "", ""]
    mistakes = 100.0 * np.array([run.mistakes for run in done])
    rate = f"{mistakes.mean():.2f} ± {mistakes.std():.2f} %"
    return [
        rate if len(done) == len(runs) else f"{rate} ({len(done)} of {len(runs)} runs)",
        f"{np.median([run.rows_per_second for run in done]):,.0f}",
        f"{np.mean([run.stored_points for run in done]):,.0f}",
        _size(float(np.mean([run.state_bytes for run in done]))),
    ]


def _size(n_bytes: float) -> str:
    unit = 0
    while n_bytes >= 1000.0 and unit < 3:
        n_bytes, unit = n_bytes / 1000.0, unit + 1
    return f"{n_bytes:.3g} {('B', 'kB', 'MB', 'GB')[unit]}"

"""Runs of a comparison: one contestant on one order of the rows, played in a process of a pool."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console

from forks.experiments.compare.contestants import Contestant
from forks.experiments.compare.problem import Comparison, Problem
from forks.experiments.compare.scaling import scaled_online
from forks.experiments.report import with_progress


@dataclass(frozen=True, kw_only=True)
class Run:
    """One contestant on one order, or the reason why there is no result."""

    method: str
    permutation: int
    mistakes: float = float("nan")  # share of all rounds
    error: float = float("nan")  # root mean squared, of a regression
    rows_per_second: float = float("nan")
    stored_points: int | None = 0
    state_bytes: int | None = 0
    figures: dict[str, float] = field(default_factory=dict)
    failure: str = ""


def played(
    plan: Comparison,
    problem: Problem,
    contestants: Sequence[Contestant],
    jobs: int,
    console: Console,
) -> Iterator[Run]:
    """Play all runs, and yield them as they end, under a progress bar."""
    # One order of every contestant first: what one process compiles, the others load.
    tasks = [(c, i) for i in range(plan.n_permutations) for c in contestants]
    pool = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered")
    runs = pool(delayed(_play)(plan, problem, *task) for task in tasks)
    first = "compiling, if this is the first time"
    return with_progress(runs, len(tasks), console, lambda run: run.method, first)


def order_of(plan: Comparison, problem: Problem, permutation: int) -> Any:
    """Return the order of the rows: as they are, published, or drawn."""
    if plan.order == "file":
        return slice(plan.n_rows)
    if permutation < len(problem.orders):
        order = problem.orders[permutation]
    else:
        order = np.random.default_rng([plan.seed, permutation]).permutation(len(problem.y))
    return order[: plan.n_rows]


def _play(plan: Comparison, problem: Problem, contestant: Contestant, permutation: int) -> Run:
    """Play one contestant on one order; a failure becomes its result."""
    run = Run(method=contestant.name, permutation=permutation)
    try:
        order = order_of(plan, problem, permutation)
        X, y = problem.X[order], problem.y[order]
        X = scaled_online(X) if plan.scale else X
        player = contestant.player(plan, problem.classes, plan.seed + permutation)
        batch = plan.batch if contestant.batch else len(y)
        for start in range(0, len(y), batch):
            player.play(X[start : start + batch], y[start : start + batch])
    except Exception as error:
        return replace(run, failure=f"{type(error).__name__}: {error}")
    at = player.checkpoint()
    return replace(
        run,
        mistakes=at.mistake_rate,
        error=float(np.sqrt(at.squared_error)),
        rows_per_second=at.rounds_per_second,
        stored_points=at.stored_points,
        state_bytes=at.state_bytes,
        figures=dict(at.figures),
    )

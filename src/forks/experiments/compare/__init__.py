"""What `forks compare` does: methods of ours and others' on the same rows, side by side.

`problem` reads the data, `contestants` has who plays, `runs` plays (one contestant on one order of
the rows, in a process of its own pool), `table` prints. Every round is counted, each score made
before its label is used. Times are CPU times, without compilation.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from forks.estimators.first_rows import median_distance
from forks.experiments.compare.contestants import chosen
from forks.experiments.compare.problem import (
    CLASSIFICATION,
    Comparison,
    made_up_problem,
    read_problem,
)
from forks.experiments.compare.runs import Run, played
from forks.experiments.compare.scaling import scaled_at_once
from forks.experiments.compare.table import show
from forks.experiments.report import plain_console
from forks.files import write_atomically
from forks.kernels import Gaussian, check_kernel
from forks.streams import CHANGING

__all__ = ["Run", "run_compare"]

_SMALL = 10_000  # rows up to which the paper's budget is 50
_MEDIAN_ROWS = 500
_PERMUTATIONS = 20
_MADE_UP_ROWS = 30_000


def run_compare(
    data: str,
    *,
    methods: Sequence[str] = (),
    models: Sequence[str] = (),
    label: str | None = None,
    task: str | None = None,
    task_of: Callable[[np.ndarray], str] = lambda y: CLASSIFICATION,
    order: str | None = None,
    scale: bool = True,
    budget: int | None = None,
    bandwidth: float | None = None,
    n_permutations: int | None = None,
    rows: int | None = None,
    seed: int = 0,
    batch: int = 1,
    jobs: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
) -> list[Run]:
    """Compare methods on a data set, and print the table; `forks compare` has the parameters.

    `task_of` guesses the task by the labels, where neither the user nor the data set tells it.
    Where permutations are published, the first ones are those; the seed makes the others.
    """
    if data in CHANGING:
        problem = made_up_problem(data, rows or _MADE_UP_ROWS, seed)
    else:
        problem = read_problem(data, label, task, task_of)
    contestants = chosen(methods, models, problem.task)
    order = order or ("file" if problem.time_order else "shuffled")
    if order == "file" and n_permutations not in (None, 1):
        raise ValueError(f"--permutations is for --order shuffled, got {n_permutations}")
    n_rows = min(len(problem.y), rows or len(problem.y))
    plan = Comparison(
        data=data,
        task=problem.task,
        order=order,
        scale=scale,
        budget=budget or (50 if n_rows <= _SMALL else 100),
        bandwidth=_median_bandwidth(problem.X, scale, seed) if bandwidth is None else bandwidth,
        n_rows=n_rows,
        n_permutations=n_permutations or (1 if order == "file" else _PERMUTATIONS),
        seed=seed,
        batch=batch,
    )
    check_kernel(Gaussian(plan.bandwidth))
    console = plain_console() if console is None else console
    runs = list(played(plan, problem, contestants, jobs or os.cpu_count() or 1, console))
    show(console, plan, contestants, runs, problem.X.shape[1])
    if output is not None:
        _write(output, plan, runs)
    return runs


def _median_bandwidth(X: Any, scale: bool, seed: int) -> float:
    n = X.shape[0]
    rows = np.random.default_rng(seed).choice(n, min(n, _MEDIAN_ROWS), replace=False)
    return median_distance(scaled_at_once(X[rows]) if scale else X[rows], "euclidean")


def _write(output: Path, plan: Comparison, runs: Sequence[Run]) -> None:
    """Write the runs as JSON; a figure that there is none of is null."""
    ordered = [asdict(run) for run in sorted(runs, key=attrgetter("permutation"))]
    output.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_plain({**asdict(plan), "runs": ordered}), indent=1, allow_nan=False)
    write_atomically(output, (text + "\n").encode())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value

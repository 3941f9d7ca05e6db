"""The table of a comparison: a line for each contestant, and lines to beat."""

import math
from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from rich.console import Console

from forks.experiments.compare.contestants import Contestant
from forks.experiments.compare.problem import CLASSIFICATION, REGRESSION, Comparison
from forks.experiments.compare.runs import Run
from forks.experiments.record import grouped
from forks.experiments.report import Table
from forks.experiments.reproduce.paper import printed

_CLASSES = {"auc": "AUC", "log_loss": "log loss", "kappa_temporal": "kappa-temporal"}
_NUMBERS = {"mean_absolute_error": "mean error", "r2": "R2"}
_LAST = "last label"
# Lines to beat, and the figure of any run that has each.
_LINES = {
    CLASSIFICATION: {
        _LAST: "last_label_mistake_rate",
        "most frequent class": "majority_mistake_rate",
    },
    REGRESSION: {
        _LAST: "last_value_root_mean_squared_error",
        "mean label": "mean_value_root_mean_squared_error",
    },
}

_SOURCE = (
    "published: table 1 of the FORKS paper, in its own setting; mistakes of stage one are left out "
    "of those of NOGD, SkeGD and FORKS."
)


def show(
    console: Console,
    plan: Comparison,
    contestants: Sequence[Contestant],
    runs: Sequence[Run],
    n_features: int,
) -> None:
    """Print what was compared, and the table."""
    console.print(_opening(plan, contestants, n_features), soft_wrap=True)
    regression, by_name = plan.task == REGRESSION, grouped(runs, attrgetter("method"))
    names = dict(_NUMBERS if regression else _CLASSES)
    if plan.order != "file":
        names.pop("kappa_temporal", None)
    rows = [[c.name, *_cells(by_name[c.name], names, regression)] for c in contestants]
    rows += _lines_to_beat(plan, runs, len(names))
    error = "RMSE" if regression else "mistakes"
    header = ["", error, *names.values(), "rows/s", "points", "state"]
    published = [_published(plan, row[0]) for row in rows]
    if any(published):
        header.append("published")
        rows = [[*row, cell] for row, cell in zip(rows, published, strict=True)]
    console.print(Table(header, rows))
    if any(published):
        console.print(_SOURCE, soft_wrap=True)
    for failure in dict.fromkeys(f"{r.method}: {r.failure}" for r in runs if r.failure):
        console.print(failure, soft_wrap=True)


def _opening(plan: Comparison, contestants: Sequence[Contestant], n_features: int) -> str:
    several = f"{plan.n_permutations} permutation{'s' if plan.n_permutations > 1 else ''}"
    batch = f"{plan.batch:,} row{'s' if plan.batch > 1 else ''}"
    parts = [
        f"{plan.data}: {plan.task}, {plan.n_rows:,} rows of {n_features:,} features, "
        + ("in the order of the file" if plan.order == "file" else several),
        "features scaled online for all methods" if plan.scale else "features as they are",
        f"budget {plan.budget}, Gaussian kernel of bandwidth {plan.bandwidth:.4g}",
        "every round counted",
    ]
    if any(contestant.batch for contestant in contestants):
        parts.insert(3, f"models of scikit-learn predict {batch}, then learn")
    return "; ".join(parts) + "."


def _cells(runs: Sequence[Run], names: dict[str, str], regression: bool) -> list[str]:
    done = [run for run in runs if not run.failure]
    if not done:
        return ["failed", *[""] * (len(names) + 3)]
    errors = np.array([run.error if regression else run.mistakes for run in done])
    text = _with_deviation(errors, regression)
    sizes = [run.state_bytes for run in done if run.state_bytes is not None]
    points = [run.stored_points for run in done if run.stored_points is not None]
    return [
        text if len(done) == len(runs) else f"{text} ({len(done)} of {len(runs)} runs)",
        *(_mean_of(done, name, ".4g" if regression else ".4f") for name in names),
        f"{np.median([run.rows_per_second for run in done]):,.0f}",
        f"{np.mean(points):,.0f}" if points else "",
        _size(float(np.mean(sizes))) if sizes else "",
    ]


def _published(plan: Comparison, name: str) -> str:
    """Return what the FORKS paper prints for a method in random orders of a data set."""
    cell = printed(name.removesuffix(" as published"), plan.data)
    if cell is None or plan.order == "file" or name == "FORKS":
        return ""
    return f"{cell.rate:.2f} ± {cell.deviation:.2f} %"


def _with_deviation(errors: np.ndarray, regression: bool) -> str:
    form, unit = (".4g", "") if regression else (".2f", " %")
    errors = errors if regression else 100.0 * errors
    deviation = f" ± {errors.std():{form}}" if len(errors) > 1 else ""
    return f"{errors.mean():{form}}{deviation}{unit}"


def _mean_of(runs: Sequence[Run], name: str, form: str) -> str:
    values = [value for run in runs if math.isfinite(value := run.figures.get(name, math.nan))]
    return format(float(np.mean(values)), form) if values else ""


def _lines_to_beat(plan: Comparison, runs: Sequence[Run], n_more: int) -> list[list[str]]:
    """Return the lines that the labels alone make; the last label is one in file order only."""
    done = next((run for run in runs if not run.failure), None)
    rows = []
    for title, name in _LINES[plan.task].items():
        if done is not None and (title != _LAST or plan.order == "file"):
            error = _with_deviation(np.array([done.figures[name]]), plan.task == REGRESSION)
            rows.append([f"({title})", error, *[""] * (n_more + 3)])
    return rows


def _size(n_bytes: float) -> str:
    unit = 0
    while n_bytes >= 1000.0 and unit < 3:
        n_bytes, unit = n_bytes / 1000.0, unit + 1
    return f"{n_bytes:.3g} {('B', 'kB', 'MB', 'GB')[unit]}"

"""KuaiRec.

The small matrix in the order of time: 212 features, watched beyond 0.75 of the video or not,
bandwidth 25. Seconds are CPU time of learning on one core; reading is apart.
"""

from collections.abc import Iterator, Sequence

from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.large import draw, large_csv, large_runs, tables
from forks.experiments.reproduce.runs import Run


def plan(budgets: Sequence[int] = range(100, 501, 50), rows: int = 0) -> Iterator[Run]:
    """The paper's large stream (its figures of mistakes over time, and over budgets)."""
    return large_runs("kuairec", "kuairec", budgets, 25.0, rows)


CHAPTER = Chapter(
    __doc__, plan, tables, quick={"budgets": (100, 500), "rows": 100_000}, draw=draw, csv=large_csv
)

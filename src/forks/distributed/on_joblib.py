"""Tasks on the cores of this machine, by joblib."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forks.distributed.executors import Task, until_done
from forks.engine.checks import whole


class JoblibExecutor:
    """Processes of this machine, or what ``joblib.parallel_config`` says.

    Parameters
    ----------
    n_jobs : int
        How many; -1 for all cores. With 1 everything is done in this process.
    tries : int
        How often a task is done at most if its worker dies.
    """

    def __init__(self, n_jobs: int = -1, tries: int = 3) -> None:
        if n_jobs != -1:
            whole("n_jobs", n_jobs, 1)
        self.n_jobs, self.tries = n_jobs, whole("tries", tries, 1)

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time."""
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task: see `Executor`."""
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            jobs = (delayed(_numbered)(i, function, tasks[i]) for i in left)
            try:
                yield from Parallel(self.n_jobs, return_as="generator_unordered")(jobs)
            except BrokenProcessPool:  # the operating system has ended a worker
                return

        return until_done(self.tries, len(tasks), attempt)


def _numbered(i: int, function: Callable[..., Any], task: Task) -> tuple[int, Any]:
    return i, function(*task)

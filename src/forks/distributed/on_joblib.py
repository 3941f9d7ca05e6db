"""Tasks on the cores of this machine, by joblib."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forks.distributed.executors import Task, until_done
from forks.engine.checks import whole


class JoblibExecutor:
    """Processes or threads of this machine, or what ``joblib.parallel_config`` says.

    Parameters
    ----------
    n_jobs : int
        How many; -1 for all cores. With 1 everything is done in this process.
    tries : int
        How often a task is done at most if its worker dies.
    threads : bool
        Whether they are threads of this process: nothing has to be started or sent then. Compiled
        code runs on all cores, the rest of Python on one at a time.
    """

    def __init__(self, n_jobs: int = -1, tries: int = 3, threads: bool = False) -> None:
        if n_jobs != -1:
            whole("n_jobs", n_jobs, 1)
        self.n_jobs, self.tries = n_jobs, whole("tries", tries, 1)
        self.threads = threads

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
            prefer = "threads" if self.threads else "processes"
            parallel = Parallel(self.n_jobs, prefer=prefer, return_as="generator_unordered")
            try:
                yield from parallel(jobs)
            except BrokenProcessPool:  # the operating system has ended a worker
                return

        return until_done(self.tries, len(tasks), attempt)


def _numbered(i: int, function: Callable[..., Any], task: Task) -> tuple[int, Any]:
    return i, function(*task)

"""Tasks on a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forks.distributed.executors import Task, until_done
from forks.engine.checks import whole


class DaskExecutor:
    """Workers of a Dask cluster, which need this package and its versions of NumPy and numba.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    tries : int
        How often a task is done at most if its worker dies, beyond what Dask does by itself.
    """

    def __init__(self, client: Any, tries: int = 3) -> None:
        self.client, self.tries = client, whole("tries", tries, 1)

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time: threads of all workers."""
        return max(1, sum(self.client.nthreads().values()))

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task: see `Executor`."""
        from distributed import KilledWorker, wait
        from distributed.client import FutureCancelledError

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            futures = [self.client.submit(function, *tasks[i], pure=False) for i in left]
            try:
                wait(futures)
                for i, future in zip(left, futures, strict=True):
                    try:
                        yield i, future.result()
                    except (KilledWorker, FutureCancelledError):
                        continue
            finally:  # also after an error or an interrupt
                self.client.cancel(futures)

        return until_done(self.tries, len(tasks), attempt)

"""Tasks on a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forks.distributed.executors import Task, until_done
from forks.engine.checks import whole


class RayExecutor:
    """Workers of a Ray cluster, which need this package and its versions of NumPy and numba.

    Ray is started on this machine if the program has not connected to a cluster by ``ray.init``.

    Parameters
    ----------
    tries : int
        How often a task is done at most if its worker dies.
    """

    def __init__(self, tries: int = 3) -> None:
        self.tries = whole("tries", tries, 1)

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time: CPUs of the cluster."""
        return max(1, int(connected().cluster_resources().get("CPU", 1)))

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task: see `Executor`."""
        ray = connected()
        # What is lost is done again here, so that tries are counted once.
        remote = ray.remote(max_retries=0)(function)
        lost = losses_of(ray)

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            # After an error the others end by themselves: Ray may abort if tasks are cancelled.
            references = [remote.remote(*tasks[i]) for i in left]
            for i, reference in zip(left, references, strict=True):
                try:
                    yield i, ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None  # an error of the function
                except lost:
                    continue

        return until_done(self.tries, len(tasks), attempt)


def losses_of(ray: Any) -> tuple[type[Exception], ...]:
    """Return the errors which say that a worker has died, and not what it was doing was wrong."""
    names = "RayActorError", "WorkerCrashedError", "NodeDiedError", "ObjectLostError"
    return tuple(getattr(ray.exceptions, name) for name in (*names, "OutOfMemoryError"))


def connected() -> Any:
    """Return the package, connected to a cluster; Ray is started here if there is none."""
    import ray

    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    return ray

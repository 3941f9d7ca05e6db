"""What runs tasks on workers: the protocol, and what adapters share."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

Task = tuple[Any, ...]  # arguments of a function


class WorkerLostError(RuntimeError):
    """Workers have died again and again while they did the same tasks."""


@runtime_checkable
class Executor(Protocol):
    """Something that calls a function with many sets of arguments, on workers."""

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time."""

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task, in their order.

        A task whose worker has died is done again. What counts is the one result of each task that
        is returned: functions change nothing outside. An error of the function is raised here.
        """


def until_done(
    tries: int, n: int, attempt: Callable[[list[int]], Iterator[tuple[int, Any]]]
) -> list[Any]:
    """Return the results of n tasks, trying again those that were lost.

    `attempt` is given the numbers of tasks and yields numbers with results, as many as it gets
    before workers die. The last try may lose none.
    """
    done: dict[int, Any] = {}
    for _ in range(tries):
        left = [i for i in range(n) if i not in done]
        if not left:
            break
        done.update(attempt(left))
    if len(done) < n:
        raise WorkerLostError(
            f"{n - len(done)} of {n} tasks were lost {tries} times, because workers have died: is "
            "there enough memory?"
        )
    return [done[i] for i in range(n)]

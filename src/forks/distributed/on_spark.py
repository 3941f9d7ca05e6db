"""Tasks on a Spark cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forks.distributed.executors import Task, until_done
from forks.engine.checks import whole

# What Spark says of a task whose Python process, or whose machine, has died.
_LOST = ("Python worker exited unexpectedly", "Python worker crashed", "ExecutorLostFailure")


class SparkExecutor:
    """Python workers of Spark, which need this package and its versions of NumPy and numba.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session; not one of Spark Connect, which has no context.
    tries : int
        How often a task is done at most if its worker dies, beyond what Spark does by itself.
    """

    def __init__(self, spark: Any, tries: int = 3) -> None:
        self.spark, self.tries = spark, whole("tries", tries, 1)

    @property
    def workers(self) -> int:
        """How many tasks can be done at a time, as Spark knows it."""
        return max(1, int(self.spark.sparkContext.defaultParallelism))

    def run(self, function: Callable[..., Any], tasks: Sequence[Task]) -> list[Any]:
        """Return what the function returns for each task: see `Executor`."""
        from pyspark.cloudpickle import dumps

        context = self.spark.sparkContext

        def attempt(left: list[int]) -> Iterator[tuple[int, Any]]:
            packed = [dumps((i, function, tasks[i])) for i in left]
            job = context.parallelize(packed, len(packed)).map(_done)
            return results_of(job.collect)

        return until_done(self.tries, len(tasks), attempt)


def _done(packed: bytes) -> bytes:
    from pyspark.cloudpickle import loads

    return done(*loads(packed))


def done(i: int, function: Callable[..., Any], task: Task) -> bytes:
    """Return the number of a task and what its function has returned or raised, on a worker."""
    from pyspark.cloudpickle import dumps

    try:
        return bytes(dumps((i, function(*task), None)))
    except Exception as error:
        return bytes(dumps((i, None, error)))


def results_of(collect: Callable[[], Any]) -> Iterator[tuple[int, Any]]:
    """Yield numbers and results that a job collects; none if workers have died."""
    from py4j.protocol import Py4JJavaError
    from pyspark.cloudpickle import loads
    from pyspark.errors import PySparkException

    try:
        collected = collect()
    except (Py4JJavaError, PySparkException) as error:
        if any(words in str(error) for words in _LOST):
            return
        raise
    for packed in collected:
        i, result, fault = loads(packed)
        if fault is not None:
            raise fault
        yield i, result

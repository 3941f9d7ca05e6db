"""One model from many cores and machines: forks learn partitions apart, and are merged.

`learn` is the door. What runs on workers is handed to an `Executor`: `JoblibExecutor`, the default,
for the cores of this machine, `DaskExecutor`, `RayExecutor` and `SparkExecutor` for clusters, or an
object with its two members.
"""

from forks.distributed.executors import Executor, WorkerLostError
from forks.distributed.learning import learn, prequential
from forks.distributed.on_dask import DaskExecutor
from forks.distributed.on_joblib import JoblibExecutor
from forks.distributed.on_ray import RayExecutor
from forks.distributed.on_spark import SparkExecutor

__all__ = [
    "DaskExecutor",
    "Executor",
    "JoblibExecutor",
    "RayExecutor",
    "SparkExecutor",
    "WorkerLostError",
    "learn",
    "prequential",
]

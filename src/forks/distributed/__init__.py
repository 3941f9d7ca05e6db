"""One model from many cores and machines: forks learn partitions apart, and are merged.

`learn` is the door. What runs on workers is handed to an `Executor`: `JoblibExecutor`, the default,
for the cores of this machine, `DaskExecutor` and `RayExecutor` for a cluster of Dask or Ray, or an
object with its two members.
"""

from forks.distributed.executors import Executor, WorkerLostError
from forks.distributed.learning import learn
from forks.distributed.on_dask import DaskExecutor
from forks.distributed.on_joblib import JoblibExecutor
from forks.distributed.on_ray import RayExecutor

__all__ = [
    "DaskExecutor",
    "Executor",
    "JoblibExecutor",
    "RayExecutor",
    "WorkerLostError",
    "learn",
]

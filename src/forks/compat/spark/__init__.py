"""Spark: one model per key in a stream, one model from a DataFrame, and models that score.

Spark is an extra, ``pip install 'forks-learn[spark]'``, and needs Java 17 or later. Python workers
need this package, too.
"""

from forks.compat.spark.frames import learn_frame
from forks.compat.spark.keyed import STATE_STORE, keyed_model, learn_keyed
from forks.compat.spark.scoring import predict_udf

__all__ = ["STATE_STORE", "keyed_model", "learn_frame", "learn_keyed", "predict_udf"]

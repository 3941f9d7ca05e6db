"""A saved model as a function of columns."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forks.compat.spark._columns import rows_of
from forks.estimators.base import OnlineEstimator
from forks.estimators.saving import as_bytes, from_bytes
from forks.keyed.encoded import encoder_beside

_TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double"}


def predict_udf(model: Any, proba: Any = None) -> Any:
    """Return a pandas UDF that predicts rows with a model: ``udf(struct("a", "b"))``.

    Parameters
    ----------
    model : path or estimator
        A file of `save` or of ``forks run --save``, or a model that has learned. Files of tables
        encode their columns by name; others take the columns of the struct in their order, or one
        column of arrays in it.
    proba : label, optional
        Return the probability of this class. Without it, labels or numbers are returned.

    Returns
    -------
    udf : function
        Of one column, a struct.
    """
    from pyspark.sql.functions import pandas_udf

    data = as_bytes(model) if isinstance(model, OnlineEstimator) else Path(model).read_bytes()
    name = type(model).__name__ if isinstance(model, OnlineEstimator) else str(model)
    known = from_bytes(name, data).model
    if not hasattr(known, "engine_"):
        raise ValueError(f"model: {name} has learned nothing")
    if proba is not None and proba not in getattr(known, "classes_", np.empty(0)).tolist():
        raise ValueError(f"proba: the model has no class {proba!r}")
    kind = "double"
    if proba is None and hasattr(known, "classes_"):
        kind = _TYPES.get(known.classes_.dtype.kind, "string")

    def predict(tables: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        score = _scorer(name, data)
        for table in tables:
            yield pd.Series(score(table, proba))

    return pandas_udf(predict, returnType=kind)


@lru_cache(maxsize=4)
def _scorer(name: str, data: bytes) -> Any:
    """Return the function that scores tables; a worker makes it once."""
    saved = from_bytes(name, data)
    model, encoder = saved.model, encoder_beside(saved)

    def score(table: Any, proba: Any) -> Any:
        X = rows_of(table, list(table)) if encoder is None else encoder.transform(table)
        if proba is None:
            return model.predict(X)
        return model.predict_proba(X)[:, model.classes_.tolist().index(proba)]

    return score

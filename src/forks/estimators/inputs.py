"""Users' rows and weights as compiled code takes them: checked, float64, in C order or CSR."""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import validate_data

from forks.engine import Vector
from forks.estimators.labels import check_present

FORM = {
    "dtype": np.float64,
    "order": "C",
    "force_writeable": True,
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "ensure_all_finite": False,  # that is looked at by `finite_or_missing`
}

_HELP = "forks.features.TableEncoder makes numbers of such tables, in a pipeline say"


def is_empty(part: Any) -> bool:
    """Return whether rows or labels have a length, and that is 0."""
    shape = getattr(part, "shape", None)
    return shape[0] == 0 if shape else isinstance(part, list | tuple) and len(part) == 0


def checked_rows(estimator: Any, X: Any) -> Any:
    """Check rows for an estimator that has learned some already."""
    if not is_plain(estimator, X):
        with _text_named(X):
            X = validate_data(estimator, X, reset=False, **FORM)
    return finite_or_missing(estimator, X)


def is_plain(estimator: Any, X: Any) -> bool:
    """Return whether `validate_data` would return the rows as they are; not for a first call.

    Asking it takes longer than learning a thousand rows.
    """
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[1] == estimator.n_features_in_
        and X.shape[0] > 0
        and X.flags.c_contiguous
        and X.flags.writeable
        and not hasattr(estimator, "feature_names_in_")
    )


def checked_examples(estimator: Any, X: Any, y: Any, numeric: bool, first: bool) -> tuple[Any, Any]:
    """Check rows and their labels, or targets if they are `numeric`."""
    if first or not (is_plain(estimator, X) and _are_plain(y, X.shape[0], numeric)):
        if numeric and isinstance(y, np.ndarray) and y.dtype == object and None in y.tolist():
            raise ValueError("Input y contains None: a row without a target cannot be learned")
        if not numeric and getattr(getattr(y, "dtype", None), "kind", "") == "O":
            check_present(y)
        several = numeric and np.asarray(y).ndim == 2
        kind = {"y_numeric": numeric, "multi_output": several}
        with _text_named(X):
            X, y = validate_data(estimator, X, y, reset=first, **kind, **FORM)
    return finite_or_missing(estimator, X), y


@contextmanager
def _text_named(X: Any) -> Iterator[None]:
    """Context in which errors about text or times in a frame name the column, and what helps."""
    try:
        yield
    except ValueError as error:
        name = _text_column(X) if str(error).startswith("could not convert") else None
        if name is None:
            raise
        raise ValueError(f"X has text in column {name!r} ({error}); {_HELP}") from None
    except TypeError:
        name = _time_column(X)
        if name is None:
            raise
        raise ValueError(f"X has times in column {name!r}; {_HELP}") from None


def _text_column(X: Any) -> Any:
    """Return the name of the first column of a data frame that is not of numbers, or None."""
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name], dtype=np.float64)
        except (ValueError, TypeError):
            return name
    return None


def _time_column(X: Any) -> Any:
    """Return the name of the first column of a data frame that has dates or times, or None."""
    for name in getattr(X, "columns", ()):
        if getattr(getattr(X[name], "dtype", None), "kind", "") in ("M", "m"):
            return name
    return None


def _are_plain(y: Any, n: int, numeric: bool) -> bool:
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    if y.dtype.kind == "f":
        return bool(np.isfinite(y).all())
    return y.dtype.kind in "iu" if numeric else y.dtype.kind in "biuU"


def checked_weights(sample_weight: Any, n_rows: int) -> Vector:
    """Check weights, one per row or one for all: finite and not negative."""
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        allow_nd=True,
        dtype=np.float64,
        input_name="sample_weight",
        copy=True,
    )
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.shape}")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape is {weights.shape}, expected {(n_rows,)}")
    if np.any(weights < 0):
        raise ValueError(f"Negative values in sample_weight: {weights.min()}")
    return np.ascontiguousarray(weights)


def finite_or_missing(estimator: Any, X: Any) -> Any:
    """Return rows without infinite numbers, in their canonical form.

    Numbers may be missing (NaN) in dense rows; in sparse ones these are zeros from here on.
    """
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that overflows: a closer look
        plain = np.isfinite(np.add.reduce(values, axis=None))
    if not plain:
        name = type(estimator).__name__
        assert_all_finite(values, allow_nan=True, estimator_name=name, input_name="X")
        if sparse.issparse(X):
            X = X.copy()
            X.data[np.isnan(X.data)] = 0.0
            X.eliminate_zeros()
    return _canonical(X)


def _canonical(X: Any) -> Any:
    """Return CSR with sorted column numbers, each once; the caller's matrix is left alone."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError("X has entries given twice whose sum is infinity or NaN")
    return X


def part_of(X: Any, rows: slice) -> Any:
    """Return some rows; all without a copy."""
    return X if rows.stop - rows.start == X.shape[0] else X[rows]

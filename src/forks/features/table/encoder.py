"""The transformer that turns tables into rows of numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from forks.engine.checks import one_of, whole
from forks.features.table.cells import is_missing
from forks.features.table.columns import Columns, columns_of
from forks.features.table.dates import ORDERS
from forks.features.table.kinds import TOLD, Column, find_kind, told_kind
from forks.features.table.layout import Layout
from forks.features.table.state import layout_from_state, layout_to_state

_LOOK = 10_000  # rows of the first call that are looked at
_CLASSES = 32  # distinct numbers that still are classes, if the task is not told


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encodes tables of numbers, categories, times and text, and learns how as rows come.

    The first call looks at its first 10,000 rows to find what each column holds (`look` does
    nothing else); from then on the features are the same. Everything else is learned row by row.

    ==============  ===============================================================================
    kind            features
    ==============  ===============================================================================
    number          The number; the mean of those before it where it is missing. Columns with gaps
                    in the first rows get an indicator each, others share one if there are any.
    category        Of few values (32, or 128 if all of the table are below 256): an indicator
                    each, with room for values to come. Of more: the logarithm of how often the
                    value came, and the mean of its targets: the numbers of a regression, or
                    indicators of classes (of the second of two, or of each of up to sixteen).
                    Missing is a value.
    time            Points on circles for the hour (unless all are at midnight), the day of the week
                    and the day of the year, which step at midnight, and the years since the first
                    row.
    text            Words, hashed into 2^`hash_bits` columns.
    constant        As a number, or a category: it may change.
    identifier      Left out.
    ==============  ===============================================================================

    Memory is bounded. A category of few values keeps its indicators only; one of many keeps at
    most four times as many values as there were in the first rows (between 1,024 and 65,536), and
    forgets those that have not come for longest.

    Parameters
    ----------
    kinds : dict, optional
        Kinds of columns by their names, for those that are not to be found: "number", "category",
        "time", "text", "constant", "identifier", or "dropped". "day-first" and "month-first" are
        times that are written as 31.12.2024 or 12/31/2024; without it a part above 12 tells, and
        where there is none, the day is taken to be first.
    hash_bits : int
        Words of a text are hashed into two to the power of this many columns.
    task : {"classification", "regression"}, optional
        What the labels are. By default found from the first ones: text and at most 32 different
        numbers are classes.

    Attributes
    ----------
    columns_ : list of Column
        Name and kind of each column, and what of the first rows speaks for it.
    task_ : str
        The task.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    `learn_transform` encodes each row by what was known before it: its own label is never in its
    features. `fit_transform` does the same with a new encoder; `fit(X, y).transform(X)` does not.
    Rows whose label is missing (None or NaN) are learned but for their label.

    Rows of more than 1,024 features are sparse if the table has text, or if at most a tenth of the
    numbers in the first rows are not 0.

    Examples
    --------
    >>> from forks.features import TableEncoder
    >>> encoder = TableEncoder()
    >>> table = {"city": ["Oslo", "Rome", "Oslo"], "age": [31.0, None, 50.0]}
    >>> encoder.learn_transform(table, [0, 1, 1])[:, -3:]
    array([[31.,  0.,  0.],
           [31.,  1.,  0.],
           [50.,  0.,  0.]])
    >>> [(column.name, column.kind) for column in encoder.columns_]
    [('city', 'category'), ('age', 'number')]
    """

    def __init__(
        self, kinds: Mapping[str, str] | None = None, hash_bits: int = 8, task: str | None = None
    ) -> None:
        self.kinds = kinds
        self.hash_bits = hash_bits
        self.task = task

    # ---- learning ----------------------------------------------------------------------------

    def look(self, X: Any, y: Any = None) -> "TableEncoder":
        """Find the kinds of columns, and so the features, from the first rows; learn nothing else.

        Parameters
        ----------
        X : data frame, mapping of columns, list of mappings, or matrix
            The first rows. At most 10,000 are looked at.
        y : array of shape (n_rows,), optional
            Their labels.

        Returns
        -------
        self
        """
        table = columns_of(X)
        self._take(self._found(table, _labels(y, _length(table))))
        return self

    def _found(self, table: Columns, y: Any) -> Layout:
        """Return the layout that the first rows call for."""
        told = self._check_parameters(table)
        head = {name: cells[:_LOOK] for name, cells in table.items()}
        labels = None if y is None else y[:_LOOK]
        columns = [
            told_kind(name, told[name], cells) if name in told else find_kind(name, cells)
            for name, cells in head.items()
        ]
        task = self.task or _task_of(labels)
        orders = {name: kind for name, kind in told.items() if kind in ORDERS}
        return Layout.of_first(columns, head, labels, task, self.hash_bits, orders)

    def _take(self, layout: Layout) -> None:
        names = np.array([column.name for column in layout.columns], dtype=object)
        self.__dict__.update(  # in one step
            _layout=layout, n_features_in_=len(names), feature_names_in_=names
        )

    def _check_parameters(self, table: Columns) -> dict[str, str]:
        whole("hash_bits", self.hash_bits, 1, 24)
        if self.task is not None:
            one_of("task", self.task, ("classification", "regression"))
        if _length(table) == 0 or not table:
            raise ValueError(
                f"X has {_length(table)} rows and {len(table)} columns, needs at least one"
            )
        told = dict(self.kinds or {})
        for name, kind in told.items():
            one_of(f"the kind of {name!r}", kind, TOLD)
            if name not in table:
                raise ValueError(
                    f"kinds has {name!r}, but X has no such column: {', '.join(table)}"
                )
        return told

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Forget everything, then learn the rows in their order.

        Parameters
        ----------
        X : data frame, mapping of columns, list of mappings, or matrix
            The rows. A matrix has columns called x0, x1, ...
        y : array of shape (n_rows,), optional
            Labels, or numbers in a regression; None or NaN for rows without one.

        Returns
        -------
        self
        """
        self._learn(X, y, True)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn the next rows.

        Parameters
        ----------
        X, y
            As for `fit`. Columns are found by their names; there may be more than in the first
            call, but none may be absent.

        Returns
        -------
        self
        """
        self._learn(X, y, False)
        return self

    def learn_transform(self, X: Any, y: Any = None) -> Any:
        """Encode each row by what was known before it, then learn it; may be called again.

        After the first call the answers do not depend on how the stream was cut into chunks.

        Parameters
        ----------
        X, y
            As for `partial_fit`.

        Returns
        -------
        rows : array of shape (n_rows, n_features_out), or CSR array (see Notes)
        """
        return self._learn(X, y, False)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Forget everything, then encode and learn rows as `learn_transform` does.

        Parameters
        ----------
        X, y
            As for `fit`.
        **fit_params
            Nothing.

        Returns
        -------
        rows : array of shape (n_rows, n_features_out), or CSR array (see Notes)
        """
        del fit_params
        return self._learn(X, y, True)

    def _learn(self, X: Any, y: Any, first: bool) -> Any:
        first = first or not hasattr(self, "_layout")
        table = columns_of(X) if first else self._columns(X)
        labels = _labels(y, _length(table))
        layout = self._found(table, labels) if first else self._layout
        read = layout.read(table, labels)  # all that can fail, before anything is learned
        if first:
            self._take(layout)
        return layout.rows(read, True)

    # ---- encoding ----------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Encode rows by all that has been learned so far; learns nothing.

        Parameters
        ----------
        X : data frame, mapping of columns, list of mappings, or matrix
            The rows, with all columns of the first call.

        Returns
        -------
        rows : array of shape (n_rows, n_features_out), or CSR array (see Notes)
        """
        check_is_fitted(self, "_layout")
        table = self._columns(X)
        return self._layout.rows(self._layout.read(table, None), False)

    def _columns(self, X: Any) -> Columns:
        """Return the columns that are encoded."""
        width = getattr(X, "shape", (0, 0))[1:]
        if isinstance(X, np.ndarray) and width and width != (self.n_features_in_,):
            raise ValueError(
                f"X has {width[0]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return columns_of(X, self._layout.wanted)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self, "_layout")
        return np.array(self._layout.names, dtype=object)

    @property
    def columns_(self) -> list[Column]:
        """The columns, and what they were taken for."""
        check_is_fitted(self, "_layout")
        return self._layout.columns

    def learned(self, name: str) -> dict[str, Any]:
        """Return what is known of the cells of a column, as JSON.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        known : dict
            Of numbers "least", "largest" and "mean"; of times the "first" and the "last"; of a
            category its "values", or of many how many are kept, "kept_values". Of others nothing.
        """
        check_is_fitted(self, "_layout")
        return self._layout.learned(name)

    @property
    def task_(self) -> str:
        """The task."""
        check_is_fitted(self, "_layout")
        return self._layout.targets.task

    # ---- as JSON and arrays ------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return parameters and all that was learned, as JSON and arrays, for `from_state`."""
        check_is_fitted(self, "_layout")
        parameters = {"hash_bits": int(self.hash_bits), "task": self.task}
        told = None if self.kinds is None else dict(self.kinds)
        known, arrays = layout_to_state(self._layout)
        return {"kinds": told, **parameters, "layout": known}, arrays

    @classmethod
    def from_state(cls, known: Any, arrays: Mapping[str, np.ndarray]) -> "TableEncoder":
        """Return the encoder that `to_state` was called of; it goes on bit for bit.

        Raises
        ------
        ValueError
            If they are not what `to_state` returned.
        """
        if not isinstance(known, dict) or known.keys() != {"kinds", "hash_bits", "task", "layout"}:
            raise ValueError("the description of the encoder is wrong")
        made = cls(known["kinds"], known["hash_bits"], known["task"])
        made._take(layout_from_state(known["layout"], dict(arrays)))
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _length(table: Columns) -> int:
    return len(next(iter(table.values()))) if table else 0


def _labels(y: Any, n_rows: int) -> np.ndarray | None:
    if y is None:
        return None
    if hasattr(y, "to_numpy"):
        labels = y.to_numpy()
    elif hasattr(y, "__array__"):
        labels = np.asarray(y)
    else:
        labels = np.empty(len(y), dtype=object)
        labels[:] = y
    if labels.shape == (n_rows, 1):
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one label for each of {n_rows} rows, got {labels.shape}")
    return labels


def _task_of(y: np.ndarray | None) -> str:
    """Return the task that labels speak for."""
    if y is None:
        return "classification"
    present = [label for label in y.tolist() if not is_missing(label)]
    try:
        numbers = {float(label) for label in present}
    except (ValueError, TypeError):
        return "classification"
    return "regression" if len(numbers) > _CLASSES else "classification"

"""Bodies of requests: JSON, JSON lines, or Arrow IPC streams, as rows, labels and ids."""

import io
import math
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from forks.serve.tables import Batch

Cell = str | float | int | bool | None
LABEL, WEIGHT, ID = "label", "weight", "id"  # columns of Arrow batches that are no features


class Form(IntEnum):
    """Forms of a body."""

    JSON = 1
    LINES = 2  # one JSON object a line: {"row": {...}, "label": ..., "weight": ..., "id": ...}
    ARROW = 3  # columns, with those called label, weight and id


MEDIA_TYPES = {
    "application/json": Form.JSON,
    "application/x-ndjson": Form.LINES,
    "application/jsonl": Form.LINES,
    "application/vnd.apache.arrow.stream": Form.ARROW,
}


class BodyError(ValueError):
    """A body that cannot be read; `place` is the field or row at fault, as a JSON path."""

    def __init__(self, detail: str, place: str = "$") -> None:
        super().__init__(detail)
        self.detail, self.place = detail, place


class Asked(NamedTuple):
    """Rows to predict, and ids for those whose labels will come."""

    batch: Batch
    ids: list[str] | None


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    rows: list[dict[str, Cell]] | None = None
    columns: dict[str, list[Cell]] | None = None

    def batch(self, labels: list[Any], weights: list[float] | None) -> Batch:
        if (self.rows is None) == (self.columns is None):
            raise BodyError("there must be either rows or columns")
        try:
            if self.rows is not None:
                return Batch.of_rows(self.rows, labels, weights)
            return Batch.of_columns(self.columns or {}, labels, weights)
        except ValueError as error:
            raise BodyError(str(error), "$.columns") from None


class _Ask(_Table, kw_only=True):
    ids: list[str] | None = None


class _Learn(_Table, kw_only=True):
    labels: list[Cell]
    weights: list[float] | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    row: dict[str, Cell]
    label: Cell = None
    weight: float | None = None
    id: str | None = None


class LateLabel(msgspec.Struct, forbid_unknown_fields=True):
    """The label of a row that was predicted under an id."""

    id: str
    label: Cell


class _Feedback(msgspec.Struct, forbid_unknown_fields=True):
    items: list[LateLabel]


_ASK, _LEARN = msgspec.json.Decoder(_Ask), msgspec.json.Decoder(_Learn)
_LINE, _ITEM = msgspec.json.Decoder(_Line), msgspec.json.Decoder(LateLabel)
_FEEDBACK = msgspec.json.Decoder(_Feedback)


def _decoded(decoder: Any, body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        text, _, place = str(error).partition(" - at `")
        raise BodyError(text, place.rstrip("`") or "$") from None
    except (RecursionError, UnicodeDecodeError):
        raise BodyError("the body is not JSON of this shape") from None


def read_learn(form: Form, body: bytes) -> Batch:
    """Read rows with labels."""
    if form is Form.JSON:
        told = _decoded(_LEARN, body)
        batch: Batch = told.batch(told.labels, told.weights)
    elif form is Form.LINES:
        lines = _lines(body)
        weights = [1.0 if line.weight is None else line.weight for line in lines]
        batch = Batch.of_rows([line.row for line in lines], [line.label for line in lines], weights)
    else:
        columns = _arrow(body)
        labels = columns.pop(LABEL, None)
        if labels is None:
            raise BodyError(f"there is no column {LABEL!r}")
        columns.pop(ID, None)
        batch = Batch.of_columns(columns, labels, columns.pop(WEIGHT, None))
    check_learnable(batch)
    return batch


def read_ask(form: Form, body: bytes) -> Asked:
    """Read rows to predict."""
    ids: Any
    if form is Form.JSON:
        told = _decoded(_ASK, body)
        batch, ids = told.batch([], None), told.ids
    elif form is Form.LINES:
        lines = _lines(body)
        batch = Batch.of_rows([line.row for line in lines], [], None)
        some = [line.id for line in lines]
        ids = None if all(id is None for id in some) else some
    else:
        columns = _arrow(body)
        ids = columns.pop(ID, None)
        for name in (LABEL, WEIGHT):
            columns.pop(name, None)
        batch = Batch.of_columns(columns, [], None)
    if ids is not None:
        _check_ids(ids, len(batch))
    _check_cells(batch)
    return Asked(batch, ids)


def read_feedback(form: Form, body: bytes) -> list[LateLabel]:
    """Read labels of rows that were predicted under an id."""
    if form is Form.ARROW:
        columns = _arrow(body)
        ids, labels = columns.get(ID), columns.get(LABEL)
        if ids is None or labels is None:
            raise BodyError(f"there must be columns {ID!r} and {LABEL!r}")
        items = [LateLabel(id, label) for id, label in zip(ids, labels, strict=True)]
    elif form is Form.LINES:
        items = [_decoded(_ITEM, line) for line in body.splitlines() if line.strip()]
    else:
        try:
            items = [_ITEM.decode(body)]
        except msgspec.MsgspecError:
            items = _decoded(_FEEDBACK, body).items
    _check_ids([item.id for item in items], len(items))
    _check_labels([item.label for item in items], "$.items")
    return items


def _lines(body: bytes) -> list[_Line]:
    lines = []
    for number, text in enumerate(body.splitlines()):
        if not text.strip():
            continue
        try:
            lines.append(_decoded(_LINE, text))
        except BodyError as error:
            raise BodyError(error.detail, f"line {number + 1}, {error.place}") from None
    return lines


def _arrow(body: bytes) -> dict[str, list[Any]]:
    try:
        from pyarrow import ArrowException, ipc
    except ImportError:
        raise BodyError("Arrow needs pyarrow in the service: forks-learn[arrow]") from None
    try:
        with ipc.open_stream(io.BytesIO(body)) as reader:
            table = reader.read_all()
        return {str(k): v for k, v in table.to_pydict().items()}
    except (ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BodyError(f"the body is not an Arrow stream: {first}") from None


# ---- checks ----------------------------------------------------------------------------------


def check_learnable(batch: Batch) -> None:
    """Raise `BodyError` unless every row has a label, and cells are what they can be."""
    n = len(batch)
    if n == 0:
        raise BodyError("there are no rows")
    if len(batch.labels) != n:
        raise BodyError(f"there are {n} rows, but {len(batch.labels)} labels", "$.labels")
    if batch.weights is not None:
        if len(batch.weights) != n:
            raise BodyError(f"there are {n} rows, but {len(batch.weights)} weights", "$.weights")
        for i, weight in enumerate(batch.weights):
            if not isinstance(weight, int | float) or not 0.0 <= weight < math.inf:
                raise BodyError("a weight must be a number of at least 0", f"$.weights[{i}]")
    _check_labels(batch.labels, "$.labels")
    _check_cells(batch)


def _check_labels(labels: list[Any], place: str) -> None:
    kinds = {*map(type, labels)}
    if kinds <= {str, bool} or (kinds <= {int, float, bool} and _all_small(labels)):
        return
    for i, label in enumerate(labels):
        if label is None or not isinstance(label, str | bool | int | float) or _too_large(label):
            at = f"{place}[{i}]"
            raise BodyError("a label must be text, a boolean or a finite number", at)


def _check_cells(batch: Batch) -> None:
    if len(batch) == 0:
        raise BodyError("there are no rows")
    for name, cells in batch.columns.items():
        kinds = {*map(type, cells)}
        if kinds & {float, int} and (str in kinds or not _all_small(cells)):
            for row, cell in enumerate(cells):
                if _too_large(cell):
                    raise BodyError("a number must be finite", f"$.rows[{row}].{name}")


def _all_small(numbers: list[Any]) -> bool:
    """Return whether numbers are far from too large: an answer in one go for most columns."""
    some = [*filter(None, numbers)]  # those that are missing, and zeros, are not
    try:
        finite = all(map(math.isfinite, some))
    except (TypeError, OverflowError):
        return False
    return not some or (finite and max(some) < 1e300 and min(some) > -1e300)


def _too_large(cell: Any) -> bool:
    if isinstance(cell, float):
        return not math.isfinite(cell)
    return isinstance(cell, int) and abs(cell) > 10**300


def _check_ids(ids: list[Any], n: int) -> None:
    if len(ids) != n:
        raise BodyError(f"there are {n} rows, but {len(ids)} ids", "$.ids")
    for i, id in enumerate(ids):
        if not isinstance(id, str) or not 0 < len(id) <= 200:
            raise BodyError("an id must be text of 1 to 200 characters", f"$.ids[{i}]")
    if len(set(ids)) < n:
        raise BodyError("an id comes twice", "$.ids")

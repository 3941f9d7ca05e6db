"""Bodies: what is quick to tell of most is the same as what each cell would say."""

import json
import math

import pytest

from forks.serve.bodies import BodyError, Form, read_ask, read_learn
from forks.serve.tables import Batch


def learned(rows, labels):
    return read_learn(Form.JSON, json.dumps({"rows": rows, "labels": labels}).encode())


@pytest.mark.parametrize(
    "rows",
    [
        [{"u": 1, "v": "a"}, {"v": "b", "u": 2}],  # in another order
        [{"u": 1, "v": "a"}, {"u": 2, "w": 3}],  # as many, but others
        [{"u": 1}, {"u": 2, "v": None}, {}],
        [{}, {}],
    ],
)
def test_rows_become_columns(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    expected = {name: [row.get(name) for row in rows] for name in names}
    batch = Batch.of_rows(rows, [], None)
    assert batch.columns == expected
    assert list(batch.columns) == names
    assert len(batch) == len(rows)


@pytest.mark.parametrize(
    "cell", [1e308, -1.7e308, 10**300, -(10**300), 0, -0.0, True, None, 5e-324, 2**70]
)
def test_numbers_that_may_come(cell):
    rows = [{"u": 1.5}, {"u": cell}, {"u": None}]
    assert learned(rows, [1, 2.5, True]).columns["u"] == [1.5, cell, None]
    if cell is not None:
        assert learned(rows, [0, cell, 1]).labels[1] == cell


@pytest.mark.parametrize("cell", [10**301, -(10**301), 10**400])
@pytest.mark.parametrize("beside", [1.5, "text", None])
def test_numbers_that_are_too_large(cell, beside):
    with pytest.raises(BodyError) as caught:
        read_ask(Form.JSON, json.dumps({"rows": [{"u": beside}, {"u": cell}]}).encode())
    assert caught.value.place.startswith("$.rows[1]")
    with pytest.raises(BodyError) as caught:
        learned([{"u": 1}, {"u": 2}], [0, cell])
    assert caught.value.place.startswith("$.labels[1]")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_arrow_has_numbers_that_json_has_not(value):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"u": [1.0, value], "label": ["a", "b"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(BodyError, match="finite") as caught:
        read_learn(Form.ARROW, sink.getvalue().to_pybytes())
    assert caught.value.place == "$.rows[1].u"


@pytest.mark.parametrize("label", [None, [1], {"a": 1}])
def test_labels_must_be_labels(label):
    with pytest.raises(BodyError) as caught:
        learned([{"u": 1}, {"u": 2}], ["a", label])
    assert caught.value.place.startswith("$.labels[1]")

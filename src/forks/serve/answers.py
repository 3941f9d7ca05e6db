"""Predictions as the bodies of answers, in the form in which the rows came."""

import io
from typing import Any

import msgspec

from forks.serve.bodies import Form
from forks.serve.exchange import Answer
from forks.serve.table_model import Answers

_TYPES = {
    Form.LINES: b"application/x-ndjson",
    Form.ARROW: b"application/vnd.apache.arrow.stream",
}
_ENCODER = msgspec.json.Encoder()


def json_answer(content: Any) -> Answer:
    """Return a JSON answer."""
    return Answer(_ENCODER.encode(content))


def answer(form: Form, answers: Answers, ids: list[str] | None, **more: Any) -> Answer:
    """Return predictions; `more` are members of a JSON object."""
    if form is Form.JSON:
        content: dict[str, Any] = {"predictions": answers.labels}
        if answers.probabilities is not None:
            content |= {"classes": answers.classes, "probabilities": answers.probabilities}
        return json_answer({**content, **more})
    body = _lines(answers, ids) if form is Form.LINES else _arrow(answers, ids)
    return Answer(body, _TYPES[form])


def _lines(answers: Answers, ids: list[str] | None) -> bytes:
    rows = []
    for i, label in enumerate(answers.labels):
        row: dict[str, Any] = {"prediction": label}
        if ids is not None:
            row["id"] = ids[i]
        if answers.probabilities is not None and answers.classes is not None:
            names = map(str, answers.classes)
            row["probabilities"] = dict(zip(names, answers.probabilities[i], strict=True))
        rows.append(row)
    return _ENCODER.encode_lines(rows)


def _arrow(answers: Answers, ids: list[str] | None) -> bytes:
    import pyarrow as pa

    columns: dict[str, Any] = {} if ids is None else {"id": ids}
    columns["prediction"] = answers.labels
    if answers.probabilities is not None and answers.classes is not None:
        for name, shares in zip(
            answers.classes, zip(*answers.probabilities, strict=True), strict=True
        ):
            columns[f"probability_{name}"] = list(shares)
    table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()

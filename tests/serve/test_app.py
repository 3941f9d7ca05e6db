"""The endpoints: what they answer, to whom, and how they refuse."""

import asyncio
import errno
import hashlib
import io
import json
import os
import time

import pytest
from litestar.testing import TestClient
from made_up import rows_and_labels

from forks.serve.access import Access, Role, Token, new_token
from forks.serve.app import application
from forks.serve.context import Context
from forks.serve.limits import Limits
from forks.serve.service import Service, StateError
from forks.serve.table_model import Settings

ROWS, LABELS = rows_and_labels(400)
MODEL = "/v1/models/default"


@pytest.fixture
def service(tmp_path):
    made = Service(tmp_path, Settings(effort="fast"))
    made.add("default")
    yield made
    if made.workers:
        made.close()


@pytest.fixture
def client(service):
    with TestClient(application(Context(service))) as made:
        yield made


def ok(response, status=200):
    assert response.status_code == status, response.text
    return response.json()


def problem(response, status, *words):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == status
    for word in words:
        assert word in response.text, told
    return told


def learned(client, n=300):
    return ok(client.post(f"{MODEL}/learn", json={"rows": ROWS[:n], "labels": LABELS[:n]}))


# ---- what it does ----------------------------------------------------------------------------


def test_it_learns_predicts_and_tells(client):
    assert learned(client) == {"learned": 300, "rows": 300}
    told = ok(client.post(f"{MODEL}/predict", json={"rows": ROWS[300:]}))
    right = sum(a == b for a, b in zip(told["predictions"], LABELS[300:], strict=True))
    assert right > 70
    assert told["classes"] == ["no", "yes"]
    assert all(abs(sum(p) - 1.0) < 1e-9 for p in told["probabilities"])
    told = ok(client.get(MODEL))
    assert (told["task"], told["rows"], told["ready"]) == ("classification", 300, True)
    assert [c["kind"] for c in told["columns"]] == ["number", "number", "category"]
    assert 0.5 < told["figures"]["accuracy"] < 1.0
    assert [m["name"] for m in ok(client.get("/v1/models"))["models"]] == ["default"]


def test_each_row_is_predicted_before_its_label_is_used(client):
    learned(client)
    before = ok(client.post(f"{MODEL}/predict", json={"rows": ROWS[300:]}))
    body = {"rows": ROWS[300:], "labels": LABELS[300:]}
    told = ok(client.post(f"{MODEL}/predict-then-learn", json=body))
    assert told["rows"] == 400
    assert told["predictions"][:1] == before["predictions"][:1]
    assert told["probabilities"][:1] == before["probabilities"][:1]
    assert told["probabilities"] != before["probabilities"]
    after = ok(client.post(f"{MODEL}/predict", json={"rows": ROWS[300:]}))
    assert after["probabilities"] != before["probabilities"]


def test_labels_come_late(client):
    learned(client)
    body = {"rows": ROWS[300:303], "ids": ["a", "b", "c"]}
    assert len(ok(client.post(f"{MODEL}/predict", json=body))["predictions"]) == 3
    assert ok(client.get(MODEL))["waiting_labels"] == 3
    told = ok(client.post(f"{MODEL}/feedback", json={"id": "b", "label": LABELS[301]}))
    assert told == {"learned": 1, "labels": {"b": "learned"}}
    items = [{"id": i, "label": "yes"} for i in ("b", "a", "nobody")]
    told = ok(client.post(f"{MODEL}/feedback", json={"items": items}))
    assert told["labels"] == {"b": "twice", "a": "learned", "nobody": "unknown"}
    told = ok(client.get(MODEL))
    assert (told["rows"], told["waiting_labels"]) == (302, 1)
    assert told["late_labels"] == {"learned": 2, "twice": 1, "unknown": 1}


def test_the_same_rows_in_every_form(client, service):
    arrow = pytest.importorskip("pyarrow")
    learned(client)
    lines = "\n".join(
        json.dumps({"row": row, "label": label})
        for row, label in zip(ROWS[300:], LABELS[300:], strict=True)
    )
    columns = {name: [row[name] for row in ROWS[300:]] for name in ROWS[0]}
    table = arrow.table({**columns, "label": LABELS[300:]})
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    bodies = {
        "application/json": json.dumps({"rows": ROWS[300:], "labels": LABELS[300:]}),
        "application/json; charset=utf-8": json.dumps({"columns": columns, "labels": LABELS[300:]}),
        "application/x-ndjson": lines,
        "application/vnd.apache.arrow.stream": sink.getvalue(),
    }
    begun, found = client.get(f"{MODEL}/file").content, []
    for i, (kind, body) in enumerate(bodies.items()):
        headers = {"content-type": "application/octet-stream"}
        ok(client.put(f"/v1/models/m{i}", content=begun, headers=headers), 201)
        path = f"/v1/models/m{i}/predict-then-learn"
        response = client.post(path, content=body, headers={"content-type": kind})
        assert response.status_code == 200, response.text
        if kind.startswith("application/json"):
            answers = response.json()["predictions"]
        elif "ndjson" in kind:
            answers = [json.loads(line)["prediction"] for line in response.text.splitlines()]
        else:
            answers = arrow.ipc.open_stream(response.content).read_all()["prediction"].to_pylist()
        found.append((answers, service.workers[f"m{i}"].keeper.as_bytes()))
    assert all(one == found[0] for one in found)


def test_classes_may_come_late(client):
    learned(client)
    body = {"rows": ROWS[:3], "labels": ["perhaps", "yes", "perhaps"]}
    assert ok(client.post(f"{MODEL}/learn", json=body))["rows"] == 303
    assert ok(client.get(MODEL))["classes"] == ["no", "perhaps", "yes"]


def test_numbers_are_a_regression(client):
    rows, labels = rows_and_labels(300, task="regression")
    ok(client.put("/v1/models/second", json={"effort": "fast"}), 201)
    ok(client.post("/v1/models/second/learn", json={"rows": rows, "labels": labels}))
    told = ok(client.post("/v1/models/second/predict", json={"rows": rows[:5]}))
    assert all(isinstance(answer, float) for answer in told["predictions"])
    assert ok(client.get("/v1/models/second"))["task"] == "regression"


def test_metrics_health_schema_and_page(client):
    learned(client)
    text = client.get("/metrics").text
    assert 'forks_rows_learned_total{model="default"} 300.0' in text
    assert 'forks_requests_total{endpoint="learn",status="200"} 1.0' in text
    assert 'forks_request_seconds_bucket{endpoint="learn",le="+Inf"} 1.0' in text
    assert 'forks_request_seconds_count{endpoint="learn"} 1.0' in text
    assert ok(client.get("/healthz")) == {"status": "ok"}
    assert ok(client.get("/readyz"))["status"] == "ok"
    schema = ok(client.get("/openapi.json"))
    for path in ("predict", "learn", "predict-then-learn", "feedback"):
        described = schema["paths"][f"/v1/models/{{name}}/{path}"]["post"]
        assert described["requestBody"]["content"]["application/json"]["example"]
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    told = client.get("/v1/live?once=true").text
    assert '"rows":300' in told


# ---- what it refuses -------------------------------------------------------------------------

BAD = {
    "no JSON": (b"{", 400, "truncated"),
    "nested": (b'{"rows":[{"u":[1]}],"labels":["yes"]}', 400, "array"),
    "too deep": (b'{"rows":' + b"[" * 100_000, 400, ""),
    "not finite": (b'{"rows":[{"u":1e999}],"labels":["yes"]}', 400, "rows[0]"),
    "NaN": (b'{"rows":[{"u":NaN}],"labels":["yes"]}', 400, "malformed"),
    "no labels": (b'{"rows":[{"u":1}]}', 400, "labels"),
    "too few labels": (b'{"rows":[{"u":1},{"u":2}],"labels":["yes"]}', 400, "1 labels"),
    "no rows": (b'{"rows":[],"labels":[]}', 400, "no rows"),
    "both": (b'{"rows":[],"columns":{},"labels":[]}', 400, "either"),
    "unknown field": (b'{"rows":[{"u":1}],"labels":["yes"],"x":1}', 400, "x"),
    "missing label": (b'{"rows":[{"u":1}],"labels":[null]}', 400, "labels[0]"),
    "wrong cell": (b'{"rows":[{"u":1},{"u":"x"}],"labels":["yes","no"]}', 422, '"row":1'),
    "wrong label": (b'{"rows":[{"u":1}],"labels":[3]}', 422, '"field":"label","row":0'),
    "long label": (
        b'{"rows":[{"u":1},{"u":2}],"labels":["yes","%s"]}' % (b"a" * 201),
        422,
        '"row":1',
    ),
    "weights": (b'{"rows":[{"u":1}],"labels":["yes"],"weights":[-1]}', 400, "weights[0]"),
    "uneven columns": (b'{"columns":{"u":[1],"v":[]},"labels":["yes"]}', 400, "'v'"),
    "not text": (b'{"rows":[{"u":"\xff"}],"labels":["yes"]}', 400, ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies_are_refused_and_nothing_is_learned(client, service, name):
    learned(client)
    before = service.workers["default"].keeper.as_bytes()
    body, status, word = BAD[name]
    headers = {"content-type": "application/json"}
    for verb in ("learn", "predict-then-learn"):
        problem(client.post(f"{MODEL}/{verb}", content=body, headers=headers), status, word)
    assert service.workers["default"].keeper.as_bytes() == before


def test_there_are_no_more_classes_than_a_model_may_have(client, service):
    ok(client.put("/v1/models/few", json={"effort": "fast", "max_classes": 3}), 201)
    few, keeper = "/v1/models/few", service.workers["few"].keeper
    body = {"rows": ROWS[:2], "labels": ["yes", "maybe"]}
    for rows in (slice(0, 50), slice(50, 300)):  # while the first rows are kept, and after that
        ok(client.post(f"{few}/learn", json={"rows": ROWS[rows], "labels": LABELS[rows]}))
        before = keeper.as_bytes()
        for verb in ("learn", "predict-then-learn"):
            many = {"rows": ROWS[:3], "labels": ["yes", "maybe", "never"]}
            told = problem(client.post(f"{few}/{verb}", json=many), 422, "'never'", "3 that")
            assert (told["field"], told["row"]) == ("label", 2)
        assert keeper.as_bytes() == before
    ok(client.post(f"{few}/learn", json=body))  # the third is none too many
    assert ok(client.get(few))["classes"] == ["maybe", "no", "yes"]
    ok(client.post(f"{few}/predict", json={"rows": ROWS[:2], "ids": ["a", "b"]}))
    items = [{"id": "a", "label": "never"}, {"id": "b", "label": "no"}]
    told = ok(client.post(f"{few}/feedback", json={"items": items}))
    assert told == {"learned": 1, "labels": {"a": "refused", "b": "learned"}}
    problem(client.put("/v1/models/more", json={"max_classes": 1}), 400, "max_classes")


def test_a_hundred_classes_are_the_most_by_default(client):
    labels = [f"label {i}" for i in range(101)]
    rows = ROWS[:101]
    told = problem(client.post(f"{MODEL}/learn", json={"rows": rows, "labels": labels}), 422)
    assert (told["field"], told["row"]) == ("label", 100)
    ok(client.post(f"{MODEL}/learn", json={"rows": rows[:100], "labels": labels[:100]}))
    body = {"rows": [{"u": 1.0}], "labels": ["once more"]}
    problem(client.post(f"{MODEL}/learn", json=body), 422, "100")
    assert len(ok(client.get(MODEL))["classes"]) == 100
    ok(client.put("/v1/models/numbers", json={"effort": "fast"}), 201)  # a regression has none
    ok(client.post("/v1/models/numbers/learn", json={"rows": rows, "labels": [*range(101)]}))


def test_a_long_label_does_not_take_the_memory_of_as_many_rows(client):
    labels = ["a" * 1_000_000, *["b"] * 50_000]  # as an array of text, 200 GB
    body = {"columns": {"u": [*range(len(labels))]}, "labels": labels}
    problem(client.post(f"{MODEL}/learn", json=body), 422, "1,000,000 characters", '"row":0')
    assert learned(client)["learned"] == 300


def test_wrong_requests(client):
    problem(client.post("/v1/models/nobody/learn", json={}), 404, "nobody")
    problem(client.get(f"{MODEL}/learn"), 405)
    problem(client.post(f"{MODEL}/learn", content=b"", headers={"content-type": "text/x"}), 415)
    problem(client.get("/v1/models/..%2F..%2Fetc"), 404)
    problem(client.put("/v1/models/Upper", json={}), 400, "lower-case")
    problem(client.put("/v1/models/default", json={}), 409)
    problem(client.put("/v1/models/new", json={"effort": "none"}), 400, "effort")
    headers = {"content-type": "application/octet-stream"}
    problem(client.put("/v1/models/new", content=b"nonsense", headers=headers), 422)
    problem(client.get("/nowhere"), 404)
    ids = {"rows": ROWS[:2], "ids": ["a", "a"]}
    problem(client.post(f"{MODEL}/predict", json=ids), 400, "twice")


def test_limits(service):
    limits = Limits(body=2_000, rows=3, rate=0.001, burst=4)
    with TestClient(application(Context(service, limits=limits))) as client:
        problem(client.post(f"{MODEL}/learn", content=b" " * 2_001), 413)
        problem(client.post(f"{MODEL}/learn", content=iter([b" " * 1_500] * 2)), 413)
        body = {"rows": ROWS[:4], "labels": LABELS[:4]}
        problem(client.post(f"{MODEL}/learn", json=body), 413, "4 rows")
        ok(client.get(MODEL))
        told = client.get(MODEL)
        problem(told, 429)
        assert int(told.headers["retry-after"]) >= 1


def test_a_slow_body_is_not_waited_for(service):
    async def request():
        sent = []

        async def receive():
            await asyncio.sleep(60.0)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": f"{MODEL}/learn", "headers": []}
        await application(Context(service, limits=Limits(seconds=0.05)))(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(request()) == 408


# ---- who may do what -------------------------------------------------------------------------

NEEDS = {
    Role.PREDICT: [("post", f"{MODEL}/predict"), ("get", MODEL), ("get", "/metrics")],
    Role.LEARN: [("post", f"{MODEL}/learn"), ("post", f"{MODEL}/feedback")],
    Role.ADMIN: [("get", f"{MODEL}/file"), ("put", "/v1/models/new")],
}


def test_roles(service):
    tokens = {role: f"secret of {role.name}" for role in Role}
    kept = [Token(r, hashlib.sha256(t.encode()).hexdigest(), r.name) for r, t in tokens.items()]
    with TestClient(application(Context(service, Access(kept)))) as client:
        assert client.get("/healthz").status_code == 200
        for needed, requests in NEEDS.items():
            for method, path in requests:
                for headers in (
                    {},
                    {"authorization": "Bearer wrong"},
                    {"authorization": "Basic x"},
                ):
                    told = client.request(method, path, headers=headers)
                    problem(told, 401)
                for role, token in tokens.items():
                    headers = {"authorization": f"Bearer {token}"}
                    status = client.request(method, path, headers=headers).status_code
                    assert (status == 403) == (role < needed)
                    assert status != 401


def test_files_of_tokens(tmp_path):
    token, line = new_token("learn", "me")
    path = tmp_path / "tokens"
    path.write_text(f"# people\n\n{line}\n")
    access = Access.from_file(path)
    assert access.holder(token) == Token(
        Role.LEARN, hashlib.sha256(token.encode()).hexdigest(), "me"
    )
    assert access.holder(token + "x") is None
    assert token not in path.read_text()
    for text, word in (("learn abc me", "line 1"), ("", "no tokens"), (f"king {'a' * 64}", "role")):
        path.write_text(text)
        with pytest.raises(ValueError, match=word):
            Access.from_file(path)


# ---- the disk --------------------------------------------------------------------------------


def test_a_full_disk_refuses_learning_and_goes_on_predicting(client, service, monkeypatch):
    learned(client)
    keeper = service.workers["default"].keeper

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    before = keeper.as_bytes()
    body = {"rows": ROWS[300:], "labels": LABELS[300:]}
    problem(client.post(f"{MODEL}/learn", json=body), 507, "No space left")
    assert keeper.as_bytes() == before
    assert ok(client.post(f"{MODEL}/predict", json={"rows": ROWS[:1]}))["predictions"]
    assert ok(client.get("/readyz"), 503)["faults"] == {"default": "No space left on device"}
    assert 'forks_storage_failures_total{model="default"} 1.0' in client.get("/metrics").text
    monkeypatch.undo()
    assert ok(client.post(f"{MODEL}/learn", json=body))["rows"] == 400
    assert ok(client.get("/readyz"))["status"] == "ok"


def test_a_checkpoint_that_cannot_be_written_is_tried_again(service, monkeypatch):
    worker = service.workers["default"]
    with TestClient(application(Context(service))) as client:
        learned(client)
        path = worker.keeper.folder / "checkpoint.forks"
        before = path.read_bytes()
        monkeypatch.setattr("forks.serve.keeper.write_atomically", _refuse)
        worker.every = 1
        learned(client)
        wait_until(lambda: worker.failures == 1)
        assert path.read_bytes() == before
        monkeypatch.undo()
        worker._next_try = 0.0
        learned(client)
        wait_until(lambda: worker.keeper.saved == 3)
        assert path.read_bytes() != before


def wait_until(condition):
    end = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def _refuse(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_one_service_at_a_time(tmp_path, service):
    with pytest.raises(StateError, match="in use"):
        Service(service.state)


def test_closed_and_opened_it_goes_on(tmp_path):
    service = Service(tmp_path, Settings(effort="fast"))
    service.add("default")
    with TestClient(application(Context(service))) as client:
        learned(client)
        data = service.workers["default"].keeper.as_bytes()
    service = Service(tmp_path)
    assert service.workers["default"].keeper.replayed == 0
    assert service.workers["default"].keeper.as_bytes() == data
    service.close()

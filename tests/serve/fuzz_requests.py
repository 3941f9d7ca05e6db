"""Hostile requests: whatever comes, there is an answer with a reason, and never a 500.

``python tests/serve/fuzz_requests.py 100000`` asks as many; the tests ask some. Memory is that in
use, not the most so far, and looked at when the model has its size: it has learned ordinary rows
after its fits, with every label that the hostile ones have.
"""

import asyncio
import gc
import json
import random
import statistics
import sys
import tempfile
from collections import Counter

from made_up import rows_and_labels

from forks.serve.access import Access, Role, Token
from forks.serve.app import application
from forks.serve.context import Context
from forks.serve.glances import memory_in_use
from forks.serve.limits import Limits
from forks.serve.service import Service
from forks.serve.table_model import Settings

TOKENS = {role: f"token of {role.name}" for role in Role}
_NASTY = [
    None, True, False, 0, -1, 1e308, -1e308, 5e-324, 2**63, 10**400, "", "x", "NaN", "inf", "NA",
    "\0", "<script>", "2026-01-01", "9999-99-99T99:99",
    "a" * 5000, "é\ud800", [], {}, [1], {"a": 1},
]  # fmt: skip
TEXTS = ["Rome", *(x for x in _NASTY if isinstance(x, str) and x.isprintable() and len(x) < 200)]
_VERBS = ["predict", "learn", "predict-then-learn", "feedback"]
_NAMES = ["default"] * 30 + ["other", "../default", "%2e%2e", "", "A" * 500, "dé", "\0"]
_TYPES = ["application/json"] * 20 + [
    "application/x-ndjson", "application/vnd.apache.arrow.stream", "text/plain", "", "a/b;" * 100,
]  # fmt: skip
GROWN = 5_000  # ordinary rows that bring a model to its size
LOOKS = 40  # at the memory in use
_PATHS = ["", "/relevance", "/events", "/file", "/nothing", "/../../etc/passwd"]


def cell(rng):
    return rng.choice(_NASTY) if rng.random() < 0.3 else rng.choice([rng.gauss(0, 1), "Rome", None])


def table(rng, n):
    names = ["u", "v", "city", *(["x", "", "__proto__"] if rng.random() < 0.1 else [])]
    rows = [{name: cell(rng) for name in names if rng.random() < 0.95} for _ in range(n)]
    if rng.random() < 0.1:
        rows[rng.randrange(n)] = rng.choice(_NASTY)
    return rows


def body(rng, verb):
    """A body that may be right, wrong in one place, or not JSON at all."""
    n = rng.choice([1, 1, 2, 5])
    labels = [rng.choice(["yes", "no"]) if rng.random() < 0.9 else cell(rng) for _ in range(n)]
    ids = [rng.choice(["a", "b", f"id {rng.random()}"]) for _ in range(n)]
    content = {"rows": table(rng, n), "labels": labels}
    if verb == "predict":
        content = {"rows": table(rng, n), **({"ids": ids} if rng.random() < 0.5 else {})}
    elif verb == "feedback":
        content = {"items": [{"id": i, "label": y} for i, y in zip(ids, labels, strict=True)]}
    if rng.random() < 0.1:
        content[rng.choice(["rows", "labels", "weights", "columns", "x"])] = rng.choice(_NASTY)
    data = json.dumps(content, allow_nan=True).encode("utf-8", "surrogatepass")
    chance = rng.random()
    if chance < 0.05:
        data = data[: rng.randrange(len(data))]
    elif chance < 0.1:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    elif chance < 0.12:
        data = rng.choice([b"", b"[" * 10_000, b'{"rows":' * 1_000, bytes(100), b"\xff\xfe", b"1"])
    elif chance < 0.13:
        data += b" " * 70_000
    return data


def scope_of(rng, method, path, kind):
    headers = [(b"content-type", kind.encode())]
    token = TOKENS[rng.choice([Role.LEARN, Role.LEARN, Role.PREDICT, Role.ADMIN])]
    if rng.random() < 0.1:
        token = rng.choice([None, "wrong", "é"])
    if token is not None:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    if rng.random() < 0.02:
        headers.append((b"content-length", rng.choice([b"-1", b"x", b"99999999999999999999"])))
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }, token  # fmt: skip


async def sent(app, scope, data, slow=False):
    """Send a request in two parts, of which a slow one never comes; return status and headers."""
    parts = [data[: len(data) // 2], data[len(data) // 2 :]]
    messages = enumerate(parts[:1] if slow else parts)
    answer = []

    async def receive():
        i, part = next(messages, (1, None))
        if part is None:
            await asyncio.sleep(3600.0)
        return {"type": "http.request", "body": part, "more_body": i == 0}

    async def send(message):
        answer.append(message)

    await app(scope, receive, send)
    return answer[0]["status"], dict(answer[0]["headers"])


def role_needed(method, path, verb):
    """Return the role without which nothing but a refusal may come."""
    if method == "PUT" or (path.endswith("/file") and "//" not in path):  # //file: a model's name
        return Role.ADMIN
    return Role.LEARN if verb != "predict" and path.endswith(verb) else Role.PREDICT


async def ask(app, rng, counts):
    verb = rng.choice(_VERBS)
    name = rng.choice(_NAMES)
    method, path = "POST", f"/v1/models/{name}/{verb}"
    if rng.random() < 0.1:
        method = rng.choice(["GET", "PUT", "DELETE", "POST", "OPTIONS"])
        path = f"/v1/models/{name}{rng.choice(_PATHS)}"
    scope, token = scope_of(rng, method, path, rng.choice(_TYPES))
    status, headers = await sent(app, scope, body(rng, verb), slow=rng.random() < 0.003)
    counts[status] += 1
    assert status != 500, (method, path, token)
    if status >= 400:
        assert headers[b"content-type"] == b"application/problem+json", (method, path, status)
    role = {t: r for r, t in TOKENS.items()}.get(token, 0)
    if status < 300 and method != "OPTIONS":
        assert role >= role_needed(method, path, verb), (method, path, token)


async def attack(n, seed=0, grown=0):
    """Send n requests; return how often each status was the answer, and the memory in use.

    With an even seed the model has learned something, with an odd one the first rows are hostile,
    too. After half of the requests it learns `grown` ordinary rows, so as to be past its fits.
    """
    import hashlib

    counts, rng, memory = Counter(), random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder, Settings(effort="fast"))
        service.add("default")
        kept = [Token(r, hashlib.sha256(t.encode()).hexdigest(), r.name) for r, t in TOKENS.items()]
        limits = Limits(body=60_000, rows=1_000, seconds=0.2)
        app = application(Context(service, Access(kept), limits))
        scope, _ = scope_of(rng, "POST", "/v1/models/default/learn", "application/json")
        scope["headers"][1:] = [(b"authorization", f"Bearer {TOKENS[Role.LEARN]}".encode())]
        if seed % 2 == 0:
            await teach(app, scope, 200)
        for start in range(0, n, 20):
            if start == n // 2 // 20 * 20:
                await teach(app, scope, grown)
            await asyncio.gather(*(ask(app, rng, counts) for _ in range(min(20, n - start))))
            if start * LOOKS // n > len(memory) - 1:
                gc.collect()
                memory.append(memory_in_use() / 2**20)
        worker = service.workers["default"]
        assert worker.is_alive()
        data = worker.keeper.as_bytes()
        service.close()
        service = Service(folder)
        assert service.workers["default"].keeper.as_bytes() == data
        service.close()
    return counts, memory


async def teach(app, scope, n):
    """Have the model learn n ordinary rows, which it does not refuse."""
    rows, labels = rows_and_labels(n)
    for i, text in enumerate(TEXTS if n > 1_000 else []):
        labels[i::50] = [text] * len(labels[i::50])
    for start in range(0, n, 200):
        part = slice(start, start + 200)
        data = json.dumps({"rows": rows[part], "labels": labels[part]}).encode()
        assert (await sent(app, scope, data))[0] == 200


def quarters(memory):
    """Return the median memory in use in the third quarter of the requests, and in the last."""
    quarter = len(memory) // 4
    return tuple(statistics.median(memory[i * quarter : (i + 1) * quarter]) for i in (2, 3))


if __name__ == "__main__":
    for number in range(2):
        found, in_use = asyncio.run(attack(int(sys.argv[1]) // 2, number, GROWN))
        print(dict(found))
        print("MB in use, third and last quarter: {:.1f}, {:.1f}".format(*quarters(in_use)))

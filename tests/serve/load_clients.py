"""Clients for tests under load: wrk as fast as it goes, and requests at a given rate."""

import asyncio
import json
import subprocess
import tempfile
import time
from typing import NamedTuple

import numpy as np

_SCRIPT = """
local bodies = {}
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
local i = 0
request = function()
  i = i % #bodies + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[i])
end
local longest = LONGEST
if longest > 0 then
  delay = function() return math.random(0, longest) end
end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\n{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "errors": %d}\\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.status + e.connect + e.read + e.write + e.timeout))
end
"""


class Load(NamedTuple):
    """What a client has seen; latencies in milliseconds."""

    rate: float  # requests a second
    p50: float
    p99: float
    errors: int


def at_full_speed(
    url: str, bodies: list[dict], seconds: int, connections: int, pause: float = 0.0
) -> Load:
    """Send bodies in turns by wrk, each connection a request at a time.

    It waits for some milliseconds before each, `pause` on average, to the half.
    """
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/bodies", "w") as file:
            file.writelines(json.dumps(body) + "\n" for body in bodies)
        with open(f"{folder}/script.lua", "w") as file:
            script = _SCRIPT.replace("BODIES", f"{folder}/bodies")
            file.write(script.replace("LONGEST", str(round(2.0 * pause))))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", file.name, url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return Load(said["requests"] / said["seconds"], said["p50"], said["p99"], said["errors"])


def at_rate(port: int, path: str, bodies: list[dict], rate: float, seconds: float) -> Load:
    """Send bodies at a rate, whether answers come or not.

    A latency is counted from the moment when its request was due, so that a service that stalls is
    charged for all the requests that it keeps waiting.
    """
    return asyncio.run(_at_rate(port, path, bodies, rate, seconds))


async def _at_rate(port: int, path: str, bodies: list[dict], rate: float, seconds: float) -> Load:
    connections = 16
    requests = [_request(path, body) for body in bodies]
    begin = time.perf_counter() + 0.1
    tasks = (
        _client(port, requests, begin + i / rate, connections / rate, begin + seconds, i)
        for i in range(connections)
    )
    seen = [pair for pairs in await asyncio.gather(*tasks) for pair in pairs]
    p50, p99 = np.percentile([1e3 * took for took, _ in seen], [50, 99])
    return Load(len(seen) / seconds, float(p50), float(p99), sum(not good for _, good in seen))


def _request(path: str, body: dict) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(data) + data


async def _client(port, requests, due, period, end, i):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seen = []
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        writer.write(requests[i % len(requests)])
        seen.append((await _answer(reader), due))
        due += period
        i += 1
    writer.close()
    return [(came - due, good) for (came, good), due in seen]


async def _answer(reader: asyncio.StreamReader) -> tuple[float, bool]:
    """Read an answer; return when it had come, and whether its status was 200."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length:") + len(b"content-length:")
    await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    return time.perf_counter(), head.split(b" ", 2)[1] == b"200"

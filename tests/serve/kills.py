"""A service that is killed again and again under load, and what its journal says of it.

The load learns rows with serial numbers, one or several a request, predicts others under ids and
sends their labels later, some twice. Whatever was acknowledged is written down here.
"""

import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from made_up import rows_and_labels

from forks.serve.journal import Journal
from forks.serve.keeper import Keeper
from forks.serve.operations import Kind, from_record
from forks.serve.table_model import Settings

_CLIENTS = 8
FAST = Settings(effort="fast")


@dataclass
class Acknowledged:
    """What the service said it has."""

    learned: list[int] = field(default_factory=list)  # serial numbers
    labelled: list[str] = field(default_factory=list)  # ids whose labels were learned
    asked: dict[str, str] = field(default_factory=dict)  # ids that wait, and their labels
    serial: int = 0


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def started(folder, port, every=300, more=()):
    """Start a service, and wait until it answers; return it and the seconds that took."""
    command = [sys.executable, "-m", "forks.cli", "serve", "--state", str(folder)]
    command += ["--port", str(port), "--effort", "fast", "--every", str(every), "--keep-journal"]
    command += more
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                return process, time.perf_counter() - begin
        except httpx.TransportError:
            assert process.poll() is None, "the service has ended"
            time.sleep(0.05)


async def load(port, known, seconds, seed):
    """Send requests for some seconds, or until the service is gone."""
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    url = f"http://127.0.0.1:{port}/v1/models/default"
    async with httpx.AsyncClient(timeout=30.0) as client:
        await asyncio.gather(*(_send(client, url, known, rng, end) for _ in range(_CLIENTS)))


async def _send(client, url, known, rng, end):
    while time.monotonic() < end:
        try:
            await _send_one(client, url, known, rng)
        except httpx.TransportError:
            return


async def _send_one(client, url, known, rng):
    kind = rng.random()
    n = rng.choice([1, 1, 1, 5, 30])
    first, known.serial = known.serial, known.serial + n
    rows, labels = rows_and_labels(n, seed=first)
    rows = [{**row, "serial": first + i} for i, row in enumerate(rows)]
    if kind < 0.3:
        ids = [f"id {first} {i}" for i in range(n)]
        response = await client.post(f"{url}/predict", json={"rows": rows, "ids": ids})
        if response.status_code == 200:
            known.asked.update(zip(ids, labels, strict=True))
    elif kind < 0.6 and known.asked:
        chosen = rng.sample(sorted(known.asked), min(5, len(known.asked)))
        items = [{"id": id, "label": known.asked[id]} for id in chosen]
        response = await client.post(f"{url}/feedback", json={"items": items})
        for id, fate in response.json()["labels"].items():
            assert fate in ("learned", "twice")
            if fate == "learned":
                known.labelled.append(id)
            if rng.random() < 0.8:
                known.asked.pop(id, None)
    else:
        verb = rng.choice(["learn", "predict-then-learn"])
        response = await client.post(f"{url}/{verb}", json={"rows": rows, "labels": labels})
        assert response.status_code == 200, response.text
        known.learned += [first + i for i in range(n)]


def cpu_seconds(pid):
    """Return the CPU time of a process so far, which other programs do not make longer."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def killed(folder, n, port, seed=0, seconds=2.0, more=()):
    """Kill a service n times under load; return what it acknowledged, and how long starts took.

    That is the seconds of each, and those of CPU time.
    """
    known, times, rng = Acknowledged(), [], random.Random(seed)
    for i in range(n):
        process, started_in = started(folder, port, more=more)
        times.append((started_in, cpu_seconds(process.pid)))
        timer = asyncio.new_event_loop()
        delay = rng.uniform(0.05, seconds)

        async def run(process=process, delay=delay, i=i):
            asyncio.get_running_loop().call_later(delay, process.send_signal, signal.SIGKILL)
            await load(port, known, delay + 5.0, seed + i)

        timer.run_until_complete(run())
        timer.close()
        process.wait()
    return known, times


def check(folder, known, scratch, settings=FAST):
    """Check what is there against what was acknowledged; return the rows that were learned."""
    model = folder / "models" / "default"
    journal = Journal(model, 0, keep=True)
    learned, labelled = [], []
    plain = Keeper(scratch, settings)
    for _, record in journal.replay():
        operation = from_record(record)
        (outcome,) = plain.do([operation])  # one after the other
        assert outcome.error is None
        if operation.kind is Kind.LEARN:
            learned += operation.content.columns["serial"]
        if operation.kind is Kind.FEEDBACK:
            labelled += [id for id, fate in outcome.fates.items() if fate == "learned"]
    journal.close()
    assert len(learned) == len(set(learned))
    assert set(known.learned) <= set(learned)
    assert len(labelled) == len(set(labelled))
    assert set(known.labelled) <= set(labelled)
    again = Keeper(model, keep_journal=True)
    assert again.as_bytes() == plain.as_bytes()
    assert again.model.rounds == len(learned) + len(labelled)
    assert (again.pending.n, again.applier.fates) == (plain.pending.n, plain.applier.fates)
    rounds = again.model.rounds
    again.close()
    plain.close()
    return rounds


def main(n, folder):
    folder = Path(folder)
    known, times = killed(folder / "state", n, free_port())
    rounds = check(folder / "state", known, folder / "plain")
    told = {
        "kills": n,
        "rows acknowledged": len(known.learned) + len(known.labelled),
        "labels that came late": len(known.labelled),
        "rows learned": rounds,
        **{
            f"{name} of a start, median and most": (round(statistics.median(took), 2), max(took))
            for name, took in zip(("seconds", "CPU seconds"), zip(*times, strict=True), strict=True)
        },
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
    os._exit(0)

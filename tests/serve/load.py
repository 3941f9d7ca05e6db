"""A service under load, beside a home-made one: requests a second, latencies, hours of it.

``make load`` runs all of it and writes ``docs/results/serve``; it needs wrk (of Debian, say) and
FastAPI. Services and clients share the cores of one machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
from kills import free_port
from load_clients import Load, at_full_speed, at_rate
from made_up import rows_and_labels
from others import others

from forks.experiments.record import made_with
from forks.experiments.report import Section, Table, write_report

HERE = Path(__file__).parent
PATH = "/v1/models/default/"
CONNECTIONS = 64
ROWS, LABELS = rows_and_labels(4000)
TURNS = 3  # of contenders


def single(verb="predict-then-learn"):
    """Return bodies of one row each."""
    bodies = [{"rows": [row], "labels": [label]} for row, label in zip(ROWS, LABELS, strict=True)]
    return bodies if verb != "predict" else [{"rows": body["rows"]} for body in bodies]


def batches(n=1000):
    """Return bodies of n rows each."""
    return [{"rows": ROWS[i : i + n], "labels": LABELS[i : i + n]} for i in range(0, len(ROWS), n)]


@contextmanager
def running(command, port):
    """Run a service until it is not needed any more."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            assert process.poll() is None, "the service has ended"
            try:
                if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def served(effort):
    """Run our service, with a model that has learned some rows."""
    port = free_port()
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "forks.cli", "serve", "--state", state, "--effort", effort]
        with running([*command, "--port", str(port)], port) as process:
            for verb, n in (("learn", 1000), ("predict-then-learn", 1), ("predict", 1)):
                body = {"rows": ROWS[:n], **({"labels": LABELS[:n]} if verb != "predict" else {})}
                url = f"http://127.0.0.1:{port}{PATH}{verb}"
                httpx.post(url, json=body, timeout=120).raise_for_status()
            yield process, port


@contextmanager
def homemade():
    """Run the service that one would write oneself."""
    port = free_port()
    with running([sys.executable, str(HERE / "homemade.py"), str(port)], port) as process:
        yield process, port


# ---- what is measured ------------------------------------------------------------------------


def throughput(seconds):
    """One row a request, as fast as it goes.

    Each request is predicted, then learned. Ours is in the journal, on disk, before its answer is
    sent. The home-made service has a scaled logistic regression of River's, which is smaller than
    any of our models, and keeps nothing. The contenders take turns, and the best turn of each
    counts.
    """
    theirs = [{"row": body["rows"][0], "label": body["labels"][0]} for body in single()]
    found = {}
    with homemade() as (_, other), served("fast") as (_, fast), served("balanced") as (_, balanced):
        contenders = {
            "FastAPI and River": (f"http://127.0.0.1:{other}/predict-then-learn", theirs),
            "forks serve, fast": (f"http://127.0.0.1:{fast}{PATH}predict-then-learn", single()),
            "forks serve": (f"http://127.0.0.1:{balanced}{PATH}predict-then-learn", single()),
        }
        with others() as beside:
            for _ in range(TURNS):
                for name, (url, bodies) in contenders.items():
                    load = at_full_speed(url, bodies, seconds, CONNECTIONS)
                    found[name] = max(found.get(name, load), load)
        with others() as later:
            half = _at_half(*contenders["forks serve"], seconds, found["forks serve"].rate)
    rows = [[name, *_cells(load)] for name, load in found.items()]
    ratio = found["forks serve"].rate / found["FastAPI and River"].rate
    blocks = [
        Table(["", "requests a second", "median, ms", "99 %, ms", "errors"], rows),
        str(beside),
        Table(["", "measured", "goal"], [
            ["requests a second, over those of the home-made service", *_judged(ratio, 3.0, True)],
            ["99 % of latencies at half of the load, ms", *_judged(half.p99, 10.0)],
            ["requests a second then, with pauses", f"{half.rate:.0f}", "≥ half"],
            ["errors then", f"{half.errors}", ""],
        ]),
        str(later),
    ]  # fmt: skip
    return Section("throughput", throughput.__doc__, blocks)


def _at_half(url, bodies, seconds, top):
    """Load a service with half of what it can do at most, or a little more."""
    pause = 1000.0 * CONNECTIONS / top
    for _ in range(8):  # until the pauses of the connections make up for the latencies
        load = at_full_speed(url, bodies, seconds, CONNECTIONS, pause)
        if 0.5 <= load.rate / top <= 0.56:
            break
        pause = max(0.0, pause + 1000.0 * CONNECTIONS * (1.0 / (0.53 * top) - 1.0 / load.rate))
    return load


def learning(seconds):
    """Batches, and predictions meanwhile.

    Batches of 1,000 rows in JSON are learned as fast as they come; then again, while predictions of
    one row each come at a rate of 200 a second.
    """
    rows = []
    for effort in ("fast", "balanced"):
        with served(effort) as (_, port), others() as beside:
            url = f"http://127.0.0.1:{port}{PATH}learn"
            alone = at_full_speed(url, batches(), seconds, 2)
            learner = threading.Thread(target=at_full_speed, args=(url, batches(), seconds + 2, 2))
            learner.start()
            time.sleep(1.0)
            asked = at_rate(port, f"{PATH}predict", single("predict"), 200.0, seconds - 1)
            learner.join()
        learned = 1000.0 * alone.rate
        rows.append([effort, f"{learned:,.0f}", *_judged(learned, 1e5, True)[1:],
                     f"{asked.p50:.2f}", *_judged(asked.p99, 20.0), str(asked.errors),
                     f"{beside.cores:.1f}"])  # fmt: skip
    header = ["effort", "rows a second", "goal", "median of predictions, ms", "99 %, ms", "goal",
              "errors", "cores of other programs"]  # fmt: skip
    return Section("learning", learning.__doc__, [Table(header, rows)])


def endurance(minutes):
    """Hours in fast motion.

    One-row requests as fast as they go, predictions at 100 a second, and labels that come late, in
    slices of ten seconds each; memory is that of the whole process.
    """
    begin, kept = time.monotonic(), []
    with served("balanced") as (process, port), others() as beside:
        url, slices = f"http://127.0.0.1:{port}{PATH}predict-then-learn", int(minutes * 6)
        for i in range(slices):
            seen: list[Load] = []
            client = threading.Thread(target=lambda seen=seen: seen.append(
                at_full_speed(url, single(), 10, CONNECTIONS)))  # fmt: skip
            client.start()
            asked = at_rate(port, f"{PATH}predict", single("predict"), 100.0, 9.0)
            late = _late_labels(port, i)
            client.join()
            kept.append({"minute": (time.monotonic() - begin) / 60.0, "rate": seen[0].rate,
                         "p99": seen[0].p99, "predictions p99": asked.p99,
                         "errors": seen[0].errors + asked.errors + late,
                         "megabytes": _megabytes(process.pid)})  # fmt: skip
            print(json.dumps(kept[-1]), flush=True)
    third = max(1, len(kept) // 3)
    first, last = ({key: sum(one[key] for one in part) / third for key in kept[0]}
                   for part in (kept[third : 2 * third] or kept, kept[-third:]))  # fmt: skip
    requests = sum(10.0 * one["rate"] for one in kept)
    rows = [
        ["memory, MB, middle and last third", f"{first['megabytes']:.1f}",
         f"{last['megabytes']:.1f}", *_judged(last["megabytes"] / first["megabytes"], 1.02)[1:]],
        ["99 % of latencies, ms", f"{first['p99']:.2f}", f"{last['p99']:.2f}",
         *_judged(last["p99"] / first["p99"], 1.2)[1:]],
        ["99 % of latencies of predictions, ms", f"{first['predictions p99']:.2f}",
         f"{last['predictions p99']:.2f}", ""],
        ["requests a second", f"{first['rate']:.0f}", f"{last['rate']:.0f}", ""],
    ]  # fmt: skip
    errors = sum(one["errors"] for one in kept)
    said = (
        f"{requests:,.0f} requests in {kept[-1]['minute']:.1f} minutes, {errors} errors. {beside}"
    )
    table = Table(["", "middle third", "last third", "goal: last over middle"], rows)
    return Section("endurance", endurance.__doc__, [said, table], lambda: _drawn(kept))


def _late_labels(port, i):
    """Ask under ids, and send the labels of the last slice; return how many were refused."""
    url = f"http://127.0.0.1:{port}{PATH}"
    n, refused = 50, 0
    names = [f"{i}-{k}" for k in range(n)]
    asked = httpx.post(f"{url}predict", json={"rows": ROWS[:n], "ids": names}, timeout=60)
    refused += asked.status_code != 200
    if i > 0:
        items = [{"id": f"{i - 1}-{k}", "label": LABELS[k]} for k in range(n)]
        answer = httpx.post(f"{url}feedback", json={"items": items}, timeout=60).json()
        refused += sum(fate != "learned" for fate in answer["labels"].values())
    return refused


def _megabytes(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024.0


def _cells(load):
    return f"{load.rate:.0f}", f"{load.p50:.2f}", f"{load.p99:.2f}", str(load.errors)


def _judged(value, goal, above=False):
    met = value >= goal if above else value <= goal
    sign = "≥" if above else "≤"
    return f"{value:.3g}", f"{sign} {goal:g}, {'met' if met else 'NOT met'}"


def _drawn(kept):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    axes = figure.subplots(3, sharex=True)
    minutes = [one["minute"] for one in kept]
    for axis, keys, label in (
        (axes[0], ["rate"], "requests / s"),
        (axes[1], ["p99", "predictions p99"], "99 %, ms"),
        (axes[2], ["megabytes"], "memory, MB"),
    ):
        for key in keys:
            axis.plot(minutes, [one[key] for one in kept], label=key)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0.0)
    axes[1].legend(["predict then learn", "predict"], frameon=False)
    axes[2].set_xlabel("minutes")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--minutes", type=float, default=20.0, help="of the long one")
    parser.add_argument("--output", type=Path, default=Path("docs/results/serve"))
    args = parser.parse_args()
    long = ((throughput, args.seconds), (learning, args.seconds), (endurance, args.minutes))
    sections = []
    for measure, much in long:
        sections.append(measure(much))
        print(*sections[-1].blocks, sep="\n\n", flush=True)
    about = made_with()
    opening = (
        f"Made by `python tests/serve/load.py --minutes {args.minutes:g}` on {about['cpu']} with "
        f"forks {about['forks']} and Python {about['python']}. "
        f"Services and clients share its {about['cores']} cores."
    )
    write_report(args.output, ["# A service under load", opening], sections)


if __name__ == "__main__":
    main()

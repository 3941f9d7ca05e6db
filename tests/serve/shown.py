"""A service in a process of its own, and a browser that looks at its page."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = "<img src=x onerror=alert(1)>"
CLASSES = ("<b>calm</b>", '"><script>alert(2)</script>')
_START = 240.0  # seconds: a first start may compile


class Served:
    """A running service."""

    def __init__(self, process, address, token=None):
        self.process, self.address, self.token = process, address, token

    def ask(self, method, path, content=None):
        """Send a request; return the answer's JSON."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if content is None else json.dumps(content).encode()
        asked = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def learn(self, model, rows, labels):
        """Have a model learn rows."""
        self.ask("POST", f"/v1/models/{model}/learn", {"rows": rows, "labels": labels})

    def state(self):
        """Return what the page is told next, as soon as not too many follow."""
        asked = self.address + "/v1/live?once=true"
        end = time.monotonic() + 30.0
        while True:
            try:
                with urllib.request.urlopen(asked, timeout=60) as answer:
                    lines = answer.read().decode().splitlines()
                return json.loads(next(line for line in lines if line.startswith("data:"))[5:])
            except urllib.error.HTTPError as error:
                if error.code != 429 or time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def stop(self):
        """End the service as systemd does; return how many seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        return time.monotonic() - begin


@contextlib.contextmanager
def served(state, *options, token=None):
    """Run `forks serve` on a free port."""
    command = [sys.executable, "-m", "forks.cli", "serve", "--port", "0", "--state", str(state)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    log = Path(f"{state}.log")
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, *map(str, options)], stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    try:
        yield Served(process, _address(process, log), token)
    finally:
        process.kill()
        process.wait()


def _address(process, log):
    end = time.monotonic() + _START
    while time.monotonic() < end:
        found = re.search(r"http://\S+", log.read_text())
        if found:
            return found.group()
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"no service in time: {log.read_text()}")


def rows_of(n, seed, turned=False):
    """Return rows with a hostile column, and their scores; `turned` is another concept."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = 20.0 + 5.0 * X[:, 3]
    score = X[:, 0] - X[:, 1] if turned else X[:, 0] * X[:, 1]
    valves = rng.choice(["open", "half", "shut"], size=n)
    names = (HOSTILE, "pressure", "flow", "temperature")
    rows = [
        {**dict(zip(names, x, strict=True)), "valve": str(valve)}
        for x, valve in zip(X.tolist(), valves, strict=True)
    ]
    return rows, score + 0.3 * rng.normal(size=n)


def classes_of(score):
    """Return labels with hostile names."""
    return [CLASSES[int(s > 0.0)] for s in score]


@contextlib.contextmanager
def browser():
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium has none for root
    with sync_playwright() as playwright:
        begun = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        try:
            yield begun
        finally:
            begun.close()

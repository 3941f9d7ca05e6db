"""Kill `forks run --key ... --checkpoint` at random moments, again and again.

Run as a script: FOLDER KILLS SEED. Children are forked from one process that has everything loaded.
A child goes on from the checkpoint, if there is one; when one has come to the end, all of its files
must be those of a run without kills. Most keys are on disk, rows have weights, some have no label,
and a class comes late. Prints how many were killed.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

from forks.cli import main as cli

FILES = ("model.forks", "predictions.csv", "metrics.jsonl", "kept/checkpoint.forks")
ROWS, EVERY, KEYS = 1500, 50, 200


def write_table(path):
    rng = np.random.default_rng(0)
    lines = ["a,town,b,w,y"]
    for i in range(ROWS):
        a, b = rng.normal(size=2).round(4)
        key = rng.integers(KEYS)
        y = "high" if a > 1.0 and i > ROWS // 2 else "yes" if a * b + key % 3 > 1 else "no"
        gap = "NA" if i % 11 == 3 else b
        lines.append(f"{a},t{key},{gap},{i % 4},{'' if i % 9 == 5 else y}")
    path.write_text("\n".join(lines))


def run(table, folder):
    """Learn what is left of the table."""
    folder.mkdir(exist_ok=True)
    arguments = ["run", table, "--key", "town", "--label", "y", "--weights", "w", "--resume"]
    arguments += ["--set", "max_keys=16", "--set", f"folder={table.parent}"]
    arguments += ["--chunk", 70, "--every", EVERY, "--checkpoint", folder / "kept"]
    arguments += ["--save", folder / "model.forks", "--predictions", folder / "predictions.csv"]
    arguments += ["--metrics", folder / "metrics.jsonl", "--no-progress"]
    cli([*map(str, arguments)], standalone_mode=False)


def killed(table, folder, after):
    """Let a child go on, and kill it after some seconds; return whether it was killed."""
    child = os.fork()
    if child == 0:
        run(table, folder)
        os._exit(0)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and status != 0:
        raise SystemExit("a child failed")
    return os.WIFSIGNALED(status)


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def main(folder, kills, seed):
    table, rng, done = folder / "table.csv", random.Random(seed), 0
    write_table(table)
    run(table, folder / "expected")
    shutil.rmtree(folder / "expected")
    start = time.perf_counter()
    run(table, folder / "expected")  # all is compiled now
    longest = time.perf_counter() - start
    expected, killed_run = content(folder / "expected"), folder / "killed"
    while done < kills:
        if killed(table, killed_run, rng.uniform(0.0, longest)):
            done += 1
        elif content(killed_run) != expected:
            raise SystemExit("a run that was killed ends otherwise")
        else:
            shutil.rmtree(killed_run)
    run(table, killed_run)
    if content(killed_run) != expected:
        raise SystemExit("a run that was killed ends otherwise")
    if os.listdir(killed_run / "kept") != ["checkpoint.forks"]:
        raise SystemExit("a temporary file was left")
    print(done, file=sys.__stdout__)


if __name__ == "__main__":
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (of the command)
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    except SystemExit as fault:
        print(fault, file=sys.__stderr__)
        raise

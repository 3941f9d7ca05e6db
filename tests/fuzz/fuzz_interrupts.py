"""Interrupt learning 10,000 times, at random moments, and write down what came of it.

python tests/fuzz/fuzz_interrupts.py [number] [seed]

Every model that was cut is compared with one that was never interrupted at that row, saved,
loaded and continued, bit for bit. Run it with NUMBA_BOUNDSCHECK=1 (and a NUMBA_CACHE_DIR of its
own) to see that nothing is written outside an array.
"""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from interrupts import random_interrupts


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    start = time.perf_counter()
    figures, rows = random_interrupts(number, seed)
    found = {
        "interrupts": sum(figures.values()),
        "bounds check": os.environ.get("NUMBA_BOUNDSCHECK") == "1",
        "seed": seed,
        "seconds": round(time.perf_counter() - start),
        "of each model": dict(sorted(figures.items())),
        "different rows at which it was cut": dict(sorted(rows.items())),
        "hangs": 0,  # one would have ended the process
        "wrong models": 0,  # one would have raised
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

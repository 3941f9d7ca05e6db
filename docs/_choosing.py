"""The picture of choosing.md: mistakes and time against budget, landmarks, rank, bandwidth.

Mean over three made-up streams of one concept each, every round counted; the time is CPU time.
"""

import matplotlib.pyplot as plt
import numpy as np

from forks import FORKSClassifier, OnlineKernelClassifier
from forks.evaluate import prequential
from forks.streams import drifting

ROWS = 10_000
SEEDS = (0, 1, 2)


def default(**sizes):
    """Return the default model."""
    return OnlineKernelClassifier({"name": "adaptive", **sizes})


def sketched(**sizes):
    """Return the learner of the paper, with our defaults."""
    return FORKSClassifier(update_cycle=0, random_state=0, **sizes)


def played(make, **sizes):
    """Return the mistakes in per cent and the microseconds per row."""
    found = []
    for seed in SEEDS:
        stream = drifting(ROWS, n_concepts=1, seed=seed)
        (end,) = prequential(make(**sizes), stream, every=ROWS)
        found.append((100 * end.mistake_rate, 1e6 * end.seconds / end.rounds))
    return np.mean(found, axis=0)


PANELS = {
    "budget": [
        ("adaptive, budget=B", default, {}, (25, 50, 100, 200, 400)),
        ("FORKSClassifier(budget=B)", sketched, {}, (25, 50, 100, 200, 400)),
    ],
    "n_landmarks": [
        ("FORKSClassifier(n_landmarks=s, rank=25)", sketched, {"rank": 25}, (25, 50, 100, 200)),
    ],
    "rank": [
        ("FORKSClassifier(rank=k), 100 landmarks", sketched, {}, (5, 10, 25, 50, 100)),
    ],
    "bandwidth": [
        ("adaptive, bandwidth=b", default, {}, (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
    ],
}

figure, axes = plt.subplots(4, 2, figsize=(8, 11), sharey="col", layout="constrained")
for row, (size, lines) in zip(axes, PANELS.items(), strict=True):
    for name, make, others, values in lines:
        mistakes, times = np.array([played(make, **others, **{size: v}) for v in values]).T
        color = "C0" if make is default else "C1"
        row[0].plot(values, mistakes, "o-", color=color, label=name)
        row[1].plot(values, times, "o-", color=color)
    row[0].legend(fontsize="small")
    row[1].set(yscale="log")
    for axis, what in zip(row, ("mistakes, %", "µs per row"), strict=True):
        axis.set(xlabel=size, xscale="log", ylabel=what)
        axis.set_xticks(lines[0][3], [f"{v:g}" for v in lines[0][3]])
        axis.minorticks_off()
figure.savefig("choosing.png", dpi=120)

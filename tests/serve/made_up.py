"""Rows of a made-up table, as requests have them."""

import json

import numpy as np

from forks.serve.bodies import Form
from forks.serve.operations import Kind, operation


def rows_and_labels(n, seed=0, task="classification"):
    """Rows with a text column and gaps, and their labels."""
    rng = np.random.default_rng(seed)
    X, city = rng.normal(size=(n, 2)), rng.choice(["Oslo", "Rome", "Bern"], size=n)
    value = X[:, 0] * X[:, 1] + (city == "Rome") + 0.1 * rng.normal(size=n)
    labels = np.where(value > 0.3, "yes", "no").tolist() if task[0] == "c" else value.tolist()
    gaps = rng.random(n) < 0.05
    rows = [
        {"u": None if gap else float(u), "v": float(v), "city": str(c)}
        for (u, v), c, gap in zip(X, city, gaps, strict=True)
    ]
    return rows, labels


def learn(rows, labels, **more):
    return made(Kind.LEARN, {"rows": rows, "labels": labels, **more})


def ask(rows, ids, time=0.0, rounds=0):
    return made(Kind.ASK, {"rows": rows, "ids": ids}, time, rounds)


def feedback(items, time=0.0, rounds=0):
    return made(Kind.FEEDBACK, {"items": [{"id": k, "label": v} for k, v in items]}, time, rounds)


def made(kind, content, time=0.0, rounds=0):
    return operation(kind, Form.JSON, json.dumps(content).encode(), time, rounds)

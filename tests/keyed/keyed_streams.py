"""Streams of keys whose concepts share a part."""

import numpy as np


def shared_part(X):
    return np.sin(2.0 * X[:, 0]) + X[:, 1] * np.tanh(X[:, 2])


def keyed_stream(n_rows, n_keys, seed=0, d=4, noise=0.2, own=1.0):
    """Return keys (strings), rows and numbers: a common function, and for each key another one."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, n_keys, n_rows)
    X = rng.normal(size=(n_rows, d))
    weights = rng.normal(size=(n_keys, d + 1)) / np.sqrt(d + 1.0)
    basis = np.column_stack([np.cos(1.5 * X), np.ones(n_rows)])
    y = shared_part(X) + own * np.sum(weights[numbers] * basis, axis=1)
    y += noise * rng.normal(size=n_rows)
    return [f"key {number}" for number in numbers], X, y

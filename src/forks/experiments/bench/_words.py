"""Sparse streams of text, made and real, for the benchmark."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from forks.engine import Vector
from forks.experiments.bench._data import Stream

_TOPICS, _RELEVANT, _COMMON = 12, 200, 1500
_PACKAGES = ("numba", "numpy", "scipy", "sklearn")  # that forks needs, so that all have them
_CHUNK = 250  # words of source code in a row


def made_words(
    n_rows: int,
    n_features: int = 40_000,
    entries: int = 156,
    values: str = "log",
    interaction: float = 0.5,
    changes: bool = False,
    seed: int = 0,
) -> Stream:
    """Make documents: words by Zipf's law, different for each of 12 topics.

    A row has the words of two topics, as log(1 + count), as 1, or as TF-IDF of length 1. Its label
    is the sign of a sum over some of the words, of a sum whose weights depend on the topic, and of
    a number of the topic's own; `interaction` is the size of what depends on the topic. One label
    in twenty is wrong. If it `changes`, the weights of the words turn round after half of the rows.
    """
    rng = np.random.default_rng(seed)
    share = np.exp(1.2 * rng.normal(size=(_TOPICS, n_features))) / np.arange(6, n_features + 6)
    cumulated = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    cumulated[:, -1] = 1.0
    rarity = np.clip(-np.log(250.0 * np.diff(cumulated.mean(axis=0), prepend=0.0)), 0.3, 6.0)
    common = min(_COMMON, n_features)
    relevant = rng.choice(common, min(_RELEVANT, common // 4), replace=False)
    plain, of_topic = np.zeros(n_features), np.zeros((_TOPICS, n_features))
    plain[relevant] = rng.normal(size=len(relevant))
    of_topic[:, relevant] = rng.normal(size=(_TOPICS, len(relevant)))
    level = rng.normal(size=_TOPICS)
    topics = rng.integers(_TOPICS, size=(n_rows, 2))
    words = np.empty((n_rows, entries), np.int32)
    X, sums = np.empty((n_rows, entries)), np.empty((n_rows, 3))
    for t, (topic, other) in enumerate(topics):
        words[t], counts = _document(rng, cumulated[topic], cumulated[other], entries)
        z = np.log1p(counts) * rarity[words[t]]
        z /= np.linalg.norm(z)
        X[t] = {"log": np.log1p(counts), "binary": np.ones(entries), "tf-idf": z}[values]
        turned = -1.0 if changes and t > n_rows // 2 else 1.0
        sums[t] = turned * z @ plain[words[t]], z @ of_topic[topic, words[t]], level[topic]
    sums /= sums.std(axis=0)
    f = sums[:, 0] + interaction * (sums[:, 1] + 0.5 * sums[:, 2])
    y = np.where(f > np.median(f), 1.0, -1.0)
    y[rng.random(n_rows) < 0.05] *= -1.0
    starts = np.arange(0, n_rows * entries + 1, entries, dtype=np.int32)  # scikit-learn's
    shape = n_rows, n_features
    return Stream(sparse.csr_array((X.ravel(), words.ravel(), starts), shape=shape), y)


def _document(rng: Any, ours: Vector, other: Vector, entries: int) -> tuple[Any, Any]:
    """Draw words, two thirds from one topic, until so many are different; return their counts."""
    drawn = np.empty(0, np.intp)
    while True:
        n = 6 * entries
        more = [np.searchsorted(ours, rng.random(2 * n)), np.searchsorted(other, rng.random(n))]
        drawn = np.concatenate([drawn, rng.permutation(np.concatenate(more))])
        _, first = np.unique(drawn, return_index=True)
        if len(first) >= entries:
            return np.unique(drawn[: np.sort(first)[entries - 1] + 1], return_counts=True)


def source_code(n_rows: int, bits: int = 15, seed: int = 0) -> Stream:
    """Read the source code of four packages as text: is a passage of NumPy or Numba, or not?

    Words are hashed into 2^`bits` features, of length 1, in a random order of passages.
    """
    texts: list[str] = []
    labels: list[float] = []
    for package in _PACKAGES:
        found = importlib.util.find_spec(package)
        assert found is not None
        assert found.origin is not None
        for path in sorted(Path(found.origin).parent.rglob("*.py")):
            words = re.findall(r"[a-z]{2,}", path.read_text("utf-8", "replace").lower())
            for start in range(0, len(words) - _CHUNK // 2, _CHUNK):
                texts.append(" ".join(words[start : start + _CHUNK]))
                labels.append(1.0 if package in ("numba", "numpy") else -1.0)
    rows = np.random.default_rng(seed).permutation(len(texts))[:n_rows]
    hashing = HashingVectorizer(n_features=2**bits, alternate_sign=False)
    X = sparse.csr_array(hashing.transform([texts[i] for i in rows]))
    X.sum_duplicates()
    return Stream(X, np.array(labels)[rows])

"""Wide sparse rows.

Documents of 156 different words out of 40,000, made by Zipf's law with 12 topics, whose labels
depend on words and on topics: as log(1 + count), as TF-IDF, and as 0 and 1 with weights that turn
round in the middle; the source code of NumPy, Numba, SciPy and scikit-learn as text, hashed into
32,768 features; and sparse data sets. Every model plays every row once, predicting before it
learns, with nothing tuned: `forks.learners.Wide`, which is the default of sparse rows with more
than 512 features; Vowpal Wabbit with three losses; and linear models of scikit-learn, which take 20
rows at a time, since a single one takes them milliseconds, and whose first 20 do not count. Then
what a row takes, in time and memory, and what `Wide` and the default of other rows ("experts",
which is `learner={"name": "adaptive"}`) do with documents made of fewer words.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Perceptron, SGDClassifier

from forks import OnlineKernelClassifier
from forks.datasets import load, order
from forks.engine import Vector
from forks.evaluate import is_mistake, player_for
from forks.evaluate.metrics import SIGNS
from forks.experiments.bench._data import SEED, Stream
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._peers import in_batches
from forks.experiments.bench._table_peers import vw_predictions
from forks.experiments.bench._timing import Timed, best_times, timed
from forks.experiments.bench._words import made_words, source_code
from forks.learners import Wide

_OURS = "Wide"
_WIDE, _ENTRIES = 40_000, 156
_FIRST = "words"
_BATCH = 20  # rows that scikit-learn predicts, then learns
_VW = {"squared": "", "logistic": "--loss_function logistic", "hinge": "--loss_function hinge"}
_SGD = partial(SGDClassifier, random_state=SEED)
_LINEAR = {
    "SGD, hinge": _SGD(),
    "SGD, logistic": _SGD(loss="log_loss"),
    "SGD, logistic, averaged": _SGD(loss="log_loss", average=True),
    "PA": _SGD(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0),
    "Perceptron": Perceptron(random_state=SEED),
}


def measure(
    rows: int = 10_000,
    width: int = _WIDE,
    sets: tuple[str, ...] = ("w7a", "spambase"),
    widths: tuple[int, ...] = (300, 600, 1200, 2400, 4800),
    narrow_rows: int = 4_000,
    repeats: int = 3,
    peers: bool = True,
) -> Iterator[Number]:
    """Play every stream with every model; time the first one; then go through widths."""
    first = made_words(rows, width)
    rates: dict[str, float] = {}
    for name, stream in _streams(first, rows, width, sets):
        settings = {"rows": len(stream.y), "features": stream.X.shape[1]}
        for model, play in _models(peers).items():
            wrong = 100.0 * float(np.mean(play(stream)))
            yield Number(model, wrong, "%", settings, column=name)
            if name == _FIRST:
                rates[model] = wrong
    for library in ("VW", "SGD", "PA", "Perceptron"):
        found = [rate for model, rate in rates.items() if model.startswith(library)]
        if found:
            title = f"{_FIRST}: mistakes over those of the best of {library}"
            yield Number(title, rates[_OURS] / min(found), at_most=1.0)
    yield from _costs(first, repeats)
    for n in widths:
        yield from _against_experts(n, narrow_rows)


def _streams(
    first: Stream, rows: int, width: int, sets: tuple[str, ...]
) -> Iterator[tuple[str, Stream]]:
    yield _FIRST, first
    yield "words, TF-IDF", made_words(rows, width, values="tf-idf", interaction=0.0, seed=1)
    yield "words, turned", made_words(rows, width, values="binary", changes=True, seed=2)
    yield "source code", source_code(min(rows, 10_000))
    for name in sets:
        X, y = load(name)
        chosen = order(len(y), SEED)[:rows]
        yield name, Stream(sparse.csr_array(X[chosen]), y[chosen])


def _models(peers: bool) -> dict[str, Callable[[Stream], Vector]]:
    """Return what plays a stream and tells which answers were wrong."""
    models: dict[str, Callable[[Stream], Vector]] = {
        _OURS: partial(_play_ours, Wide()),
        f"{_OURS}, no landmarks": partial(_play_ours, Wide(landmarks=0)),
    }
    if peers:
        models |= {f"VW, {loss}": partial(_play_vw, options) for loss, options in _VW.items()}
        models |= {name: partial(_play_linear, model) for name, model in _LINEAR.items()}
    return models


def _play_ours(learner: Wide, stream: Stream) -> Vector:
    model = OnlineKernelClassifier(learner)
    return np.asarray(model.labels_of(model.prequential(*stream)) != stream.y)


def _play_vw(options: str, stream: Stream) -> Vector:
    X, lines = stream.X, []
    for t, label in enumerate(stream.y):
        entries = slice(X.indptr[t], X.indptr[t + 1])
        pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
        words = " ".join(f"{feature}:{value:.9g}" for feature, value in pairs)
        lines.append(f"{int(label)} | {words}")
    return is_mistake(vw_predictions(lines, options)[0], stream.y)


def _play_linear(model: Any, stream: Stream) -> Vector:
    player = player_for(type(model).__name__, clone(model), classes=SIGNS)
    scores = in_batches(player, *stream, batch=_BATCH).result
    return is_mistake(scores, stream.y)[_BATCH:]


def _costs(stream: Stream, repeats: int) -> Iterator[Number]:
    """Measure time and memory of a pass over the first stream, and memory of very wide rows."""
    settings = {"rows": len(stream.y), "features": stream.X.shape[1]}

    def a_pass() -> Timed:
        model = OnlineKernelClassifier()
        model.partial_fit(stream.X[:1], stream.y[:1], classes=SIGNS)
        one = timed(lambda: model.partial_fit(stream.X[1:], stream.y[1:]))
        return Timed(one.seconds, model.engine_.state_bytes)

    times = best_times({_OURS: a_pass}, repeats)[_OURS]
    per_row = 1e6 * times.seconds / len(stream.y)
    yield Number(f"{_FIRST}: time of a row", per_row, "µs", settings, at_most=100.0)
    size = times.result / 1e6
    yield Number(f"{_FIRST}: size of the state", size, "MB", settings, at_most=64.0)
    rng = np.random.default_rng(SEED)
    n, d = 2_000, 1_000_000
    words = np.sort(rng.zipf(1.3, size=(n, 200)) * 7919 % d, axis=1)
    X = sparse.csr_array((np.ones(n * 200), words.ravel(), np.arange(0, n * 200 + 1, 200)), (n, d))
    X.sum_duplicates()
    model = OnlineKernelClassifier().partial_fit(X, rng.integers(2, size=n))
    title = "a million features: size of the state, for each one seen"
    seen = len(np.unique(X.indices))
    yield Number(title, model.engine_.state_bytes / seen, "bytes", {"rows": n, "seen": seen})


def _against_experts(n_features: int, rows: int) -> Iterator[Number]:
    """Compare with the default learner of narrow rows."""
    entries = min(_ENTRIES, n_features // 8)
    stream = made_words(rows, n_features, entries, values="tf-idf", seed=5)
    contenders: dict[str, Any] = {_OURS: Wide(), "experts": {"name": "adaptive"}}
    for name, learner in contenders.items():
        model = OnlineKernelClassifier(learner)
        model.partial_fit(stream.X[:1], stream.y[:1], classes=SIGNS)
        one = timed(partial(model.prequential, stream.X[1:], stream.y[1:]))
        wrong = 100.0 * float(np.mean(model.labels_of(one.result) != stream.y[1:]))
        settings = {"rows": rows, "entries": entries}
        per_row = 1e6 * one.seconds / rows
        for what, value, unit in (("mistakes", wrong, "%"), ("time", per_row, "µs per row")):
            title, at = f"{what} of {name}", float(n_features)
            yield Number(title, value, unit, settings, against="number of features", at=at)


PART = Part(
    __doc__,
    measure,
    {"rows": 1_000, "widths": (300, 1200), "narrow_rows": 600, "repeats": 1, "peers": False},
)

"""State machines over the estimators: any calls in any order, with anything in the rows.

Beside the model is a shadow that is never saved, loaded, pickled or copied, and gets every chunk in
two parts: its scores are the same, bit for bit. A refused call leaves the model as it was, byte for
byte. Nothing is ever non-finite, and nothing is warned about.
"""

import copy
import math
import pickle
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from scipy import sparse
from sklearn.base import clone

import forks
from forks import FORKSClassifier, FORKSRegressor, OnlineKernelClassifier, OnlineKernelRegressor
from forks.estimators.saving import as_bytes
from forks.kernels import Gaussian
from forks.learners.catalogue import CATALOGUE, Setting

WIDTH = 3
COUNTS: Counter[str] = Counter()  # rules played, over all machines of the process


class Kind(NamedTuple):
    """An estimator to play with."""

    make: Callable[[], Any]
    labels: tuple[Any, ...] = (0, 1)  # empty for regression
    sparse: bool = True


def _of(method):
    learner = method.make(Setting(Gaussian(1.5), budget=8, n_rounds=100))
    return lambda: OnlineKernelClassifier(learner, random_state=0)


ADAPTIVE = {"name": "adaptive", "budget": 8}
SMALL = {"budget": 6, "update_cycle": 5, "random_state": 0}
KINDS = {
    "default": Kind(lambda: OnlineKernelClassifier(ADAPTIVE)),
    "default of three": Kind(
        lambda: OnlineKernelClassifier(ADAPTIVE, class_weight="balanced"), ("ant", "bee", "cat")
    ),
    "large": Kind(OnlineKernelClassifier),
    "by name": Kind(lambda: OnlineKernelClassifier("nogd", random_state=0)),
    "sketched": Kind(lambda: FORKSClassifier(**SMALL)),
    "refreshed": Kind(lambda: FORKSClassifier(landmarks="refreshed", **SMALL), (-1.0, 2.0)),
    "reset": Kind(
        lambda: FORKSClassifier(on_update="reset", bandwidth=0.5, **SMALL), (False, True)
    ),
    "regressor": Kind(lambda: OnlineKernelRegressor(ADAPTIVE), ()),
    "sketched regressor": Kind(lambda: FORKSRegressor(**SMALL), ()),
    **{method.name: Kind(_of(method), sparse=False) for method in CATALOGUE},
    "BOGD of three": Kind(_of(CATALOGUE[6]), ("ant", "bee", "cat"), sparse=False),
}

SIZES = (1, 1, 2, 3, 8, 40, 300)
VALUES = (
    "plain",
    "huge",
    "tiny",
    "of all sizes",
    "constant",
    "zeros",
    "one row",
    "seen before",
    "constant column",
    "whole numbers",
)
FORMS = ("array", "fortran", "strided", "read-only", "list", "float32", "csr")
LABELLED = ("by sign", "first", "last", "by coin")
WEIGHTS = (None, None, None, "one", "some zero", "zeros", "huge", "tiny")


def _rows(rng, n, values, before):
    X = rng.normal(size=(n, WIDTH))
    match values:
        case "huge":
            X *= 1e150
        case "tiny":
            X *= 1e-300
        case "of all sizes":
            X *= 10.0 ** rng.integers(-300, 151, (n, WIDTH))
        case "constant":
            X[:] = 3.7
        case "zeros":
            X[:] = 0.0
        case "one row":
            X[:] = X[0]
        case "seen before" if before is not None:
            X = before[rng.integers(0, len(before), n)]
        case "constant column":
            X[:, 0] = -2.0
        case "whole numbers":
            X = np.round(3.0 * X)
    return X


def _formed(X, form):
    match form:
        case "fortran":
            return np.asfortranarray(X)
        case "strided":
            return np.repeat(X, 2, axis=1)[:, ::2]
        case "read-only":
            X = X.copy()
            X.flags.writeable = False
            return X
        case "list":
            return X.tolist()
        case "csr":
            return sparse.csr_matrix(X)
        case _:
            return X


def _weights(rng, n, kind):
    match kind:
        case "one":
            return 2.5
        case "some zero":
            return (rng.random(n) < 0.5).astype(float)
        case "zeros":
            return np.zeros(n)
        case "huge":
            return np.where(rng.random(n) < 0.3, 1e100, 1.0)
        case "tiny":
            return np.full(n, 1e-300)
        case _:
            return None


def _part(values, rows):
    return values[rows] if hasattr(values, "__getitem__") else values


chunks = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from(SIZES),
        "values": st.sampled_from(VALUES),
        "form": st.sampled_from(FORMS),
        "labelled": st.sampled_from(LABELLED),
        "weighted": st.sampled_from(WEIGHTS),
        "size": st.sampled_from((1.0, 1.0, 1e150, 1e-300, 0.0)),  # of targets
    }
)


class Machine(RuleBasedStateMachine):
    """A model, its shadow, and what may happen to them."""

    kinds: tuple[str, ...] = tuple(KINDS)

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="machine-")
        self.before: Any = None
        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
        warnings.filterwarnings("ignore", category=forks.MendWarning)
        COUNTS["machines"] += 1

    def teardown(self) -> None:
        self.caught.__exit__(None, None, None)
        self.folder.cleanup()

    @initialize(data=st.data())
    def begin(self, data):
        self.kind = KINDS[data.draw(st.sampled_from(self.kinds), label="kind")]
        self.model, self.shadow = self.kind.make(), self.kind.make()
        self.known = {"classes": list(self.kind.labels)} if self.kind.labels else {}

    @property
    def fitted(self):
        return hasattr(self.model, "engine_")

    def _chunk(self, chunk, labels=None):
        """Make rows, labels and weights."""
        rng = np.random.default_rng(chunk["seed"])
        n, form = chunk["n"], chunk["form"]
        X = _rows(rng, n, chunk["values"], self.before)
        if form == "float32":
            with np.errstate(over="ignore", under="ignore"):
                X = np.clip(X, -1e30, 1e30).astype(np.float32)
        if form == "csr" and not self.kind.sparse:
            form = "array"
        self.before = np.array(X, dtype=np.float64)
        labels = np.array(self.kind.labels) if labels is None else labels
        if not self.kind.labels:
            y = chunk["size"] * (rng.normal(size=n) + 0.3)
        else:
            which = {
                "first": np.zeros(n, int),
                "last": np.full(n, len(labels) - 1),
                "by sign": (X[:, 0] > 0).astype(int) + (X[:, 1] > 1) * (len(labels) - 2),
                "by coin": rng.integers(0, len(labels), n),
            }
            y = labels[which[chunk["labelled"]]]
        return X, _formed(X, form), y, _weights(rng, n, chunk["weighted"])

    def _count(self, name):
        COUNTS["steps"] += 1
        COUNTS[name] += 1

    def _check_scores(self, scores):
        assert np.isfinite(scores).all()
        if self.kind.labels:
            assert np.isin(self.model.labels_of(scores), self.kind.labels).all()
        assert self._memory_is_finite()

    def _memory_is_finite(self):
        engine = self.model.engine_
        engines = getattr(engine, "engines", [engine])
        return all(np.isfinite(each.memory.floats).all() for each in engines)

    @rule(
        chunk=chunks, verb=st.sampled_from(("prequential", "partial_fit")), cut=st.integers(0, 40)
    )
    def learn(self, chunk, verb, cut):
        X, formed, y, weights = self._chunk(chunk)
        if not self.fitted and weights is not None and not np.any(weights):
            return self._refused(
                lambda: self.model.partial_fit(formed, y, sample_weight=weights, **self.known)
            )
        self._count(verb)
        first = slice(0, max(1, min(cut, len(y)))), slice(max(1, min(cut, len(y))), len(y))
        if not self.fitted:  # the first chunk of the shadow must have a weight
            first = slice(0, len(y)), slice(len(y), len(y))
        rows = sparse.csr_matrix(X) if sparse.issparse(formed) else X
        parts = [
            self.shadow.prequential(
                rows[part], y[part], sample_weight=_part(weights, part), **self.known
            )
            for part in first
            if part.start < part.stop
        ]
        scores = getattr(self.model, verb)(formed, y, sample_weight=weights, **self.known)
        if verb == "prequential":
            np.testing.assert_array_equal(scores, np.concatenate(parts))
        self._check_scores(np.concatenate(parts))

    @rule(chunk=chunks, really=st.integers(0, 7))
    def fit(self, chunk, really):
        """Forget everything, now and then; needs all labels in the chunk."""
        if really < 7:
            return self.learn(chunk, "partial_fit", 1)
        X, formed, y, _ = self._chunk({**chunk, "n": 8})
        if self.kind.labels:
            y = np.array(self.kind.labels)[np.arange(8) % len(self.kind.labels)]
        self._count("fit")
        self.model.fit(formed, y)
        self.shadow.fit(sparse.csr_matrix(X) if sparse.issparse(formed) else X, y)
        assert self._memory_is_finite()
        return None

    @precondition(lambda self: self.fitted)
    @rule(chunk=chunks)
    def predict(self, chunk):
        X, formed, _, _ = self._chunk(chunk)
        self._count("predict")
        bytes_before = as_bytes(self.model)
        scores = getattr(self.model, "decision_function", self.model.predict)(formed)
        rows = sparse.csr_matrix(X) if sparse.issparse(formed) else X
        shadow = getattr(self.shadow, "decision_function", self.shadow.predict)(rows)
        np.testing.assert_array_equal(scores, shadow)
        self._check_scores(scores)
        answers = self.model.predict(formed)
        if self.kind.labels:
            assert np.isin(answers, self.kind.labels).all()
        if hasattr(self.model, "predict_proba"):
            chances = self.model.predict_proba(formed)
            assert ((chances >= 0.0) & (chances <= 1.0)).all()
            np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
        assert as_bytes(self.model) == bytes_before

    @precondition(lambda self: self.fitted)
    @rule(chunk=chunks)
    def score_ahead(self, chunk):
        """Score rows whose labels come late."""
        X, formed, y, weights = self._chunk(chunk)
        self._count("score_then_learn")
        ahead = _formed(X[::-1].copy(), "csr") if sparse.issparse(formed) else X[::-1].copy()
        scores = self.model.score_then_learn(ahead, formed, y, sample_weight=weights)
        expected = []
        for i in range(len(y)):
            expected.append(self.shadow.score_ahead(ahead[i : i + 1]))
            rows = sparse.csr_matrix(X) if sparse.issparse(formed) else X
            part = slice(i, i + 1)
            self.shadow.partial_fit(rows[part], y[part], sample_weight=_part(weights, part))
        np.testing.assert_array_equal(scores, np.concatenate(expected))
        self._check_scores(scores)

    @rule(way=st.sampled_from(("save and load", "pickle", "deepcopy")))
    def move(self, way):
        """Go on with what comes out of a file, a pickle or a copy."""
        self._count(way)
        if way == "save and load":
            path = Path(self.folder.name) / "model.forks"
            self.model.save(path)
            self.model = forks.load(path)
        elif way == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        else:
            self.model = copy.deepcopy(self.model)
        assert as_bytes(self.model) == as_bytes(self.shadow)

    @rule(form=st.sampled_from(("array", "list", "csr")))
    def change_nothing(self, form):
        """A clone has learned nothing, an empty chunk teaches nothing."""
        self._count("clone and empty chunk")
        bytes_before = as_bytes(self.model)
        cloned = clone(self.model)
        assert as_bytes(cloned) == as_bytes(self.kind.make())
        X = _formed(np.empty((0, WIDTH)), form)
        assert len(self.model.prequential(X, [], **self.known)) == 0
        assert as_bytes(self.model) == bytes_before

    @rule(bad=st.sampled_from(tuple(range(20))), chunk=chunks)
    def refuse(self, bad, chunk):
        X, _, y, _ = self._chunk({**chunk, "n": max(2, chunk["n"]), "form": "array"})
        weights, known = None, dict(self.known)
        match bad:
            case 0 if self.fitted:
                X = X[:, :-1]
            case 1 if self.fitted:
                X = np.hstack([X, X])
            case 2:
                X = X[:, 0]
            case 3:
                X = X[:, :, None]
            case 4 | 5:
                X = X.copy()
                X[-1, -1] = (math.inf, -math.inf)[bad - 4]
            case 6 if self.kind.labels:
                y = np.array([*y[:-1], None], dtype=object)
            case 7:
                X = sparse.csr_matrix(np.full(X.shape, math.inf))
            case 8:
                X = X + 1j
            case 9:
                X = np.full(X.shape, "word")
            case 10:
                X = [[object()] * WIDTH] * len(y)
            case 11:
                y = y[:-1]
            case 12:
                y = np.concatenate([y, y])
            case 13 if self.kind.labels or self.fitted:
                y = np.array([y, y]).T
            case 14:
                weights = np.ones(len(y) + 1)
            case 15:
                weights = np.full(len(y), -1.0)
            case 16:
                weights = np.full(len(y), math.nan)
            case 17 if self.kind.labels:
                y = np.array([*y[:-1], math.inf], dtype=object)
            case 18 if self.fitted:
                known = {"classes": ["x", "y"]}
            case 19:
                X = np.empty((len(y), 0))
            case _:
                X = np.empty((0, WIDTH))
        self._refused(lambda: self.model.partial_fit(X, y, sample_weight=weights, **known))

    def _refused(self, call):
        """A call that must be refused, and change nothing."""
        self._count("refused")
        bytes_before = as_bytes(self.model)
        with pytest.raises((ValueError, TypeError)) as refused:
            call()
        assert str(refused.value)
        assert as_bytes(self.model) == bytes_before

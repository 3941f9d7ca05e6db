"""Prequential evaluation: checkpoints are exact, whatever the chunks and the delay of labels."""

import itertools
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info

from estimators.small_streams import (
    assert_same_memory,
    classifier,
    counts,
    labelled,
    regressor,
    valued,
)
from forks import FORKSClassifier, OnlineKernelClassifier, OnlineKernelRegressor
from forks.datasets import load, permutations
from forks.engine.protocol import run, run_ahead, score_rows
from forks.estimators.saving import as_bytes
from forks.evaluate import Checkpoint, prequential
from forks.evaluate.clock import play_small, warm_up
from forks.evaluate.metrics import row_losses
from forks.evaluate.players import EstimatorPlayer
from forks.kernels import Gaussian, Laplacian, _kernel_block
from forks.learners import FORKS, KOGD, NOGD, RBP
from forks.learners.catalogue import CATALOGUE, Setting
from forks.losses import Hinge, Logistic, SquaredError
from forks.parts.stage_one import COUNT

ROWS = 150
X, Y = labelled(ROWS)
_, TARGETS = valued(ROWS)
NAMES = np.array(["a", "b", "c"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.3)]
CLOCKS = ("seconds", "compile_seconds", "rounds_per_second")


def chunked(X, y, cuts, weights=None):
    bounds = [0, *sorted(cuts), len(y)]
    for a, b in itertools.pairwise(bounds):
        chunk = (X[a:b], y[a:b])
        yield chunk if weights is None else (*chunk, weights[a:b])


def timeless(checkpoints):
    return [{k: v for k, v in asdict(c).items() if k not in CLOCKS} for c in checkpoints]


def two_stages(**changes):
    return OnlineKernelClassifier(NOGD(kernel=Gaussian(1.5), budget=8, **changes))


@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
@settings(max_examples=8)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=6))
def test_any_chunks_give_what_the_model_gives_bit_for_bit(kind, cuts):
    y = {"two classes": Y, "three classes": NAMES, "regression": TARGETS}[kind]
    make = regressor if kind == "regression" else classifier
    extra = {} if kind == "regression" else {"classes": np.unique(y)}
    expected = make()
    scores = expected.prequential(X, y, **extra)
    model = make()
    checkpoints = list(prequential(model, chunked(X, y, cuts), every=40, window=50, **extra))
    assert [c.rounds for c in checkpoints] == [40, 80, 120, 150]
    assert_same_memory(model, expected)
    losses = row_losses(
        SquaredError() if kind == "regression" else Hinge(),
        scores.reshape(ROWS, -1),
        expected.targets_of(y),
    )
    for c in checkpoints:
        seen = slice(0, c.rounds)
        assert c.loss == pytest.approx(losses[seen].sum(), rel=1e-12)
        if kind == "regression":
            errors = scores[seen] - y[seen]
            assert c.absolute_error == pytest.approx(np.abs(errors).mean(), rel=1e-12)
            assert c.squared_error == pytest.approx(np.mean(errors**2), rel=1e-12)
            assert math.isnan(c.mistakes)
            assert math.isnan(c.recent_mistake_rate)
        else:
            wrong = expected.labels_of(scores)[seen] != y[seen]
            assert c.mistakes == wrong.sum()
            assert c.mistake_rate == wrong.mean()
            assert c.recent_mistake_rate == wrong[-50:].mean()
            assert math.isnan(c.absolute_error)
    assert checkpoints[-1].stored_points == model.n_points_
    assert checkpoints[-1].state_bytes == model.engine_.state_bytes
    assert checkpoints[-1].model == type(model).__name__


def test_the_first_chunk_gives_the_classes_even_if_it_is_cut():
    y = np.repeat([0, 1], 40)
    model = classifier()
    checkpoints = list(prequential(model, [(X[:80], y)], every=10))
    assert [c.rounds for c in checkpoints] == list(range(10, 81, 10))
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("weights", [None, np.where(np.arange(ROWS) % 3 == 1, 0.0, 0.7)])
@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("make", [two_stages, classifier])
def test_the_paper_leaves_stage_one_out_and_divides_by_all_rounds(make, delay, weights):
    # one row at a time: the switch is the last round learned before the first of stage two
    plain, wrong, switched = make(), [], []
    for t in range(ROWS):
        now = getattr(plain, "engine_", None)
        score = plain.decision_function(X[t : t + 1]) if now is not None else np.zeros(1)
        wrong.append((score[0] >= 0.0) != (Y[t] == 1))
        past = t - delay
        before = 0 if now is None else now.rounds_since_switch
        if past >= 0:
            given = None if weights is None else [weights[past]]
            plain.partial_fit(X[past : past + 1], Y[past : past + 1], [0, 1], given)
        after = plain.engine_.rounds_since_switch if past >= 0 else 0
        switched.append(after > before or (after > 0 and before > 0))
    expected = np.cumsum(np.array(wrong) & np.array(switched))
    assert 0 < expected[-1] < np.sum(wrong)
    for cuts in ([], [1, 33, 34, 90]):
        stream = chunked(X, Y, cuts, weights)
        found = list(prequential(make(), stream, every=10, delay=delay, classes=[0, 1]))
        assert [c.mistakes_as_published for c in found] == expected[9::10].tolist()
        assert [c.mistakes for c in found] == np.cumsum(wrong)[9::10].tolist()
        assert found[-1].mistake_rate_as_published == expected[-1] / ROWS


@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("learner", [KOGD(), RBP(budget=5)])
def test_learners_of_one_stage_are_counted_alike(learner, delay):
    (c,) = prequential(OnlineKernelClassifier(learner), [(X, Y)], delay=delay)
    assert c.mistakes_as_published == c.mistakes > 0


@pytest.mark.needs_data
def test_both_ways_of_counting_give_the_rates_of_the_authors_code():
    rows, y = load("german")
    sizes = {"buffer": 100, "sketch_size": 50, "n_landmarks": 10, "rank": 5, "update_cycle": 300}
    learner = FORKS.as_released(kernel=Gaussian(64.0), **sizes)
    rates = []
    for seed, order in enumerate(permutations("german")):
        model = OnlineKernelClassifier(learner, random_state=seed)
        (c,) = prequential(model, [(rows[order], y[order])])
        rates.append((c.mistake_rate, c.mistake_rate_as_published))
    every_round, as_published = 100.0 * np.mean(rates, axis=0)
    assert every_round == pytest.approx(31.18, abs=0.6)
    assert as_published == pytest.approx(26.1, abs=0.6)


def plain_loop(model, X, y, delay, classes):
    """Predict a row; then learn the row that came `delay` rows before."""
    scores = []
    score = getattr(model, "decision_function", None) or model.predict
    shape = (1, len(classes)) if classes is not None and len(classes) > 2 else 1
    for t in range(len(y)):
        fitted = hasattr(model, "engine_")
        scores.append(score(X[t : t + 1]) if fitted else np.zeros(shape))
        if t >= delay:
            rows = slice(t - delay, t - delay + 1)
            model.partial_fit(X[rows], y[rows], **({} if classes is None else {"classes": classes}))
    return np.concatenate(scores)


def rbp_of_three():
    return OnlineKernelClassifier(RBP(kernel=Gaussian(1.5), budget=9), random_state=0)


@pytest.mark.parametrize("delay", [1, 7, 60, ROWS - 1, ROWS + 5])
@pytest.mark.parametrize(
    ("make", "rows", "y"),
    [
        (classifier, X, Y),
        (lambda: classifier(bandwidth="median"), X, Y),
        (classifier, csr_array(X), NAMES),
        (regressor, X, TARGETS),
        (rbp_of_three, X, NAMES),
    ],
    ids=["two classes", "median", "sparse, three classes", "regression", "an engine per class"],
)
def test_late_labels_are_those_of_a_plain_loop(make, rows, y, delay):
    classes = None if y is TARGETS else np.unique(y)
    expected = make()
    scores = plain_loop(expected, rows, y, delay, classes)
    for cuts in ([], [1, 8, 9, 50, 51, 130]):
        model = make()
        stream = chunked(rows, y, cuts)
        found = list(prequential(model, stream, every=40, delay=delay, classes=classes))
        if delay < ROWS:
            for ours, theirs in zip(_memories(model), _memories(expected), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        else:
            assert not hasattr(model, "engine_")
            assert found[-1].stored_points == 0
        if classes is None:
            totals = np.cumsum((scores - y) ** 2)
            assert [c.squared_error * c.rounds for c in found] == pytest.approx(_at(totals, found))
        else:
            index = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            totals = np.cumsum(classes[index] != y)
            assert [c.mistakes for c in found] == _at(totals, found)


def _memories(model):
    engines = getattr(model.engine_, "engines", [model.engine_])
    return [part for engine in engines for part in engine.memory]


def _at(totals, checkpoints):
    return [totals[c.rounds - 1] for c in checkpoints]


def test_data_frames_may_wait_for_their_labels():
    frame = pd.DataFrame(X, columns=list("abcd"))
    stream = [(frame[:70], Y[:70]), (frame[70:], Y[70:])]
    (late,) = prequential(classifier(), stream, delay=20)
    (plain,) = prequential(classifier(), [(X, Y)], delay=20)
    assert timeless([late]) == timeless([plain])


def test_models_share_one_pass_and_checkpoints_come_as_soon_as_they_are_due():
    given = []

    def stream():
        for start in range(0, ROWS, 30):
            given.append(start)
            yield X[start : start + 30], Y[start : start + 30]

    models = {"ours": classifier(), "linear": SGDClassifier(random_state=0)}
    checkpoints = prequential(models, stream(), every=45)
    assert given == []
    first, second = next(checkpoints), next(checkpoints)
    assert [(c.model, c.rounds) for c in (first, second)] == [("ours", 45), ("linear", 45)]
    assert given == [0, 30]
    rest = [(c.model, c.rounds) for c in checkpoints]
    assert rest == [(name, n) for n in (90, 135, 150) for name in models]
    assert given == list(range(0, ROWS, 30))
    alone = list(prequential(classifier(), stream(), every=45))
    together = list(prequential({"FORKSClassifier": classifier()} | models, stream(), every=45))
    assert timeless(alone) == timeless(together[::3])


def test_a_stream_without_rows_gives_no_checkpoint():
    assert list(prequential(classifier(), [])) == []
    assert list(prequential(classifier(), [(X[:0], Y[:0])])) == []


def test_a_model_goes_on_where_it_is():
    model, expected = classifier(), classifier()
    expected.prequential(X, Y)
    model.prequential(X[:100], Y[:100])
    (c,) = prequential(model, [(X[100:], Y[100:])])
    assert c.rounds == 50
    assert c.mistakes_as_published == c.mistakes
    assert_same_memory(model, expected)


def test_the_loss_is_the_learner_s_own_times_the_weights():
    weights = np.linspace(0.0, 2.0, ROWS)
    learner = KOGD(kernel=Laplacian(1.5), loss=Logistic())
    scores = OnlineKernelClassifier(learner).prequential(X, Y, sample_weight=weights)
    stream = chunked(X, Y, [40], weights)
    (c,) = prequential(OnlineKernelClassifier(learner), stream)
    margins = np.where(Y == 1, scores, -scores)
    assert c.loss == pytest.approx(np.sum(weights * np.log1p(np.exp(-margins))))


@pytest.mark.parametrize("delay", [0, 25])
def test_models_from_elsewhere_predict_a_chunk_and_then_learn_what_has_come(delay):
    model, expected = SGDClassifier(random_state=0), SGDClassifier(random_state=0)
    scores, learned = [], 0
    for start, stop in [(0, 60), (60, 100), (100, 150)]:
        some = X[start:stop]
        scores.append(expected.decision_function(some) if learned else np.zeros(len(some)))
        for a, b in ((0, 60), (60, 100), (100, 150)):  # as they came
            a, b = max(a, learned), min(b, stop - delay)
            if a < b:
                expected.partial_fit(X[a:b], Y[a:b], classes=[0, 1])
                learned = b
    scores = np.concatenate(scores)
    found = list(prequential(model, chunked(X, Y, [60]), every=100, delay=delay))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    margins = np.where(Y == 1, scores, -scores)
    wrong = (scores >= 0) != (Y == 1)
    assert [c.mistakes for c in found] == [wrong[:100].sum(), wrong.sum()]
    assert found[-1].loss == pytest.approx(np.maximum(0.0, 1.0 - margins).sum())
    assert found[-1].mistakes_as_published == found[-1].mistakes
    assert found[-1].stored_points is None
    assert found[-1].state_bytes is None
    assert found[-1].compile_seconds == 0.0


def test_models_without_scores_have_mistakes_and_no_loss():
    (c,) = prequential({"bayes": GaussianNB()}, chunked(X, NAMES, [50]), classes=["a", "b", "c"])
    model = GaussianNB().partial_fit(X[:50], NAMES[:50], classes=["a", "b", "c"])
    wrong = np.sum(NAMES[:50] != "a") + np.sum(model.predict(X[50:]) != NAMES[50:])
    assert c.mistakes == wrong
    assert math.isnan(c.loss)


def test_a_regressor_from_elsewhere_has_errors():
    (c,) = prequential(SGDRegressor(random_state=0), chunked(X, TARGETS, [50]))
    model = SGDRegressor(random_state=0).partial_fit(X[:50], TARGETS[:50])
    errors = np.concatenate([np.zeros(50), model.predict(X[50:])]) - TARGETS
    assert c.absolute_error == pytest.approx(np.abs(errors).mean())
    assert c.squared_error == pytest.approx(np.mean(errors**2))
    assert c.loss == pytest.approx(0.5 * np.sum(errors**2))
    assert math.isnan(c.mistakes)


class Watcher(ClassifierMixin, BaseEstimator):
    """Answers 0, and notes the threads of BLAS."""

    def __init__(self):
        self.threads = []

    def partial_fit(self, X, y, classes=None):
        self.threads += [pool["num_threads"] for pool in blas_pools()]

    def predict(self, X):
        return np.zeros(len(X))


def blas_pools():
    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_while_the_clock_runs_only():
    before = blas_pools()
    watcher = Watcher()
    for _ in prequential(watcher, chunked(X, Y, [50]), every=50):
        assert blas_pools() == before
    assert set(watcher.threads) == {1}


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: method.name)
def test_the_warm_up_meets_all_events(method):
    learner = method.make(Setting(Gaussian(3.0), 100, 10_000))
    engine = play_small(learner, sparse=False, late=False)
    assert type(engine.learner) is type(learner)
    if engine.rounds_since_switch is not None:
        assert engine.rounds_since_switch > 0
    if method.name.startswith(("SkeGD", "FORKS")):
        assert engine.learner.view(engine.memory).hot.counts[COUNT.updates] > 0


@pytest.mark.parametrize(
    ("form", "delay"),
    [
        (csr_array, 3),
        pytest.param(np.asarray, 0, marks=pytest.mark.slow),
        pytest.param(np.asarray, 3, marks=pytest.mark.slow),
        pytest.param(csr_array, 0, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_compiled_while_the_clock_runs(monkeypatch, form, delay):
    entries = run, run_ahead, score_rows, _kernel_block

    def compiled():
        return [len(entry.stored.signatures) for entry in entries]

    before = []

    def noted(*arguments):
        seconds = warm_up(*arguments)
        before.append(compiled())
        return seconds

    monkeypatch.setattr("forks.evaluate.players.warm_up", noted)
    # a kernel and a loss that no other test here has compiled
    sizes = {"budget": 10, "update_cycle": 5}
    model = FORKSClassifier(kernel="laplacian", loss="squared_hinge", **sizes)
    (c,) = prequential(model, [(form(X), Y)], delay=delay)
    assert counts(model)["updates"] > 0
    assert before == [compiled()]
    assert c.rounds_per_second == c.rounds / c.seconds


def test_the_clock_does_not_run_while_code_is_compiled(monkeypatch):
    played = []

    def slow(learner, sparse, late):
        played.append((learner, sparse, late))
        return 123.0

    monkeypatch.setattr("forks.evaluate.players.warm_up", slow)
    model = classifier()
    (c,) = prequential(model, [(csr_array(X), Y)], delay=2)
    assert c.compile_seconds == 123.0
    assert c.seconds < 100.0
    assert played == [(model.learner_, True, True)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"every": 0}, "every must be at least 1, got 0"),
        ({"window": 2.5}, "window must be a whole number, got 2.5"),
        ({"delay": -1}, "delay must be at least 0, got -1"),
        ({"models": {}}, "models is empty"),
        ({"models": {"a": 3}}, "models: a must have partial_fit and predict, got int"),
        ({"models": regressor(), "classes": [0, 1]}, "classes is for classifiers"),
    ],
)
def test_bad_arguments_are_named_at_once(arguments, named):
    with pytest.raises(ValueError, match=named):
        prequential(**({"models": classifier(), "stream": []} | arguments))


def test_one_model_under_two_names_is_refused():
    model = classifier()
    with pytest.raises(ValueError, match="the same model has two names"):
        prequential({"a": model, "b": model}, [])


@pytest.mark.parametrize(
    ("stream", "named"),
    [
        ((X, Y), r"stream must give chunks \(X, y\).*chunk 0 is of type ndarray"),
        ([(X, Y), (X,)], "chunk 1 is a tuple of 1"),
        ([(X, Y[:-1])], "X of chunk 0 has 150 rows, but y has 149"),
        ([(X, Y, np.ones(3))], "weights of chunk 0 has 3 rows, but y has 150"),
        ([(X, Y, 2.0)], "weights of chunk 0 has no rows"),
        ([(X, Y[:, None])], "y of chunk 0 must have one dimension, got 2"),
    ],
)
def test_bad_chunks_are_named(stream, named):
    model = classifier()
    with pytest.raises(ValueError, match=named):
        list(prequential(model, stream))


def test_a_failing_model_is_named_with_its_rounds():
    bad = Y.copy()
    bad[120] = 7
    with pytest.raises(ValueError, match="not among the classes") as caught:
        list(prequential({"mine": classifier()}, [(X, bad)], every=50, classes=[0, 1]))
    assert caught.value.__notes__ == ["mine met this in rounds 101 to 150"]


def test_weights_that_a_model_cannot_learn_are_refused():
    with pytest.raises(ValueError, match="Watcher cannot learn with weights"):
        list(prequential(Watcher(), [(X, Y, np.ones(ROWS))]))


def test_classes_must_be_those_that_a_fitted_model_knows():
    model = classifier().partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"those that FORKSClassifier knows, \[0, 1\], got \[0, 2"):
        list(prequential(model, [(X, Y)], classes=[2, 0]))


def test_a_checkpoint_is_a_flat_row():
    (c,) = prequential(classifier(), [(X, Y)])
    assert isinstance(c, Checkpoint)
    row = asdict(c)
    row |= row.pop("figures")  # their names are others
    assert len(row) == len(asdict(c)) - 1 + len(c.figures)
    assert all(isinstance(v, str | int | float) for v in row.values())
    with pytest.raises(AttributeError):
        c.rounds = 1


# ---- the delay is known to the default learner ---------------------------------------------------


@pytest.mark.parametrize("size", [7, 40, ROWS])
@pytest.mark.parametrize(
    "make", [OnlineKernelClassifier, pytest.param(OnlineKernelRegressor, marks=pytest.mark.slow)]
)
def test_the_engine_knows_of_the_delay_from_its_first_row(make, size):
    y = Y if make is OnlineKernelClassifier else TARGETS
    classes = [0, 1] if make is OnlineKernelClassifier else None
    expected, scores, delay = make(), [], 5
    for t in range(ROWS):
        row = slice(t, t + 1)
        scores.append(0.0 if t <= delay else expected.score_ahead(X[row])[0])
        if t >= delay:
            past = slice(t - delay, t - delay + 1)
            expected.partial_fit(X[past], y[past], classes=classes if t == delay else None)
            if t == delay:
                expected.expect_delay(delay)
    model = make()
    player = EstimatorPlayer("late", model, delay=delay, classes=classes)
    chunks = [slice(a, a + size) for a in range(0, ROWS, size)]
    found = np.concatenate([player.play(X[rows], y[rows]).scores for rows in chunks])
    np.testing.assert_array_equal(found, scores)
    assert as_bytes(model) == as_bytes(expected)


def test_the_delay_of_a_stream_replaces_that_of_the_one_before():
    model = OnlineKernelClassifier()
    list(prequential(model, [(X, Y)], delay=9))
    late = model.engine_.memory.ints.copy()
    list(prequential(model, [(X[:0], Y[:0]), (X[:1], Y[:1])]))
    same = OnlineKernelClassifier()
    list(prequential(same, [(X, Y)], delay=9))
    same.expect_delay(0)
    same.partial_fit(X[:1], Y[:1])
    np.testing.assert_array_equal(model.engine_.memory.ints, same.engine_.memory.ints)
    assert not np.array_equal(model.engine_.memory.ints, late)


def test_a_first_row_without_a_weight():
    weights = np.where(np.arange(ROWS) < 3, 0.0, 1.0)
    (at,) = prequential(OnlineKernelClassifier(), [(X, Y, weights)], delay=4, classes=[0, 1])
    assert at.rounds == ROWS

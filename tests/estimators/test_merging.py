"""Models that learn apart and are merged: what they know together, and what is refused."""

import copy
import functools
import operator

import numpy as np
import pytest

import forks
from adaptive_against_oracle import oracle_for
from forks import OnlineKernelClassifier, OnlineKernelRegressor, oracles
from forks.engine import one_thread
from forks.estimators.saving import as_bytes, from_bytes
from forks.files import encode, pack, unpack
from forks.learners import FORKS, RBP, Adaptive, Machine, OverTime, Wide, over_time
from forks.learners.mixture import COUNT, EMPTY, LIVE
from forks.losses import EpsilonInsensitive, Hinge, SquaredError
from oracle_streams import column, made_up

D, BUFFER, START = 5, 40, 60


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


def regressor(**settings):
    return OnlineKernelRegressor(Adaptive(buffer=BUFFER, loss=SquaredError(), **settings))


def classifier(**settings):
    return OnlineKernelClassifier(Adaptive(buffer=BUFFER, **settings))


def small_over_time(loss=None):
    machine = Machine(buffer=BUFFER, **({} if loss is None else {"loss": loss}))
    return OverTime(learner=machine, long=None, experts=5, window=500)


def theta(model):
    return model.learner_.view(model.engine_.memory).newton.theta


def learned_apart(model, X, y, shards, rows=0):
    """Forks of a model, each with its share of rows, dealt like cards."""
    parts = model.fork(shards, rows)
    for k, part in enumerate(parts):
        part.partial_fit(X[k::shards], y[k::shards])
    return parts


# ---- what is summed ----------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2, 7, 64])
def test_squared_error_is_that_of_one_learner_with_all_rows(shards):
    X, y = numbers(900)
    model = regressor().partial_fit(X[:START], y[:START])
    alone = model.fork(1)[0].partial_fit(X[START:], y[START:])
    parts = learned_apart(model, X[START:], y[START:], shards)
    np.random.default_rng(shards).shuffle(parts)
    merged = forks.merge(parts, close=False)
    scale = np.abs(theta(alone)).max()
    np.testing.assert_allclose(theta(merged), theta(alone), rtol=0.0, atol=1e-6 * scale)
    np.testing.assert_allclose(merged.predict(X), alone.predict(X), rtol=1e-7, atol=1e-7)
    assert merged.n_rounds_ == alone.n_rounds_ == 900


@pytest.mark.parametrize("task", ["numbers", "several numbers", "experts for numbers"])
def test_absurd_targets_do_little_harm_and_are_summed_in_any_order(task):
    model, X, y = made(task)
    model.partial_fit(X[:600], y[:600])
    odd = y[600:].copy()
    odd[99::100] = 1e6
    merged = [forks.merge(learned_apart(model, X[600:], odd, n), close=False) for n in (2, 5)]
    if task != "experts for numbers":  # whose weights are no sums
        np.testing.assert_allclose(*(each.predict(X) for each in merged), rtol=1e-6, atol=1e-6)
    assert error_of(merged[0], X, y) < error_of(model, X, y) + 0.05


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_against_the_oracle(task, told):
    """`told`: do the forks know how many rows will come, so that their prior is small enough?"""
    regression = task == "numbers"
    X, y = numbers(5000) if regression else made_up(1600, D)
    loss = {"loss": SquaredError()} if regression else {}
    learner = Adaptive(buffer=BUFFER, follow=False, restart=False, **loss)
    kind = OnlineKernelRegressor if regression else OnlineKernelClassifier
    model = kind(learner).partial_fit(X[:START], y[:START])
    rows = len(X) - START if told else 0
    merged = forks.merge(learned_apart(model, X[START:], y[START:], 3, rows))
    start = oracle_for(learner)
    with one_thread():
        for x, target in zip(X[:START], column(y), strict=False):
            start.play(x, target)
        parts = [oracles.fork(start, rows) for _ in range(3)]
        for k, part in enumerate(parts):
            for x, target in zip(X[START + k :: 3], column(y[START + k :: 3]), strict=True):
                part.play(x, target, oracles.weight_in_fork(start, x, target))
        expected = oracles.merge(start, parts, rows)
        assert expected.alpha < 0.25 * start.alpha
        assert told == (parts[0].alpha < 0.25 * start.alpha)
        rounds = zip(X[:300], column(y), strict=False)
        scores = np.array([expected.play(x, target)[0] for x, target in rounds])
    np.testing.assert_allclose(merged.prequential(X[:300], y[:300]), scores, rtol=1e-6, atol=1e-8)


def made(task):
    if task == "several classes":
        X, _ = made_up(1500, D)
        return classifier(), X, np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    if task == "several numbers":
        X, y = numbers(1500)
        return regressor(), X, np.stack([y, y**2], axis=1)
    if task == "experts":
        return OnlineKernelClassifier(small_over_time()), *made_up(1500, D)
    if task == "experts for numbers":
        return OnlineKernelRegressor(small_over_time(SquaredError())), *numbers(1500)
    return (regressor(), *numbers(1500)) if task == "numbers" else (classifier(), *made_up(1500, D))


TASKS = pytest.mark.parametrize(
    "task",
    ["numbers", "classes", "several classes", "several numbers", "experts", "experts for numbers"],
)


def scores_of(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@TASKS
def test_a_tree_of_merges_is_a_flat_one(task):
    model, X, y = made(task)
    parts = learned_apart(model.partial_fit(X[:600], y[:600]), X[600:], y[600:], 5)
    flat = forks.merge(parts)
    tree = forks.merge([forks.merge([parts[4], forks.merge(parts[1:3])]), parts[0], parts[3]])
    np.testing.assert_allclose(scores_of(tree, X), scores_of(flat, X), rtol=1e-6, atol=1e-8)
    assert tree.n_rounds_ == flat.n_rounds_ == 1500


@TASKS
def test_merged_models_go_on_and_are_forked_again(task, tmp_path, monkeypatch):
    # The first expert would be one that forgets: forks leave it out, and the other model has it.
    monkeypatch.setattr(over_time, "EARLIEST", 750)
    model, X, y = made(task)
    model.partial_fit(X[:600], y[:600])
    for rows in (slice(600, 800), slice(800, 1000)):
        model = forks.merge(learned_apart(model, X[rows], y[rows], 3))
    assert model.n_rounds_ == 1000
    model.save(tmp_path / "merged.forks")
    again = forks.load(tmp_path / "merged.forks")
    for each in (model, again):
        each.partial_fit(X[1000:1400], y[1000:1400])
    assert as_bytes(model) == as_bytes(again)
    alone = made(task)[0].partial_fit(X[:1400], y[:1400])
    assert error_of(model, X[1400:], y[1400:]) < error_of(alone, X[1400:], y[1400:]) + 0.03


def error_of(model, X, y):
    """The share of wrong labels, or of the variance that is not explained."""
    if hasattr(model, "classes_"):
        return np.mean(model.predict(X) != y)
    return np.mean((model.predict(X) - y) ** 2) / np.mean(np.var(y, axis=0))


@TASKS
def test_forks_as_files_merge_like_those_in_memory(task):
    model, X, y = made(task)
    parts = learned_apart(model.partial_fit(X[:600], y[:600]), X[600:], y[600:], 2)
    stored = [from_bytes("fork", as_bytes(part)).model for part in parts]
    before = as_bytes(parts[0])
    assert as_bytes(forks.merge(stored)) == as_bytes(forks.merge(parts))
    assert as_bytes(parts[0]) == before


# ---- what is pooled ----------------------------------------------------------------------------


def test_counts_and_means_are_those_of_all_rows():
    X, y = made_up(400, D)
    X = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    model = OnlineKernelClassifier(Adaptive(buffer=BUFFER), class_weight="balanced")
    model.partial_fit(X[:START], y[:START])
    merged = forks.merge(learned_apart(model, X[START:], y[START:], 4))
    known = ~np.isnan(X)
    np.testing.assert_array_equal(merged._gaps.means.counts, known.sum(axis=0))
    np.testing.assert_allclose(merged._gaps.means.sums, np.nansum(X, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(merged._class_counts.table[-1], [(y < 0).sum(), (y > 0).sum()])


def test_the_last_rows_are_those_of_all_forks():
    X, y = made_up(400, D)
    parts = classifier().partial_fit(X[:START], y[:START]).fork(2)
    parts[0].partial_fit(X[100:130], y[100:130])
    parts[1].partial_fit(X[200:210], y[200:210])
    merged = forks.merge(parts)
    ring = merged.learner_.view(merged.engine_.memory).ring
    expected = np.concatenate([X[100:130], X[200:210]])
    assert sorted(ring.rows.tolist()) == sorted(expected.tolist())
    last = ring.rows[(100 - np.arange(1, 5)) % BUFFER]  # three of the first to one of the second
    assert sum(row.tolist() in X[200:210].tolist() for row in last) == 1


@pytest.mark.parametrize("task", ["experts", "experts for numbers"])
def test_what_is_beside_the_experts_is_pooled(task):
    model, X, y = made(task)
    model.partial_fit(X[:900], y[:900])
    tracking = view_of(model).places.tracks == 1
    assert (tracking & (view_of(model).places.status == LIVE)).any()
    parts = model.fork(3)
    for part, rows in zip(
        parts, (slice(900, 1140), slice(1140, 1200), slice(1200, 1440)), strict=True
    ):
        part.partial_fit(X[rows], y[rows])
    merged, forked = view_of(forks.merge(parts)), list(map(view_of, parts))
    for each in (*forked, merged):
        assert (each.places.status[tracking] == EMPTY).all()
        np.testing.assert_allclose(each.experts.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(merged.persistence.base, np.mean(y[:1440]), rtol=1e-9)
    for name in ("experts.weights", "calibration.lines", "conformal.quantiles"):
        of_forks = [operator.attrgetter(name)(each) for each in forked]
        mean = (4 * of_forks[0] + of_forks[1] + 4 * of_forks[2]) / 9
        np.testing.assert_allclose(operator.attrgetter(name)(merged), mean, rtol=1e-12)
    rows = sorted(X[[*range(917, 1140), *range(1145, 1200), *range(1218, 1440)]].tolist())
    assert sorted(merged.ring.rows.tolist()) == rows  # the last 500, by shares
    np.testing.assert_array_equal(
        merged.places.born, view_of(model).places.born, "ages are those of before"
    )
    assert merged.counts[COUNT.rounds] == 1440


def view_of(model):
    return model.learner_.view(model.engine_.memory)


def test_a_model_that_has_learned_nothing_apart_is_what_it_was():
    X, y = made_up(400, D)
    model = classifier().partial_fit(X[:300], y[:300])
    merged = forks.merge(model.fork(3))
    np.testing.assert_allclose(
        merged.decision_function(X), model.decision_function(X), rtol=1e-6, atol=1e-9
    )


# ---- what is refused ---------------------------------------------------------------------------


@functools.cache
def forked():
    X, y = made_up(400, D)
    return tuple(classifier().partial_fit(X[:START], y[:START]).fork(3))


def test_forking_leaves_the_model_as_it_was():
    X, y = made_up(400, D)
    model = classifier().partial_fit(X[:START], y[:START])
    before = as_bytes(model)
    learned_apart(model, X, y, 2)
    assert as_bytes(model) == before


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (FORKS(), "FORKS cannot be forked: what it learns is no sum over rows"),
        (Wide(), "Wide cannot be forked"),
        (Adaptive(loss=Hinge()), "Hinge has no curvature"),
        (Machine(loss=EpsilonInsensitive()), "EpsilonInsensitive has no curvature"),
        (OverTime(learner=RBP(), long=None), "RBP cannot be forked"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_learners_whose_steps_are_no_sums_have_no_forks(learner, reason):
    with pytest.raises(ValueError, match=reason):
        learner.for_forks()


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        ("nogd", "NOGD cannot be forked"),
        (Adaptive(buffer=500), "from 500 rows, of which it has learned 60"),
        (OverTime(), "of its experts none can be merged; the first: its map is made from 400"),
    ],
    ids=str,
)
def test_models_that_cannot_be_forked_stay_as_they_were(learner, reason):
    X, y = made_up(START, D)
    model = OnlineKernelClassifier(learner).partial_fit(X, y)
    before = as_bytes(model)
    with pytest.raises(ValueError, match=reason):
        model.fork(2)
    assert as_bytes(model) == before


def test_forks_are_not_forked_and_have_no_new_classes():
    fork = copy.copy(forked()[0])
    with pytest.raises(ValueError, match="a fork cannot be forked"):
        fork.fork(2)
    with pytest.raises(ValueError, match="not among the classes"):
        fork.partial_fit(np.zeros((1, D)), [7])
    for n in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="n must be"):
            classifier().partial_fit(*made_up(START, D)).fork(n)
    with pytest.raises(ValueError, match="rows must be"):
        classifier().partial_fit(*made_up(START, D)).fork(2, rows=-1)


def other_forks(kind):
    X, y = made_up(400, D)
    if kind == "learner":
        return classifier(linear=False).partial_fit(X[:START], y[:START]).fork(3)
    if kind == "features":
        return classifier().partial_fit(X[:START, :3], y[:START]).fork(3)
    if kind == "classes":
        return classifier().partial_fit(X[:START], y[:START] + 2.0).fork(3)
    if kind == "map":
        return classifier().partial_fit(X[100:160], y[100:160]).fork(3)
    return regressor().partial_fit(X[:START], y[:START]).fork(3)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("learner", "their learners differ"),
        ("features", "they have 5 and 3 features"),
        ("classes", "their classes are"),
        ("map", "they are forks of other models"),
        ("estimator", "an OnlineKernelClassifier, the other an OnlineKernelRegressor"),
    ],
)
def test_forks_of_other_models_are_refused(kind, reason):
    models = [forked()[0], other_forks(kind)[1]]
    before = [as_bytes(model) for model in models]
    with pytest.raises(ValueError, match=reason):
        forks.merge(models)
    assert [as_bytes(model) for model in models] == before


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [3]},
        {"parts": []},
        {"parts": [1, 0]},
        {"parts": "all"},
        {"n": 0},
        {"rounds": 10**6},
        {"rounds": -1},
        {"counts": [1.0]},
        {"counts": [1.0, float(2**80)]},
        {"given": 1},
        {"learner": encode("learner", Adaptive(buffer=50))},
        {"learner": encode("learner", Adaptive(buffer=BUFFER, linear=False))},
        {"learner": None},
        {"more": 0},
    ],
    ids=str,
)
def test_files_of_forks_that_were_changed_are_refused(change):
    header, arrays = unpack("fork", as_bytes(forked()[0]))
    header["fitted"]["_origin"].update(change)
    library = header.pop("library")
    with pytest.raises(forks.ModelFileError):
        from_bytes("fork", pack(header, arrays, library))


def test_forks_whose_counts_do_not_fit_together_are_refused():
    first, second, third = (copy.copy(fork) for fork in forked())
    view_of(first).counts[2] = 3  # rounds: fewer than those of the start
    with pytest.raises(ValueError, match="fewer rows than its start"):
        forks.merge([first, second, third])


def test_models_that_are_no_forks_and_forks_that_are_there_twice_are_refused():
    first, second, _ = forked()
    X, y = made_up(START, D)
    with pytest.raises(ValueError, match=r"models\[1\] is no fork"):
        forks.merge([first, classifier().partial_fit(X, y)])
    with pytest.raises(ValueError, match=r"models\[0\] is no fork"):
        forks.merge([classifier()])
    with pytest.raises(ValueError, match=r"models\[0\] must be an estimator"):
        forks.merge(["a.forks"])
    with pytest.raises(ValueError, match="there is none"):
        forks.merge([])
    with pytest.raises(ValueError, match="fork 0 of 3 is there twice"):
        forks.merge([forks.merge([first, second]), copy.copy(first)])


def test_some_forks_may_be_left_out():
    first, second, _ = forked()
    waiting = forks.merge([first, second])
    with pytest.raises(ValueError, match="a fork cannot be forked"):
        waiting.fork(2)
    assert len(forks.merge([waiting], close=True).fork(2)) == 2

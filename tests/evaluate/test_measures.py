"""Figures of a stream: as scikit-learn and River have them, whatever the chunks."""

import math
import warnings

import numpy as np
import pytest
from sklearn import metrics

from forks.evaluate import ClassificationMeasures, RegressionMeasures
from forks.evaluate.measures.answers import MOST_IN_MATRIX
from forks.evaluate.measures.ranks import MOST_CLASSES

N, WINDOW = 2500, 600


def made_up(n_classes, seed=0, n=N, names=None):
    """Return labels in runs, probabilities that know something of them, and answers."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(0, n_classes, n), rng.integers(1, 4, n))[:n]
    logits = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[codes]
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    if n_classes == 2:
        p = np.column_stack([1.0 - p[:, 1], p[:, 1]])
    classes = np.arange(n_classes) * 2.0 - 1.0 if names is None else np.array(names)
    return classes, classes[codes], classes[p.argmax(axis=1)], p


def cut(n, sizes, seed=0):
    rng, start = np.random.default_rng(seed), 0
    while start < n:
        stop = min(n, start + int(rng.choice(sizes)))
        yield slice(start, stop)
        start = stop


def measured(classes, y, answers, p, sizes=(97, 800), **options):
    measures = ClassificationMeasures(classes, WINDOW, **options)
    for part in cut(len(y), sizes):
        measures.update(y[part], answers[part], None, None if p is None else p[part])
    return measures


def expected(classes, y, answers, p):
    """Return the figures of rows, by scikit-learn."""
    two = len(classes) == 2
    last = np.append([True], y[1:] != y[:-1])
    positive = classes[1] if two else None
    ranked = p[:, 1] if two else p
    if two:
        brier = metrics.brier_score_loss(y, ranked, pos_label=positive)
    else:  # scikit-learn knows it from 1.7 on
        brier = ((p - (y[:, None] == classes)) ** 2).sum(axis=1).mean()
    average = {"pos_label": classes[1]} if two else {"average": "macro"}
    return {
        "accuracy": metrics.accuracy_score(y, answers),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, answers),
        "f1": metrics.f1_score(y, answers, **average),
        "kappa": metrics.cohen_kappa_score(y, answers),
        "log_loss": metrics.log_loss(y, p, labels=classes),
        "brier_score": brier,
        "auc": metrics.roc_auc_score(y, ranked, multi_class="ovr"),
        "majority_mistake_rate": 1.0 - max(np.mean(y == label) for label in classes),
        "last_label_mistake_rate": last.mean(),
        "kappa_temporal": 1.0 - np.mean(y != answers) / last.mean(),
    }


@pytest.mark.parametrize("names", [None, ["no", "yes"], [False, True], ["a", "b", "cc", "d"]])
def test_figures_of_classes_are_those_of_scikit_learn(names):
    n_classes = 5 if names is None else len(names)
    classes, y, answers, p = made_up(n_classes, names=names)
    figures = measured(classes, y, answers, p).figures()
    for name, value in expected(classes, y, answers, p).items():
        within = figures["auc_within"] if name == "auc" else 1e-12
        assert figures[name] == pytest.approx(value, rel=0, abs=within), name
    assert figures["auc_within"] < 0.002
    recent = slice(-WINDOW, None)
    for name, value in expected(classes, y[recent], answers[recent], p[recent]).items():
        if "last_label" not in name and "temporal" not in name:
            assert figures[f"recent_{name}"] == pytest.approx(value, rel=0, abs=1e-12), name
    changes = np.mean(y[-WINDOW:] != y[-WINDOW - 1 : -1])
    assert figures["recent_last_label_mistake_rate"] == pytest.approx(changes)
    wrong = np.mean(y[recent] != answers[recent])
    assert figures["recent_kappa_temporal"] == pytest.approx(1.0 - wrong / changes)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_bit_depends_on_the_chunks_and_runs_can_be_resumed(n_classes):
    classes, y, answers, p = made_up(n_classes)
    whole = measured(classes, y, answers, p, sizes=[N])
    for sizes in ([1, 2, 700], [513], [1]):
        other = measured(classes, y, answers, p, sizes=sizes)
        assert other.figures() == whole.figures()
        kept = other.arrays()
        for name, array in whole.arrays().items():
            assert array.dtype == kept[name].dtype
            np.testing.assert_array_equal(array, kept[name])
    first = measured(classes, y[:1001], answers[:1001], p[:1001])
    kept = {name: array.copy() for name, array in first.arrays().items()}
    second = ClassificationMeasures(classes, WINDOW)
    second.restore(kept)
    second.update(y[1001:], answers[1001:], None, p[1001:])
    assert second.figures() == whole.figures()
    np.testing.assert_array_equal(second.confusion, metrics.confusion_matrix(y, answers))


def test_scores_rank_where_there_are_no_probabilities():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        y = np.where(rng.random(N) < 0.3, 1.0, -1.0)
        scores = scale * (rng.normal(size=N) + y)
        scores[rng.random(N) < 0.1] = 0.0
        measures = ClassificationMeasures([-1.0, 1.0], WINDOW)
        measures.update(y, np.sign(scores), scores)
        figures = measures.figures()
        assert math.isnan(figures["log_loss"])
        assert math.isnan(figures["brier_score"])
        exact = metrics.roc_auc_score(y, scores)
        assert figures["auc"] == pytest.approx(exact, abs=figures["auc_within"])
        assert figures["auc_within"] < 0.02
        exact = metrics.roc_auc_score(y[-WINDOW:], scores[-WINDOW:])
        assert figures["recent_auc"] == pytest.approx(exact, abs=1e-12)


def test_auc_over_all_is_bounded_also_for_rare_classes_and_certain_answers():
    rng = np.random.default_rng(1)
    y = rng.random(50_000) < 0.001
    p = np.clip(1.0 / (1.0 + np.exp(9.0 - 3.0 * rng.normal(size=len(y)) - 6.0 * y)), 1e-9, 1.0)
    measures = ClassificationMeasures([False, True])
    measures.update(y, p > 0.5, None, np.column_stack([1.0 - p, p]))
    figures = measures.figures()
    assert figures["auc_within"] < 0.002
    assert figures["auc"] == pytest.approx(metrics.roc_auc_score(y, p), abs=figures["auc_within"])
    assert sum(array.nbytes for array in measures.arrays().values()) < 200_000


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("new", [0, -1])
def test_classes_may_come_late(n_classes, new):
    """As if the class had been known from the beginning, with a probability of 0 till it came."""
    classes, y, answers, p = made_up(n_classes)
    late = classes[new]
    known = np.delete(classes, new)
    before = 900
    place = np.searchsorted(classes, late)
    y[:before][y[:before] == late] = known[0]
    answers[:before][answers[:before] == late] = known[-1]
    p[:before, place] = 0.0
    p[:before] /= p[:before].sum(axis=1, keepdims=True)
    y[before] = late
    whole = ClassificationMeasures(classes, WINDOW)
    whole.update(y, answers, None, p)
    grown = ClassificationMeasures(known, WINDOW)
    for part in cut(before, [37, 600]):
        grown.update(y[part], answers[part], None, np.delete(p, place, axis=1)[part], known)
    for part in cut(N - before, [1, 300]):
        rows = slice(before + part.start, before + part.stop)
        grown.update(y[rows], answers[rows], None, p[rows], classes)
    assert grown.classes.tolist() == classes.tolist()
    ours, theirs = grown.figures(), whole.figures()
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=0, abs=1e-12), name
    np.testing.assert_array_equal(grown.confusion, whole.confusion)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("order", ["bac", "acb", "cba"])
def test_a_stream_may_begin_with_one_class(order, scores):
    """Classes come one after the other, and the model knows those that have come."""
    rng = np.random.default_rng(0)
    phases = [
        (np.sort([*order[:k]]), np.array([*order])[rng.integers(0, k, 700)]) for k in (1, 2, 3)
    ]

    def played(sizes):
        rng = np.random.default_rng(1)
        measures = ClassificationMeasures([order[0]], 100)
        for known, y in phases:
            value = rng.normal(size=(len(y), len(known))) + (y[:, None] == known)
            p = np.exp(value) / np.exp(value).sum(axis=1, keepdims=True)
            p = np.hstack([1.0 - p, p]) if len(known) == 1 else p  # as two outputs have it
            s = value if len(known) > 2 else value[:, -1] - value[:, 0]
            for part in cut(len(y), sizes):
                answers = known[value.argmax(axis=1)][part]
                measures.update(y[part], answers, s[part], None if scores else p[part], known)
        return measures

    whole = played([700])
    figures = whole.figures()
    assert whole.classes.tolist() == ["a", "b", "c"]
    assert played([1, 50]).figures() == figures
    assert 0.5 < figures["recent_auc"] < figures["auc"] < 1.0
    assert whole.ranks.histograms[0].sum() == whole.confusion.sum() == 2100
    again = ClassificationMeasures(["a", "b", "c"], 100)
    again.restore(whole.arrays())
    assert again.figures() == figures


def test_answers_that_are_none_are_mistakes():
    measures = ClassificationMeasures(["a", "b"])
    measures.update(["a", "b", "b"], np.array([None, "b", "zz"], object))
    figures = measures.figures()
    assert figures["accuracy"] == pytest.approx(1 / 3)
    assert figures["balanced_accuracy"] == pytest.approx(0.25)
    assert measures.confusion.tolist() == [[0, 0], [0, 1]]
    assert math.isnan(figures["auc"])


def test_labels_that_come_late_are_repeated_late():
    classes, y, answers, p = made_up(3)
    figures = measured(classes, y, answers, p, delay=4).figures()
    wrong = np.ones(N, bool)
    wrong[5:] = y[5:] != y[:-5]
    assert figures["last_label_mistake_rate"] == wrong.mean()
    assert figures["recent_last_label_mistake_rate"] == wrong[-WINDOW:].mean()


def test_memory_is_bounded_for_many_classes():
    n_classes = MOST_IN_MATRIX + MOST_CLASSES
    classes, y, answers, p = made_up(n_classes, n=4000)
    measures = measured(classes, y, answers, p)
    figures = measures.figures()
    assert measures.confusion.shape == (0, 0)
    assert math.isnan(figures["auc"])
    assert figures["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, answers)
    )
    assert figures["kappa"] == pytest.approx(metrics.cohen_kappa_score(y, answers))
    assert sum(array.nbytes for array in measures.arrays().values()) < 100_000


def test_figures_that_mean_nothing_are_nan():
    measures = ClassificationMeasures([0, 1])
    measures.update([0, 0, 0], [0, 0, 0], None, np.array([[0.5, 0.5]] * 3))
    figures = measures.figures()
    for name in ("auc", "auc_within", "kappa", "recent_auc"):
        assert math.isnan(figures[name]), name
    assert figures["f1"] == 0.0


# ---- regression --------------------------------------------------------------------------------


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    y = 1e4 + np.cumsum(rng.normal(size=N))
    return y, y + rng.standard_t(3, size=N)


def test_figures_of_numbers_are_those_of_scikit_learn():
    y, answers = numbers()
    measures = RegressionMeasures(WINDOW)
    for part in cut(N, [13, 700]):
        measures.update(y[part], answers[part])
    figures = measures.figures()
    for rows, prefix in ((slice(None), ""), (slice(-WINDOW, None), "recent_")):
        pair = y[rows], answers[rows]
        squared = metrics.mean_squared_error(*pair)
        assert figures[f"{prefix}root_mean_squared_error"] == pytest.approx(math.sqrt(squared))
        absolute = metrics.mean_absolute_error(*pair)
        assert figures[f"{prefix}mean_absolute_error"] == pytest.approx(absolute)
        assert figures[f"{prefix}r2"] == pytest.approx(metrics.r2_score(*pair), abs=1e-9)
        spread = figures[f"{prefix}mean_value_root_mean_squared_error"]
        assert spread == pytest.approx(np.std(pair[0]))
    median = metrics.median_absolute_error(y[-WINDOW:], answers[-WINDOW:])
    assert figures["recent_median_absolute_error"] == pytest.approx(median)
    steps = np.diff(y)
    root = figures["last_value_root_mean_squared_error"]
    assert root == pytest.approx(math.sqrt(np.mean(steps**2)))
    root = figures["recent_last_value_root_mean_squared_error"]
    assert root == pytest.approx(math.sqrt(np.mean(steps[-WINDOW:] ** 2)))


@pytest.mark.parametrize("delay", [0, 3])
def test_numbers_too_know_no_chunks_and_can_be_resumed(delay):
    y, answers = numbers(1)
    whole, other = RegressionMeasures(WINDOW, delay), RegressionMeasures(WINDOW, delay)
    whole.update(y, answers)
    for part in cut(N, [1, 2, 900]):
        other.update(y[part], answers[part])
        again = RegressionMeasures(WINDOW, delay)
        again.restore({name: array.copy() for name, array in other.arrays().items()})
        other = again
    assert other.figures() == whole.figures()
    steps = y[delay + 1 :] - y[: -delay - 1]
    root = whole.figures()["last_value_root_mean_squared_error"]
    assert root == pytest.approx(math.sqrt(np.mean(steps**2)))


def test_river_has_the_same_figures():
    river = pytest.importorskip("river.metrics")
    classes, y, answers, p = made_up(2, names=[False, True])
    figures = measured(classes, y, answers, p).figures()
    theirs = {
        "accuracy": river.Accuracy(),
        "balanced_accuracy": river.BalancedAccuracy(),
        "f1": river.F1(),
        "kappa": river.CohenKappa(),
        "log_loss": river.LogLoss(),
    }
    for name, metric in theirs.items():
        for label, answer, row in zip(y.tolist(), answers.tolist(), p.tolist(), strict=True):
            metric.update(label, row[1] if name == "log_loss" else answer)
        assert figures[name] == pytest.approx(metric.get(), abs=1e-9), name
    y, answers = numbers()
    measures = RegressionMeasures()
    measures.update(y, answers)
    for name, metric in {"root_mean_squared_error": river.RMSE(), "r2": river.R2()}.items():
        for pair in zip(y.tolist(), answers.tolist(), strict=True):
            metric.update(*pair)
        assert measures.figures()[name] == pytest.approx(metric.get(), abs=1e-6), name


def test_no_warnings_from_empty_windows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(ClassificationMeasures([0, 1]).figures()["accuracy"])
        assert math.isnan(RegressionMeasures().figures()["r2"])

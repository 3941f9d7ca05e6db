import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from forks.streams import adversarial, drift_rows, drifting


def whole(*args, **kwargs):
    chunks = list(drifting(*args, **kwargs))
    return np.concatenate([X for X, _ in chunks]), np.concatenate([y for _, y in chunks])


@pytest.mark.parametrize("chunk", [1, 7, 999, 1_000, 2_501, 10**9])
def test_the_stream_does_not_depend_on_the_chunk_size(chunk):
    X, y = whole(2_503)
    other_X, other_y = whole(2_503, chunk=chunk)
    np.testing.assert_array_equal(X, other_X)
    np.testing.assert_array_equal(y, other_y)


def test_chunks_have_the_promised_shapes():
    chunks = list(drifting(2_500, n_features=3, chunk=1_000))
    assert [X.shape for X, _ in chunks] == [(1_000, 3), (1_000, 3), (500, 3)]
    assert [y.shape for _, y in chunks] == [(1_000,), (1_000,), (500,)]
    assert all(X.dtype == y.dtype == np.float64 and X.flags.c_contiguous for X, y in chunks)
    assert list(drifting(0)) == []


def test_seeds_differ():
    assert not np.array_equal(whole(100, seed=0)[0], whole(100, seed=1)[0])


@pytest.mark.parametrize("seed", range(3))
def test_every_concept_is_balanced_and_not_linear(seed):
    X, y = whole(16_000, seed=seed)
    starts = [0, *drift_rows(16_000)]
    assert starts == [0, 4_000, 8_000, 12_000]
    for start in starts:
        learn, check = slice(start, start + 3_000), slice(start + 3_000, start + 4_000)
        assert abs(np.mean(y[start : start + 4_000])) < 0.08
        linear = LogisticRegression().fit(X[learn], y[learn])
        kernel = SVC(gamma=0.05).fit(X[learn], y[learn])
        assert 0.25 < np.mean(linear.predict(X[check]) != y[check]) < 0.50
        assert np.mean(kernel.predict(X[check]) != y[check]) < 0.14


def test_a_drift_is_abrupt():
    X, y = whole(8_000, n_concepts=2)
    assert drift_rows(8_000, 2) == [4_000]
    model = SVC(gamma=0.05).fit(X[:3_500], y[:3_500])
    mistakes = model.predict(X) != y
    assert np.mean(mistakes[3_500:4_000]) < 0.14
    assert np.mean(mistakes[4_000:4_500]) > 0.30


def test_noise_flips_that_share_of_the_labels():
    clean, noisy = whole(20_000, noise=0.0)[1], whole(20_000, noise=0.2)[1]
    assert abs(np.mean(clean != noisy) - 0.2) < 0.01


@pytest.mark.parametrize(
    ("argument", "value"),
    [("n_rows", -1), ("n_features", 0), ("n_concepts", 0), ("noise", 1.5), ("chunk", 0)],
)
def test_bad_arguments_of_drifting_are_named(argument, value):
    with pytest.raises(ValueError, match=f"{argument} .*got {value}"):
        drifting(**{"n_rows": 10, argument: value})


def test_adversarial_repeats_points_and_flips_every_other_block():
    X, y = np.arange(8.0).reshape(4, 2), np.array([1.0, 1.0, -1.0, 1.0])
    rows, labels = adversarial(X, y, n_blocks=3, repeats=2, order=[2, 0, 3, 1])
    np.testing.assert_array_equal(rows, X[[2, 2, 0, 0, 3, 3]])
    np.testing.assert_array_equal(labels, [-1, -1, -1, -1, 1, 1])


def test_adversarial_takes_the_rows_in_order_by_default():
    X, y = np.eye(3), np.ones(3)
    rows, labels = adversarial(X, y, n_blocks=2, repeats=1)
    np.testing.assert_array_equal(rows, X[:2])
    np.testing.assert_array_equal(labels, [1, -1])


@pytest.mark.parametrize(("argument", "value"), [("n_blocks", 4), ("repeats", 0)])
def test_bad_arguments_of_adversarial_are_named(argument, value):
    with pytest.raises(ValueError, match=f"{argument} .*got {value}"):
        adversarial(np.eye(3), np.ones(3), **{"n_blocks": 3, argument: value})

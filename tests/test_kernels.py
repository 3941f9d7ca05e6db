"""Kernels: values against plain NumPy, limits, checks, and a kernel of one's own."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from scipy.sparse import csr_array

from compiled import njit
from forks import oracles
from forks.engine import Engine, rows_from, take
from forks.engine.blocks import padded
from forks.engine.protocol import run, score_rows
from forks.kernels import (
    KERNELS,
    METRICS,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    _kernel_block,
    check_kernel,
    kernel_block,
    kernel_row,
    squared_distances,
)
from forks.learners import KOGD
from kept_points import kept_points

CASES = [
    (Gaussian(1.3), oracles.gaussian(1.3)),
    (Laplacian(2.5), oracles.laplacian(2.5)),
    (Polynomial(3, 0.7, 0.4), oracles.polynomial(3, 0.7, 0.4)),
    (Linear(), oracles.linear()),
]
NAMES = [type(kernel).__name__ for kernel, _ in CASES]
BELL_SHAPED = [Gaussian(1.3), Laplacian(2.5)]


@njit
def sparse_block(kernel, X, points, n, out):
    for t in range(out.shape[0]):
        kernel_row(kernel, take(X, t), points, n, out[t])


def dense_values(kernel, X, Z):
    return kernel_block(kernel, X, kept_points(Z), len(Z))


def sparse_values(kernel, X, Z):
    out = np.empty((X.shape[0], padded(len(Z))))
    sparse_block(kernel, rows_from(X), kept_points(Z), len(Z), out)
    return out[:, : len(Z)]


def test_every_kernel_has_a_case_and_a_bandwidth_a_metric():
    assert {type(kernel) for kernel, _ in CASES} == set(KERNELS.values())
    assert {kind for kind in KERNELS.values() if "bandwidth" in kind._fields} == set(METRICS)


# ---- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "oracle"), CASES, ids=NAMES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 1), (7, 4), (8, 4), (13, 3), (16, 200), (50, 9)])
def test_dense_values(kernel, oracle, n, d):
    rng = np.random.default_rng(n + d)
    X, Z = rng.normal(size=(6, d)) / np.sqrt(d), rng.normal(size=(n, d)) / np.sqrt(d)
    np.testing.assert_allclose(dense_values(kernel, X, Z), oracle(X, Z), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("kernel", "oracle"), CASES, ids=NAMES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 4), (13, 60), (16, 300)])
def test_sparse_values(kernel, oracle, n, d):
    rng = np.random.default_rng(n + d)
    X = csr_array(rng.normal(size=(9, d)) * (rng.random((9, d)) < 0.2))
    Z = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    assert (np.diff(X.indptr) == 0).any() or d > 50  # rows of zeros only are among them
    got = sparse_values(kernel, X, Z)
    np.testing.assert_allclose(got, oracle(X.toarray(), Z), rtol=1e-12, atol=1e-14)


def test_no_points():
    X = np.ones((2, 3))
    assert kernel_block(Gaussian(), X, kept_points(np.empty((0, 3))), 0).shape == (2, 0)


def test_only_the_first_n_points_are_compared():
    X, Z = np.ones((2, 3)), np.zeros((11, 3))
    assert kernel_block(Gaussian(), X, kept_points(Z), 5).shape == (2, 5)


@pytest.mark.parametrize("kernel", BELL_SHAPED, ids=repr)
def test_a_point_is_exactly_like_itself(kernel):
    Z = np.random.default_rng(0).normal(size=(21, 7)) * 10.0 ** np.arange(-3, 4)
    assert (np.diag(dense_values(kernel, Z, Z)) == 1.0).all()


def test_symmetry_is_exact():
    Z = np.random.default_rng(0).normal(size=(21, 7))
    for kernel, _ in CASES:
        gram = dense_values(kernel, Z, Z)
        np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("kernel", BELL_SHAPED, ids=repr)
@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e-8, 1e8, 1e150, 1e160, 1e300])
def test_any_size_gives_a_number_between_0_and_1(kernel, size):
    Z = np.random.default_rng(1).normal(size=(11, 6)) * size
    Z[3] = Z[2]
    for values in (dense_values(kernel, Z, Z), sparse_values(kernel, csr_array(Z), Z)):
        assert np.isfinite(values).all()
        assert (values >= 0.0).all()
        assert (values <= 1.0).all()
    if size < 1:
        np.testing.assert_allclose(dense_values(kernel, Z, Z), 1.0, atol=1e-6)
    elif size > 1e6:
        expected = np.eye(11)
        expected[2, 3] = expected[3, 2] = 1.0
        np.testing.assert_array_equal(dense_values(kernel, Z, Z), expected)


@pytest.mark.parametrize("bandwidth", [1e-150, 1e150])
def test_extreme_bandwidths(bandwidth):
    Z = np.array([[0.0], [1.0]])
    for kernel in (Gaussian(bandwidth), Laplacian(bandwidth)):
        expected = np.eye(2) if bandwidth < 1 else np.ones((2, 2))
        np.testing.assert_array_equal(dense_values(kernel, Z, Z), expected)


@pytest.mark.parametrize(("kernel", "oracle"), CASES, ids=NAMES)
def test_gram_matrices_are_positive_semi_definite(kernel, oracle):
    Z = np.random.default_rng(2).normal(size=(40, 3))
    Z[20:] = Z[:20] + 1e-9  # near-duplicates
    values = np.linalg.eigvalsh(dense_values(kernel, Z, Z))
    assert values[0] >= -1e-13 * values[-1]


def test_sparse_near_duplicates_stay_below_one():
    Z = np.random.default_rng(3).normal(size=(30, 5)) * 1e4
    for kernel in BELL_SHAPED:
        for change in (0.0, 1e-12, 1e-9):
            values = sparse_values(kernel, csr_array(Z * (1.0 + change)), Z)
            assert (values <= 1.0).all()
            np.testing.assert_allclose(np.diag(values), 1.0, atol=1e-4)


@pytest.mark.parametrize("degree", [1, 2, 5, 9])
def test_polynomial_degrees(degree):
    X = np.random.default_rng(4).normal(size=(9, 2))
    expected = oracles.polynomial(degree, 0.5, -0.2)(X, X)
    got = dense_values(Polynomial(degree, 0.5, -0.2), X, X)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


# ---- checks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "field"),
    [
        (Gaussian(0.0), "bandwidth"),
        (Gaussian(-1.0), "bandwidth"),
        (Gaussian(np.nan), "bandwidth"),
        (Gaussian(np.inf), "bandwidth"),
        (Gaussian(True), "bandwidth"),
        (Gaussian(np.True_), "bandwidth"),
        (Gaussian("wide"), "bandwidth"),
        (Gaussian(None), "bandwidth"),
        (Gaussian(np.array([1.0])), "bandwidth"),
        (Laplacian(0), "bandwidth"),
        (Laplacian(-np.inf), "bandwidth"),
        (Polynomial(2.5), "degree"),
        (Polynomial(0), "degree"),
        (Polynomial(np.nan), "degree"),
        (Polynomial(2, gamma=0.0), "gamma"),
        (Polynomial(2, gamma=-1.0), "gamma"),
        (Polynomial(2, coef0=np.nan), "coef0"),
    ],
    ids=repr,
)
def test_bad_numbers_are_named(kernel, field):
    with pytest.raises(ValueError, match=rf"kernel.*{field}"):
        check_kernel(kernel)
    with pytest.raises(ValueError, match=rf"kernel.*{field}"):
        KOGD(kernel=kernel)


class Unregistered(NamedTuple):
    bandwidth: float = 1.0


@pytest.mark.parametrize("kernel", [Unregistered(), Gaussian, "rbf", None, 1.0, (1.0,)], ids=repr)
def test_only_registered_kernels_pass(kernel):
    with pytest.raises(ValueError, match="kernel"):
        check_kernel(kernel)


def test_a_class_that_only_shares_its_name_with_a_kernel_does_not_pass():
    def namesake():
        class Gaussian(NamedTuple):
            gamma: float = 1.0

        return Gaussian()

    with pytest.raises(ValueError, match="kernel"):
        check_kernel(namesake())


def test_numbers_take_their_declared_types():
    for bandwidth in (2, np.int32(2), np.float32(2.0), np.float64(2.0)):
        kernel = check_kernel(Gaussian(bandwidth))
        assert kernel == Gaussian(2.0)
        assert type(kernel.bandwidth) is float
    kernel = check_kernel(Polynomial(2.0, 1, 0))
    assert [type(number) for number in kernel] == [int, float, float]


def test_an_integer_bandwidth_needs_no_code_of_its_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], (20, 1))
    scores = Engine(KOGD(kernel=Gaussian(2.0)), 2, 1, rng).learn(X, y)
    versions = len(run.stored.signatures)
    np.testing.assert_array_equal(Engine(KOGD(kernel=Gaussian(2)), 2, 1, rng).learn(X, y), scores)
    assert len(run.stored.signatures) == versions


def test_an_unknown_type_is_refused_by_the_verb():
    with pytest.raises(TypeError, match="Unregistered"):
        kernel_row(Unregistered(), np.zeros(1), kept_points(np.zeros((1, 1))), 1, np.zeros(8))


# ---- a kernel of one's own: the example in the documentation of forks.kernels ------------------


class Cauchy(NamedTuple):
    bandwidth: float = 1.0


@kernel_row.register(Cauchy)
def _cauchy_row(kernel, x, points, n, out):
    squared_distances(x, points, n, out)
    for i in range(n):
        out[i] = 1.0 / (1.0 + out[i] / kernel.bandwidth**2)


def cauchy(bandwidth):
    def kernel(X, Z):
        squares = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
        return 1.0 / (1.0 + squares / bandwidth**2)

    return kernel


class Reciprocal(NamedTuple):
    width: float = 1.0


@kernel_row.register(Reciprocal)
def _reciprocal_row(kernel, x, points, n, out):
    squared_distances(x, points, n, out)
    distances = np.sqrt(out[:n])
    out[:n] = 1.0 / (1.0 + distances / kernel.width)


def test_a_kernel_of_ones_own_may_make_arrays():
    X = np.random.default_rng(7).normal(size=(9, 3))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(20):
        np.testing.assert_allclose(dense_values(Reciprocal(), X, X), 1.0 / (1.0 + distances))
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0  # none is left behind


def test_a_kernel_of_ones_own_learns():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.5)
    y = rng.choice([-1.0, 1.0], 60)
    expected = oracles.kogd(X, y, cauchy(1.7), oracles.Hinge(), 0.3)
    for rows in (X, csr_array(X)):
        engine = Engine(KOGD(kernel=Cauchy(1.7), eta=0.3), 6, 1, rng)
        scores = engine.learn(rows, y[:, None])[:, 0]
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-13)


def test_a_kernel_of_ones_own_is_never_stored_on_disk():
    assert run.fresh is not run.stored
    for kernel, version in ((Cauchy(), "fresh"), (Gaussian(), "stored"), (Linear(), "stored")):
        rule = KOGD(kernel=kernel).rule()
        for function in (run, score_rows):
            assert function.over(rule) is getattr(function, version)
        assert _kernel_block.over(kernel) is getattr(_kernel_block, version)
    engine = Engine(KOGD(kernel=Cauchy()), 2, 1, np.random.default_rng(0))
    engine.learn(np.zeros((1, 2)), np.ones((1, 1)))
    compiled = [[str(types) for types in version.signatures] for version in (run.fresh, run.stored)]
    assert [any("Cauchy" in types for types in each) for each in compiled] == [True, False]
    assert not any("Cauchy" in str(signature) for signature in run.stored.signatures)


def test_a_kernel_of_ones_own_in_a_block():
    X = np.random.default_rng(6).normal(size=(9, 3))
    np.testing.assert_allclose(dense_values(Cauchy(0.8), X, X), cauchy(0.8)(X, X), rtol=1e-13)


def test_a_kernel_of_ones_own_is_checked():
    with pytest.raises(ValueError, match="bandwidth"):
        KOGD(kernel=Cauchy(-1.0))
    assert type(check_kernel(Cauchy(2)).bandwidth) is float


def test_a_second_kernel_of_the_same_name_is_refused():
    def again():
        class Cauchy(NamedTuple):
            width: float = 1.0

        return Cauchy

    with pytest.raises(TypeError, match="'Cauchy' is already registered"):
        kernel_row.register(again())
    with pytest.raises(TypeError, match="'Gaussian' is already registered"):
        kernel_row.register(Gaussian)
    assert kernel_row.knows(Cauchy)

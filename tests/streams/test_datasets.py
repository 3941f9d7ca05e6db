import numpy as np
import pytest
from scipy import sparse

from forks.streams import datasets

SHAPES = {  # rows, features, rows labelled +1
    "german": (1_000, 24, 300),
    "svmguide3": (1_243, 22, 296),
    "spambase": (4_601, 57, 1_813),
    "cod-rna": (59_535, 8, 19_845),
    "w7a": (24_692, 300, 740),
    "ijcnn1": (141_691, 22, 4_853 + 8_712),
}


def or_skip(read, name):
    try:
        return read(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def test_every_name_is_tested():
    assert datasets.names() == list(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_load(name):
    X, y = or_skip(datasets.load, name)
    n_rows, n_features, n_positive = SHAPES[name]
    assert X.shape == (n_rows, n_features)
    assert y.shape == (n_rows,)
    assert X.dtype == y.dtype == np.float64
    assert sparse.issparse(X) == (name == "w7a")
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert np.sum(y == 1.0) == n_positive


@pytest.mark.parametrize("name", ["german", "spambase"])
def test_permutations(name):
    orders = or_skip(datasets.permutations, name)
    n_rows = SHAPES[name][0]
    assert orders.shape == (20, n_rows)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(n_rows), (20, 1)))


def test_a_missing_file_is_named_with_its_places(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError) as error:
        datasets.load("cod-rna")
    for part in ("cod-rna.bz2", str(tmp_path / "data"), str(tmp_path / "cache" / "forks")):
        assert part in str(error.value)


def test_the_cache_folder_is_the_second_place(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "forks").mkdir(parents=True)
    (tmp_path / "cache" / "forks" / "svmguide3").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    X, y = datasets.load("svmguide3")
    assert X.shape == (2, 22)
    np.testing.assert_array_equal(X[:, :3], [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(y, [1.0, -1.0])


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"must be one of german, .*got 'iris'"):
        datasets.load("iris")
    with pytest.raises(ValueError, match="no published orders of 'w7a'"):
        datasets.permutations("w7a")

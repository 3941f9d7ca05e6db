"""The benchmark files, read from `$FORKS_DATA` or from the user's cache folder."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from forks.typing import Vector


class _DataSet(NamedTuple):
    files: tuple[str, ...]  # read one after the other
    n_features: int
    sparse: bool = False
    permutations: str | None = None


_DATA_SETS = {
    "german": _DataSet(("german.numer",), 24, permutations="german.permutations.csv"),
    "svmguide3": _DataSet(("svmguide3",), 22),
    "spambase": _DataSet(("spambase.data",), 57, permutations="spambase.permutations.csv.bz2"),
    "cod-rna": _DataSet(("cod-rna.bz2",), 8),
    "w7a": _DataSet(("w7a.bz2",), 300, sparse=True),
    "ijcnn1": _DataSet(("ijcnn1.bz2", "ijcnn1.t.bz2"), 22),
}


_SPARSE = 0.25  # rows of a file with a smaller share of non-zeros stay sparse


def names() -> list[str]:
    """Give the names that `load` knows."""
    return list(_DATA_SETS)


def load(name: str) -> tuple[Any, Vector]:
    """Give the rows and the labels, -1 or +1, of a data set in the order of its files.

    Rows are a float64 array, CSR for w7a. The values are as published, not scaled.
    """
    data_set = _find(name)
    paths = [_path(name, file) for file in data_set.files]
    if name == "spambase":
        table = np.loadtxt(paths[0], delimiter=",")
        return np.ascontiguousarray(table[:, :-1]), np.where(table[:, -1] > 0.0, 1.0, -1.0)
    parts = [
        load_svmlight_file(str(path), n_features=data_set.n_features, zero_based=False)
        for path in paths
    ]
    y = np.concatenate([labels for _, labels in parts])
    if data_set.sparse:
        (X,) = [rows for rows, _ in parts]
        return X, y
    return np.concatenate([rows.toarray() for rows, _ in parts]), y


def read(data: str) -> tuple[Any, Any]:
    """Give the rows and the labels of a data set by its name, or of a file in LIBSVM format.

    The file may be compressed (.gz or .bz2). Its rows are an array, or CSR if most entries are
    zero; its labels are as they stand there.
    """
    if data in _DATA_SETS:
        return load(data)
    path = Path(data)
    if not path.is_file():
        raise FileNotFoundError(
            f"{data!r} is neither a file nor one of the data sets {', '.join(_DATA_SETS)}"
        )
    try:
        X, y = load_svmlight_file(str(path))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{data} is not in LIBSVM format: {error}") from error
    if X.shape[0] == 0:
        raise ValueError(f"{data} has no rows")
    filled = X.nnz / (X.shape[0] * max(1, X.shape[1]))
    return (X if filled < _SPARSE else X.toarray()), y


def permutations(name: str) -> NDArray[np.int64]:
    """Give the 20 published orders of german or spambase: an int array (20, rows), from 0."""
    file = _find(name).permutations
    if file is None:
        known = [name for name, data_set in _DATA_SETS.items() if data_set.permutations]
        raise ValueError(f"no published orders of {name!r}, only of {' and '.join(known)}")
    return np.loadtxt(_path(name, file), delimiter=",", dtype=np.int64) - 1


def _find(name: str) -> _DataSet:
    if name not in _DATA_SETS:
        raise ValueError(f"name must be one of {', '.join(_DATA_SETS)}, got {name!r}")
    return _DATA_SETS[name]


def _folders() -> list[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forks"
    given = os.environ.get("FORKS_DATA")
    return [Path(given), cache] if given else [cache]


def _path(name: str, file: str) -> Path:
    folders = _folders()
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    places = " or ".join(map(str, folders))
    hint = "" if "FORKS_DATA" in os.environ else ", or set FORKS_DATA to the folder that has it"
    raise FileNotFoundError(f"data set {name!r} needs the file {file}: put it in {places}{hint}")

"""The default regressor.

Root mean square error, each prediction made before its target was used. Nystroem has 100 landmarks
from the first 1,000 rows; KernelRidge is tuned by cross-validation on its rows.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from forks import OnlineKernelRegressor, datasets
from forks.engine import Matrix, Vector
from forks.evaluate import player_for
from forks.experiments.bench._data import SEED, shuffled
from forks.experiments.bench._part import Number, Part
from forks.experiments.bench._peers import FeaturePlayer, in_batches
from forks.experiments.record import Missing, needed

_OURS = "OnlineKernelRegressor()"
_START = 1_000  # rows that Nystroem takes its landmarks from, and the scaler its units
_RIDGES = {"kernelridge__alpha": [0.1, 1.0, 10.0], "kernelridge__gamma": [0.01, 0.03, 0.1, 0.3]}


def measure(
    rows: int = 59_535, flights_rows: int = 200_000, forest_rows: int = 30_000
) -> Iterator[Number]:
    """Compare on the same rows; River, which is slow, gets the first ones only."""
    for name, X, y, n in (_abalone(rows), _flights(flights_rows)):
        ours = _answers(OnlineKernelRegressor(random_state=SEED), X, y)
        yield from _pair(name, y, "scikit-learn, Nystroem and SGD", ours, _nystroem(X, y))
        peer = f"scikit-learn, KernelRidge on the first {n:,} rows, after them"
        yield from _pair(name, y[n:], peer, ours[n:], _kernel_ridge(X, y, n))
        first = slice(forest_rows)
        for river, model in _river().items():
            peer = f"River, {river}, first {len(y[first]):,} rows"
            yield from _pair(name, y[first], peer, ours[first], _answers(model, X[first], y[first]))


def _pair(name: str, y: Vector, peer: str, ours: Vector, theirs: Vector) -> Iterator[Number]:
    """Compare the errors; ours must be the smaller one."""
    settings = {"data": name, "n_rows": len(y)}
    own, error = (float(np.sqrt(np.mean((answers - y) ** 2))) for answers in (ours, theirs))
    yield Number(f"{name}: {peer}", error, settings=settings, column="theirs")
    yield Number(f"{name}: {peer}", own, settings=settings, column=_OURS)
    yield Number(f"{name}: {_OURS} over {peer}", own / error, settings=settings, at_most=1.0)


_Problem = tuple[str, Matrix, Vector, int]  # rows, targets, and how many a batch model learns


def _abalone(n_rows: int) -> _Problem:
    X, y = shuffled("abalone").first(n_rows)
    dense = X if isinstance(X, np.ndarray) else np.asarray(X.toarray())
    return "abalone", dense, y, len(y) // 2


def _flights(n_rows: int) -> _Problem:
    try:
        (path,) = datasets.paths("flights-3m")
    except FileNotFoundError as error:
        raise Missing("the data set flights-3m is not at hand") from error
    chunks = islice(datasets.read_flights(path, target="delay", chunk=10_000), -(-n_rows // 10_000))
    X, y = (np.concatenate(part)[:n_rows] for part in zip(*chunks, strict=True))
    return "flights, delay in minutes", X, y, min(5_000, n_rows // 2)


def _answers(model: Any, X: Matrix, y: Vector) -> Vector:
    return player_for(type(model).__name__, model).play(X, y).answers


def _nystroem(X: Matrix, y: Vector) -> Vector:
    nystroem = Nystroem(n_components=100, random_state=SEED)
    features = make_pipeline(StandardScaler(), nystroem).fit(X[:_START])
    player = FeaturePlayer(features, SGDRegressor(random_state=SEED))
    return in_batches(player, X, y).result


def _kernel_ridge(X: Matrix, y: Vector, n: int) -> Vector:
    """Predict all rows after the first n by a batch model tuned by cross-validation on those."""
    mean = y[:n].mean()
    model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    search = GridSearchCV(model, _RIDGES, cv=3, scoring="neg_mean_squared_error")
    few = min(n, 2_000)  # for the choice of parameters
    model = search.fit(X[:few], y[:few] - mean).best_estimator_.fit(X[:n], y[:n] - mean)
    return np.asarray(model.predict(X[n:])) + mean


def _river() -> dict[str, Any]:
    with needed("River", "'forks-learn[river]'"):
        from river import forest, neighbors, preprocessing, tree
    return {
        "adaptive random forest": forest.ARFRegressor(seed=SEED),
        "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeRegressor(seed=SEED),
        "nearest neighbours": preprocessing.StandardScaler() | neighbors.KNNRegressor(),
    }


PART = Part(__doc__, measure, {"rows": 20_000, "flights_rows": 20_000, "forest_rows": 1_000})

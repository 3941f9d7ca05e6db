"""The default regressor, row by row, beside what scikit-learn and River offer."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from forks import FORKSRegressor, datasets
from forks.engine import Matrix, Vector
from forks.experiments.bench._data import SEED, shuffled
from forks.experiments.bench._effort import Effort
from forks.experiments.bench._peers import in_batches
from forks.experiments.bench._record import Missing, Record

_OURS = "FORKSRegressor()"
_COMPONENTS = 100
_START = 1_000  # rows that tell Nystroem its landmarks, and the scaler its units
_RIDGES = {"kernelridge__alpha": [0.1, 1.0, 10.0], "kernelridge__gamma": [0.01, 0.03, 0.1, 0.3]}


class _Problem(NamedTuple):
    """Rows, targets, and how many of them the batch machine learns from."""

    X: Matrix
    y: Vector
    first: int


def measure(effort: Effort) -> Iterator[Record]:
    """Root mean square of the errors, each prediction made before its target was used."""
    for name, problem in (
        ("abalone", _abalone(effort.rows)),
        ("flights, delay in minutes", _flights(effort.flights_rows)),
    ):
        ours = _played(FORKSRegressor(random_state=SEED).prequential, problem)
        yield from _pair(name, "scikit-learn, Nystroem and SGD", ours, _nystroem(problem), problem)
        ridge = _kernel_ridge(problem)
        first = problem.first
        rest = problem._replace(X=problem.X[first:], y=problem.y[first:])
        title = f"scikit-learn, KernelRidge on the first {first:,} rows, after them"
        yield from _pair(name, title, ours[first:], ridge, rest)
        n = effort.forest_rows
        short = problem._replace(X=problem.X[:n], y=problem.y[:n])
        for title, made in _river().items():
            title = f"River, {title}, first {len(short.y):,} rows"
            yield from _pair(name, title, ours[:n], _one_by_one(made(), short), short)


def _pair(
    name: str, peer: str, ours: Vector, theirs: Vector, problem: _Problem
) -> Iterator[Record]:
    """Both on the same rows; ours must have the smaller error."""
    settings = {"data": name, "n_rows": len(problem.y)}
    errors = [float(np.sqrt(np.mean((scores - problem.y) ** 2))) for scores in (ours, theirs)]
    yield Record(name=f"{name}: {peer}", value=errors[1], column="theirs", settings=settings)
    yield Record(name=f"{name}: {peer}", value=errors[0], column=_OURS, settings=settings)
    yield Record(
        name=f"{name}: {_OURS} over {peer}",
        value=errors[0] / errors[1],
        at_most=1.0,
        settings=settings,
    )


def _abalone(n_rows: int) -> _Problem:
    X, y = shuffled("abalone").first(n_rows)
    dense = X if isinstance(X, np.ndarray) else np.asarray(X.toarray())
    return _Problem(dense, y, len(y) // 2)


def _flights(n_rows: int) -> _Problem:
    try:
        (path,) = datasets.paths("flights-3m")
    except FileNotFoundError as error:
        raise Missing("the data set flights-3m is not at hand") from error
    chunks = islice(datasets.read_flights(path, target="delay", chunk=10_000), -(-n_rows // 10_000))
    X, y = (np.concatenate(part)[:n_rows] for part in zip(*chunks, strict=True))
    return _Problem(X, y, min(5_000, n_rows // 2))


def _played(play: Callable[[Matrix, Vector], Any], problem: _Problem) -> Vector:
    return np.asarray(play(problem.X, problem.y))


def _nystroem(problem: _Problem) -> Vector:
    """In batches, each transformed, predicted and learned."""
    X, y = problem.X, problem.y
    start = X[:_START]
    features = make_pipeline(
        StandardScaler(), Nystroem(n_components=_COMPONENTS, random_state=SEED)
    ).fit(start)
    return in_batches(X, y, features, SGDRegressor(random_state=SEED), "predict")


def _kernel_ridge(problem: _Problem) -> Vector:
    """A batch machine, tuned by cross-validation on its rows, on all rows after them."""
    first = problem.first
    mean = problem.y[:first].mean()
    machine = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    search = GridSearchCV(machine, _RIDGES, cv=3, scoring="neg_mean_squared_error")
    few = min(first, 2_000)  # for the choice of parameters
    search.fit(problem.X[:few], problem.y[:few] - mean)
    machine = search.best_estimator_.fit(problem.X[:first], problem.y[:first] - mean)
    return np.asarray(machine.predict(problem.X[first:])) + mean


def _river() -> dict[str, Callable[[], Any]]:
    try:
        from river import forest, neighbors, preprocessing, tree
    except ModuleNotFoundError as error:
        raise Missing("River is not installed: pip install 'forks-learn[river]'") from error
    return {
        "adaptive random forest": lambda: forest.ARFRegressor(seed=SEED),
        "Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=SEED),
        "nearest neighbours": lambda: preprocessing.StandardScaler() | neighbors.KNNRegressor(),
    }


def _one_by_one(model: Any, problem: _Problem) -> Vector:
    names = [f"x{j}" for j in range(problem.X.shape[1])]
    scores = np.zeros(len(problem.y))
    for t, (x, y) in enumerate(zip(problem.X.tolist(), problem.y.tolist(), strict=True)):
        row = dict(zip(names, x, strict=True))
        scores[t] = model.predict_one(row) or 0.0
        model.learn_one(row, y)
    return scores

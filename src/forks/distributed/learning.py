"""One model from partitions of rows: rounds of forks that learn apart and are merged."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from forks.distributed.executors import Executor
from forks.distributed.on_dask import DaskExecutor
from forks.distributed.on_joblib import JoblibExecutor
from forks.distributed.partitions import (
    Look,
    brought_back,
    cut,
    dealt,
    dealt_back,
    is_pair,
    learn_share,
    look,
    merge_group,
    partitions_of,
)
from forks.engine.checks import whole
from forks.estimators import OnlineKernelClassifier, OnlineKernelRegressor, merge
from forks.estimators.base import OnlineEstimator

_MOST = 26.0  # rows of a round, in units of those before it: challengers start between rounds
_GROUP = 8  # forks that are merged at a time: of more, workers merge groups
_LITTLE = 0.3  # of a round: if less is left after it, it is learned in the same round


def learn(
    source: Any,
    model: Any = None,
    *,
    executor: Any = None,
    partitions: int | None = None,
    start: int = 2000,
    rounds: int | None = None,
    spare: int = 100,
    classes: Any = None,
) -> Any:
    """Return one model that has learned all rows of a source, by many workers at a time.

    The first rows of all partitions are learned here, one after the other. Then, in each round,
    every partition has a fork of the model, which a worker lets learn the next share of it; the
    forks are merged. So that merged models see rows one by one, too, each fork leaves its last rows
    of the round, and they are learned here.

    More than eight forks are merged by a tree: workers merge groups of eight, and this process what
    is left. All forks pass through this process, which packs and unpacks them.

    The result depends on the partitions, and on nothing else: not on the executor, on how many
    workers there are or whether some have died.

    Parameters
    ----------
    source : tuple (X, y), or sequence of partitions
        Rows and labels, which are dealt to the partitions in turns; or partitions: tuples (X, y),
        or functions without arguments that return one and are called by workers.
    model : estimator, optional
        One that has learned nothing, or one to go on from; it stays as it is. By default a
        classifier, or a regressor if labels are numbers with fractions.
    executor : int, distributed.Client or `Executor`, optional
        How many threads of this process, or processes of this machine if partitions are functions,
        by default as many as it has cores; a Dask cluster; or something with the members of
        `Executor`.
    partitions : int, optional
        How many there are to be of a tuple (X, y); by default as many as there are workers.
    start : int
        Rows that are learned here first by a model that has learned none.
    rounds : int, optional
        How many rounds there are, of equal size. By default each is so long that at its end a fork
        knows half of what all know together: a loss other than the squared error is learned apart
        well by models that know about as much already. With many partitions rounds double what is
        known, with four they triple it, and with two one of 26 times as many rows follows; so the
        number of rounds grows with the logarithm of the rows.
    spare : int
        Rows that are learned here after each round.
    classes : array, optional
        All labels that can occur, for a classifier that has learned nothing. By default those of
        the source.

    Returns
    -------
    model : estimator
        A new one.

    Examples
    --------
    >>> from forks import distributed
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(5000, noise=0.1, random_state=0)
    >>> model = distributed.learn((X, y), executor=1, partitions=4)
    >>> model.n_rounds_, bool(model.score(X, y) > 0.99)
    (5000, True)
    """
    learned = _Learning(source, model, executor, partitions, start, rounds, spare, classes)
    return learned.model


def prequential(source: Any, model: Any = None, **settings: Any) -> tuple[Any, Any]:
    """Learn like `learn`, and return the scores of all rows, each made before its label was used.

    A row is scored by the fork that learns it. That fork knows what all had learned before the
    round began, and the rows of its own partition since then: fewer rows than one model that
    learns them all one by one. So these figures are a little worse than those of such a model, and
    of the model that is returned.

    Parameters
    ----------
    source, model
        See `learn`.
    **settings
        `executor`, `partitions`, `start`, `rounds`, `spare` and `classes` of `learn`.

    Returns
    -------
    model : estimator
        The one that `learn` returns.
    scores : array, or list of arrays
        As `prequential` of an estimator returns them, in the order of the rows; for each partition
        if these were given.

    Examples
    --------
    >>> from forks import distributed
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(5000, noise=0.1, random_state=0)
    >>> model, scores = distributed.prequential((X, y), executor=1, partitions=4)
    >>> scores.shape, bool(((scores > 0) == y).mean() > 0.98)
    ((5000,), True)
    """
    learned = _Learning(source, model, **settings)
    scores = [np.concatenate(pieces) for pieces in learned.scores]
    if not is_pair(source):
        return learned.model, scores
    n = len(scores)
    together = np.empty((sum(map(len, scores)), *scores[0].shape[1:]))
    for k, part in enumerate(scores):
        together[k::n] = part
    return learned.model, together


class _Learning:
    """The model of a source, and the scores of the rows of each partition, in their order."""

    def __init__(
        self,
        source: Any,
        model: Any,
        executor: Any = None,
        partitions: int | None = None,
        start: int = 2000,
        rounds: int | None = None,
        spare: int = 100,
        classes: Any = None,
    ) -> None:
        self.runner = _executor_from(executor, source)
        n = self.runner.workers if partitions is None else whole("partitions", partitions, 1)
        whole("start", start, 1)
        self.spare = whole("spare", spare, 0)
        if rounds is not None:
            whole("rounds", rounds, 1)
        if model is not None and not isinstance(model, OnlineEstimator):
            raise ValueError(f"model must be an estimator of this package, got {model!r}")
        self.parts = partitions_of(source, n)
        self.scores: list[list[Any]] = [[] for _ in self.parts]
        fitted = model is not None and hasattr(model, "engine_")
        head = 0 if fitted else -(-start // len(self.parts))
        tasks = [(i, part, max(1, head)) for i, part in enumerate(self.parts)]
        looks = self._looks(tasks)
        self.heads = [min(head, each.rows) for each in looks]
        self.rows = [each.rows for each in looks]
        self.left = sum(self.rows) - sum(self.heads)
        begun: Any = copy.copy(model) if fitted else self._begun(model, looks, classes)
        self.model = begun
        known = sum(self.heads) or begun.n_rounds_
        for share in shares(known, self.left, len(self.parts), rounds):
            self._play_round(share)

    def _looks(self, tasks: Sequence[Any]) -> list[Look]:
        """Return what is to be known of partitions; rows of this process are not sent for that."""
        far = [task for task in tasks if callable(task[1])]
        told = iter(self.runner.run(look, far) if far else [])
        return [next(told) if callable(task[1]) else look(*task) for task in tasks]

    def _begun(self, model: Any, looks: Sequence[Look], classes: Any) -> Any:
        """Return a model that has learned the first rows of all partitions."""
        widths = [each.X.shape[1] for each in looks]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"partition {i} has {width} features, and partition 0 has {widths[0]}"
                )
        first = dealt([(each.X, each.y) for each in looks])
        if first is None:
            raise ValueError("source: it has no rows")
        if model is None:
            continuous = type_of_target(first[1]).startswith("continuous")
            model = OnlineKernelRegressor() if continuous else OnlineKernelClassifier()
        model = clone(model)
        model._learner(first[0]).for_forks()  # an error now, before anything is learned
        found = all(each.labels is not None for each in looks)
        if classes is None and model._task == "classification" and found:
            classes = np.unique(np.concatenate([each.labels for each in looks]))
        self._keep(model.prequential(*first, classes=classes), self.heads)
        return model

    def _keep(self, scores: Any, lengths: Sequence[int]) -> None:
        """Keep the scores of rows that were dealt, so many of each partition."""
        for pieces, part in zip(self.scores, dealt_back(scores, lengths), strict=True):
            pieces.append(part)

    def _play_round(self, share: tuple[float, float]) -> None:
        """Let forks of the model learn, one for each partition, and merge them."""
        n = len(self.parts)
        forks = self.model.fork(n, rows=round((share[1] - share[0]) * self.left))
        each = -(-self.spare // n)
        pieces = [cut(self.parts[k], *self._bounds(k, share)) for k in range(n)]
        tasks = [(k, forks[k], *pieces[k], each) for k in range(n)]
        learned = self.runner.run(learn_share, tasks)
        self.model = self._merged([brought_back(learned[k][0], [forks[k]]) for k in range(n)])
        for pieces, (*_, scores) in zip(self.scores, learned, strict=True):
            pieces.append(scores)
        spared = dealt([(X, y) for _, X, y, _ in learned])
        if spared is not None:
            scores = self.model.prequential(*spared)
            self._keep(scores, [len(y) for _, _, y, _ in learned])

    def _merged(self, forks: list[Any]) -> Any:
        """Return one model of all forks, by a tree: this process merges the last few groups."""
        while len(forks) > _GROUP:
            groups = [forks[k : k + _GROUP] for k in range(0, len(forks), _GROUP)]
            begins = forks[0]._origin.begins()
            made = self.runner.run(merge_group, [(group, begins) for group in groups])
            forks = [brought_back(*pair) for pair in zip(made, groups, strict=True)]
        return merge(forks)

    def _bounds(self, k: int, share: tuple[float, float]) -> tuple[int, int]:
        """Return the first row of a share of a partition, and the one behind its last."""
        head, left = self.heads[k], self.rows[k] - self.heads[k]
        return head + round(share[0] * left), head + round(share[1] * left)


def _executor_from(given: Any, source: Any) -> Executor:
    if given is None or isinstance(given, int):
        # Functions may read files in plain Python, which threads do one after the other.
        read = isinstance(source, Sequence) and any(map(callable, source))
        return JoblibExecutor(-1 if given is None else given, threads=not read)
    if isinstance(given, Executor):
        return given
    if hasattr(given, "submit") and hasattr(given, "nthreads"):
        return DaskExecutor(given)
    raise ValueError(
        f"executor must be a number of workers, a Dask client or an Executor, got {given!r}"
    )


def shares(known: int, left: int, n: int, rounds: int | None) -> Iterator[tuple[float, float]]:
    """Yield the shares of the rows that are left, of each round of n forks.

    By default a round is so long that in the end a fork, which knows what all knew before it and
    an n-th of the round, knows half of what all know then: K + r / n = (K + r) / 2.
    """
    if left == 0:
        return
    if rounds is not None:
        ends = np.linspace(0.0, 1.0, rounds + 1)
        yield from zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        return
    growth = n / (n - 2) if n > 2 else _MOST
    done = 0.0
    while done < left:
        size = growth * (known + done)
        next_ = left if left - done < (1.0 + _LITTLE) * size else done + size
        yield done / left, next_ / left
        done = next_

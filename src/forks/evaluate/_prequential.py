"""One pass over a stream: many models with checkpoints, or one learner and its result."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forks.engine.checks import whole
from forks.evaluate.metrics import Checkpoint
from forks.evaluate.player import Player
from forks.evaluate.players import LearnerPlayer, player_for
from forks.evaluate.rows import rows_of


def prequential(
    models: Any,
    stream: Iterable[Any],
    *,
    every: int = 1000,
    window: int = 1000,
    delay: int = 0,
    classes: Any = None,
) -> Iterator[Checkpoint]:
    """Play a stream with one model or several; yield a checkpoint of each every so many rounds.

    A round is a row: predicted, counted, then learned. The models learn in place, and share one
    pass over the stream. Checkpoints do not depend on how the stream is cut into chunks, but for
    models from elsewhere.

    Estimators of this package play row by row, and so do bare learners (see `LearnerPlayer`) and
    River's models. Anything else with scikit-learn's `partial_fit` and `predict` (and
    `decision_function`, if it has one) predicts each chunk, cut where a checkpoint is due, before
    it learns from it; its losses are the hinge and half the squared error. As long as such a model
    has learned nothing and cannot predict, its scores count as 0, which answers the second of two
    classes, or the first of more.

    Parameters
    ----------
    models : model, or mapping of names to models
        A model is an estimator, a learner, an `Engine`, a model of River, or a `Player`, which has
        its own name, window, delay and classes.
    stream : iterable of chunks (X, y) or (X, y, weights)
        Rows are arrays, data frames or sparse matrices.
    every : int
        Rounds from one checkpoint to the next. There is one after the last round, too.
    window : int
        Rounds of the recent mistake rate.
    delay : int
        The label of a round comes when so many further rounds have been predicted: a row is
        predicted by a model that has learned all rows but the last `delay` before it. The labels
        of the last rounds never come. Models from elsewhere learn theirs when a chunk ends.
    classes : array, optional
        All labels that can occur. Without it those of the first chunk are known at first, and
        others may come later; models from elsewhere may not take them.

    Yields
    ------
    Checkpoint
        One per model, in the order of the mapping, whenever one is due.

    Examples
    --------
    >>> from forks import OnlineKernelClassifier
    >>> from forks.evaluate import prequential
    >>> from forks.streams import drifting
    >>> model = OnlineKernelClassifier(random_state=0)
    >>> for at in prequential(model, drifting(5000, seed=0), every=2500):
    ...     print(at.model, at.rounds, at.mistake_rate > at.recent_mistake_rate)
    OnlineKernelClassifier 2500 True
    OnlineKernelClassifier 5000 True
    """
    whole("every", every, 1)
    whole("window", window, 1)
    whole("delay", delay, 0)
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise ValueError("models is empty")
    if len({id(model) for model in named.values()}) < len(named):
        raise ValueError("models: the same model has two names, and would learn every row twice")
    options = {"window": window, "delay": delay, "classes": classes}
    players = [player_for(str(name), model, **options) for name, model in named.items()]
    if classes is not None and not any(player.classifies for player in players):
        raise ValueError(f"classes is for classifiers, got {classes!r}")
    return _played(players, stream, every)


def _played(players: list[Player], stream: Iterable[Any], every: int) -> Iterator[Checkpoint]:
    rounds = 0
    for number, chunk in enumerate(stream):
        rows = rows_of(chunk, number)
        if rounds == 0 and rows.n_rows > 0:
            for player in players:
                player.prepare(rows)
                player.warm_up(rows)
        for part in rows.parts(every - rounds % every, every):
            for player in players:
                player.play(*part)
            rounds += part.n_rows
            if rounds % every == 0:
                yield from (player.checkpoint() for player in players)
    if rounds % every > 0:
        yield from (player.checkpoint() for player in players)


def play(learner: Any, stream: Iterable[Any], *, seed: int = 0) -> Checkpoint:
    """Play a stream with a bare learner from its first row to its last.

    For more than the result (scores, the engine, checkpoints on the way), see `LearnerPlayer`.

    Parameters
    ----------
    learner : Learner or Engine
    stream : iterable of chunks (X, y)
        Float64 arrays or CSR matrices, and targets: -1 and +1 for the classification losses.
    seed : int
        Of the learner's draws.

    Returns
    -------
    Checkpoint
        After the last round: mistakes, also as the FORKS paper counts them, CPU time without
        compilation, sizes.

    Examples
    --------
    >>> from forks.evaluate import play
    >>> from forks.learners import FORKS
    >>> from forks.streams import drifting
    >>> play(FORKS(), drifting(2000, seed=0)).rounds
    2000
    """
    player = LearnerPlayer(type(learner).__name__, learner, seed=seed)
    for X, y in stream:
        player.play(X, y)
    if player.rounds == 0:
        raise ValueError("the stream has no rows")
    return player.checkpoint()

"""What a model knows beside its scores: which features matter, what happened, how sure it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from forks.engine import Engine, EngineGroup, Matrix, Vector, one_thread
from forks.engine.checks import positive
from forks.estimators.explaining import effects

_HAVE = 'the default learner of dense rows with effort="balanced" or "best" has'


def check_level(name: str, level: Any) -> float:
    """Return a coverage as a number between 0 and 1, both left out."""
    positive(name, level)
    if level >= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {level!r}")
    return float(level)


def engines_of(engine: Engine | EngineGroup) -> tuple[Engine, ...]:
    """Return the engine, or those of a group."""
    return engine.engines if isinstance(engine, EngineGroup) else (engine,)


def answers_of(engine: Engine | EngineGroup, name: str, *arguments: Any) -> list[Any]:
    """Return what the learner answers about its memory, for each engine of a group."""
    return [getattr(e.learner, name)(e.memory, *arguments) for e in engines_of(engine)]


def relevance_of(engine: Engine | EngineGroup) -> Vector | None:
    """Return the relevance of features, the mean over engines; None as long as it is not known."""
    with one_thread():  # small systems
        found = answers_of(engine, "feature_relevance")
    return None if any(each is None for each in found) else np.asarray(np.mean(found, axis=0))


def weights_of(engine: Engine | EngineGroup) -> Vector:
    """Return the weights of the experts, the mean over engines."""
    return np.asarray(np.mean(answers_of(engine, "expert_weights"), axis=0))


def events_of(engine: Engine | EngineGroup, names: Any = None) -> list[dict[str, Any]]:
    """Return what happened, oldest first; with names of features beside their numbers."""
    found = answers_of(engine, "events")
    events = [
        event if len(found) == 1 else {**event, "output": output}
        for output, each in enumerate(found)
        for event in each
    ]
    for event in events if names is not None else ():
        for part in event.values():
            if isinstance(part, dict) and 0 <= part.get("feature", -1) < len(names):
                part["name"] = names[part["feature"]]
    return sorted(events, key=lambda event: event["round"])


def _of_engine(attribute: str, doc: str) -> property:
    """Return a property of fitted estimators: an attribute of their engine."""

    def get(self: Any) -> Any:
        check_is_fitted(self, "engine_")
        return getattr(self.engine_, attribute)

    return property(get, doc=doc)


class Insight:
    """Mixin of estimators: attributes and answers that not all learners have."""

    engine_: Engine | EngineGroup
    _reading: Callable[..., Any]
    _ready: Callable[[Any], Any]
    _checked_rows: Callable[[Any], Any]

    learner_ = _of_engine("learner", "The learner at work, with all that was set from data.")
    n_rounds_ = _of_engine("rounds", "Rows that the model has learned.")
    n_mends_ = _of_engine(
        "mends", "Steps left out, or mended, because numbers would not have been finite."
    )
    last_mend_ = _of_engine("last_mend", "The round of the last of them, counted from 1.")
    n_points_ = _of_engine("stored_points", "Points that the model stores now.")

    @property
    def feature_relevance_(self) -> Vector:
        """How much each feature moves the score, summing to 1."""
        relevance = self._about("feature_relevance_", "feature_relevance", relevance_of)
        if relevance is None:
            raise AttributeError("feature_relevance_ is known after the first 16 rows")
        return np.asarray(relevance)

    @property
    def feature_importances_(self) -> Vector:
        """The same, under the name that scikit-learn's tools look for."""
        return self.feature_relevance_

    @property
    def events_(self) -> list[dict[str, Any]]:
        """What happened to the experts, oldest first: the last 64 events."""
        names = getattr(self, "feature_names_in_", None)
        return list(self._about("events_", "events", lambda engine: events_of(engine, names)))

    @property
    def expert_weights_(self) -> Vector:
        """How much each expert counts for the next row, and what is weighed beside them."""
        return np.asarray(self._about("expert_weights_", "expert_weights", weights_of))

    def explain(self, X: Any) -> Any:
        """Return what moved the answers: how much of each score is due to each feature.

        It is the change of the score between the mean of the feature and its value, the slope
        between the two times the distance: the mean of that with all other features as they are,
        and of that with all others at their means. Costs as much as predicting each row twice for
        every feature, or every entry of a sparse row.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        effects : array of shape (n_rows, n_features), or CSR for sparse rows
            In units of `decision_function`, of the class that is answered if there are more than
            two; in units of the label for a regressor. With two classes a positive effect speaks
            for the second. Means are those of the rows that the learner keeps, or of X if it keeps
            none; those of sparse rows are 0.

        Examples
        --------
        >>> import numpy as np
        >>> from forks import OnlineKernelClassifier
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> model = OnlineKernelClassifier(effort="fast").fit(X, X[:, 1] > 0.0)
        >>> effects = model.explain([[0.5, 2.0, 0.5]])
        >>> effects.shape, int(abs(effects).argmax()), bool(effects[0, 1] > 0.5)
        ((1, 3), 1, True)
        """
        X = self._checked_rows(X)

        def work() -> Any:
            means = answers_of(self.engine_, "mean_row")
            rows = self._ready(X)
            mean = np.mean(rows, axis=0) if means[0] is None else means[0]
            return effects(self.engine_.predict, rows, mean)

        return self._reading(work)

    def _about(self, attribute: str, needed: str, work: Callable[[Any], Any]) -> Any:
        """Return an answer about the engine, or raise AttributeError if its learner has none."""
        check_is_fitted(self, "engine_")
        if not hasattr(self.engine_.learner, needed):
            raise AttributeError(
                f"{type(self.engine_.learner).__name__} has no {attribute}; {_HAVE} it"
            )
        return self._reading(lambda: work(self.engine_))

    def _scores_with(self, X: Any, what: str, needed: str, level: float) -> tuple[Matrix, Any]:
        """Return scores of checked rows, and what the learner says of their uncertainty."""
        self._check_has(what, needed)
        return self._reading(
            lambda: (
                self.engine_.predict(self._ready(X)),
                answers_of(self.engine_, needed, level, False)[0],
            )
        )

    def _check_has(self, what: str, needed: str) -> None:
        """Raise an error if the learner cannot say how uncertain its scores are."""
        learner = self.engine_.learner
        if isinstance(self.engine_, EngineGroup) or not hasattr(learner, needed):
            name = type(learner).__name__
            raise ValueError(f"{what}: {name} has no prediction intervals or sets; {_HAVE} them")

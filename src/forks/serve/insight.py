"""What a model of the service knows beside its answers: relevance, events, weights of experts."""

import copy
from typing import Any

from forks.engine import one_thread
from forks.estimators.insight import events_of, relevance_of, weights_of
from forks.serve.keeper import Keeper
from forks.serve.table_model import TableModel


def relevance(keeper: Keeper) -> dict[str, float]:
    """Return the relevance of the features by their names; none as long as it is not known.

    It takes a while, so it is found out from a copy, with one thread: nobody waits for it.
    """
    with keeper.turns.reading():
        if not _has(keeper.model, "feature_relevance"):
            return {}
        engine, names = copy.copy(_engine(keeper.model)), _names(keeper.model)
    with one_thread():
        values = relevance_of(engine)
    if values is None:
        return {}
    return dict(zip(names or [f"x{j}" for j in range(len(values))], values.tolist(), strict=True))


def events(keeper: Keeper) -> list[dict[str, Any]]:
    """Return what happened to the experts, oldest first, with the names of features."""
    with keeper.turns.reading():
        if not _has(keeper.model, "events"):
            return []
        return events_of(_engine(keeper.model), _names(keeper.model))


def expert_weights(keeper: Keeper) -> list[float]:
    """Return the weights of the experts, and of what is weighed beside them."""
    with keeper.turns.reading():
        if not _has(keeper.model, "expert_weights"):
            return []
        weights: list[float] = weights_of(_engine(keeper.model)).tolist()
        return weights


def _engine(model: TableModel) -> Any:
    """Return the engine of a model; of one with keys, that of the model for all."""
    return getattr(model.estimator, "common_", model.estimator).engine_


def _has(model: TableModel, needed: str) -> bool:
    return model.ready and hasattr(_engine(model).learner, needed)


def _names(model: TableModel) -> list[str] | None:
    if model.encoder is not None:
        return list(map(str, model.encoder.get_feature_names_out()))
    known = getattr(model.estimator, "feature_names_in_", None)
    return None if known is None else list(map(str, known))

"""`forks run --key COLUMN`: the encoder and the model for a table with a column of keys."""

from typing import Any

from forks.features.table.layout import WIDEST
from forks.keyed import KeyedClassifier, KeyedRegressor
from forks.keyed.tables import KeyedEncoder, without
from forks.streams import StreamError
from forks.streams.columns import RawTable

_SETTINGS = ("rank", "forgetting", "max_keys", "folder")


def check_has_key(path: Any, model: Any, encoder: Any) -> None:
    """Raise an error if a file holds a keyed model, and not which column has the keys."""
    if hasattr(model, "max_keys") and not hasattr(encoder, "key"):
        raise ValueError(
            f"{path} holds a keyed model, but not which column has the keys: it was not made by "
            "forks run --key, and forks.keyed.load reads it"
        )


def check_same_key(key: str | None, encoder: Any, path: Any) -> None:
    """Raise an error if a model is to go on with another key than it was made with."""
    known = getattr(encoder, "key", None)
    if key is not None and key != known:
        has = "no keys" if known is None else f"the key {known!r}"
        raise ValueError(f"{path} holds a model with {has}: --key {key} cannot change it")


def refuse_keyed(path: Any, model: Any) -> None:
    """Raise an error if a model is one with keys, which are not forked and merged."""
    if hasattr(model, "max_keys"):
        raise ValueError(f"{path} holds a model with keys, which cannot be forked and merged")


def beside_keys(file: Any, key: str, first: Any) -> Any:
    """Return the first rows of a table without the column of keys."""
    if not isinstance(first.X, RawTable) or key not in first.X:
        names = ", ".join(first.X) if isinstance(first.X, RawTable) else "no names"
        raise StreamError(f"{file.name} has no column {key!r} beside the label; it has {names}")
    return first._replace(X=RawTable(without(first.X, key), first.X.shape[0]))


def with_keys(file: Any, key: str, encoder: Any) -> Any:
    """Return the encoder of a table with a column of keys, by the one of the other columns."""
    width = len(encoder.get_feature_names_out())
    if width > WIDEST:
        raise StreamError(
            f"{file.name} has {width:,} features, and --key learns at most {WIDEST:,} "
            "(--hash-bits makes fewer of text, --drop leaves columns out)"
        )
    return KeyedEncoder(key, encoder)


def make_keyed_model(task: str, settings: dict[str, Any], seed: int, effort: str) -> Any:
    """Make the estimator; an error names the setting that is wrong."""
    for name in settings:
        if name not in _SETTINGS:
            raise ValueError(f"--set: a keyed model has no {name!r}, but {', '.join(_SETTINGS)}")
    kind: Any = KeyedClassifier if task == "classification" else KeyedRegressor
    model = kind(effort=effort, random_state=seed, **settings)
    model._check_parameters()
    return model

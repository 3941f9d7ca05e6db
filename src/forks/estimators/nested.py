"""Settings of a learner as parameters of its estimator: `learner__budget`."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any


def settings_of(learner: Any) -> dict[str, Any]:
    """Return the settings of a learner, or of a dict that names one; none of a mere name."""
    if isinstance(learner, Mapping):
        return {str(key): learner[key] for key in learner if key != "name"}
    if is_dataclass(learner) and not isinstance(learner, type):
        return {field.name: getattr(learner, field.name) for field in fields(learner)}
    if hasattr(learner, "_fields"):  # a kernel or a loss
        return dict(learner._asdict())
    return {}


def with_settings(learner: Any, changes: Mapping[str, Any]) -> Any:
    """Return a learner with other settings, such as {"budget": 7, "kernel__bandwidth": 2.0}.

    A name becomes a dict of the name and the settings.
    """
    own: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for key, value in changes.items():
        name, _, rest = key.partition("__")
        if rest:
            nested.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    known = settings_of(learner)
    for name, inner in nested.items():
        part = own.get(name, known.get(name))
        if not settings_of(part):
            raise ValueError(f"learner: {part!r} has no {next(iter(inner))!r} to be set")
        own[name] = with_settings(part, inner)
    if isinstance(learner, str):
        return {"name": learner, **own}
    if isinstance(learner, Mapping):
        return {**learner, **own}
    for name in own:
        if name not in known:
            kind = type(learner).__name__
            raise ValueError(f"{kind} has no {name!r}; it has {', '.join(known)}")
    return learner._replace(**own) if hasattr(learner, "_fields") else replace(learner, **own)

"""`forks info`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from forks.cli._columns import column_lines

_MOST = 10  # features, and events
_INDENT = 15


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `forks info`."""

    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model, or a checkpoint DIR.")]
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False


def info(options: Options) -> None:
    """Tell what a model file holds."""
    contents = _described(options.model)
    typer.echo(json.dumps(contents, indent=2) if options.as_json else _as_text(contents))


def _described(path: Path) -> dict[str, Any]:
    """Return what a model file holds, as JSON."""
    from forks.cli._files import input_of, read_model
    from forks.evaluate.predictions import plain
    from forks.evaluate.session import CHECKPOINT
    from forks.files import encode
    from forks.keyed.encoded import encoder_beside

    saved = read_model(path)
    path = path / CHECKPOINT if path.is_dir() else path
    model = saved.model
    parameters = {k: encode(k, v) for k, v in model.get_params(deep=False).items()}
    contents: dict[str, Any] = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "library": saved.library,
        "estimator": type(model).__name__,
        "task": model._task,
        "parameters": parameters,
        "fitted": hasattr(model, "n_rounds_"),
    }
    keyed = model if hasattr(model, "n_keys_") else None
    model = model if keyed is None else keyed.common_
    if contents["fitted"]:
        contents |= {
            "learner": encode("learner", model.learner_),
            "features": model.n_features_in_,
            "feature_names": list(getattr(model, "feature_names_in_", [])) or None,
            "classes": [plain(label) for label in getattr(model, "classes_", [])] or None,
            "rounds": model.n_rounds_,
            "mends": model.n_mends_,
            "last_mend": model.last_mend_,
            "stored_points": model.n_points_,
            "state_bytes": model.engine_.state_bytes,
        }
        if model._origin is not None:
            numbers = ", ".join(map(str, model._origin.parts))
            contents["fork"] = f"{numbers} of {model._origin.n}"
    if keyed is not None:
        contents |= {"keys": keyed.n_keys_, "bytes_per_key": keyed.bytes_per_key_}
    known, encoder = input_of(saved), encoder_beside(saved)
    if contents["fitted"]:
        contents |= _insight(model, known, encoder)
    if known is not None:
        contents["input"] = known.as_json()
    if encoder is not None:
        if hasattr(encoder, "key"):
            contents["key"] = encoder.key
        contents["columns"] = [c._asdict() | encoder.learned(c.name) for c in encoder.columns_]
    if isinstance(saved.note, dict) and "run" in saved.note:
        contents["run"] = {name: saved.note["run"].get(name) for name in ("rows", "every")}
    return contents


def _insight(model: Any, known: Any, encoder: Any) -> dict[str, Any]:
    """Return the relevance of the first ten features, and the last ten events, if there are any."""
    from forks.cli._files import names_of_features
    from forks.estimators.insight import events_of

    contents: dict[str, Any] = {}
    names = list(getattr(model, "feature_names_in_", []))
    names = names or names_of_features(encoder, known, model.n_features_in_)
    if hasattr(model, "feature_relevance_"):
        relevance = model.feature_relevance_
        top = sorted(range(len(names)), key=lambda j: -relevance[j])[:_MOST]
        contents["relevance"] = {names[j]: float(relevance[j]) for j in top}
    if hasattr(model, "events_"):
        contents["events"] = events_of(model.engine_, names)[-_MOST:]
    return contents


def _event_as_text(event: dict[str, Any]) -> str:
    """Return an event as one line."""
    text = f"row {event['round']:,}: "
    if event["event"] == "lead":
        return text + f"expert {event['expert']} of row {event['started']:,} leads"
    kinds = {"start": "", "challenge": " as challenger", "alarm": " after a rise of mistakes"}
    text += f"expert {event['expert']} starts{kinds[event['event']]} on {event['rows']:,} rows"
    relevance, shift = event["relevance"], event["shift"]
    text += f"; relevance of {relevance['name']} times {relevance['ratio']:.2g}"
    return text + f"; {shift['name']} moved by {shift['deviations']:.2g} deviations"


def _as_text(contents: dict[str, Any]) -> str:
    """Return the contents as lines, without what is not there."""
    lines = []
    for name, value in contents.items():
        if value is None:
            continue
        if name == "relevance":
            value = ", ".join(f"{k} {v:.1%}" for k, v in value.items())
        elif name == "input":
            value = _input_as_text(value)
        elif name == "columns":
            lines += ["columns", *column_lines(value)]
            continue
        elif name == "events":
            value = ("\n" + " " * _INDENT).join(map(_event_as_text, value)) or "none"
        elif isinstance(value, dict):
            kind = value.get("kind")
            inside = {k: v for k, v in value.items() if k != "kind" and v is not None}
            value = ", ".join(f"{k}={_short(v)}" for k, v in inside.items())
            value = f"{kind}({value})" if kind else value
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        lines.append(f"{name.replace('_', ' '):<{_INDENT}}{value}")
    return "\n".join(lines)


def _input_as_text(known: dict[str, Any]) -> str:
    """Return how files were read, without the columns that are told elsewhere."""
    label = known.get("label")
    shown = {
        "label": label["name"] if isinstance(label, dict) else label,
        **{name: known.get(name) for name in ("weights", "n_features", "na", "hash_bits")},
    }
    parts = [f"{name} {_short(value)}" for name, value in shown.items() if value]
    return ", ".join([known["format"], *parts])


def _short(value: Any) -> str:
    if isinstance(value, dict) and "kind" in value:
        given = {k: v for k, v in value.items() if k not in ("kind", "words")}
        fields = given["items"] if value["kind"] == "dict" else given.items()
        return f"{value['kind']}({', '.join(f'{k}={_short(v)}' for k, v in fields)})"
    return json.dumps(value) if isinstance(value, list | dict) else str(value)

"""Plans of the user's: files that list experiments, in TOML or JSON.

A file has a list `experiments`. Each has a `name`, `data` (the name of a data set, or the path of a
file, from the plan's folder; or a list of these), `methods`, and where wanted `permutations` (1)
and `rows` (0, for all). A method is a `learner` with its `arguments`, where wanted under a `label`;
an argument that is a list stands for each of its values, and several for all combinations.

Everything is checked before anything is played.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from forks.datasets import describe, names
from forks.experiments.reproduce.plans import EXPERIMENTS
from forks.experiments.reproduce.runs import Run

ENDINGS = (".toml", ".json")


class PlanError(ValueError):
    """A plan that cannot be played; the message names the file and the entry."""


def read_plan(path: Path) -> list[Run]:
    """Return the runs of a plan file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no plan file {path}")
    content = _parsed(path)
    _only(path, "the file", content, {"experiments"})
    entries = content.get("experiments")
    if not isinstance(entries, list) or not entries:
        raise PlanError(f"{path}: experiments must be a list with at least one entry")
    runs: list[Run] = []
    seen: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        runs += _experiment(path, f"experiment {number}", entry, seen)
    return runs


def _parsed(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise PlanError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise PlanError(f"{path}: a plan must be an object with a list `experiments`")
    return content


def _experiment(path: Path, where: str, entry: Any, seen: set[str]) -> Iterator[Run]:
    _only(path, where, entry, {"name", "data", "methods", "permutations", "rows"})
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise PlanError(f"{path}, {where}: name must be text, got {name!r}")
    if name in EXPERIMENTS or name == "all":
        raise PlanError(f"{path}, {where}: the name {name!r} is that of one of the paper's")
    if name in seen:
        raise PlanError(f"{path}, {where}: there are two experiments {name!r}")
    seen.add(name)
    where = f"{where} ({name})"
    permutations = _count(path, where, entry, "permutations", 1, 1)
    rows = _count(path, where, entry, "rows", 0, 0)
    given = entry.get("data")
    given = given if isinstance(given, list) else [given]
    streams = [_data(path, where, data) for data in given]
    if not streams:
        raise PlanError(f"{path}, {where}: data must not be empty")
    methods = entry.get("methods")
    if not isinstance(methods, list) or not methods:
        raise PlanError(f"{path}, {where}: methods must be a list with at least one entry")
    chosen: dict[str, tuple[str, dict[str, Any]]] = {}
    for number, method in enumerate(methods, start=1):
        place = f"{where}, method {number}"
        for label, made in _methods(path, place, method):
            if label in chosen:
                raise PlanError(f"{path}, {place}: there are two methods {label!r}: give labels")
            chosen[label] = made
    for data in streams:
        for permutation in range(permutations):
            for label, (learner, arguments) in chosen.items():
                yield Run(
                    experiment=name,
                    data=data,
                    method=label,
                    learner=learner,
                    arguments=arguments,
                    permutation=permutation,
                    rows=rows,
                )


def _methods(
    path: Path, where: str, entry: Any
) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Return the labels, learners and arguments that an entry stands for, each tried once."""
    _only(path, where, entry, {"learner", "arguments", "label"})
    learner, arguments = entry.get("learner"), entry.get("arguments", {})
    if not isinstance(learner, str):
        raise PlanError(f"{path}, {where}: learner must be text, got {learner!r}")
    if not isinstance(arguments, dict):
        raise PlanError(f"{path}, {where}: arguments must be a table, got {arguments!r}")
    first = str(entry.get("label", learner))
    varied = [key for key, value in arguments.items() if isinstance(value, list)]
    values = [value if isinstance(value, list) else [value] for value in arguments.values()]
    for chosen in product(*values):
        made = dict(zip(arguments, chosen, strict=True))
        run = Run(experiment="", data="", method="", learner=learner, arguments=made)
        try:
            run.make_learner()
        except (TypeError, ValueError) as error:
            raise PlanError(f"{path}, {where}: {error}") from error
        yield ", ".join([first, *(f"{key} {made[key]}" for key in varied)]), (learner, made)


def _data(path: Path, where: str, data: Any) -> str:
    """Return the name of a data set, or the path of a file."""
    if not isinstance(data, str):
        raise PlanError(f"{path}, {where}: data must be a name or a path, got {data!r}")
    if data in names(None):
        if describe(data).read is None:
            raise PlanError(f"{path}, {where}: {data} is no data set that can be loaded whole")
        return data
    file = (path.parent / data).resolve()
    if not file.is_file():
        known = ", ".join(names())
        raise PlanError(f"{path}, {where}: {data!r} is neither a file nor one of {known}")
    return str(file)


def _count(path: Path, where: str, entry: Any, key: str, default: int, low: int) -> int:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise PlanError(
            f"{path}, {where}: {key} must be an integer of at least {low}, got {value!r}"
        )
    return value


def _only(path: Path, where: str, entry: Any, known: set[str]) -> None:
    if not isinstance(entry, dict):
        raise PlanError(f"{path}, {where}: must be a table, got {entry!r}")
    for key in entry:
        if key not in known:
            told = ", ".join(sorted(known))
            raise PlanError(f"{path}, {where}: {key!r} is none of {told}")

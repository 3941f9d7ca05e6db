"""Plans of the user's: files that list experiments, in TOML or JSON.

A file has a list `experiments`. Each has a `name`, `data` (the name of a data set, or the path of a
file, from the plan's folder; or a list of these), `methods`, and where wanted `permutations` (1)
and `rows` (0, for all). A method is a `learner` with its `arguments`, where wanted under a `label`;
an argument that is a list stands for each of its values, and several for all combinations.

Everything is checked before anything is played.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

from forks.datasets import describe, names
from forks.engine.checks import whole
from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table
from forks.experiments.reproduce.chapters import NAMES, Chapter
from forks.experiments.reproduce.rates import (
    about,
    as_published,
    every_round,
    mean,
    median_seconds,
    spread,
)
from forks.experiments.reproduce.runs import Run

ENDINGS = (".toml", ".json")


class PlanError(ValueError):
    """A plan that cannot be played; the message names the file and the entry."""


@contextmanager
def _naming(place: Any) -> Iterator[None]:
    """Context whose errors begin with a place: file, experiment, method."""
    try:
        yield
    except PlanError as error:
        raise PlanError(f"{place}, {error}") from error
    except (TypeError, ValueError) as error:
        raise PlanError(f"{place}: {error}") from error


def read_plan(path: Path) -> dict[str, list[Run]]:
    """Return the runs of a plan file, by their experiments."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no plan file {path}")
    plan: dict[str, list[Run]] = {}
    with _naming(path):
        content = _parsed(path)
        _check_keys("a plan", content, {"experiments"})
        for number, entry in enumerate(_listed(content, "experiments"), start=1):
            with _naming(f"experiment {number}"):
                _check_keys("it", entry, {"name", "data", "methods", "permutations", "rows"})
                name = _text(entry, "name")
                if name in (*NAMES, "all"):
                    raise ValueError(f"the name {name!r} is that of one of the paper's")
                if name in plan:
                    raise ValueError(f"there are two experiments {name!r}")
            with _naming(f"experiment {number} ({name})"):
                plan[name] = list(_runs(path.parent, name, entry))
    return plan


def _parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise ValueError(f"cannot be read: {error}") from error


def _runs(folder: Path, name: str, entry: dict[str, Any]) -> Iterator[Run]:
    permutations, rows = entry.get("permutations", 1), entry.get("rows", 0)
    whole("permutations", permutations, 1)
    whole("rows", rows, 0)
    data = entry.get("data")
    streams = [_data(folder, one) for one in (data if isinstance(data, list) else [data])]
    if not streams:
        raise ValueError("data must not be empty")
    methods: dict[str, tuple[str, dict[str, Any]]] = {}
    for number, method in enumerate(_listed(entry, "methods"), start=1):
        with _naming(f"method {number}"):
            for label, made in _methods(method):
                if label in methods:
                    raise ValueError(f"there are two methods {label!r}: give labels")
                methods[label] = made
    for stream in streams:
        for permutation in range(permutations):
            for label, (learner, arguments) in methods.items():
                yield Run(name, stream, label, learner, arguments, permutation, rows=rows)


def _methods(entry: Any) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Return the labels, learners and arguments that an entry stands for, each tried once."""
    _check_keys("it", entry, {"learner", "arguments", "label"})
    learner, arguments = _text(entry, "learner"), entry.get("arguments", {})
    if not isinstance(arguments, dict):
        raise ValueError(f"arguments must be a table, got {arguments!r}")
    first = str(entry.get("label", learner))
    varied = [key for key, value in arguments.items() if isinstance(value, list)]
    values = [value if isinstance(value, list) else [value] for value in arguments.values()]
    for chosen in product(*values):
        made = dict(zip(arguments, chosen, strict=True))
        Run("", "", "", learner, made).make_learner()
        yield ", ".join([first, *(f"{key} {made[key]}" for key in varied)]), (learner, made)


def _data(folder: Path, data: Any) -> str:
    """Return the name of a data set, or the path of a file."""
    if not isinstance(data, str):
        raise ValueError(f"data must be a name or a path, got {data!r}")
    if data in names(None):
        if describe(data).read is None:
            raise ValueError(f"{data} is no data set that can be loaded whole")
        return data
    file = (folder / data).resolve()
    if not file.is_file():
        raise ValueError(f"{data!r} is neither a file nor one of {', '.join(names())}")
    return str(file)


def _text(entry: dict[str, Any], key: str) -> str:
    text = entry.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{key} must be text, got {text!r}")
    return text


def _listed(entry: dict[str, Any], key: str) -> list[Any]:
    entries = entry.get(key)
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{key} must be a list with at least one entry")
    return entries


def _check_keys(name: str, entry: Any, known: set[str]) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"{name} must be a table, got {entry!r}")
    for key in entry.keys() - known:
        raise ValueError(f"{key!r} is none of {', '.join(sorted(known))}")


def plan_chapter(name: str) -> Chapter:
    """Return the chapter of an experiment from a plan file."""
    text = f"{name}\n\nFrom a plan file. Mistakes in %: mean and deviation over permutations."
    return Chapter(text, lambda: (), _tables)


def _tables(records: Sequence[Record]) -> list[Block]:
    blocks: list[Block] = []
    for data, played in grouped(records, itemgetter("data")).items():
        rows = []
        for method, runs in grouped(played, itemgetter("method")).items():
            rates = [spread([rate(r) for r in runs]) for rate in (every_round, as_published)]
            ms, points = 1e3 * median_seconds(runs), mean(runs, "stored_points")
            rows.append([method, *rates, f"{ms:.3g}", f"{points:.0f}"])
        header = ["", "every round", "as the paper counts", "ms", "points"]
        blocks += [f"### {data}", about(played), Table(header, rows)]
    return blocks

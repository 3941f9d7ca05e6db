"""`forks run`, `forks predict` and `forks info`: what they do, without the terminal."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from forks.estimators.saving import Saved, read, save
from forks.files import ModelFileError, encode, replacing
from forks.run._learn import CHECKPOINT, Finished, heading, learn, plain, prediction_lines
from forks.run._models import TASKS, make_model, settings_of, task_of
from forks.streams import StreamError
from forks.streams.tables import Input, InputFile, Labelled


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What `forks run` is asked for; the command line tells what each means."""

    path: str
    format: str | None = None
    label: str | None = None
    features: int | None = None
    categorical: tuple[str, ...] = ()
    hash_bits: int = 8
    missing: str = "error"
    chunk: int = 10_000
    task: str = "auto"
    classes: tuple[str, ...] = ()
    learner: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0
    model: Path | None = None
    every: int = 10_000
    predictions: Path | None = None
    metrics: Path | None = None
    checkpoint: Path | None = None
    resume: bool = False
    save: Path | None = None
    plot: Path | None = None

    def described(self) -> dict[str, Any]:
        """Return the options that a run must be resumed with."""
        names = "format label features categorical hash_bits missing chunk task classes learner"
        described = {name: getattr(self, name) for name in [*names.split(), "settings", "seed"]}
        lists = {name: list(value) for name, value in described.items() if type(value) is tuple}
        return {**described, **lists}


def run(
    options: RunOptions,
    on_start: Callable[[Any, str], None] | None = None,
    on_record: Callable[[dict[str, Any]], None] | None = None,
) -> Finished:
    """Learn a file, or standard input, from its first row to its last."""
    if options.task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {options.task!r}")
    if options.plot is not None:
        _matplotlib()  # rather an error now than after an hour
    if options.model is not None and (options.learner or options.settings):
        raise ValueError("--model has its own learner: --learner and --set cannot change it")
    settings = settings_of(list(options.settings))
    before = None if options.model is None else read(options.model)
    known = None if before is None else _input_of(before)
    with InputFile(
        options.path,
        known=known,
        format=options.format,
        label=options.label,
        features=options.features,
        categorical=options.categorical,
        hash_bits=options.hash_bits,
        missing=options.missing,
        chunk=options.chunk,
    ) as file:
        chunks = file.chunks()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{file.name} has no rows")
        y = _labels_of(file, first)
        if before is not None:
            model, task = before.model, before.model._task
        else:
            task = task_of(y) if options.task == "auto" else options.task
            model = make_model(task, options.learner, settings, options.seed, first.X)
        if task == "regression" and y.dtype.kind not in "biuf":
            raise StreamError(f"{file.name}: the labels are text, and regression needs numbers")
        classes = _classes(options, task, model, y)
        if on_start is not None:
            on_start(model, task)
        finished = learn(
            model,
            _with_rows(file, first, chunks, classes),
            classes=classes,
            every=options.every,
            predictions=options.predictions,
            metrics=options.metrics,
            checkpoint=options.checkpoint,
            resume=options.resume,
            on_record=on_record,
            note=options.described(),
        )
        assert file.input is not None
        if options.save is not None:
            save(options.save, finished.model, {"input": file.input.as_json()})
    if options.plot is not None:
        draw(finished, task, options.plot)
    return finished


def _input_of(saved: Saved) -> Input | None:
    """Return the input that a file's note describes, if it does."""
    if not isinstance(saved.note, dict) or "input" not in saved.note:
        return None
    try:
        return Input.from_json(saved.note["input"])
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _labels_of(file: InputFile, rows: Labelled) -> np.ndarray:
    if rows.y is None:
        assert file.input is not None
        raise StreamError(f"{file.name} has no column {file.input.label!r}, which has the labels")
    return rows.y


def _with_rows(
    file: InputFile, first: Labelled, rest: Iterator[Labelled], classes: Any
) -> Iterator[tuple[Any, np.ndarray]]:
    """Return rows and labels, whose classes are checked here, where the file has a name."""
    before = 0
    for rows in chain([first], rest):
        y = _labels_of(file, rows)
        unknown = np.zeros(len(y), bool) if classes is None else ~np.isin(y, classes)
        if unknown.any():
            at = int(np.argmax(unknown))
            raise StreamError(
                f"{file.name}, row {before + at + 1}: the label {plain(y[at])} is not among the "
                f"classes {', '.join(map(plain, classes))}; --classes tells all that can come"
            )
        yield rows.X, y
        before += len(y)


def _classes(options: RunOptions, task: str, model: Any, y: np.ndarray) -> Any:
    if task == "regression":
        if options.classes:
            raise ValueError("--classes is for classification")
        return None
    if options.classes:
        if y.dtype.kind in "biuf":
            try:
                return np.unique([float(label) for label in options.classes])
            except ValueError:
                raise ValueError("--classes must be numbers, as the labels are") from None
        return np.unique(options.classes)
    if hasattr(model, "classes_"):
        return model.classes_
    return np.unique(y)


# ---- prediction ------------------------------------------------------------------------------


def predict(
    model_path: Path,
    path: str,
    *,
    format: str | None = None,
    output: Path | None = None,
    write: Callable[[str], None],
    chunk: int = 10_000,
) -> dict[str, Any]:
    """Predict the rows of a file; lines go to `write`, or to a file. Give what was counted."""
    saved = read(model_path)
    model = saved.model
    if not hasattr(model, "engine_"):
        raise ValueError(f"{model_path} holds a model that has learned nothing")
    known = _input_of(saved)
    features = model.n_features_in_
    counted = {"rows": 0, "labelled": 0, "mistakes": 0, "squared_error": 0.0}
    classifies = model._task == "classification"
    with (
        InputFile(path, known=known, format=format, features=features, chunk=chunk) as file,
        nullcontext() if output is None else replacing(output) as target,
    ):

        def emit(text: str) -> None:
            if target is None:
                write(text)
            else:
                target.write(text.encode())

        for X, y in file.chunks():
            if X.shape[1] != features:
                raise StreamError(
                    f"{file.name} has rows of {X.shape[1]} features, but the model of {features}"
                )
            if counted["rows"] == 0:
                emit(heading(model.classes_ if classifies else None, y is not None))
            scores = model.decision_function(X) if classifies else model.predict(X)
            answers = model.labels_of(scores) if classifies else scores
            emit(prediction_lines(int(counted["rows"]), answers, scores, y))
            counted["rows"] += len(answers)
            if y is not None:
                counted["labelled"] += len(answers)
                if classifies:
                    counted["mistakes"] += int(np.count_nonzero(answers != y))
                else:
                    counted["squared_error"] += float(np.sum((answers - y) ** 2))
        if counted["rows"] == 0:
            raise StreamError(f"{file.name} has no rows")
    return counted


# ---- information -----------------------------------------------------------------------------


def describe(path: Path) -> dict[str, Any]:
    """Tell what a model file holds."""
    path = path / CHECKPOINT if path.is_dir() else path
    saved = read(path)
    model = saved.model
    parameters = {k: encode(k, v) for k, v in model.get_params(deep=False).items()}
    told: dict[str, Any] = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "library": saved.library,
        "estimator": type(model).__name__,
        "task": model._task,
        "parameters": parameters,
        "fitted": hasattr(model, "engine_"),
    }
    if told["fitted"]:
        told |= {
            "learner": encode("learner", model.learner_),
            "features": model.n_features_in_,
            "feature_names": getattr(model, "feature_names_in_", np.zeros(0)).tolist() or None,
            "classes": [plain(label) for label in getattr(model, "classes_", [])] or None,
            "rounds": model.n_rounds_,
            "mends": model.n_mends_,
            "last_mend": model.last_mend_,
            "stored_points": model.n_points_,
            "state_bytes": model.engine_.state_bytes,
        }
    known = _input_of(saved)
    if known is not None:
        told["input"] = known.as_json()
    if isinstance(saved.note, dict) and "run" in saved.note:
        told["run"] = {name: saved.note["run"].get(name) for name in ("rows", "every")}
    return told


def as_text(told: dict[str, Any]) -> str:
    """Return what `describe` tells as lines."""
    lines = []
    for name, value in told.items():
        if value is None:
            continue
        if isinstance(value, dict):
            kind = value.get("kind")
            inside = {k: v for k, v in value.items() if k != "kind" and v is not None}
            value = ", ".join(f"{k}={_short(v)}" for k, v in inside.items())
            value = f"{kind}({value})" if kind else value
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        lines.append(f"{name.replace('_', ' '):<15}{value}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    if isinstance(value, dict) and "kind" in value:
        inside = ", ".join(
            f"{k}={_short(v)}" for k, v in value.items() if k not in ("kind", "words")
        )
        return f"{value['kind']}({inside})"
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


# ---- a picture -------------------------------------------------------------------------------


def _matplotlib() -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        needed = "--plot needs matplotlib: pip install 'forks-learn[plot]'"
        raise ModuleNotFoundError(needed) from error
    return Figure


def draw(finished: Finished, task: str, path: Path) -> None:
    """Draw the records of a run."""
    figure = _matplotlib()(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    rows, all_rows, recent = finished.curve.values()
    if task == "classification":
        axes.plot(rows, 100 * recent, color="#9dbcd4", label="last 1,000 rows")
        axes.plot(rows, 100 * all_rows, color="#1f4e79", label="all rows so far")
        axes.set_ylabel("mistakes, %")
    else:
        axes.plot(rows, all_rows, color="#1f4e79", label="root mean squared error so far")
        axes.plot(rows, recent, color="#9dbcd4", label="mean absolute error so far")
        axes.set_ylabel("error")
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("rows")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=150)

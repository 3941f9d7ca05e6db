"""The files that commands name: of rows, and of models with what is beside them."""

import codecs
import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from forks.cli._app import tell
from forks.cli._paths import check_not_read
from forks.evaluate.files import read
from forks.evaluate.session import CHECKPOINT
from forks.files import ModelFileError
from forks.streams import StreamError
from forks.streams.columns import RawTable, joined
from forks.streams.dialects import Dialect
from forks.streams.formats import named_format
from forks.streams.hashed import HashedFile, HashedInput
from forks.streams.tables import Input, InputFile, Labelled, Told

_OUTPUTS = ("save", "predictions", "metrics", "plot", "output")  # of `forks run` and `predict`


def files_of(paths: list[str], format: str | None = None) -> list[str]:
    """Return the files that arguments name: files, those of a folder, or those of a pattern."""
    found: list[str] = []
    for path in paths:
        if path == "-" or (Path(path).exists() and not Path(path).is_dir()):
            found.append(path)
        elif Path(path).is_dir():
            inside = sorted(
                str(p) for p in Path(path).iterdir() if p.is_file() and p.name[0] != "."
            )
            if not inside:
                raise StreamError(f"the folder {path} has no files")
            found += inside if format is not None else _tables_among(inside)
        else:
            matched = sorted(p for p in glob.glob(path, recursive=True) if Path(p).is_file())
            if not matched:
                raise FileNotFoundError(f"there is no file {path}")
            found += matched
    return found


def _tables_among(files: list[str]) -> list[str]:
    """Return the files whose names tell a format, and say which are left out; all if none does."""
    tables = [file for file in files if named_format(file) is not None]
    others = [file for file in files if file not in tables]
    if tables and others:
        more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
        tell(f"left out, by their names: {', '.join(others[:3])}{more}")
    return tables or files


def input_file(options: Any, known: Any, model: Any = None) -> Any:
    """Return the files of a command, to be read like earlier ones if these are `known`.

    If they are not, they are read by what a model that has learned knows of its features.
    """
    paths = files_of(options.paths, options.format)
    check_not_read(paths, {name: getattr(options, name, None) for name in _OUTPUTS})
    if isinstance(known, HashedInput):
        if len(paths) > 1:
            raise ValueError("a model of an earlier version reads one file at a time")
        return HashedFile(paths[0], known, format=options.format, chunk=options.chunk)
    return InputFile(
        paths,
        known=known,
        **told_of(options),
        encoding=_encoding(options.encoding),
        features=options.features,
        learned=getattr(model, "n_features_in_", None),
        names=() if known is not None else list(getattr(model, "feature_names_in_", ())),
        zero_based=options.zero_based,
    )


def told_of(options: Any) -> dict[str, Any]:
    """Return what is told of columns and cells, for files and for streams."""
    names = [name for name in Told.__dataclass_fields__ if hasattr(options, name)]
    told = {name: getattr(options, name) for name in names}
    if getattr(options, "key", None) is not None:  # keys are text: 007 is not 7
        told["categorical"] = [*told["categorical"], options.key]
        told["only"] = [*told["only"], options.key] if told["only"] else []
    return {
        "told": Told(**told),
        "format": options.format,
        "dialect": Dialect(options.delimiter, options.header, options.decimal),
        "na": tuple(options.na),
        "chunk": options.chunk,
    }


def _encoding(name: str | None) -> str | None:
    if name is not None:
        try:
            codecs.lookup(name)
        except LookupError:
            raise ValueError(f"--encoding: there is no encoding {name!r}") from None
    return name


def read_model(path: Path) -> Any:
    """Load a model with what is beside it; a folder is that of a checkpoint."""
    return read(path / CHECKPOINT if path.is_dir() else path)


def input_of(saved: Any) -> Any:
    """Return the description of the input that the note of a model file has, or None."""
    if not isinstance(saved.note, dict) or "input" not in saved.note:
        return None
    given = saved.note["input"]
    try:
        if isinstance(given, dict) and "version" in given:
            return Input.from_json(given)
        return HashedInput.from_json(given)
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def shuffled(file: Any, seed: int) -> Iterator[Any]:
    """Read all files; yield their rows in random order, as one chunk."""
    for path in file.paths:
        if not Path(path).is_file():
            name = "standard input" if path == "-" else path
            raise ValueError(f"--shuffle needs a file that can be read to its end, not {name}")
    chunks = list(file.chunks())
    if not chunks:
        return
    X: Any = joined([chunk.X for chunk in chunks])
    order = np.random.default_rng(seed).permutation(X.shape[0])
    X = X.taken(order) if isinstance(X, RawTable) else X[order]
    y: Any = None
    if chunks[0].y is not None:
        y = np.concatenate([chunk.y for chunk in chunks])[order]
    weights: Any = None
    if any(chunk.weights is not None for chunk in chunks):
        each = [np.ones(c.X.shape[0]) if c.weights is None else c.weights for c in chunks]
        weights = np.concatenate(each)[order]
    yield Labelled(X, y, weights)


def names_of_features(encoder: Any, known: Any, n: int) -> list[str]:
    """Return names of n features: those of an encoder, or by the columns they come from."""
    if encoder is not None:
        return [str(name) for name in encoder.get_feature_names_out()]
    if hasattr(known, "numbers") and (known.numbers or known.categorical):
        hashed = [f"text {j + 1}" for j in range(n - len(known.numbers))]
        return [*known.numbers, *hashed]
    columns = [column.name for column in getattr(known, "columns", ())]
    return columns if len(columns) == n else [f"feature {j + 1}" for j in range(n)]

"""Where the files of data sets are: in `$FORKS_DATA`, or in the user's cache folder."""

import os
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from forks.datasets.registry import DataFile, DataSet, describe


def cache_folder() -> Path:
    """Return the folder that files are fetched to, and looked for in after `$FORKS_DATA`."""
    return user_cache_path("forks", appauthor=False)


def _folders() -> list[Path]:
    given = os.environ.get("FORKS_DATA")
    return [Path(given), cache_folder()] if given else [cache_folder()]


def find(file: DataFile, folders: Sequence[Path] | None = None) -> Path | None:
    """Return the path of a data set's file, in one of its forms, if it is there."""
    places = _folders() if folders is None else folders
    candidates = (folder / name for folder in places for name in file.names)
    return next(filter(Path.is_file, candidates), None)


def paths(name: str) -> list[Path]:
    """Return the paths of a data set's files, those to be joined with its rows last."""
    entry = describe(name)
    return paths_of(entry, (*entry.files, *entry.side_files))


def at_hand(name: str) -> bool:
    """Return whether all files of a data set are there."""
    try:
        paths(name)
    except FileNotFoundError:
        return False
    return True


def paths_of(entry: DataSet, files: Sequence[DataFile]) -> list[Path]:
    """Return the paths of files of a data set, or say which are missing and how to get them."""
    found = [find(file) for file in files]
    missing = [file for file, path in zip(files, found, strict=True) if path is None]
    if not missing:
        return [path for path in found if path is not None]
    names = ", ".join(file.name for file in missing)
    one = len(missing) == 1
    places = " or ".join(map(str, _folders()))
    if all(file.address for file in missing):
        hint = f", or run `forks data fetch {entry.name}`"
    else:
        hint = f" (source: {entry.source})"
    if "FORKS_DATA" not in os.environ:
        hint += f", or set FORKS_DATA to the folder that has {'it' if one else 'them'}"
    raise FileNotFoundError(
        f"data set {entry.name!r} needs the file{'' if one else 's'} {names}: "
        f"put {'it' if one else 'them'} in {places}{hint}"
    )

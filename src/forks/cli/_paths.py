"""Checks of output files before a pass, rather than after an hour."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def check_outputs(**paths: Path | None) -> None:
    """Check that files can be written, by the options that name them."""
    seen: dict[str, str] = {}
    for name, path in paths.items():
        if path is None or str(path) == "-":
            continue
        option = f"--{name}"
        folder = path.parent
        if path.is_dir():
            raise ValueError(f"{option} must be a file, got the folder {path}")
        if not folder.is_dir():
            raise ValueError(f"{option}: there is no folder {folder}")
        writable = os.access(path if path.exists() else folder, os.W_OK)
        if path.is_file():
            writable = writable and os.access(folder, os.W_OK)
        if not writable:
            raise ValueError(f"{option}: {path} cannot be written to: no permission")
        real = os.path.realpath(path)
        regular = not path.exists() or path.is_file()
        if regular and real in seen:
            raise ValueError(f"{seen[real]} and {option} name the same file, {path}")
        seen[real] = option


def check_not_read(files: Iterable[Any], outputs: dict[str, Any]) -> None:
    """Check that no output, by the option that names it, is a file that is read."""
    read = {os.path.realpath(file) for file in files if str(file) != "-"}
    for name, path in outputs.items():
        if path is not None and os.path.realpath(path) in read and Path(path).is_file():
            raise ValueError(f"--{name}: {path} is a file that is read, and would be lost")


def check_folder(option: str, path: Path | None) -> None:
    """Check that a folder is there and can be written to, or can be made."""
    if path is None:
        return
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise ValueError(f"{option}: {there} is a file, not a folder")
    if not os.access(there, os.W_OK):
        raise ValueError(f"{option}: {there} cannot be written to: no permission")

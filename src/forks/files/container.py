"""A JSON header and named arrays as the bytes of a safetensors file, and back.

The header is the one entry, "forks", of the file's `__metadata__`. It says what the file is
("format", "version") and has a digest of itself and of the arrays: damage is found before
anything is looked at. Reading checks sizes against the file before anything is reserved, and runs
no code from the file.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save

FORMAT, VERSION = "forks-model", 4
OLDEST = 3  # version that is read
ENTRY = "forks"
KINDS = {"F64": np.float64, "I64": np.int64, "I32": np.int32, "U8": np.uint8}
DAMAGED = "its digest does not fit its content: the file is damaged"
_DIGEST_BYTES = 32
_LONGEST = 400  # characters of a reason: a file could hold words without end


class ModelFileError(ValueError):
    """A model file that cannot be loaded; the message names the file and the reason."""


def cannot_load(name: str, reason: str) -> ModelFileError:
    """Make the error: the file's name, and a reason that is one short line whatever it quotes."""
    if len(reason) > _LONGEST:
        reason = f"{reason[:_LONGEST]} ..."
    plain = reason if reason.isprintable() else ascii(reason)[1:-1]
    return ModelFileError(f"{name} cannot be loaded: {plain}")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Context in which whatever is wrong with the content of a file is a `ModelFileError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        if str(error).startswith(f"{name} cannot be loaded"):
            raise
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise cannot_load(name, reason) from None


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], library: str) -> bytes:
    """Return the bytes of a file; equal content gives equal bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    whole = {"format": FORMAT, "version": VERSION, "library": library, **header}
    whole["digest"] = _digest(whole, arrays)
    return bytes(save(arrays, {ENTRY: text_of(whole)}))


def unpack(name: str, data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of the bytes of a file; `name` is that of the file, for errors."""
    if not data:
        raise cannot_load(name, "the file is empty")
    with opening(name):
        tensors = safetensors.deserialize(data)
        length = int.from_bytes(data[:8], "little")
        header = parse(parse(data[8 : 8 + length].decode())["__metadata__"][ENTRY])
        is_ours = header["format"] == FORMAT
    check_version(name, header, is_ours)
    arrays = {}
    for tensor, description in tensors:
        kind = KINDS.get(description["dtype"])
        if kind is None:
            raise cannot_load(name, f"the array {tensor!r} is of type {description['dtype']}")
        stored = np.dtype(kind).newbyteorder("<")
        flat = np.frombuffer(description["data"], stored).astype(kind)
        arrays[tensor] = flat.reshape(description["shape"])
    digest = header.pop("digest", None)
    try:
        fits = digest == _digest(header, arrays)
    except (ValueError, RecursionError):  # a header that cannot have been written
        fits = False
    if not fits:
        raise cannot_load(name, DAMAGED)
    return header, arrays


@contextmanager
def opening(name: str) -> Iterator[None]:
    """Context in which a file that is no safetensors file, or not ours, is a `ModelFileError`."""
    try:
        yield
    except safetensors.SafetensorError as error:
        reason = f"it is no model file, or was cut short or damaged ({error})"
        raise cannot_load(name, reason) from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise cannot_load(name, "it is not a forks model") from None


def check_version(name: str, header: dict[str, Any], is_ours: bool) -> None:
    """Raise an error if a header is not of this format, or of a version that is not read."""
    version = header.get("version")
    if not is_ours or type(version) is not int or version < 1:
        raise cannot_load(name, "it is not a forks model")
    if not OLDEST <= version <= VERSION:
        older = ", whose learners keep other numbers" if version < OLDEST else ""
        raise cannot_load(
            name,
            f"it has version {version} of the format, written by forks {header.get('library')}"
            f"{older}; this forks reads versions {OLDEST} to {VERSION}",
        )


def parse(text: str) -> Any:
    """Read JSON, without the numbers that JSON has not."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def text_of(header: Mapping[str, Any]) -> str:
    """Return a header as text; equal ones give equal text."""
    return json.dumps(header, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _digest(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digest = begin_digest(header)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(title_of(name, array.dtype, array.shape))
        digest.update(little_endian(array).data)
    return digest.hexdigest()


def begin_digest(header: Mapping[str, Any]) -> Any:
    """Return a digest that has seen the header; arrays follow in the order of their names."""
    return hashlib.blake2b(text_of(header).encode(), digest_size=_DIGEST_BYTES)


def title_of(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what a digest sees before the numbers of an array."""
    return f"\n{name} {dtype.name} {shape}\n".encode()


def little_endian(array: np.ndarray) -> np.ndarray:
    """Return an array as it is in files."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))

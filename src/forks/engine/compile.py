"""Compilation: one set of flags for the whole package, and a disk cache that is never stale.

Four ways to compile a function, and no others in the package:

- ``njit``: part of a larger compiled function, inlined there. A call from Python is a TypeError.
- ``apart``: the same, called and not inlined: for much code that is called from several places.
- ``either``: the same as ``njit``, and Python calls the function as it is written.
- ``entry``: called from Python; its machine code is kept on disk.

Those of this package allocate no arrays, and return none to Python (`forks.engine.inlined`).
"""

import gc
import hashlib
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.extending

from forks.engine.inlined import ENTRY, INNER, OUTSIDE

_LARGEST_FLOAT = sys.float_info.max
_PACKAGE = Path(__file__).parents[1]
# Rooms whose code is compiled into that of others; the rest only calls them from Python.
_COMPILED = ("engine", "features", "kernels.py", "learners", "linalg", "losses.py", "parts")
_NOT_COMPILED = _PACKAGE / "features" / "table"  # of these, that no other compiled code calls

Function = TypeVar("Function", bound=Callable[..., Any])

JIT = not numba.config.DISABLE_JIT

# Fast-math without "no NaN" and "no infinity", so that guards against them still work. One
# setting for everything: numba's disk cache does not tell settings apart.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "nsz", "arcp", "contract"},
    "forceinline": True,  # calls with dozens of arguments cost a third of a round
}


def njit(function: Function) -> Function:
    """Compile as part of a larger function: without the wrappers for calls from Python.

    numba would let Python call such a function once it is compiled, and crash the interpreter.
    """
    return _inner(function, OPTIONS)


def apart(function: Function) -> Function:
    """Compile once for all compiled functions that call it, with few arguments."""
    return _inner(function, {**OPTIONS, "forceinline": False})


def either(function: Function) -> Function:
    """Leave a formula to Python as it is written; compiled code that calls it compiles it."""
    return numba.extending.register_jitable(**OPTIONS, **INNER)(function)


def _inner(function: Function, options: dict[str, Any]) -> Function:
    compiled = numba.njit(**options, **INNER)(function)
    if JIT:

        def refuse(*arguments: Any, **options: Any) -> None:
            raise TypeError(
                f"{function.__name__}() is for compiled code: call it from a function decorated "
                "with @njit or @entry, or set NUMBA_DISABLE_JIT=1"
            )

        compiled._compile_for_args = refuse  # what the dispatcher calls for unknown types, ...
        compiled._insert = lambda *arguments, **options: None  # ... and all types stay unknown
    return compiled


@njit
def finite(x):
    """Return whether x is finite; fast-math would fold `math.isfinite`, which tests x - x."""
    return abs(x) <= _LARGEST_FLOAT


class entry:
    """Compile a function that Python calls; `entry.over(*parts)` picks the right version.

    numba's disk cache notices an edit in the file that holds the function, but not in the files
    that it calls into; so the stamp of a cached function is a digest of its file and of all rooms
    whose code is compiled. For parts registered from outside (a user's kernel, say) no stamp
    exists: such calls use a second version that is compiled once per process and never stored.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        ours = function.__module__.split(".")[0] == _PACKAGE.name
        options = {**OPTIONS, **(ENTRY if ours else OUTSIDE)}
        self.stored = self.fresh = numba.njit(**options)(function)
        if not JIT:
            return
        _hold_collector(self.fresh)
        try:
            stored = numba.njit(cache=True, **options)(function)
            _hold_collector(stored)
            index = stored._cache._cache_file
        except (RuntimeError, AttributeError):  # no folder to write to, or another numba
            return
        if hasattr(index, "_source_stamp") and hasattr(index, "_version"):
            stamp = source_digest(function.__code__.co_filename)
            index._source_stamp = stamp
            # numba unpickles an index before it compares the stamp, and fails if a class in it is
            # gone; the version is compared first.
            index._version = f"{numba.__version__} {stamp}"
            self.stored = stored

    def direct(self, *arguments: Any) -> Callable[..., Any]:
        """Compile for these arguments and return the way in that does not look at types again.

        Looking at the types of a nested tuple costs Python 3 microseconds a call. The caller must
        hand over arguments of exactly these types from then on.
        """
        version: Any = self.over(*arguments)
        if not JIT:
            return version
        signature = tuple(map(numba.typeof, arguments))
        if signature not in version.overloads:  # an interrupt may leave numba's own lock held
            version.compile(signature)
        return version.overloads[signature].entry_point

    def over(self, *parts: Any) -> Callable[..., Any]:
        """Return the stored version if all (nested) parts are types of this package."""
        version: Callable[..., Any] = self.stored if _all_ours(parts) else self.fresh
        return version


def _hold_collector(dispatcher: Any) -> None:
    """Let a function be compiled without garbage collections, which take a seventh of the time."""
    compile = dispatcher.compile

    @wraps(compile)
    def held(*arguments: Any, **options: Any) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return compile(*arguments, **options)
        finally:
            if enabled:
                gc.enable()

    dispatcher.compile = held


def _all_ours(part: Any) -> bool:
    if not isinstance(part, tuple):
        return True
    named = hasattr(part, "_fields")
    ours = not named or type(part).__module__.split(".")[0] == _PACKAGE.name
    return ours and all(map(_all_ours, part))


def source_digest(file: str = "") -> str:
    """Return a digest of the compiled rooms, and of one more file."""
    digest = hashlib.sha256(_rooms_digest())
    if file:
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


@cache
def _rooms_digest() -> bytes:
    digest = hashlib.sha256()
    for room in _COMPILED:
        path = _PACKAGE / room
        for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if _NOT_COMPILED not in source.parents:
                digest.update(source.read_bytes())
    return digest.digest()

"""Compilation: one set of flags for the whole package, and verbs chosen by type at compile time.

Two ways to compile a function, and no others in the package:

- ``njit``: part of a larger compiled function; inlined there, never called from Python.
- ``entry``: called from Python; its machine code is kept on disk.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import overload

_LARGEST_FLOAT = sys.float_info.max

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
    """Compile as part of a larger function: without the wrappers for calls from Python."""
    return numba.njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


@njit
def finite(x):
    """Is x finite? `math.isfinite` asks for x - x, which fast-math takes for zero."""
    return abs(x) <= _LARGEST_FLOAT


class entry:
    """Compile a function that Python calls; `entry.over(*parts)` picks the right version.

    numba's disk cache notices an edit in the file that holds the function, but not in the files
    that it calls into; so the stamp of a cached function is a digest of the whole package. For
    parts registered from outside (a user's kernel, say) no stamp exists: such calls use a second
    version that is compiled once per process and never stored.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.stored = self.fresh = numba.njit(**OPTIONS)(function)
        if not JIT:
            return
        try:
            stored = numba.njit(cache=True, **OPTIONS)(function)
            index = stored._cache._cache_file
        except (RuntimeError, AttributeError):  # no folder to write to, or another numba
            return
        if hasattr(index, "_source_stamp"):
            index._source_stamp = PACKAGE_DIGEST
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
        """Give the stored version if all (nested) parts are types of this package."""
        version: Callable[..., Any] = self.stored if _all_ours(parts) else self.fresh
        return version


def _all_ours(part: Any) -> bool:
    if not isinstance(part, tuple):
        return True
    named = hasattr(part, "_fields")
    ours = not named or type(part).__module__.split(".")[0] == __package__
    return ours and all(map(_all_ours, part))


def _package_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


PACKAGE_DIGEST = _package_digest()


def jit_dispatch(declaration: Callable[..., Any]) -> Any:
    """Make a verb whose body is chosen by the type of its first argument, at compile time.

    `verb.register(Type)` decorates the body for one NamedTuple class. numba tells NamedTuple
    classes apart by their name and fields only, so two classes of one name would silently share
    compiled code: the second registration of a name is refused.
    """
    name = declaration.__name__
    bodies: dict[str, tuple[type, Callable[..., Any]]] = {}

    def body_of(head: type) -> Callable[..., Any] | None:
        known, body = bodies.get(head.__name__, (None, None))
        return body if known is head else None

    def verb(head: Any, *rest: Any) -> Any:  # called from Python, or with compilation disabled
        body = body_of(type(head))
        if body is None:
            raise TypeError(f"{name}() knows no {type(head).__name__!r}")
        return body(head, *rest)

    @overload(verb, strict=False, jit_options=OPTIONS)  # called from compiled code
    def _choose(head, *rest):
        # The body itself, not a function that calls it: each layer would be optimised again.
        return body_of(getattr(head, "instance_class", type(None)))

    def register(head: type) -> Callable[[Function], Function]:
        if head.__name__ in bodies:
            raise TypeError(
                f"{name}: a type named {head.__name__!r} is already registered in this process; "
                "give the new one another name"
            )

        def keep(body: Function) -> Function:
            bodies[head.__name__] = (head, body)
            return body

        return keep

    verb.__name__, verb.__doc__ = name, declaration.__doc__
    verb.register = register  # type: ignore[attr-defined]
    verb.knows = lambda head: body_of(head) is not None  # type: ignore[attr-defined]
    return verb

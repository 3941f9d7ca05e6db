"""Verbs: functions whose body is chosen at compile time, by the type of their first argument.

Kernels, losses, rules and parts are small NamedTuples; a verb is declared once, and each type
registers a body of its own. `by_form` makes verbs with two bodies, for dense and for sparse rows.
"""

import math
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
from numba.extending import overload

from forks.engine.compile import OPTIONS, Function
from forks.engine.inlined import BODY


def jit_dispatch(declaration: Callable[..., Any], options: dict[str, Any] = BODY) -> Any:
    """Make a verb whose body is chosen by the type of its first argument, at compile time.

    `verb.register(Type)` decorates the body for one NamedTuple class, `verb.register(object)` that
    for all classes that have none of their own. numba tells NamedTuple
    classes apart by their name and fields only, so two classes of one name would silently share
    compiled code: the second registration of a name is refused. `options` say how bodies are
    compiled (`forks.engine.inlined`).
    """
    name = declaration.__name__
    bodies: dict[str, tuple[type, Callable[..., Any]]] = {}

    def body_of(head: type) -> Callable[..., Any] | None:
        known, body = bodies.get(head.__name__, (None, None))
        return body if known is head else bodies.get("object", (None, None))[1]

    def verb(head: Any, *rest: Any) -> Any:  # called from Python, or with compilation disabled
        body = body_of(type(head))
        if body is None:
            raise TypeError(f"{name}() knows no {type(head).__name__!r}")
        return body(head, *rest)

    @overload(verb, strict=False, jit_options=OPTIONS | options)  # called from compiled code
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


def by_form(dense: Any, sparse: Any) -> Any:
    """Make a verb with one body for dense and one for sparse rows, chosen at compile time."""

    def verb(x: Any, *rest: Any) -> Any:
        return (sparse if is_sparse(x) else dense)(x, *rest)

    @overload(verb, strict=False, jit_options=OPTIONS | BODY)
    def _choose(x, *rest):
        return sparse if is_sparse(x) else dense

    return verb


def is_sparse(x: Any) -> bool:
    """Return whether x, a value or its numba type, is a `SparseRow` or `SparseRows`."""
    name = getattr(x, "instance_class", type(x)).__name__
    return name in ("SparseRow", "SparseRows")


def checked(part: Any, what: str, knows: Callable[[type], bool]) -> Any:
    """Return a kernel or loss with its numbers in their declared types, or say what is wrong."""
    if not knows(type(part)):
        raise ValueError(f"{what} must be one of the registered types, got {part!r}")
    hints = get_type_hints(type(part))
    numbers = {}
    for name, value in zip(part._fields, part, strict=True):
        kind = hints.get(name, float)
        number = isinstance(value, int | float | np.integer | np.floating)
        if not number or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{what}: {name} must be a finite number, got {value!r}")
        if kind is int and value != int(value):
            raise ValueError(f"{what}: {name} must be a whole number, got {value!r}")
        numbers[name] = kind(value)
    return type(part)(**numbers)

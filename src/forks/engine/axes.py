"""What a NamedTuple of arrays declares: the lengths of the axes of each array.

    class RBPState(NamedTuple):
        counts: Annotated[Counter, 3]
        points: Annotated[Points, "capacity = budget + 1"]
        alpha: Annotated[Vector, "padded(budget + 1)"]
        random: Annotated[Counter, 1]

An axis is a number, the name of a length (``features``, ``outputs``, or one that the learner
gives, see `Learner.lengths`), or an expression of such names. Expressions may call the functions
marked by `axis_length`. A nested part is declared once, in names of its own, and the field that
holds it may say what they stand for, as ``capacity`` does here. Shapes, the layout of a memory,
its growth and the scratch of compiled code are derived from these declarations.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from forks.engine.blocks import padded

Length = TypeVar("Length", bound=Callable[..., int])

_NAME = re.compile(r"[A-Za-z_]\w*")
_functions: dict[str, Any] = {"__builtins__": {}, "padded": padded}


class Array(NamedTuple):
    """One declared array."""

    name: str  # of its field, nested ones with a dot
    kind: type  # float or int
    ndim: int
    axes: tuple[str, ...]


def axis_length(function: Length) -> Length:
    """Let the expressions of axes call a function, by its name."""
    _functions[function.__name__] = function
    return function


@cache
def arrays_of(cls: type) -> tuple[Array, ...]:
    """Return the arrays of a class, those of nested parts in their place."""
    return tuple(_arrays(cls, {}))


def fields_of(cls: type) -> Iterator[tuple[str, type | None, tuple[Any, ...]]]:
    """Yield the name of each field, the class of a nested part or None, and the marks."""
    for name, hint in get_type_hints(cls, include_extras=True).items():
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        yield name, kind if hasattr(kind, "_fields") else None, tuple(marks)


def _arrays(cls: type, given: Mapping[str, str]) -> Iterator[Array]:
    for name, part, marks in fields_of(cls):
        if part is not None:
            meant = dict(given)
            for mark in marks:
                own, _, meaning = mark.partition("=")
                meant[own.strip()] = _expanded(meaning.strip(), given)
            for array in _arrays(part, meant):
                yield array._replace(name=f"{name}.{array.name}")
        else:
            kind, ndim, *axes = marks
            if axes and len(axes) != ndim:
                raise TypeError(f"{cls.__name__}.{name} has {ndim} dimensions, got axes {axes}")
            yield Array(name, kind, ndim, tuple(_expanded(axis, given) for axis in axes))


def _expanded(axis: Any, given: Mapping[str, str]) -> str:
    """Put in what names stand for; equal expressions become equal text."""
    text = _NAME.sub(lambda name: f"({given.get(name[0], name[0])})", str(axis))
    return ast.unparse(ast.parse(text, mode="eval"))


def shapes_of(cls: type, lengths: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a class."""
    lengths = dict(lengths)
    shapes = {}
    for array in arrays_of(cls):
        if len(array.axes) != array.ndim:
            raise TypeError(f"{cls.__name__}.{array.name} does not declare its axes")
        try:
            shape = tuple(int(eval(axis, _functions, lengths)) for axis in array.axes)
        except NameError as error:
            raise TypeError(f"{cls.__name__}.{array.name}: {error}") from None
        shapes[array.name] = shape
    return shapes


def lengths_of(cls: type, shapes: Iterable[tuple[int, ...]]) -> dict[str, int]:
    """Return the lengths that can be read from shapes: those of axes that are only a name."""
    return {
        axis: length
        for array, shape in zip(arrays_of(cls), shapes, strict=True)
        for axis, length in zip(array.axes, shape, strict=False)
        if axis.isidentifier()
    }

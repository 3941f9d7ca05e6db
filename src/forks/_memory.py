"""A learner's state as two flat arrays, seen through a NamedTuple of views.

Handing a tuple of many arrays from Python to compiled code costs about 0.3 microseconds an array,
two flat arrays cost 0.1 each. So the memory of a learner is one array of floats and one of
integers; compiled code and Python alike look at it through the views of a state class, made by
`viewer`. Copying, pickling, storing and measuring a state are then a matter of two arrays.

`ints` starts with a table of four integers per array (offset, then up to three lengths), in the
order of the state's fields; the integer fields follow the table.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from forks.typing import Counter, Vector

_ALIGN = 8  # floats: each array starts on a 64-byte line


class Memory(NamedTuple):
    """Everything that learning changes."""

    floats: Vector
    ints: Counter

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.floats.nbytes + self.ints.nbytes)

    def copy(self) -> "Memory":
        """Give an independent copy."""
        return Memory(self.floats.copy(), self.ints.copy())


def _leaves(state_class: type) -> Iterator[tuple[str, type, int]]:
    """List (dotted name, dtype, dimensions) of a state class, nested classes in place."""
    for name, hint in get_type_hints(state_class, include_extras=True).items():
        if get_origin(hint) is Annotated:
            array, ndim = get_args(hint)
            yield name, np.dtype(get_args(get_args(array)[1])[0]).type, ndim
        else:
            yield from ((f"{name}.{leaf}", *rest) for leaf, *rest in _leaves(hint))  # type: ignore[misc]


def allocate(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> Memory:
    """Reserve zeros for a state class; `shapes` names every array, nested ones with a dot."""
    leaves = list(_leaves(state_class))
    if {name for name, _, _ in leaves} != set(shapes):
        raise TypeError(f"shapes of {state_class.__name__} do not name its arrays")
    table = np.zeros((len(leaves), 4), np.int64)
    n_floats, n_ints = 0, table.size
    for line, (name, dtype, ndim) in zip(table, leaves, strict=True):
        shape = shapes[name]
        if len(shape) != ndim:
            raise TypeError(f"{state_class.__name__}.{name} has {ndim} dimensions, got {shape}")
        line[1 : 1 + ndim] = shape
        if dtype is np.float64:
            line[0] = n_floats
            n_floats += -(-int(np.prod(shape)) // _ALIGN) * _ALIGN
        else:
            line[0] = n_ints
            n_ints += int(np.prod(shape))
    ints = np.zeros(n_ints, np.int64)
    ints[: table.size] = table.ravel()
    return Memory(np.zeros(n_floats), ints)


def viewer(state_class: type) -> Callable[..., Any]:
    """Make the function (rule, floats, ints) -> state that gives the views.

    It is written out as source, one expression per array, because compiled code needs the type of
    every field; `rule` is there for `attach`, the verb that it becomes the body of.
    """
    namespace: dict[str, Any] = {}
    lines = iter(range(10**6))

    def expression(cls: type) -> str:
        namespace[cls.__name__] = cls
        parts = []
        for hint in get_type_hints(cls, include_extras=True).values():
            if get_origin(hint) is not Annotated:
                parts.append(expression(hint))
                continue
            array, ndim = get_args(hint)
            at = 4 * next(lines)
            start, lengths = f"ints[{at}]", [f"ints[{at + i}]" for i in range(1, 1 + ndim)]
            flat = "floats" if "float64" in str(array) else "ints"
            view = f"{flat}[{start} : {start} + {' * '.join(lengths)}]"
            parts.append(view if ndim == 1 else f"{view}.reshape(({', '.join(lengths)}))")
        return f"{cls.__name__}({', '.join(parts)})"

    source = f"def attach(rule, floats, ints):\n    return {expression(state_class)}\n"
    exec(compile(source, f"<views of {state_class.__name__}>", "exec"), namespace)
    view: Callable[..., Any] = namespace["attach"]
    return view

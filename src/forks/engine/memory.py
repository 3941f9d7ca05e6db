"""A learner's state as two flat arrays, seen through a NamedTuple of views.

Handing a tuple of many arrays from Python to compiled code costs about 0.3 microseconds an array,
two flat arrays cost 0.1 each. So the memory of a learner is one array of floats and one of
integers; compiled code and Python alike look at it through the views of a state class, made by
`viewer`. Copying, pickling, storing and measuring a state are then a matter of two arrays.

`ints` starts with a table of four integers per array (offset, then up to three lengths), in the
order of the state's fields; the integer fields follow the table.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from forks.engine.compile import JIT
from forks.engine.types import Along, Counter, Vector

_ALIGN = 8  # floats: each array starts a whole number of 64-byte lines after the first


class Memory(NamedTuple):
    """Everything that learning changes."""

    floats: Vector
    ints: Counter

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.floats.nbytes + self.ints.nbytes)

    @property
    def event(self) -> Counter:
        """Where a learner keeps its event code and counts: the first array of every state."""
        counts: Counter = self.ints[self.ints[0] :]
        return counts

    def copy(self) -> "Memory":
        """Return an independent copy, placed in memory as `allocate` places it."""
        floats = _aligned_zeros(self.floats.shape[0])
        floats[:] = self.floats
        return Memory(floats, self.ints.copy())


@cache
def _listed(state_class: type) -> list[tuple[str, type, int, tuple[Along, ...]]]:
    """List what `_leaves` yields, once: to read type hints takes a millisecond."""
    return list(_leaves(state_class))


def _leaves(state_class: type) -> Iterator[tuple[str, type, int, tuple[Along, ...]]]:
    """List (dotted name, float or int, dimensions, marks) of a class, nested ones in place."""
    for name, hint in get_type_hints(state_class, include_extras=True).items():
        if get_origin(hint) is Annotated:
            _, kind, ndim, *marks = get_args(hint)
            yield name, kind, ndim, tuple(marks)
        else:
            yield from ((f"{name}.{leaf}", *rest) for leaf, *rest in _leaves(hint))  # type: ignore[misc]


def allocate(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> Memory:
    """Reserve zeros for a state class; `shapes` names every array, nested ones with a dot."""
    table, n_floats, n_ints = _layout(state_class, shapes)
    ints = np.zeros(n_ints, np.int64)
    ints[: len(table)] = table
    return Memory(_aligned_zeros(n_floats), ints)


def _layout(state_class: type, shapes: Mapping[str, tuple[int, ...]]) -> tuple[list[int], int, int]:
    """Return the table, and how many floats and integers it takes, reserving nothing."""
    leaves = _listed(state_class)
    if {name for name, *_ in leaves} != set(shapes):
        raise TypeError(f"shapes of {state_class.__name__} do not name its arrays")
    table: list[int] = []
    n_floats, n_ints = 0, 4 * len(leaves)
    for name, kind, ndim, _ in leaves:
        shape = [int(length) for length in shapes[name]]
        if len(shape) != ndim:
            raise TypeError(f"{state_class.__name__}.{name} has {ndim} dimensions, got {shape}")
        table += [n_floats if kind is float else n_ints, *shape, *[0] * (3 - ndim)]
        if kind is float:
            n_floats += -(-math.prod(shape) // _ALIGN) * _ALIGN
        else:
            n_ints += math.prod(shape)
    return table, n_floats, n_ints


def claimed_shape(state_class: type, name: str, memory: Memory) -> tuple[int, ...]:
    """Return the shape that the table of a memory claims for one array; nothing else is trusted."""
    leaves = _listed(state_class)
    if memory.ints.ndim != 1 or memory.ints.shape[0] < 4 * len(leaves):
        raise ValueError("the memory has no table")
    (line,) = (line for line, (leaf, *_) in enumerate(leaves) if leaf == name)
    return tuple(memory.ints[4 * line + 1 : 4 * line + 1 + leaves[line][2]].tolist())


def check_layout(state_class: type, shapes: Mapping[str, tuple[int, ...]], memory: Memory) -> None:
    """Ask that memory from outside is laid out as `allocate` would do it: views stay inside."""
    floats, ints = memory
    for array, kind in ((floats, np.float64), (ints, np.int64)):
        if array.dtype != kind or array.ndim != 1:
            raise ValueError(f"the memory has {array.dtype} of shape {array.shape}")
    table, n_floats, n_ints = _layout(state_class, shapes)
    if (floats.shape[0], ints.shape[0]) != (n_floats, n_ints):
        raise ValueError(
            f"the memory has {floats.shape[0]} floats and {ints.shape[0]} integers, "
            f"and should have {n_floats} and {n_ints}"
        )
    if ints[: len(table)].tolist() != table:
        raise ValueError("the table of the memory is wrong")


def _aligned_zeros(n: int) -> Vector:
    """Zeros that start at a 64-byte line: a block that lies across two takes twice as long."""
    room = np.zeros(n + _ALIGN - 1)
    start = -(room.ctypes.data // 8) % _ALIGN
    return room[start : start + n]


def grown(state_class: type, view: Any, shapes: Mapping[str, tuple[int, ...]]) -> Memory:
    """Reserve larger arrays for a state class and copy the state in `view` into them.

    Each array keeps its place in the corner of the new one.
    """
    memory = allocate(state_class, shapes)
    for old, new in zip(_arrays(view), _arrays(viewer(state_class)(memory)), strict=True):
        new[tuple(map(slice, old.shape))] = old
    return memory


def stretched(view: Any, what: str, length: int) -> Memory:
    """Return a copy of a state whose axes along `what` are longer; what is new is zero."""
    return grown(type(view), view, _stretched_shapes(view, what, length))


def repeated(view: Any, what: str, length: int) -> Memory:
    """Return a copy of a state whose axes along `what` are longer, by copies of the last there."""
    state_class: Any = type(view)
    memory = stretched(view, what, length)
    arrays = zip(_arrays(view), _arrays(viewer(state_class)(memory)), strict=True)
    for (*_, marks), (old, new) in zip(_listed(state_class), arrays, strict=True):
        for axis in _axes(marks, what):
            before = (slice(None),) * axis
            last = old.shape[axis] - 1
            new[*before, last + 1 :] = old[*before, last:]
    return memory


def _stretched_shapes(view: Any, what: str, length: int) -> dict[str, tuple[int, ...]]:
    state_class: Any = type(view)
    shapes = {}
    for (name, _, _, marks), array in zip(_listed(state_class), _arrays(view), strict=True):
        shape = list(array.shape)
        for axis in _axes(marks, what):
            shape[axis] = length
        shapes[name] = tuple(shape)
    return shapes


def _axes(marks: tuple[Along, ...], what: str) -> list[int]:
    return [mark.axis for mark in marks if mark.what == what]


def _arrays(view: Any) -> Iterator[Any]:
    for part in view:
        if isinstance(part, tuple):
            yield from _arrays(part)
        else:
            yield part


@cache
def viewer(state_class: type) -> Callable[[Memory], Any]:
    """Make the function that shows flat memory as a state, in Python."""
    view = _written_out(state_class, "{flat}[{start} : {start} + {size}].reshape({lengths})")
    return lambda memory: view(None, memory.floats, memory.ints)


def compiled_viewer(state_class: type) -> Callable[..., Any]:
    """Make the body (rule, floats, ints) -> state of `attach`, for compiled code.

    The class may be the first field of the one that was allocated: its arrays come first. The
    views are made from addresses (`numba.carray`): slices and reshapes with their checks and
    reference counts take seconds to compile.
    """
    if not JIT:
        return _written_out(state_class, "{flat}[{start} : {start} + {size}].reshape({lengths})")
    return _written_out(state_class, "carray(address({flat}, {start}), {lengths})")


@intrinsic
def address(typing_context, flat, start):
    """Pointer to flat[start], for `numba.carray`: a view that nobody counts references to."""

    def pointer(context, builder, signature, arguments):
        array = cgutils.create_struct_proxy(flat)(context, builder, arguments[0])
        return builder.gep(array.data, [arguments[1]])

    return types.CPointer(flat.dtype)(flat, types.int64), pointer


def _written_out(state_class: type, view: str) -> Callable[..., Any]:
    """Write the views out as source: compiled code needs the type of every field."""
    namespace: dict[str, Any] = {"carray": carray, "address": address}
    lines = itertools.count()

    def expression(cls: type) -> str:
        namespace[cls.__name__] = cls
        parts = []
        for hint in get_type_hints(cls, include_extras=True).values():
            if get_origin(hint) is not Annotated:
                parts.append(expression(hint))
                continue
            _, kind, ndim, *_ = get_args(hint)
            at = 4 * next(lines)
            lengths = [f"ints[{at + i}]" for i in range(1, 1 + ndim)]
            parts.append(
                view.format(
                    flat="floats" if kind is float else "ints",
                    start=f"ints[{at}]",
                    size=" * ".join(lengths),
                    lengths=f"({', '.join(lengths)},)",
                )
            )
        return f"{cls.__name__}({', '.join(parts)})"

    source = f"def attach(rule, floats, ints):\n    return {expression(state_class)}\n"
    exec(compile(source, f"<views of {state_class.__name__}>", "exec"), namespace)
    attach: Callable[..., Any] = namespace["attach"]
    return attach
